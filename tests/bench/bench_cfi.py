#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Save captures of the guest recurse, 25 frames deep, and run bench-cfi-step on them.

usage: bench_cfi.py BUILD
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Guest, Skip, require  # noqa: E402

FRAMES = 25


def save(build, frames, folder):
    """[ELF, file of captures] of the build with or without frame pointers."""
    elf = os.path.join(build, "tests/oracle", f"recurse25-{frames}.elf")
    captures = os.path.join(folder, frames)
    with Guest(build, "recurse25", "tcg", kernel=elf,
               extra=("-M", "microvm", "-singlestep")) as g:
        g.wait("READY")
        subprocess.run([os.path.join(build, "tests/oracle/compare-dwfl"), "-e", elf,
                        "--captures", "500", "--save", captures, "--save-count", "64",
                        "--save-frames", str(FRAMES), "--quiet", g.target("gdb")],
                       check=True)
    return [elf, captures]


def main():
    build = sys.argv[1]
    try:
        require("tcg")
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            files = save(build, "nofp", folder) + save(build, "fp", folder)
            subprocess.run([os.path.join(build, "tests/bench/bench-cfi-step"), *files],
                           check=True)
    except Skip as why:
        print(f"skipped: {why}")
        sys.exit(77)


main()
