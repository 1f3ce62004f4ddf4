#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `perf kvm --guest record` really writes, imported: names, shares against the guest's own
truth, intervals, the page, and a comparison of two.

usage: perf_kvm.py BUILD [--seconds S]

perf's clock (cpu-clock) needs no counters of the processor: an interrupt that comes while
KVM runs the guest is told as a sample of the guest.  perf takes no call chains of guests,
so each stack is one function.  Without /dev/kvm or perf it SKIPs.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from conformance import FewSamples, Suite, Z  # noqa: E402
from harness import Skip, check, note, patience, require, truth  # noqa: E402

PERIOD_NS = 2000000
LOOPS = ("f60", "f30", "f10")
ENOUGH = 100
# perf's clock goes on while the vCPU runs; the guest's while it waits for a host CPU, too, and
# that most behind an exit.  So the truth is a span: by all its ticks, and by those of the shortest
# call of each function, which no host interrupted.
CLOCK_POINTS = 3.0


class ByPerf(Suite):
    """Recordings are perf's: of the guest alone, and of the whole host."""

    def __init__(self, args):
        super().__init__(args)
        self.of_host = False

    def take(self, guest, seconds):
        """perf.data of that time."""
        data = self.us.data("perf.data")
        whom = ["-a"] if self.of_host else ["-p", str(guest.vm.pid)]
        done = patience.run(["perf", "kvm", "--guest", "record", "-e", "cpu-clock", "-c", str(PERIOD_NS),
                             "-o", data, *whom, "--", "sleep", str(seconds)], seconds + 120)
        check(done.returncode == 0, f"perf: {done.returncode} {done.stderr}")
        return data

    def record(self, guest, *more, seconds=None):
        """As conformance.Suite's; *more is of uniscope's recordings alone."""
        before = guest.wait_truth()
        data = self.take(guest, seconds or self.args.seconds)
        after = guest.wait_truth()
        told = self.us.run("import", "-o", self.us.data(), data).stdout
        note(f"{os.path.getsize(data)} bytes: {told.splitlines()[0]}")
        if self.args.keep:
            self.keep(guest, data, before, after)
        t = truth.merge([truth.difference(b, a) for b, a in zip(before, after)])
        return t, self.us.report("-e", guest.elf)["summary"]

    def keep(self, guest, data, before, after):
        shutil.copy(data, os.path.join(self.args.keep, "perf.data"))
        with open(os.path.join(self.args.keep, "serial"), "w") as f:
            f.write(guest.serial())
        note(f"kept: truth {[t.seq for t in before]} to {[t.seq for t in after]}")

    def sums_match(self, s):
        check(s["idle"] == 0, f"perf sees no idle: {s}")

    def look(self, guest):
        def look(t, stats):
            self.report = self.us.report("-e", guest.elf)
            self.loops(t, "perf kvm" + " -a" * self.of_host)
            self.vcpus(guest)
        return look

    def loops(self, t, label):
        """Their shares of each other."""
        got = {f["name"]: f for f in self.report["functions"] if f["name"] in LOOPS}
        n = sum(f["total"] for f in got.values())
        if n < ENOUGH or len(got) < len(LOOPS):
            raise FewSamples(n)
        ticks, steady = sum(t.fn[name].self for name in LOOPS), t.steady_shares(LOOPS)
        for name in LOOPS:
            truths = sorted((t.fn[name].self / ticks, steady[name]))
            share, low, high = got[name]["total"] / n, *got[name]["total_interval"]
            line = (f"{label} {name}: {100 * share:.1f} % of {n} samples, truth {100 * truths[0]:.1f} "
                    f"to {100 * truths[1]:.1f} %; of all {100 * low:.1f} to {100 * high:.1f} %")
            note(line)
            check(low < high, f"no interval: {line}")
            off = max(truths[0] - share, share - truths[1])
            check(off <= Z * (share * (1 - share) / n) ** 0.5 + CLOCK_POINTS / 100, "outside: " + line)

    def vcpus(self, guest):
        """By the names of QEMU's threads."""
        groups = {g["name"] for g in self.us.report("--group-by", "vcpu")["groups"]}
        check(groups == {f"vCPU {i}" for i in range(guest.smp)}, f"{groups}")

    def names_and_shares(self):
        with self.guest("shares", 1) as g:
            g.wait("READY", 240)
            self.compare(g, "shares", self.look(g))
            if not self.of_host:
                self.views(g)
            check(g.goes_on(), "the guest does not go on")

    def whole_host(self):
        self.of_host = True
        self.names_and_shares()

    def views(self, guest):
        """The same file as a page, and beside another one."""
        first, page = self.us.data("first.data"), self.us.data("page.html")
        shutil.copy(self.us.data(), first)
        self.us.run("report", "-e", guest.elf, "-o", page, first)
        with open(page) as f:
            check(re.search(r'"f60"', f.read()), "f60 is not in the page")
        self.record(guest)
        told = json.loads(self.us.run("diff", "--json", "-e", guest.elf, first, self.us.data()).stdout)
        # The loop is inlined into the three functions.
        loop = next((f for f in told["functions"] if f["name"] == "spin"), None)
        check(loop and loop["before"] > 0.5 and loop["after"] > 0.5, f"the loop: {loop}")
        note(f"diff: {told['says']}")

    def no_names(self):
        """Of a guest that nobody knows: addresses, and a word of why; the pid of another."""
        with self.guest("shares", 2) as g:
            g.wait("READY", 240)
            data = self.take(g, 4)
            self.us.run("import", "-o", self.us.data(), data)
            self.vcpus(g)
            report = self.us.report()
            check(any("no names: perf knew no image" in w for w in report["warnings"]), f"{report['warnings']}")
            check(not any(f["known"] for f in report["functions"]), "names from nowhere")
            done = self.us.run("import", "--pid", "1", "-o", self.us.data(), data, good=(1,))
            check("no samples of a guest" in done.stderr, done.stderr)

    def points(self):
        yield "a guest", self.names_and_shares
        yield "all of the host", self.whole_host
        yield "no names", self.no_names


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--keep", help="a folder for a file and what the guest said")
    p.set_defaults(backend="perf", accel="kvm", processor="x86_64", exits_apart=True, short=False)
    args = p.parse_args()
    try:
        require("kvm")
        if not shutil.which("perf"):
            raise Skip("perf is not installed")
        with tempfile.TemporaryFile() as nothing:
            if subprocess.run(["perf", "record", "-e", "cpu-clock", "-o", "/dev/null", "true"],
                              stdout=nothing, stderr=nothing, check=False).returncode:
                raise Skip("perf may not record here")
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tests = ByPerf(args)
    for name, function in tests.points():
        tests.tap.point(f"perf kvm: {name}", function)
    tests.tap.end()


if __name__ == "__main__":
    main()
