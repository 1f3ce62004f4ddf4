#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux on another processor, with KASLR, profiled under TCG without a symbol
file, against the /proc/kallsyms that the guest prints.

usage: test_ports.py BUILD PROCESSOR [--seconds S]
"""

import guest  # noqa: F401  where the others are
from begin import options, or_skip
from harness import Tap, require
from ports import PORTS, PortGuest
from stated import INIT, Tests


def main():
    p = options(seconds=8.0, budget="50", enough=500)  # percent of the guest's time; stacks
    p.add_argument("processor", choices=PORTS)
    args = p.parse_args()
    with or_skip():
        require("tcg", args.processor)
        port = PortGuest(args.build, args.processor, INIT)
    tap = Tap()
    with port:
        port.wait("READY", seconds=300)
        tests = Tests(args, port, "gdb", args.processor)
        tap.point(f"{args.processor}: names from guest memory alone", tests.names)
        tap.point(f"{args.processor}: stacks", tests.stacks)
    tap.end()


if __name__ == "__main__":
    main()
