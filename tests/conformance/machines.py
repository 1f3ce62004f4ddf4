#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests on QEMU's machines and with memory of several sizes, against their own truth.

usage: machines.py BUILD BACKEND ACCEL [--seconds S] [--only WORD] [--exits-apart]

With 3 GiB a PC's memory is split around the hole for PCI.  Firmware runs first on q35:
not for a KVM that emulates every instruction.
"""
import argparse

from conformance import Suite
from harness import Skip, check, require


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

    def run(self):
        for machine in ("microvm", "q35"):
            for mib in (64, 3072):
                name = f"{machine}, {mib} MiB"
                if self.args.only in name:
                    self.tap.point(f"{self.args.backend} {self.args.accel}: {name}",
                                   lambda m=machine, n=mib: self.one(m, n))
        if self.args.only in "two machines":
            self.tap.point(f"{self.args.backend} {self.args.accel}: two machines", self.two)
        self.tap.end()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("backend")
    p.add_argument("accel")
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--only", default="")
    p.add_argument("--exits-apart", action="store_true")
    args = p.parse_args()
    try:
        require(args.accel)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    Machines(args).run()


if __name__ == "__main__":
    main()
