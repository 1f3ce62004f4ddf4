#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs for Linux guests in rigs, which have no compilers: those of test_owners.py and
waiting.py, of processors and languages whose compilers are here.

usage: made.py BUILD STAMP
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import test_owners  # noqa: E402
import waiting  # noqa: E402
from harness import Skip, note  # noqa: E402


def main():
    build, stamp = sys.argv[1:]
    for make in (waiting.program, test_owners.stops_library,
                 lambda b: test_owners.programs(b, "x86_64"),
                 lambda b: test_owners.programs(b, "aarch64", fetch=False)):
        try:
            make(build)
        except Skip as why:
            note(why)
    open(stamp, "w").close()


main()
