#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One emulated guest, looked at in three ways: what was counted, what the stub's samples
say, and what the plugin's say.

usage: ways.py BUILD [--seconds S] [--kvm]

With --kvm, what was counted under TCG beside samples of the same image under KVM, which are of
time: its functions have one loop, so that an instruction costs the same in each.

What the plugin counts is exact; samples must be so within their 95 % intervals for the
long run, widened to 99.9 % as many are compared, and half a point for the ends of the
span.  A comparison that fails is made again, twice at most, and longer: chance does not
repeat itself, a bias does.
"""
import argparse
import json
import os
import shutil
import subprocess
import time

from conformance import CLOCK_POINTS, Z, wilson
from harness import Skip, Tap, Uniscope, check, note, patience, require_way, start


class Counts:
    """What the guest's QEMU has counted until now, by function."""

    def __init__(self, us, guest):
        out = us.data("counts.data")
        us.run("count", "--attach", os.path.join(guest.dir.name, "counts"),
               "-e", guest.elf, "-o", out)
        report = us.report_of(out)
        self.of = {f["name"]: f["total"] for f in report["functions"]}

    def shares_since(self, before, functions):
        spent = {f: self.of.get(f, 0) - before.of.get(f, 0) for f in functions}
        return {f: n / sum(spent.values()) for f, n in spent.items()}


class Program(Uniscope):
    def report_of(self, out, *args):
        return json.loads(self.run("report", "--json", *args, out).stdout)

    def shares(self, guest, backend, functions, seconds):
        """{function: (share, half its 95 % interval)} of the time in these."""
        budget = [] if backend == "plugin" else ["--budget", "50"]
        self.record_enough(guest, backend, *budget, seconds=seconds, enough=100)
        report = self.report("--focus", "^(" + "|".join(functions) + ")$")
        running = report["summary"]["running"]
        told = {}
        for f in report["functions"]:
            if f["name"] in functions:
                low, high = f["total_long_run"]
                told[f["name"]] = (f["total"] / running, (high - low) / 2)
        return told


class Suite:
    def __init__(self, args):
        self.args, self.us, self.tap = args, Program(args.build), Tap()

    def again(self, look):
        """look(seconds), longer each time."""
        for times in (1, 2, 4):
            try:
                return look(times * self.args.seconds)
            except AssertionError as err:
                if times == 4:
                    raise
                note(f"once more after: {err}")

    def agree(self, name, label, functions, one, other, points=0):
        """{function: (share, half an interval)}, twice."""
        for f in functions:
            (a, half_a), (b, half_b) = one[f], other[f]
            bound = 100 * (half_a ** 2 + half_b ** 2) ** 0.5 * Z / 1.96
            line = (f"{name} {f}: {label}: {100 * a:.2f} % and {100 * b:.2f} %, "
                    f"+-{bound:.2f}")
            note(line)
            check(100 * abs(a - b) <= bound + CLOCK_POINTS + points, line)

    def three(self, name, functions, with_gdb=True, points=0):
        """points: by which shares of the time and of the instructions may differ."""
        def look(seconds):
            with start(self.args.build, name, "tcg", plugin=True) as g:
                g.wait("READY")
                before = Counts(self.us, g)
                plugin = self.us.shares(g, "plugin", functions, seconds)
                after = Counts(self.us, g)
                counted = {f: (s, 0) for f, s in
                           after.shares_since(before, functions).items()}
                self.agree(name, "plugin and count", functions, plugin, counted, points)
                if with_gdb:
                    gdb = self.us.shares(g, "gdb", functions, seconds)
                    self.agree(name, "plugin and gdb", functions, plugin, gdb)
                check(g.goes_on(), "the guest does not go on")
        self.again(look)

    def polls(self):
        """Samples that gather behind ask_device are missing in between(), which calls nothing
        and has a tenth of the three.  How much of the time ask_device itself takes is the
        host's affair, and no matter of its instructions: it is left out of both."""
        # Each of the three has a copy of the loop.  One may be a tenth slower than the
        # others, and that is two points of f60.
        self.three("polls", ("f60", "f30", "between"), with_gdb=False, points=2)

    def able(self):
        """The backends that can look at a guest under KVM here."""
        found, said = [], []
        for backend in ("kvm", "bpf"):
            try:
                require_way(argparse.Namespace(build=self.args.build, backend=backend,
                                               accel="kvm"))
                found.append(backend)
            except Skip as why:
                said.append(f"{backend}: {why}")
        if not found:
            raise Skip("; ".join(said))
        return found

    def with_kvm(self, name, functions):
        """The long run of one guest, and of another that does the same."""
        backends = self.able()

        def look(seconds):
            with start(self.args.build, name, "tcg", plugin=True) as g:
                g.wait("READY")
                before = Counts(self.us, g)
                time.sleep(seconds)
                counted = {f: (s, 0) for f, s in
                           Counts(self.us, g).shares_since(before, functions).items()}
            with start(self.args.build, name, "kvm") as g:
                g.wait("READY")
                for backend in backends:
                    sampled = self.us.shares(g, backend, functions, seconds)
                    self.agree(name, f"{backend} and count", functions, sampled, counted)
                check(g.goes_on(), "the guest does not go on")
        self.again(look)

    def share_of_caller(self, seconds):
        """(samples, lowest share that the caller may have, what was seen), in percent."""
        with start(self.args.build, "leaf", "tcg", plugin=True) as g:
            g.wait("READY")
            self.us.record(g, "plugin", seconds=seconds)
        report = self.us.report("--focus", "^(stage_long|leaf_long)$")
        of = {f["name"]: f for f in report["functions"]}
        caller, callee = (of[name]["self"] if name in of else 0
                          for name in ("stage_long", "leaf_long"))
        if not caller + callee:
            return 0, 0, "no samples"
        centre, half = wilson(caller, caller + callee)
        if caller:
            low, high = of["stage_long"]["self_long_run"]
            half = max(half, 50 * (high - low) * Z / 1.96)
        line = (f"leaf_long {callee}, its caller {caller} samples: {centre:.1f} %, "
                f"+-{half:.1f}")
        note(f"{line}, in {seconds:.0f} s")
        return caller + callee, centre - half, line

    def callers(self):
        """leaf_long is a loop of 64 rounds, its caller one of three instructions around
        it, and the plugin's work: a tenth of the time, and not more than a sixth.  By
        stops a larger part is the caller's, for they fall on the start of the block that
        follows.  A busy host gives few samples: then longer."""
        seconds = 2 * self.args.seconds
        for _ in range(4):
            n, low, line = self.share_of_caller(seconds)
            if n >= 50 and low <= 100 / 6:
                return
            seconds = min(max(2, 75 / max(n, 1)) * seconds, 60)
        if n < 50:
            raise Skip(f"the host is too busy: {line}")
        raise AssertionError(f"the caller has too much: {line}")

    # ---- Which backend it is, and why ----

    def launched(self, elf, *options, qemu="qemu-system-x86_64", before=(), seconds=1):
        """Recorded from its start; what was said, and by what backend."""
        log = self.us.data("serial")
        command = [qemu, "-display", "none", "-net", "none", "-serial", "file:" + log,
                   *options]
        done = patience.run([self.us.program, "record", "-d", str(seconds), "-o",
                             self.us.data(),
                             *before, "--", *command, "-kernel", elf], 120)
        check(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
        facts = self.us.report()["facts"]
        said = " ".join(done.stderr.split())
        note(said[:300])
        return said, facts["backend"]

    def elf(self, name="shares.elf"):
        path = os.path.join(self.args.build, "tests/guests", name)
        if not os.path.exists(path):
            raise Skip(f"{path} is not built")
        return path

    def is_default(self):
        for seconds in (2, 8, 32):  # it boots in that time, too
            said, backend = self.launched(self.elf(), seconds=seconds)
            check(backend == "plugin" and "by plugin" in said, said)
            names = {f["name"] for f in self.us.report()["functions"]}
            if {"f60", "f30", "f10"} <= names:
                break
        check({"f60", "f30", "f10"} <= names, f"{names}")
        said, backend = self.launched(self.elf(), before=["--backend", "gdb"])
        check(backend == "gdb" and "plugin" not in said.replace("uniscope-plugin", ""), said)

    def falls_back(self):
        stripped = self.us.data("stripped.elf")
        if not shutil.which("strip"):
            raise Skip("strip is not installed")
        subprocess.run(["strip", "-o", stripped, self.elf()], check=True)
        said, backend = self.launched(stripped)
        check(backend == "gdb" and "no symbols of the guest are known" in said, said)

    def is_refused(self):
        """By a QEMU that does not load it: then it is started without."""
        other = os.path.join(self.us.dir.name, "qemu-system-x86_64")
        with open(other, "w") as f:
            f.write('#!/bin/sh\ncase "$*" in *uniscope-plugin*) exit 1;; esac\n'
                    'exec qemu-system-x86_64 "$@"\n')
        os.chmod(other, 0o755)
        said, backend = self.launched(self.elf(), qemu=other)
        check(backend == "gdb" and "did not start with it" in said, said)

    def takes_none(self):
        """A program of which it is seen that it takes no plugins is not tried with one."""
        other = os.path.join(self.us.dir.name, "qemu-system-none")
        shutil.copy("/bin/true", other)
        done = self.us.run("record", "--backend", "plugin", "--", other, good=(1,))
        check("takes no plugins" in done.stderr, done.stderr)

    def run(self):
        point = self.tap.point
        if self.args.kvm:
            point("shares: count, and samples under KVM, agree",
                  lambda: self.with_kvm("shares-1ms", ("f60", "f30", "f10")))
            self.tap.end()
            return
        point("shares: count, gdb and plugin agree",
              lambda: self.three("shares-1ms", ("f60", "f30", "f10")))
        point("polls: samples do not gather behind a device", self.polls)
        point("leaf: callers do not get their callees' time", self.callers)
        point("record -- QEMU has it by default", self.is_default)
        point("without symbols it is another, and why", self.falls_back)
        point("QEMU may refuse it", self.is_refused)
        point("QEMU may take none", self.takes_none)
        self.tap.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--kvm", action="store_true")
    Suite(parser.parse_args()).run()


if __name__ == "__main__":
    main()
