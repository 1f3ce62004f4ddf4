# SPDX-License-Identifier: GPL-2.0-or-later
"""How a test of Linux guests begins: its options, and SKIP where something is missing.

    args = options(kernel="", only="", seconds=5.0).parse_args()
    with or_skip():
        require("tcg")
        suite = Suite(args)
    suite.run()
"""
import argparse
import contextlib
import sys

import guest  # noqa: F401  where the others are
from harness import Skip

HELP = {"kernel": "SUITE[:PROCESSOR] of Debian", "only": "points with this in their name",
        "seconds": "that a recording takes"}


def options(**defaults):
    """A parser of BUILD, of KERNEL if it has a default, and of --NAME for each other."""
    p = argparse.ArgumentParser()
    p.add_argument("build")
    for name, default in defaults.items():
        if name == "kernel":
            p.add_argument(name, nargs="?", default=default, help=HELP[name])
        elif default is False:
            p.add_argument("--" + name, action="store_true", help=HELP.get(name))
        else:
            p.add_argument("--" + name, type=type(default), default=default,
                           help=HELP.get(name))
    return p


def asked_kernel(args):
    """(suite, processor) that KERNEL says."""
    suite, _, name = args.kernel.partition(":")
    return suite, name or "x86_64"


@contextlib.contextmanager
def or_skip():
    """What cannot be tested at all says why, and the test ends."""
    try:
        yield
    except Skip as why:
        print(f"1..0 # SKIP {' '.join(str(why).split())}")
        sys.exit(0)
