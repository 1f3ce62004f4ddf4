{ SPDX-License-Identifier: GPL-2.0-or-later }
{ A kernel in Pascal, after Toro: threads that take turns and never return, with stacks that
  begin at odd addresses; procedures within procedures, recursion, calls by pointer.  Linked
  with the library of the other guests, which boots it.  Prints "COUNTS ..." with how often
  each procedure was called, and stands still. }
unit kernel;
interface
procedure kmain(vcpu: longint); cdecl; public name 'kmain';
procedure guest_setup; cdecl; public name 'guest_setup';
implementation
procedure serial_write(text: pchar; len: qword); cdecl; external name 'serial_write';
const
  Rounds = 2000;
  Last = 3;
type
  TWork = procedure(n: longint);
  TThread = record
    rsp: pointer;
    stack: array[0..8191] of byte;
  end;
var
  threads: array[0..Last] of TThread;
  current, turns: longint;
  boot: pointer;
  works: array[0..1] of TWork;
  nAck, nOuter, nInner, nEven, nOdd, nYield, nThread: qword;
  line: array[0..511] of char;
  used: longint;

procedure change_stack(save: pointer; load: pointer); assembler; nostackframe;
asm
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
end;

function ack(m, n: longint): longint;
begin
  inc(nAck);
  if m = 0 then ack := n + 1
  else if n = 0 then ack := ack(m - 1, 1)
  else ack := ack(m - 1, ack(m, n - 1));
end;

procedure outer(n: longint);
var sum: longint;
  procedure inner(k: longint);
  begin
    inc(nInner);
    sum := sum + k;
    if k > 0 then inner(k - 1);
  end;
begin
  inc(nOuter);
  sum := 0;
  inner(n);
end;

procedure even(n: longint);
begin
  inc(nEven);
  outer(n and 7);
end;

procedure odd_(n: longint);
begin
  inc(nOdd);
  outer(n and 3);
end;

procedure print(s: pchar; n: qword);
var
  d: array[0..20] of char;
  k: longint;
begin
  while s^ <> #0 do begin line[used] := s^; inc(used); inc(s); end;
  k := 0;
  repeat d[k] := char(48 + n mod 10); n := n div 10; inc(k); until n = 0;
  while k > 0 do begin dec(k); line[used] := d[k]; inc(used); end;
end;

procedure finish;
begin
  print('COUNTS {"ACK":', nAck);
  print(',"OUTER":', nOuter);
  print(',"INNER":', nInner);
  print(',"EVEN":', nEven);
  print(',"ODD_":', nOdd);
  print(',"YIELD":', nYield);
  print(',"THREAD":', nThread);
  line[used] := '}'; inc(used);
  line[used] := #10; inc(used);
  serial_write(@line[0], used);
  while true do asm cli; hlt; end;
end;

procedure yield;
var was: longint;
begin
  inc(nYield);
  inc(turns);
  if turns = Rounds then finish;
  was := current;
  current := (current + 1) mod (Last + 1);
  change_stack(@threads[was].rsp, threads[current].rsp);
end;

procedure thread;
var n: longint;
begin
  inc(nThread);
  n := 0;
  while true do begin
    works[n and 1](n);
    if n mod 100 = 0 then ack(2, 3);
    inc(n);
    yield;
  end;
end;

procedure guest_setup; cdecl;
begin
end;

procedure kmain(vcpu: longint); cdecl;
var
  i, k: longint;
  top: ^pointer;
begin
  works[0] := @even;
  works[1] := @odd_;
  for i := 0 to Last do begin
    top := @threads[i].stack[8191 - 64 - i];
    dec(top); top^ := nil;
    dec(top); top^ := @thread;
    for k := 1 to 6 do begin dec(top); top^ := nil; end;
    threads[i].rsp := top;
  end;
  current := 0;
  change_stack(@boot, threads[0].rsp);
end;
end.
