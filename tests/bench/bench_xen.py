#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample of a Xen domain costs, in the rig: bench-xen on PV domains with short and
with deep stacks, on one CPU for dom0 and the domain, and on one for each.

usage: bench_xen.py BUILD

Emulated hosts have a clock that counts instructions, 1 ns each: it says the same on a busy
machine.  A last run is by the machine's own clock, by which a pause costs much where an
emulator has to find its code again.
"""
import os
import subprocess
import sys

RIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs")
MARK = "# bench: "


# The rig, and what it is; by which clock.
_COUNTED = "; 1 us is 1,000 instructions of Xen, dom0 and domain"
HOSTS = (("xen-x86_64", "one CPU for dom0 and the domain" + _COUNTED, ["--icount"]),
         ("xen-x86_64-two", "a CPU for each" + _COUNTED, ["--icount"]),
         ("xen-x86_64", "one CPU for dom0 and the domain, by this machine's clock", []))


def bench(build, rig, options):
    done = subprocess.run(
        [sys.executable, os.path.join(RIGS, "rig.py"), build, rig,
         os.path.join(RIGS, "scripts", "xen-bench.sh"), "--seconds", "550", *options],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace")
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(MARK):
            print(line[len(MARK):], flush=True)
    if any("# SKIP" in line for line in lines):
        print("SKIP: no rig here")
    elif done.returncode:
        sys.exit(done.stdout[-3000:])


def main():
    for rig, words, options in HOSTS:
        print(f"{words}:", flush=True)
        bench(sys.argv[1], rig, options)


main()
