#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests on QEMU's machines and with memory of several sizes, against their own truth.

usage: machines.py BUILD BACKEND ACCEL [--seconds S] [--only WORD] [--exits-apart]

With 3 GiB a PC's memory is split around the hole for PCI.  Firmware runs first on q35:
not for a KVM that emulates every instruction.
"""
import points
from conformance import Suite
from harness import check


class Machines(Suite):
    def one(self, machine, mib):
        self.whole_guest("shares", 1, machine=machine, memory=mib)

    def two(self):
        """At once, each by its own program, each with its own functions."""
        with self.guest("shares", machine="q35") as a, self.guest("demo") as b:
            a.wait("READY")
            b.wait("READY")
            for guest, own in ((a, "f60"), (b, "checksum")):
                self.us.record(guest, self.args.backend, *self.budget(), seconds=3)
                names = {f for path, _ in self.us.paths() for f in path}
                check(own in names and not {"f60", "checksum"} <= names,
                      f"{guest.name}: {sorted(names)}")
                check(a.goes_on() and b.goes_on(), "a guest does not go on")

    def points(self):
        for machine in ("microvm", "q35"):
            for mib in (64, 3072):
                yield f"{machine}, {mib} MiB", lambda m=machine, n=mib: self.one(m, n)
        yield "two machines", self.two


if __name__ == "__main__":
    points.main(Machines)
