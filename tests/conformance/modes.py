#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests in every mode of an x86 processor, against their own truth.

usage: modes.py BUILD BACKEND ACCEL [--seconds S] [--only WORD] [--exits-apart]

32-bit kernels without paging, with two levels and 4 KiB or 4 MiB pages, with PAE, and
in compatibility mode; a 64-bit one with five levels; 16-bit code in real and in
protected mode, which gives the address alone; a 64-bit image in its 32-bit boot code.
"""
import json
import os
import shutil

import points
from conformance import Suite
from harness import Skip, check, note

NARROW = ("flat", "2level", "large", "pae", "compat")
ODD = ("flat", "pae", "compat")  # with stacks that begin off a word, too


class Modes(Suite):
    def dump(self, guest):
        out = self.us.run("dump", "--json", "--backend", self.args.backend,
                          "-e", guest.elf, guest.target(self.args.backend)).stdout
        vcpu = json.loads(out)["vcpus"][0]
        return vcpu["end"], [f["function"] for f in vcpu["frames"] if not f["inlined"]]

    def five_levels(self):
        self.whole_guest("demo", 2, extra=("-cpu", "max,la57=on"))

    def stub_of_i386(self):
        """The stub's registers have four bytes there, and others are in the packet."""
        if not shutil.which("qemu-system-i386"):
            raise Skip("qemu-system-i386 is not installed")
        self.whole_guest("shares-pae", 1, qemu="qemu-system-i386")

    def sector(self, name):
        """Addresses alone, each in the function that works or in the one that prints."""
        disk = os.path.join(self.args.build, "tests", "guests", name + ".bin")
        with self.guest(name, disk=disk) as g:
            g.wait("BEAT")
            stats = self.us.record_enough(g, self.args.backend, *self.budget(),
                                          seconds=self.args.seconds)
            self.sums_match(stats)
            rows = self.us.paths()
            n = sum(count for _, count in rows)
            work = sum(count for path, count in rows if path == ["work"])
            note(f"{name}: {n} samples, {work} in work, {stats['truncated']} truncated")
            check(work > 0.95 * n, f"the samples are in {rows[:5]}")
            legal = (["work"], ["print"], ["_start"])
            check(all(path in legal for path, _ in rows), f"more than addresses: {rows}")
            end, names = self.dump(g)
            check(end == "mode" and len(names) == 1, f"it ends {end}: {names}")
            check(g.goes_on(), "the guest does not go on")

    def boot_code(self):
        """The width is that of the CPU, not that of the ELF."""
        with self.guest("shares", extra=("-cpu", "qemu32")) as g:
            g.wait("NO LONG MODE")
            self.us.record(g, self.args.backend, *self.budget(), seconds=2)
            rows = self.us.paths()
            note(f"boot code: {rows}")
            check(rows and all(p == ["start32", "no_long_mode"] for p, _ in rows),
                  f"wrong stacks: {rows}")

    def comes_up(self, mode):
        """Where KVM emulates every instruction, a guest may be reset
        as it turns its paging on."""
        if self.tcg:
            return
        if mode not in self.up:
            with self.guest("shares-" + mode) as g:
                try:
                    g.wait("READY", 30)
                    self.up[mode] = True
                except RuntimeError:
                    self.up[mode] = False
        if not self.up[mode]:
            raise Skip(f"a guest with {mode} does not come up under this KVM within 30 s")

    def narrow(self, name, mode, end):
        self.comes_up(mode)
        # Shares do not depend on frame pointers; in the short run once a mode.
        shares = name == "shares" and not (self.args.short and "nofp" in end)
        self.whole_guest(f"{name}-{mode}{end}", 1, shares=shares)

    def points(self):
        self.up = {}
        for mode in NARROW:
            for name in ("shares", "recurse"):
                for end in ("", "-nofp"):
                    yield f"{name}-{mode}{end}", \
                        lambda how=(name, mode, end): self.narrow(*how)
        for mode in ODD:
            for name in ("shares", "recurse"):
                for end in ("-skew", "-skew-nofp"):
                    # In the short run each once.
                    short = (name == "shares") == (end == "-skew-nofp")
                    yield f"{name}-{mode}{end}", \
                        lambda how=(name, mode, end): self.narrow(*how), short
        for mode in ODD:
            for end in ("", "-nofp"):
                yield f"halves-{mode}{end}", \
                    lambda how=("halves", mode, end): self.narrow(*how), mode != "pae"
        if self.tcg:
            yield "five levels", self.five_levels
            yield "stub of qemu-system-i386", self.stub_of_i386
            yield "16-bit code, real mode", lambda: self.sector("sector-real")
            yield "16-bit code, protected mode", lambda: self.sector("sector-protected")
            yield "32-bit boot code of a 64-bit image", self.boot_code


if __name__ == "__main__":
    points.main(Modes, seconds=2.5)
