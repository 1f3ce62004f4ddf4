#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""User programs of a Linux guest, in several languages, against their own truth.

usage: test_programs.py BUILD [--only WORD] [--short] [--seconds S]

Each is the busy program of a guest that nobody prepared for us.  Every sampled stack
must be one of its call paths, whole to its first function; the shares of its loops and
their lines must be what it says itself.
"""
import base64
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

from begin import options, or_skip
from guest import LinuxGuest, vmlinux_elf
from harness import Skip, Tap, Uniscope, check, note, require, truth
from programs import (GO_BARE, NARROW, NARROW_PATHS, OTHER, OTHER_NO_ID, PROGRAMS, SAME,
                      SAME_NO_ID)
from recording import Recording

Z = 3.29
TCG_POINTS = 6.0  # what TCG shifts, and what the guest's own work takes
# In the short run not by themselves: another compiler, another link, another DWARF of a
# language that is there; c-clang is the other one of the two at the same addresses.
NOT_SHORT = ("c-clang", "c-pie", "fpc-g", "go")
MODEL = ("max", 1)
ENOUGH = 200  # samples in the program
FOUND = 0.15  # of a recording: until it is known where a program lies
APART = 0.5  # beside those of the program: of its language's own threads
# Functions of the truth that only compute: their shares of each other are compared.
LOOPS = ("f60", "f30", "f10", "calls_leaf", "callsleaf", "dive")


class ProgramStacks:
    """The stacks of one recording that are in a program, and those that are in the
    kernel on its behalf (joined): the program's part of each, outermost first."""

    def __init__(self, report, program, module):
        functions = {f["id"]: f for f in report["functions"]}
        self.program, self.rows, self.joined = program, [], []
        paths = {0: []}
        for node in report["tree"]:
            f = functions[node["function"]]
            mine = f["module"] == module and not f["inlined"]
            path = paths[node["parent"]] + [f["name"] if mine else None]
            paths[node["id"]] = path
            if node["self"] and f["module"] == module:
                self.rows.append((self.names(path), node["self"]))
            elif node["self"] and self.names(path):
                self.joined.append((self.names(path), node["self"]))

    @staticmethod
    def names(path):
        return [name for name in path if name]

    def labels(self, path, known):
        labels = (self.program.label(name) for name in path)
        return tuple(label for label in labels if label in known)

    def judge(self, tree, rows):
        """(all, whole, cut, {wrong path: samples})."""
        known = {name for path in tree for name in path}
        n = whole = cut = apart = 0
        wrong = {}
        for path, count in rows:
            labels = self.labels(path, known)
            if not labels and path[0] in self.program.apart:
                apart += count
                continue
            n += count
            if labels in tree:
                whole += count * (path[0] == self.program.root)
                cut += count * (path[0] != self.program.root)
            elif not labels or any(t[-len(labels):] == labels for t in tree):
                begins = not labels and path[0] == self.program.root
                whole += count * begins  # before main
                cut += count * (not begins)
            elif any(name.startswith("_Unwind_") for name in path):
                cut += count  # an unwinder writes over return addresses
            else:
                wrong[tuple(path)] = wrong.get(tuple(path), 0) + count
        if apart:
            note(f"{self.program.name}: {apart} besides in its runtime's own threads")
            check(apart <= 5 + APART * n, f"{apart} beside {n} are not the program's")
        return n, whole, cut, wrong

    def cut_paths(self, rows):
        cut = [row for row in rows if row[0][0] != self.program.root]
        return sorted(cut, key=lambda row: -row[1])

    def shares(self, tree, of):
        """{name: samples} by the innermost function that the truth has timed."""
        known = {name for path in tree for name in path}
        got = {}
        for path, count in self.rows:
            labels = self.labels(path, known)
            owner = next((f for f in reversed(labels) if f in of), None)
            got[owner] = got.get(owner, 0) + count
        return got


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.built, self.guest = {}, None

    def build(self):
        for program in [*PROGRAMS, GO_BARE, NARROW, SAME, OTHER, SAME_NO_ID, OTHER_NO_ID]:
            try:
                self.built[program.name] = program.build(self.args.build)
            except Skip as why:
                self.built[program.name] = why

    def file(self, program):
        file = self.built[program.name]
        if isinstance(file, Skip):
            raise file
        return file

    def truth(self, since):
        """The program's last word, and its tree, in the log after that place."""
        boots = truth.parse(self.guest.serial()[since:])
        return (boots[-1].last(0), boots[-1].tree) if boots else (None, None)

    def wait_truth(self, since, after=0):
        self.guest.wait_for(lambda: (t := self.truth(since)[0]) and t.seq > after)
        return self.truth(since)

    def record(self, program, elf, seconds=None):
        """Run it alone and record it: (truth of that time, its tree, report, figures)."""
        since = len(self.guest.serial())
        pid = self.guest.start(program.name)
        try:
            before, tree = self.wait_truth(since)
            self.guest.elf = elf
            stats = self.us.record(self.guest, "gdb", "--budget", "50",
                                   seconds=seconds or self.args.seconds)
            now, _ = self.truth(since)
            after, _ = self.wait_truth(since, now.seq)
        finally:
            self.guest.stop(pid)
        return truth.difference(before, after), tree, self.report(program), stats

    def report(self, program):
        """A file that lies elsewhere each time has to be found and compared first: from
        the first whole stack on, which has to come before long."""
        if not program.moves():
            return self.us.report()
        user = [s for s in Recording(self.us.data()).samples
                if s.frames and not s.frames[0].is_kernel()]
        first = next((i for i, s in enumerate(user) if s.whole()), len(user))
        note(f"{program.name}: found after {first} of {len(user)} samples in programs")
        check(first <= FOUND * len(user), "found late, or not at all")
        return self.us.report("--time", f"{user[first].t:.6f}s,")

    def record_enough(self, program, named=True):
        """As record(); on a busy host for longer.  named: its file is."""
        file = self.file(program)
        module = program.name if named else "/bin/" + program.name
        for seconds in (1, 2, 4, 8):
            got = self.record(program, file if named else None, seconds * self.args.seconds)
            stacks = ProgramStacks(got[2], program, module)
            if sum(count for _, count in stacks.rows) >= ENOUGH:
                break
        return stacks, *got

    def profile(self, program):
        """Wrong stacks, names and lines are never excused; figures that are off are
        compared again: a busy host does not repeat itself, a bias does."""
        for left in (2, 1, 0):
            stacks, t, tree, report, _ = self.record_enough(program)
            self.stacks(program, stacks, tree)
            self.names(program, report)
            self.lines(program, report)
            try:
                self.shares(program, stacks, t, tree)
                return
            except AssertionError as err:
                if not left:
                    raise
                note(f"{program.name}: once more after: {err}")

    def stacks(self, program, stacks, tree, cut_below=0.02):
        n, whole, cut, wrong = stacks.judge(tree, stacks.rows)
        note(f"{program.name}: {n} samples in it, {whole} whole, {cut} cut, "
             f"{sum(wrong.values())} wrong")
        for path, count in sorted(wrong.items(), key=lambda w: -w[1])[:5]:
            note(f"wrong {count}: {';'.join(path)}")
        for path, count in stacks.cut_paths(stacks.rows)[:5]:
            note(f"cut {count}: {';'.join(path)}")
        check(n >= ENOUGH, f"only {n} samples in the program")
        check(not wrong, "wrong stacks")
        check(cut <= 3 + 0.01 * n, f"only {whole} of {n} stacks are whole")

        n, whole, cut, wrong = stacks.judge(tree, stacks.joined)
        note(f"{program.name}: {n} more in the kernel, below it, {whole} whole, {cut} cut")
        for path, count in stacks.cut_paths(stacks.joined)[:5]:
            note(f"cut below the kernel {count}: {';'.join(path)}")
        check(not wrong, f"wrong below the kernel: {wrong}")
        check(n > 0 and cut <= 5 + cut_below * n, f"only {whole} of {n} are whole there")

    def from_memory(self, program):
        """Nobody names its file: by the table that it has in memory."""
        stacks, _, tree, report, _ = self.record_enough(program, named=False)
        self.stacks(program, stacks, tree)
        self.names(program, report)

    def bare(self, program):
        """The file, which has no symbols but that table."""
        stacks, _, tree, report, _ = self.record_enough(program)
        self.stacks(program, stacks, tree)
        self.names(program, report)
        self.exports({f["name"] for f in report["functions"] if f["self"] and
                      f["module"] == program.name})

    def exports(self, names):
        """All of them, with their brackets, dots and slashes."""
        check(any(re.fullmatch(r"main\.\(\*Box\[.*\]\)\.f30", n) for n in names) and
              any("/" in n for n in names), names)
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            path = {s: os.path.join(folder, "x" + s) for s in
                    (".folded", ".speedscope.json", ".pb.gz", ".callgrind", ".json.gz", ".html")}
            for out in path.values():
                self.us.run("report", "--no-code", "-o", out, self.us.data())
            with open(path[".folded"]) as f:
                folded = {w for line in f for w in line.rpartition(" ")[0].split(";")}
            check(names <= folded, names - folded)
            with open(path[".speedscope.json"]) as f:
                frames = {f["name"] for f in json.load(f)["shared"]["frames"]}
            check(names <= frames, names - frames)
            for suffix in (".pb.gz", ".json.gz"):
                with gzip.open(path[suffix]) as f:
                    text = f.read()
                lacks = [n for n in names if n.encode() not in text]
                check(not lacks, f"{suffix} lacks {lacks}")
            with open(path[".callgrind"]) as f:
                text = f.read()
            check(all(n in text for n in names), "callgrind lacks some")
            with open(path[".html"]) as f:
                data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', f.read(), re.S)[1])
            if "gzip" in data:
                data = json.loads(gzip.decompress(base64.b64decode(data["gzip"])))
            check(names <= set(data["func"]["name"]), names - set(data["func"]["name"]))

    def names(self, program, report):
        seen = {f["name"] for f in report["functions"]}
        check(seen >= set(program.names), f"no {set(program.names) - seen}")

    def shares(self, program, stacks, t, tree):
        loops = [f for f in LOOPS if f in t.fn]
        ticks = sum(t.fn[f].self for f in loops)
        got = stacks.shares(tree, t.fn)
        n = sum(got.get(f, 0) for f in loops)
        for f in loops:
            share, real = 100 * got.get(f, 0) / n, 100 * t.fn[f].self / ticks
            bound = 100 * Z * (real / 100 * (1 - real / 100) / n) ** 0.5 + TCG_POINTS
            line = f"{program.name} {f}: {share:.1f} %, truth {real:.1f} %"
            note(line)
            check(abs(share - real) <= bound, "outside: " + line)

    def lines(self, program, report):
        """Where the program counter was, and where what is inlined was called."""
        marks, n = program.marked_lines(), 0
        functions = {f["id"]: f for f in report["functions"]}
        rows = [(r["function"], r["file"], r["line"], r["self"]) for r in report["lines"]]
        for node in report["tree"]:
            f = functions[node["function"]]
            if f["module"] == program.name and not f["inlined"]:
                rows.append((f["name"], f["file"], node["line"], node["total"]))
        for name, file, line, count in rows:
            label = name and program.label(name)
            if label not in marks or not file or not line:
                continue
            source, first, last = marks[label]
            n += count
            check(file.endswith(source) and first <= line <= last,
                  f"{name} at {file}:{line}, not {source}:{first}-{last}")
        note(f"{program.name}: {n} samples with their right lines")
        check(n >= 50, "hardly any lines")

    def refused(self, program, elf):
        """Another file's symbols: said so, and not one name of it is used."""
        _, _, report, _ = self.record(program, elf, seconds=2)
        names = [f["name"] for f in report["functions"]
                 if f["known"] and f["module"] == os.path.basename(elf)]
        note("; ".join(w for w in report["warnings"] if "differs" in w or "no names" in w))
        check(not names, f"named by the wrong file: {names[:10]}")
        check(report["modules"][0]["match"] != "yes", "the wrong file is taken for right")

    def stripped(self):
        """Without symbols, and none beside it: addresses, and the stacks as whole as with
        them."""
        folder = tempfile.TemporaryDirectory(prefix="uniscope-")
        bare = os.path.join(folder.name, "stripped")
        subprocess.run(["strip", "-o", bare, self.file(SAME)], check=True)
        for seconds in (3, 6, 12):
            _, _, report, _ = self.record(SAME, bare, seconds)
            user = [s for s in Recording(self.us.data()).samples
                    if s.frames and not s.frames[0].is_kernel()]
            if len(user) >= ENOUGH:
                break
        names = [f["name"] for f in report["functions"]
                 if f["known"] and f["module"] == "stripped"]
        check(not names, f"names from nowhere: {names[:10]}")
        whole = sum(s.whole() for s in user)
        note(f"stripped: {whole} of {len(user)} stacks are whole")
        check(len(user) >= ENOUGH and whole >= 0.99 * len(user), "stacks are cut")

    def two_programs(self, program, other):
        """At the same addresses, by turns on one vCPU: only the right one is named."""
        self.file(other)
        pid = int(self.guest.do(f"{other.name} >/dev/null & echo $!"))
        try:
            stacks, _, tree, _, stats = self.record_enough(program)
        finally:
            self.guest.stop(pid)
        # Between the two, address space and stack are not of the same program: 0.7 %.
        self.stacks(program, stacks, tree, cut_below=0.05)
        n = sum(count for _, count in stacks.rows)
        note(f"{n} of {stats['running']} samples in {program.name}, which had half")
        check(n <= 0.75 * stats["running"], "the other program's samples are counted")

    def narrow(self):
        """A 32-bit program: below the 64-bit kernel its stack has words of 4 bytes."""
        tree = {path[:n] for path in NARROW_PATHS for n in range(1, len(path) + 1)}
        elf = self.file(NARROW)
        pid = self.guest.start(NARROW.name)
        try:
            for seconds in (1, 2, 4, 8):
                self.guest.elf = elf
                self.us.record(self.guest, "gdb", "--budget", "50",
                               seconds=seconds * self.args.seconds)
                report = self.us.report()
                stacks = ProgramStacks(report, NARROW, NARROW.name)
                if min(sum(count for _, count in rows)
                       for rows in (stacks.rows, stacks.joined)) >= ENOUGH:
                    break
        finally:
            self.guest.stop(pid)
        self.stacks(NARROW, stacks, tree)
        self.names(NARROW, report)

    def wrong_files(self):
        cases = [("another program's file", SAME, PROGRAMS[-1]),
                 ("another build's file", SAME, OTHER),
                 ("another build's file, no build-id", SAME_NO_ID, OTHER_NO_ID)]
        for name, runs, given in cases:
            if self.args.only in name:
                self.tap.point(name, lambda r=runs, g=given:
                               self.refused(r, self.file(g)))
        if self.args.only in "stripped file":
            self.tap.point("stripped file", self.stripped)

    def run(self):
        self.build()
        ready = {name: f for name, f in self.built.items() if isinstance(f, str)}
        cpu, smp = MODEL
        with LinuxGuest(self.args.build, cpu=cpu, smp=smp, programs=ready) as guest:
            self.guest = guest
            guest.wait("READY")
            for program in PROGRAMS:
                if self.args.short and program.name in NOT_SHORT:
                    continue
                if self.args.only in program.name:
                    self.tap.point(f"{program.name}: stacks, shares, lines",
                                   lambda p=program: self.profile(p))
            if self.args.only in "Go, stripped, from memory":
                self.tap.point("Go, stripped, from memory",
                               lambda: self.from_memory(GO_BARE))
            if self.args.only in "Go, stripped" and not self.args.short:
                self.tap.point("Go, stripped", lambda: self.bare(GO_BARE))
            if self.args.only in "32-bit program":
                self.tap.point("32-bit program", self.narrow)
            self.wrong_files()
            if self.args.only in "two programs at the same addresses":
                self.tap.point("two programs at the same addresses", lambda:
                               self.two_programs(PROGRAMS[0], PROGRAMS[1]))
        self.tap.end()


def main():
    args = options(only="", short=False, seconds=3.0).parse_args()
    with or_skip():
        require("tcg")
        vmlinux_elf(args.build)
    Suite(args).run()


if __name__ == "__main__":
    main()
