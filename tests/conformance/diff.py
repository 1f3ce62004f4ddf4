#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What has changed between real guests, and what has not.

usage: diff.py BUILD [--pairs N]

The demo before and after its hot spot is fixed: that function comes first.  The same
guest, recorded again and again: pairs of its recordings show no change, in 18 of 20.
Exact counts of the same guest: nothing differs.
"""
import argparse
import json
import os

from harness import Tap, Uniscope, check, note, require, start

SECONDS = 2


def records(us, guest, names):
    for name in names:
        us.record_enough(guest, "gdb", seconds=SECONDS)
        os.rename(us.data(), us.data(name))
    return [us.data(name) for name in names]


def diff(us, *words, good=(0,)):
    return json.loads(us.run("diff", "--json", *words, good=good).stdout)


def hot_spot_comes_first(args, us):
    files = {}
    for name in ("demo", "demo-fixed"):
        with start(args.build, name, "tcg") as guest:
            guest.wait("READY")
            files[name], = records(us, guest, [f"{name}.data"])
    told = diff(us, files["demo"], files["demo-fixed"])
    note(told["says"])
    first = told["functions"][0]
    check(first["name"] == "copy_bytes_naive" and first["changed"], first)
    check(first["after"] == 0 and first["interval"][1] < 0, first)
    text = us.run("diff", files["demo"], files["demo-fixed"]).stdout
    check("most of all copy_bytes_naive from" in text, text)
    grown = us.run("diff", "--fail-above", "5", files["demo"], files["demo-fixed"], good=(4,))
    check("has grown by more" in grown.stderr, grown.stderr)


def twins_are_the_same(args, us):
    n = 0
    with start(args.build, "shares-quick", "tcg") as guest:
        guest.wait("READY")
        for _ in range(args.pairs):
            told = diff(us, *records(us, guest, ["a.data", "b.data"]))
            n += told["changed"] > 0
            if told["changed"]:
                note(told["says"])
    note(f"a change in {n} of {args.pairs} pairs")
    check(n <= args.pairs / 10, "the same guest is not the same")


def counts_are_exact(args, us):
    require("tcg")
    for name in ("a.data", "b.data"):
        us.run("count", "--deterministic", "-d", "1", "-o", us.data(name), "-e",
               f"{args.build}/tests/guests/counted.elf", "--", "qemu-system-x86_64", "-kernel",
               f"{args.build}/tests/guests/counted.elf", "-display", "none", "-serial", "null")
    told = diff(us, us.data("a.data"), us.data("a.data"))
    check(told["exact"] and not told["changed"], told["says"])
    told = diff(us, us.data("a.data"), us.data("b.data"))
    note(told["says"])
    check(told["exact"] and all((f["difference"] != 0) == f["changed"]
                                for f in told["functions"]), "each difference is one")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--pairs", type=int, default=0)
    args = parser.parse_args()
    tap, us = Tap(), Uniscope(args.build)
    tap.point("the demo's hot spot comes first", lambda: hot_spot_comes_first(args, us))
    tap.point("what was counted", lambda: counts_are_exact(args, us))
    if args.pairs:
        tap.point("twins are the same", lambda: twins_are_the_same(args, us))
    tap.end()


if __name__ == "__main__":
    main()
