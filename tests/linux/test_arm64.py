#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux on aarch64 with KASLR, profiled under TCG without a symbol file, against
the /proc/kallsyms that the guest prints.

usage: test_arm64.py BUILD [--seconds S]
"""
import argparse
import glob
import os
import sys
import tempfile

import guest  # noqa: F401  where the others are
from harness import Guest, Skip, Tap, require
from stated import Tests, write_initramfs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs"))
from debs import Suite  # noqa: E402


class Arm64Guest(Guest):
    def __init__(self, build):
        suite = Suite(build, "bookworm", "aarch64")
        image, = glob.glob(os.path.join(suite.kernel("linux-image-cloud-arm64"),
                                        "boot", "vmlinuz-*"))
        busybox = os.path.join(suite.closure(("busybox-static",)), "bin", "busybox")
        self.files = tempfile.TemporaryDirectory(prefix="uniscope-")
        initrd = os.path.join(self.files.name, "initrd")
        write_initramfs(initrd, busybox)
        # "max" signs return addresses, and to emulate that takes most of its time.
        super().__init__(build, "linux", "tcg", 2, kernel=image, memory=512,
                         processor="aarch64",
                         extra=("-cpu", "cortex-a72", "-nodefaults", "-initrd", initrd,
                                "-append", "console=ttyAMA0 quiet panic=-1"))
        self.elf = None

    def __exit__(self, *args):
        super().__exit__(*args)
        self.files.cleanup()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--budget", default="50", help="percent of the guest's time")
    p.add_argument("--enough", type=int, default=500, help="stacks")
    args = p.parse_args()
    try:
        require("tcg", "aarch64")
        arm64 = Arm64Guest(args.build)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tap = Tap()
    with arm64:
        arm64.wait("READY")
        tests = Tests(args, arm64, "gdb", "aarch64")
        tap.point("aarch64: names from guest memory alone", tests.names)
        tap.point("aarch64: stacks", tests.stacks)
    tap.end()


if __name__ == "__main__":
    main()
