{ SPDX-License-Identifier: GPL-2.0-or-later }
{ What the compiler needs of its system unit: the kernel has no operating system below it. }
unit system;
interface
type
  cardinal = 0..$FFFFFFFF;
  hresult = longint;
  dword = cardinal;
  integer = longint;
  pchar = ^char;
  ttypekind = (tkUnknown, tkInteger, tkChar);
  jmp_buf = packed record rbx, rbp, r12, r13, r14, r15, rsp, rip: qword; end;
  pjmp_buf = ^jmp_buf;
  tmethod = record code, data: pointer; end;
  texceptaddr = record buf: pjmp_buf; next: pointer; frametype: longint; end;
  tguid = record d1: cardinal; d2, d3: word; d4: array[0..7] of byte; end;
implementation
end.
