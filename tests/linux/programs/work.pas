{ SPDX-License-Identifier: GPL-2.0-or-later }
{ work.pas: the unit of shares.pas }
unit work;

{$mode objfpc}

interface

procedure PrintTree;
procedure Calibrate;
procedure Run;

implementation

uses
  baseunix, linux;

type
  TFunction = (fF60, fF30, fF10, fCallsLeaf, fDive, fAskKernel, fFinally, fReport);

  TWorker = class
    Factor: QWord;
    function F60(n: QWord): QWord; virtual; abstract;
    function Leaf(x: QWord): QWord;
  end;

  TBox = class(TWorker)
    constructor Create(AFactor: QWord);
    function F60(n: QWord): QWord; override;
    function CallsLeaf(n: QWord): QWord;
  end;

const
  Names: array[TFunction] of string = ('f60', 'f30', 'f10', 'callsleaf', 'dive',
    'askkernel', 'tryfinally', 'report');

var
  Ticks, Calls: array[TFunction] of QWord;
  Start, Unit_, Seq: QWord;
  Sink: QWord;

function Now: QWord;
var
  t: TTimeSpec;
begin
  clock_gettime(CLOCK_MONOTONIC, @t);
  Now := QWord(t.tv_sec) * 1000000000 + QWord(t.tv_nsec);
end;

procedure Count(f: TFunction);
var
  t: QWord;
begin
  t := Now;
  Ticks[f] := Ticks[f] + (t - Start);
  Calls[f] := Calls[f] + 1;
  Start := t;
end;

constructor TBox.Create(AFactor: QWord);
begin
  Factor := AFactor;
end;

function TBox.F60(n: QWord): QWord;
var
  i, x: QWord;
begin { lines of f60 }
  x := n;
  for i := 1 to 6 * n do
    x := x * 3 + i;
  F60 := x + Factor;
end; { end }

function F10(n: QWord): QWord;
var
  i, x: QWord;
begin { lines of f10 }
  x := n;
  for i := 1 to n do
    x := x * 3 + i;
  F10 := x;
end; { end }

function TWorker.Leaf(x: QWord): QWord;
var
  i: LongInt;
begin { lines of leaf }
  for i := 1 to 20 do
    x := x * 5 + Factor;
  Leaf := x;
end; { end }

function TBox.CallsLeaf(n: QWord): QWord;
var
  i, x: QWord;
begin
  x := n;
  for i := 1 to n div 10 do
    x := x xor Leaf(x);
  CallsLeaf := x;
end;

function Dive(n: QWord; Depth: LongInt): QWord;
var
  i, x: QWord;
begin
  if Depth > 0 then
    x := Dive(n, Depth - 1)
  else
  begin
    x := n;
    for i := 1 to n do
      x := x * 3 + i;
  end;
  Dive := x + QWord(Depth);
end;

function AskKernel(n: QWord): QWord;
var
  i, x: QWord;
  Info: Stat;
begin
  x := 0;
  for i := 1 to n div 1000 + 1 do
    x := x + QWord(FpStat('/proc', Info)) + QWord(FpGetppid);
  AskKernel := x;
end;

function TryFinally(n: QWord): QWord;
var
  i, x: QWord;
begin
  x := n;
  try
    for i := 1 to n div 2 do
      x := x * 3 + i;
  finally
    for i := 1 to n div 2 do
      x := x * 3 + i;
  end;
  TryFinally := x;
end;

procedure Report;
var
  f: TFunction;
  Total: QWord;
begin
  Total := 0;
  Seq := Seq + 1;
  Write('TRUTH {"vcpu":0,"seq":', Seq, ',"tsc":', Now, ',"tsc_hz":1000000000,"fn":{');
  for f := fF60 to fReport do
  begin
    Total := Total + Ticks[f];
    if f > fF60 then
      Write(',');
    Write('"', Names[f], '":{"calls":', Calls[f], ',"self":', Ticks[f], '}');
  end;
  WriteLn('},"idle":0,"total":', Total, '}');
  Flush(Output);
end;

procedure Stage(Box: TBox; n: QWord);
var
  Base: QWord;

  function F30(m: QWord): QWord;
  var
    i, x: QWord;
  begin { lines of f30 }
    x := Base;
    for i := 1 to 3 * m do
      x := x * 3 + i;
    F30 := x;
  end; { end }

begin
  Base := n;
  Sink := Sink xor Box.F60(n);
  Count(fF60);
  Sink := Sink xor F30(n);
  Count(fF30);
  Sink := Sink xor F10(n);
  Count(fF10);
  Sink := Sink xor Box.CallsLeaf(n);
  Count(fCallsLeaf);
  Sink := Sink xor Dive(n, 20);
  Count(fDive);
  Sink := Sink xor AskKernel(n);
  Count(fAskKernel);
  Sink := Sink xor TryFinally(n);
  Count(fFinally);
end;

procedure Run;
var
  Box: TBox;
  Next: QWord;
begin
  Box := TBox.Create(7);
  Next := 0;
  repeat
    Stage(Box, Unit_);
    if Start > Next then
    begin
      Report;
      Next := Start + 500000000;
      Count(fReport);
    end;
  until False;
end;

procedure PrintTree;
const
  Under: array[1..8] of string = ('f60', 'f30', 'f10', 'callsleaf', 'callsleaf;leaf',
    'askkernel', 'tryfinally', 'tryfinally;fin');
var
  i, j: LongInt;
begin
  WriteLn('TREE main');
  WriteLn('TREE main;run');
  WriteLn('TREE main;run;report');
  WriteLn('TREE main;run;stage');
  for i := 1 to 8 do
    WriteLn('TREE main;run;stage;', Under[i]);
  for i := 1 to 21 do
  begin
    Write('TREE main;run;stage');
    for j := 1 to i do
      Write(';dive');
    WriteLn;
  end;
  WriteLn('READY vcpus=1');
  Flush(Output);
end;

procedure Calibrate;
begin
  Start := Now;
  Sink := F10(300000);
  Unit_ := QWord(300000) * 3000000 div (Now - Start + 1) + 1;
  Start := Now;
end;

end.
