(* SPDX-License-Identifier: GPL-2.0-or-later *)
(* shares.ml: known shares and a known call tree (README.md), in OCaml: a functor, closures,
   recursion, allocation, exceptions. *)

let names = [| "f60"; "f30"; "f10"; "calls_leaf"; "dive"; "ask_kernel"; "raises"; "report" |]
let ticks = Array.make 8 0
let calls = Array.make 8 0
let start = ref 0
let sink = ref 0
let seq = ref 0
let now () = int_of_float (Unix.gettimeofday () *. 1e9)

let count f =
  let t = now () in
  ticks.(f) <- ticks.(f) + t - !start;
  calls.(f) <- calls.(f) + 1;
  start := t

module type FACTOR = sig
  val factor : int
end

module Box (F : FACTOR) = struct
  let[@inline never] f60 n = (* lines of f60 *)
    let x = ref n in
    for i = 1 to 6 * n do
      x := (!x * 3) + i
    done;
    !x + F.factor (* end *)
end

module Seven = Box (struct
  let factor = 7
end)

let[@inline never] f30 n = (* lines of f30 *)
  let x = ref n in
  for i = 1 to 3 * n do
    x := (!x * 3) + i
  done;
  !x (* end *)

let[@inline never] f10 n =
  let all = ref [] in
  for i = 1 to n / 4 do
    all := (i, n) :: (if i land 15 = 0 then [] else !all)
  done;
  List.length !all

let[@inline never] leaf x = (* lines of leaf *)
  let y = ref x in
  for _ = 1 to 20 do
    y := (!y * 5) + 1
  done;
  !y (* end *)

let[@inline never] calls_leaf n =
  let x = ref n in
  for _ = 1 to n / 10 do
    x := !x lxor leaf !x
  done;
  !x

let rec dive n depth =
  if depth > 0 then 1 + dive n (depth - 1)
  else begin
    let x = ref n in
    for i = 1 to n do
      x := (!x * 3) + i
    done;
    !x
  end

let[@inline never] ask_kernel n =
  let x = ref 0 in
  for _ = 1 to (n / 1000) + 1 do
    x := !x + Unix.getppid () + (Unix.stat "/proc").Unix.st_uid
  done;
  !x

exception Odd of int

let[@inline never] fails n = if n land 1 = 1 then raise (Odd n) else n + 1

let[@inline never] raises n =
  let x = ref 0 in
  for i = 1 to n / 20 do
    x := !x + (try fails i with Odd y -> y)
  done;
  !x

let[@inline never] report () =
  incr seq;
  Printf.printf "TRUTH {\"vcpu\":0,\"seq\":%d,\"tsc\":%d,\"tsc_hz\":1000000000,\"fn\":{" !seq
    (now ());
  Array.iteri
    (fun i name ->
      Printf.printf "%s\"%s\":{\"calls\":%d,\"self\":%d}"
        (if i > 0 then "," else "")
        name calls.(i) ticks.(i))
    names;
  Printf.printf "},\"idle\":0,\"total\":%d}\n%!" (Array.fold_left ( + ) 0 ticks)

let[@inline never] stage n =
  let work = [ Seven.f60; f30; f10; calls_leaf; (fun m -> dive m 20); ask_kernel; raises ] in
  List.iteri
    (fun i f ->
      sink := !sink lxor f n;
      count i)
    work;
  !sink

let[@inline never] run unit =
  let next = ref 0 in
  while true do
    sink := stage unit + 1;
    if !start > !next then begin
      report ();
      next := !start + 500_000_000;
      count 7
    end
  done

let print_tree () =
  List.iter
    (fun path -> print_endline ("TREE main" ^ path))
    ([ ""; ";run"; ";run;report"; ";run;stage" ]
    @ List.map
        (fun f -> ";run;stage;" ^ f)
        [ "f60"; "f30"; "f10"; "calls_leaf"; "calls_leaf;leaf"; "ask_kernel"; "raises";
          "raises;fails" ]
    @ List.init 21 (fun i ->
          ";run;stage" ^ String.concat "" (List.init (i + 1) (fun _ -> ";dive"))));
  print_endline "READY vcpus=1"

let () =
  print_tree ();
  start := now ();
  sink := f30 100_000;
  let unit = 300_000 * 3_000_000 / (now () - !start + 1) + 1 in
  start := now ();
  run unit
