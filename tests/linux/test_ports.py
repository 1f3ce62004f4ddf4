#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux on another processor, with KASLR, profiled under TCG without a symbol
file, against the /proc/kallsyms that the guest prints.

usage: test_ports.py BUILD PROCESSOR [--seconds S]
"""
import argparse

import guest  # noqa: F401  where the others are
from harness import Skip, Tap, require
from ports import PORTS, PortGuest
from stated import INIT, Tests


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("processor", choices=PORTS)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--budget", default="50", help="percent of the guest's time")
    p.add_argument("--enough", type=int, default=500, help="stacks")
    args = p.parse_args()
    try:
        require("tcg", args.processor)
        port = PortGuest(args.build, args.processor, INIT)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tap = Tap()
    with port:
        port.wait("READY", seconds=300)
        tests = Tests(args, port, "gdb", args.processor)
        tap.point(f"{args.processor}: names from guest memory alone", tests.names)
        tap.point(f"{args.processor}: stacks", tests.stacks)
    tap.end()


if __name__ == "__main__":
    main()
