# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line that suites of one backend have in common, and their points in TAP."""
import argparse

from harness import Skip, require_way, way


def main(suite, seconds=4):
    """suite(args) has a tap, and points(): (name, function[, is it in the short run[, does
    it compare figures, which load on the host disturbs]])."""
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("backend")
    p.add_argument("accel")
    p.add_argument("processor", nargs="?", default="x86_64")
    p.add_argument("--seconds", type=float, default=seconds)
    p.add_argument("--only", action="append", default=[])
    p.add_argument("--exits-apart", action="store_true")
    p.add_argument("--short", action="store_true")
    p.add_argument("--figures", choices=("only", "none"),
                   help="the points that compare figures, or those that do not")
    args = p.parse_args()
    try:
        require_way(args)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tests = suite(args)
    for name, function, *more in tests.points():
        short, figures = (*more, *(True, False)[len(more):])
        if not args.only or any(word in name for word in args.only):
            if (short or not args.short) and args.figures != ("none" if figures else "only"):
                tests.tap.point(f"{way(args)}: {name}", function)
    tests.tap.end()
