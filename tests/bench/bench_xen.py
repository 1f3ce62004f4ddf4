#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample of a Xen domain costs, in the rig: bench-xen on PV domains with short and
with deep stacks, on one CPU for dom0 and the domain.

usage: bench_xen.py BUILD
"""
import os
import subprocess
import sys

RIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs")
MARK = "# bench: "


def main():
    build = sys.argv[1]
    done = subprocess.run(
        [sys.executable, os.path.join(RIGS, "rig.py"), build, "xen-x86_64",
         os.path.join(RIGS, "scripts", "xen-bench.sh"), "--seconds", "550"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace")
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith(MARK):
            print(line[len(MARK):])
    if any("# SKIP" in line for line in lines):
        print("SKIP: no rig here")
        return
    if done.returncode:
        sys.exit(done.stdout[-3000:])


main()
