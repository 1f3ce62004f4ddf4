#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux on aarch64 with KASLR, profiled under TCG without a symbol file, against
the /proc/kallsyms that the guest prints.

usage: test_arm64.py BUILD [--seconds S]
"""
import argparse
import glob
import os
import re
import sys
import tempfile

from guest import Kallsyms
from harness import Guest, Skip, Tap, Uniscope, check, note, require
from initramfs import Initramfs
from recording import Recording

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs"))
from debs import Suite  # noqa: E402

WHOLE = 0.99
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
echo SYMBOLS
cat /proc/kallsyms
echo READY
while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=300 2>/dev/null
	cat /proc/self/maps /proc/meminfo /proc/stat /proc/interrupts >/dev/null
	dd if=/dev/urandom bs=4k count=100 2>/dev/null | cat | cat >/dev/null
	ls -lR /sys/devices >/dev/null
done
"""
# Where an exception from a program comes in, or a thread begins.
ROOTS = re.compile("el0t_|ret_from_fork|__primary_switched|__secondary_switched|"
                   "ret_to_user")
# Behind the first instruction of an exception's entry, and until it has saved them, the
# registers are neither here nor there.  The trampoline's page lies above all symbols.
VECTORS = ("vectors", "_einittext")


class Arm64Guest(Guest):
    def __init__(self, build):
        suite = Suite(build, "bookworm", "aarch64")
        image, = glob.glob(os.path.join(suite.kernel("linux-image-cloud-arm64"),
                                        "boot", "vmlinuz-*"))
        busybox = os.path.join(suite.closure(("busybox-static",)), "bin", "busybox")
        self.files = tempfile.TemporaryDirectory(prefix="uniscope-")
        initrd = os.path.join(self.files.name, "initrd")
        fs = Initramfs()
        fs.add_file("/bin/busybox", busybox)
        fs.add("/init", INIT)
        fs.write(initrd)
        # "max" signs return addresses, and to emulate that takes most of its time.
        super().__init__(build, "linux", "tcg", 2, kernel=image, memory=512,
                         processor="aarch64",
                         extra=("-cpu", "cortex-a72", "-nodefaults", "-initrd", initrd,
                                "-append", "console=ttyAMA0 quiet panic=-1"))
        self.elf = None

    def __exit__(self, *args):
        super().__exit__(*args)
        self.files.cleanup()

    def kallsyms(self):
        text = self.serial()
        text = text[text.index("SYMBOLS") + 8:text.index("READY")]
        whole = re.compile(r"^[0-9a-f]{16} \S \S+(\t\[\S+\])?\r?$", re.M)
        return Kallsyms("\n".join(m[0] for m in whole.finditer(text)))


class Tests:
    def __init__(self, args, guest):
        self.us, self.guest, self.args = Uniscope(args.build), guest, args
        self.recording = None

    def names(self):
        """Every sampled address of the kernel, and each caller."""
        truth = self.guest.kallsyms()
        self.us.record(self.guest, "gdb", "--budget", "50", seconds=self.args.seconds)
        r = self.recording = Recording(self.us.data())
        note(r.facts["linux"])
        check(r.facts["arch"] == "aarch64", r.facts["arch"])
        check(truth.address("_stext") == int(r.facts["linux"].split(" at ")[1], 16),
              f"_stext is at {truth.address('_stext'):#x}")
        seen = {f.call() for s in r.samples for f in s.frames if f.is_kernel()}
        wrong = {hex(at): (r.name(at), truth.names(at)) for at in seen
                 if at < truth.symbols[-1].address
                 and (not r.name(at) or r.name(at)[0] not in truth.names(at))}
        note(f"{len(seen)} addresses, {len(wrong)} not named as in /proc/kallsyms")
        check(len(seen) > 100 and not wrong, f"{list(wrong.items())[:5]}")

    def stacks(self):
        """Down to where a program was left, or a thread begins."""
        r, truth = self.recording, self.guest.kallsyms()
        n = whole = entering = 0
        cut = {}
        for s in r.samples:
            kernel = [f for f in s.frames if f.is_kernel()]
            if not kernel or s.t <= float(r.facts["linux_ready_s"]):
                continue
            names = truth.names(kernel[-1].call())
            if names & set(VECTORS) and len(s.frames) == 1:
                entering += s.weight
                continue
            n += s.weight
            joined = len(kernel) < len(s.frames)
            if any(ROOTS.match(name) for name in names) or s.whole() or joined:
                whole += s.weight
            else:
                key = min(names, default="?"), s.end
                cut[key] = cut.get(key, 0) + s.weight
        worst = sorted(cut.items(), key=lambda c: -c[1])[:8]
        note(f"{whole} of {n} stacks in the kernel are whole, {entering} more are at its "
             f"vectors; else {worst}")
        check(n > 500 and whole >= WHOLE * n, "stacks are cut")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=8)
    args = p.parse_args()
    try:
        require("tcg", "aarch64")
        guest = Arm64Guest(args.build)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tap = Tap()
    with guest:
        guest.wait("READY")
        tests = Tests(args, guest)
        tap.point("aarch64: names from guest memory alone", tests.names)
        tap.point("aarch64: stacks", tests.stacks)
    tap.end()


if __name__ == "__main__":
    main()
