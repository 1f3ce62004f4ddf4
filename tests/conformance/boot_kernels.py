#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots of kernels that nobody made for uniscope: GNU Mach, Debian's Linux, memtest86+.

usage: boot_kernels.py BUILD

The independent measure is when text arrives: the serial port has a second reader, a named
pipe, where this script notes the time itself.  Differences between two points are compared:
1 ms or 2 %.  Somebody may come between on a busy host, so the best of several boots counts.
"""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "linux"))
from harness import Skip, Tap, Uniscope, check, kvm_works, note  # noqa: E402
from packaged import mach  # noqa: E402
from packages import unpack  # noqa: E402
import guest as linux  # noqa: E402
import initramfs  # noqa: E402

QEMU = "qemu-system-x86_64"
HERE = ("-display", "none", "-nodefaults", "-no-reboot")
FIRST = "init speaks"
UEFI = "/usr/share/ovmf/OVMF.fd"


class Reader:
    """When each piece of text has arrived in a pipe."""

    def __init__(self, path):
        self.path, self.text, self.seen = path, b"", []
        os.mkfifo(path)
        # Readable and writable: it has no end, and nobody waits for the other.
        self.fd = os.open(path, os.O_RDWR)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while data := os.read(self.fd, 4096):
            now = time.monotonic_ns()
            self.text += data
            self.seen.append((len(self.text), now))

    def at(self, text):
        """As uniscope does: a line need not have ended."""
        end = self.text.index(text) + len(text)
        return next(t for n, t in self.seen if n >= end)


class Kernels:
    def __init__(self, build):
        self.build, self.us, self.tap, self.n = build, Uniscope(build), Tap(), 0

    def boot(self, *options, vm, log=None):
        serial = ("-serial", "stdio")
        if log:
            serial = ("-chardev", f"stdio,id=s,logfile={log}", "-serial", "chardev:s")
        told = json.loads(self.us.run("boot", "--json", "--no-cost", "-t", "200", *options,
                                      "--", QEMU, *HERE, *serial, *vm).stdout)
        return {p["name"]: p for p in told["points"]}, told

    def in_order(self, at, names):
        for name in names:
            check(name in at, f"{name} is missing: {list(at)}")
        times = [at[n]["runs_ns"][0] for n in names]
        note(", ".join(f"{n} {t / 1e6:.1f} ms" for n, t in zip(names, times)))
        check(times == sorted(times), f"{names}: {times}")

    def sums(self, told):
        points = told["points"]
        whole = points[-1]["runs_ns"][0] - points[0]["runs_ns"][0]
        phases = sum(p["phase_ns"]["median"] for p in points[1:])
        check(abs(phases - whole) <= len(points), f"{phases} and {whole}")

    def against_lines(self, first, last, *options, vm):
        """From one line to another, by uniscope and by who reads them, too."""
        for _ in range(6):
            self.n += 1
            lines = Reader(self.us.data(f"lines-{self.n}"))
            at, told = self.boot("--until", f"serial:{first}", "--until", f"serial:{last}",
                                 *options, vm=vm, log=lines.path)
            self.sums(told)
            ours = at[f"serial:{last}"]["runs_ns"][0] - at[f"serial:{first}"]["runs_ns"][0]
            theirs = lines.at(last.encode()) - lines.at(first.encode())
            note(f"from {first} to {last}: {ours / 1e6:.2f} ms, by who reads them "
                 f"{theirs / 1e6:.2f} ms")
            if abs(ours - theirs) <= max(1e6, 0.02 * theirs):
                return at
        check(False, f"{ours} and {theirs} ns")

    # ---- GNU Mach ----

    def mach_vm(self):
        elf, bare = mach(self.build)
        return elf, ("-m", "128", "-kernel", bare, "-append", "console=com0")

    def mach(self):
        """An ELF64 as 32-bit multiboot wants it; its page tables are its own."""
        elf, vm = self.mach_vm()
        at = self.against_lines("GNU Mach", "panic", "-e", elf, "--until", "c_boot_entry",
                                vm=vm)
        self.in_order(at, ["first instruction", "kernel entry", "c_boot_entry",
                           "serial:GNU Mach", "serial:panic"])

    def mach_by_itself(self):
        elf, vm = self.mach_vm()
        at, told = self.boot("-e", elf, vm=vm)
        check("c_boot_entry" in at, f"{list(at)}, {told['first_function']}")
        note(told["first_function"])
        at, told = self.boot(vm=vm)
        check("kernel entry" in at, f"{list(at)}")
        note(f"without symbols: {told['first_function']}")

    # ---- Linux ----

    def linux_vm(self, *append):
        image, _ = linux.kernel(self.build)
        initrd = self.us.data("initrd")
        if not os.path.exists(initrd):
            a = initramfs.Initramfs()
            a.add_file("/bin/busybox", linux.static_busybox())
            a.add("/init", f"#!/bin/busybox sh\necho {FIRST}\nwhile :; do :; done\n")
            a.write(initrd)
        return ("-M", "q35", "-m", "256", "-kernel", image, "-initrd", initrd, "-append",
                " ".join(("console=ttyS0 panic=-1", *append)))

    def linux(self, *append):
        """From its image alone: start_kernel until init's first output."""
        at = self.against_lines("Linux version", FIRST, "--until", "start_kernel",
                                "--until", "rest_init", vm=self.linux_vm(*append))
        self.in_order(at, ["first instruction", "kernel entry", "start_kernel", "rest_init",
                           f"serial:{FIRST}"])
        return at["start_kernel"]["instructions"]["median"]

    def linux_stays(self):
        self.linux("nokaslr")

    def linux_moves(self):
        """It draws its place by lot each time."""
        for _ in range(2):
            note(f"start_kernel after {self.linux()} instructions")

    def linux_by_itself(self):
        at, told = self.boot(vm=self.linux_vm())
        self.in_order(at, ["kernel entry", "start_kernel"])
        done = self.us.run("boot", "--until", "start_kernl", "--", QEMU, *HERE,
                           *self.linux_vm(), good=(1, 3))
        check("did you mean start_kernel?" in done.stderr, done.stderr)

    def linux_uefi(self):
        """Its EFI stub is its entry: what it does from there on is about the same."""
        if not os.path.exists(UEFI):
            raise Skip(f"{UEFI} is not there: it is of the package ovmf")
        spent = []
        for firmware in ((), ("-bios", UEFI)):
            at, _ = self.boot("--until", "start_kernel",
                              vm=(*self.linux_vm("nokaslr"), *firmware))
            self.in_order(at, ["first instruction", "kernel entry", "start_kernel"])
            entry, first = (at[n]["instructions"]["median"] for n in
                            ("kernel entry", "start_kernel"))
            note(f"kernel entry after {entry} instructions, start_kernel {first - entry} later")
            spent.append(first - entry)
        check(abs(spent[0] - spent[1]) < 0.2 * spent[0], f"{spent}")

    def linux_kvm(self):
        """Where it draws its place without a plugin, its entry is the last that is seen, and
        it is said why."""
        if not kvm_works():
            raise Skip("/dev/kvm cannot be opened")
        vm = ("-accel", "kvm", "-cpu", "qemu64", *self.linux_vm())
        at, told = self.boot(vm=vm)
        check("start_kernel" not in at, f"{list(at)}")
        check("loads at a random address" in told["unseen_functions"], f"{told}")
        note(f"{list(at)}")

    # ---- memtest86+ ----

    def memtest(self):
        """A boot image that is no Linux: its entry, and why there is no more."""
        where = os.path.join(unpack(self.build, "memtest86+"), "boot/memtest86+x64.bin")
        at, told = self.boot(vm=("-M", "q35", "-m", "64", "-kernel", where, "-append",
                                 "console=ttyS0,115200"))
        self.in_order(at, ["first instruction", "kernel entry", "first serial byte"])
        check("no function of memtest86+x64.bin is known" in told["first_function"], f"{told}")

    def run(self):
        point = self.tap.point
        point("GNU Mach, to its banner", self.mach)
        point("GNU Mach's first function", self.mach_by_itself)
        point("Linux with nokaslr", self.linux_stays)
        point("Linux where it draws its place by lot", self.linux_moves)
        point("Linux's first function", self.linux_by_itself)
        point("Linux behind UEFI firmware", self.linux_uefi)
        point("Linux's place by lot under KVM", self.linux_kvm)
        point("memtest86+", self.memtest)
        self.tap.end()


if __name__ == "__main__":
    Kernels(sys.argv[1]).run()
