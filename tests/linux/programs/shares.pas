{ SPDX-License-Identifier: GPL-2.0-or-later }
{ shares.pas: known shares and a known call tree (README.md), in Free Pascal: a unit,
  classes, virtual methods, nested procedures, try .. finally. }
program shares;

{$mode objfpc}

uses
  work;

begin
  PrintTree;
  Calibrate;
  Run;
end.
