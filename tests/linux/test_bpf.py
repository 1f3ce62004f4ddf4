#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""BPF programs of a Linux guest have the names that its own /proc/kallsyms has for them.

usage: test_bpf.py BUILD [KERNEL] [--backend B] [--accel A] [--seconds S]
"""
import os
import shutil
import subprocess
import sys
import tempfile

import releases
from begin import asked_kernel, options, or_skip
from guest import LinuxGuest
from harness import Skip, Tap, Uniscope, check, note, require

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"much_work", "less_work"}


def program(folder):
    if not shutil.which("gcc"):
        raise Skip("gcc is not installed")
    out = os.path.join(folder, "bpf")
    done = subprocess.run(["gcc", "-O2", "-static", "-o", out,
                           os.path.join(HERE, "programs", "bpf.c")],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"gcc: {done.stderr.strip()[-200:]}")
    return out


def own_names(guest):
    """{name: module} of its BPF programs, as the guest tells them."""
    lines = guest.do("grep '\\[bpf\\]' /proc/kallsyms").splitlines()
    return {line.split()[2]: line.split()[3] for line in lines}


def names(args):
    us, (suite, processor) = Uniscope(args.build), asked_kernel(args)
    release = releases.release(args.build, suite, processor) if suite else None
    with tempfile.TemporaryDirectory(prefix="uniscope-") as folder, \
            LinuxGuest(args.build, accel=args.accel, release=release,
                       programs={"bpf": program(folder)}) as g:
        g.wait("READY")
        said = g.do("bpf >/tmp/said 2>&1 & sleep 3; cat /tmp/said")
        check("loaded" in said, said)
        own, g.elf = own_names(g), None
        us.record_enough(g, args.backend, "--budget", "50", seconds=args.seconds, enough=200)
    report = us.report()
    found = {f["name"]: f["self"] for f in report["functions"] if f["module"] == "bpf"}
    note(f"{report['facts']['linux']}; {found}")
    check(set(found) <= set(own), f"{set(found) - set(own)} are not the guest's: {own}")
    self = {short: sum(n for name, n in found.items() if name.endswith("_" + short))
            for short in NAMES}
    check(self["much_work"] > self["less_work"] > 0, f"{self}")
    ends = report["summary"]["stack_ends"]
    whole = ends["root"] / report["summary"]["running"]
    check(whole > 0.95, f"only {100 * whole:.1f} % of the stacks are whole: {ends}")


def main():
    args = options(kernel="", backend="gdb", accel="tcg", seconds=4.0).parse_args()
    with or_skip():
        require("tcg", asked_kernel(args)[1])
        tap = Tap()
    tap.point("names of BPF programs", lambda: names(args))
    tap.end()


if __name__ == "__main__":
    main()
