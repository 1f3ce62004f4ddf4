#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a Linux guest's program that nobody names, built without frame pointers and
stripped: how many are whole, by the call frame information that it has in its memory.

usage: test_frames.py BUILD [KERNEL] [--seconds S]
       test_frames.py BUILD --make FOLDER
       test_frames.py BUILD --made FOLDER --backend B --accel A

KERNEL: SUITE[:PROCESSOR] of Debian, as for test_mapped.py.  On a host without a compiler,
the program is one that was made before, and the information alone that it has in its memory
is looked at.

The program is 20 calls of its own deep, with the C library's between them, whenever it
works; once as it is, and once without that information: then a file of the host's has it,
or the code alone has to do.
On aarch64, for whose C library no compiler may be here, it is 40 deep and of its own
alone.  A whole stack ends in the program's _start and has each of these calls once.
"""
import os
import shutil
import struct
import subprocess
import tempfile
from collections import Counter

import releases
from begin import asked_kernel, options, or_skip
from guest import LinuxGuest
from harness import Skip, Tap, Uniscope, check, note, require_way
from recording import Recording
from test_mapped import TOOLS

HERE = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 300
# Of samples in the program, once it was seen: what comes before is told apart.  On aarch64
# not between the instructions that keep the program's stack pointer.
WHOLE = {"x86_64": 0.95, "aarch64": 0.93}
FLAGS = ["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
         "-fasynchronous-unwind-tables"]
ALONE = ["-static", "-nostdlib", "-fno-pie", "-no-pie"]


class Program:
    """Of Debian's C compiler, with the C library that it was linked to, if any."""

    def __init__(self, processor, folder):
        self.tools, self.loader, self.libc = TOOLS[processor]
        self.alone = processor != "x86_64"
        self.depth, source = (40, "deep.c") if self.alone else (20, "frames.c")
        if not shutil.which(self.tools + "gcc"):
            raise Skip(f"no {self.tools}gcc")
        whole, self.bare, self.without = (os.path.join(folder, n)
                                          for n in ("whole", "frames", "frames-without"))
        done = subprocess.run([self.tools + "gcc", *FLAGS, *(ALONE if self.alone else ()),
                               os.path.join(HERE, "programs", source), "-Wl,--build-id=sha1",
                               "-o", whole], capture_output=True,
                              text=True)
        if done.returncode:
            raise Skip(f"{self.tools}gcc: {done.stderr.strip()[-200:]}")
        subprocess.run([self.tools + "strip", "-o", self.bare, whole], check=True)
        subprocess.run([self.tools + "objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr",
                        self.bare, self.without], check=True)
        self.dive = self._function(whole, "dive")
        with open(os.path.join(folder, "frames.dive"), "w") as f:
            f.write("%#x %#x\n" % self.dive)
        # As a folder of the guest's files, and one of files by any name; of others too.
        self.root, self.files, self.wrong, self.many = (
            os.path.join(folder, n) for n in ("root", "files", "wrong", "many"))
        for path, file in ((f"{self.root}/bin/frames-without", self.bare),
                           (f"{self.files}/deep/anything", self.bare),
                           (f"{self.wrong}/bin/frames-without", "/bin/true"),
                           (f"{self.many}/7/anything", self.bare)):
            os.makedirs(os.path.dirname(path))
            shutil.copy(file, path)
        make_others(self.many)

    @classmethod
    def made(cls, folder):
        """Of a folder in which it was made, for this processor: as it is, alone."""
        self = cls.__new__(cls)
        self.tools, self.loader, self.libc = TOOLS["x86_64"]
        self.alone, self.depth = False, 20
        self.bare = self.without = os.path.join(folder, "frames")
        with open(os.path.join(folder, "frames.dive")) as f:
            self.dive = tuple(int(word, 16) for word in f.read().split())
        return self

    def _function(self, path, name):
        """(start, end)"""
        told = subprocess.run([self.tools + "nm", "-S", path], capture_output=True,
                              text=True, check=True).stdout
        start, size = next(line.split()[:2] for line in told.splitlines()
                           if line.split()[-1] == name)
        return int(start, 16), int(start, 16) + int(size, 16)

    def in_guest(self):
        if self.alone:
            return {}
        loader = "/lib64/" if not self.tools else "/lib/"
        return {loader + os.path.basename(self.loader): self.loader,
                "/lib/libc.so.6": self.libc}


def make_others(folder):
    """ELF files that are nothing but build-ids."""
    head = (b"\x7fELF\2\1\1" + bytes(9) +
            struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0) +
            struct.pack("<IIQQQQQQ", 4, 4, 120, 120, 120, 36, 36, 4) +
            struct.pack("<III4s", 4, 20, 3, b"GNU\0"))
    for n in range(2000):
        os.makedirs(f"{folder}/{n // 100}", exist_ok=True)
        with open(f"{folder}/{n // 100}/{n}", "wb") as f:
            f.write(head + n.to_bytes(20, "big"))


class Stacks:
    """Those of one process, by where its files are mapped."""

    def __init__(self, recording, pid, maps, program):
        self.recording, self.program = recording, program
        mine = [m for m in maps if m.path.startswith("/bin/frames")]
        self.base = 0 if program.alone else next(m.start for m in mine if not m.offset)
        self.own = [m for m in mine if "x" in m.flags]
        roots = {m.root for m in recording.mapped if m.pid == pid}
        self.roots = roots | {root ^ 0x1000 for root in roots}

    def dives(self, sample):
        start, end = (self.base + at for at in self.program.dive)
        return sum(start <= f.call() < end for f in sample.frames)

    def judge(self, sample):
        """whole, shallow (whole, of less calls: now and then it is on its way down or up),
        cut, or why it is wrong"""
        dives = self.dives(sample)
        if dives > self.program.depth:
            return "too deep"
        if not sample.whole():
            return "cut"
        outermost = sample.frames[-1]
        if not any(m.start <= outermost.pc < m.end for m in self.own):
            return "ends elsewhere"
        return "whole" if dives == self.program.depth else "shallow"

    def all(self):
        """[(seconds, verdict, in the kernel)]"""
        rows = []
        for s in self.recording.samples:
            if (s.root & ~0xfff) in self.roots and any(f.user for f in s.frames):
                rows.append((s.t, self.judge(s), s.frames[0].is_kernel()))
        return rows


def take(us, args, guest, program, name, *options):
    """[(seconds, verdict, in the kernel)] of the program while it is recorded."""
    # A host that is emulated gives few samples; and by kvm a thread that waits for a host
    # CPU has none.
    budget, most = ("30", 16) if args.backend == "kvm" else ("50", 8 if args.made else 4)
    pid = guest.start(name)
    try:
        maps = []
        for longer in (n for n in (1, 2, 4, 8, 16) if n <= most):
            us.record(guest, args.backend, "--budget", budget, *options,
                      seconds=longer * args.seconds)
            maps = maps or guest.maps(pid)
            rows = Stacks(Recording(us.data()), pid, maps, program).all()
            if len(rows) >= ENOUGH:
                break
    finally:
        guest.stop(pid)
    check(len(rows) >= ENOUGH, f"only {len(rows)} samples in the program")
    return rows


def are_whole(rows, enough):
    verdicts = Counter(v for _, v, _ in rows)
    first = min((t for t, v, _ in rows if v == "whole"), default=None)
    check(first is not None, f"no stack is whole: {verdicts}")
    for place, where in (("in the program", False), ("in the kernel", True)):
        part = Counter(v for t, v, kernel in rows if kernel == where and t >= first)
        note(f"{place}: {dict(part)}")
    later = Counter(v for t, v, _ in rows if t >= first)
    n, whole = sum(later.values()), later["whole"]
    note(f"the first whole stack is of {first:.2f} s; of {len(rows)} samples "
         f"{100 * verdicts['whole'] / len(rows):.1f} % are whole, of the {n} from there on "
         f"{100 * whole / n:.1f} %")
    check(not later["too deep"] and not later["ends elsewhere"], f"wrong stacks: {later}")
    check(later["shallow"] <= 0.02 * n, f"calls are missing in stacks: {later}")
    check(n >= ENOUGH / 2 and whole >= enough * n, f"{whole} of {n} are whole: {later}")


def are_right(rows, _):
    """By the code alone: whole or cut, and none is wrong."""
    verdicts = Counter(v for _, v, _ in rows)
    note(f"{dict(verdicts)}")
    right = verdicts["whole"] + verdicts["cut"]
    check(right + verdicts["shallow"] == len(rows), f"wrong stacks: {verdicts}")
    check(right >= 0.98 * len(rows), f"calls are missing in stacks: {verdicts}")


def points(program, made):
    """(program, how it is judged, where its rules are, options...)"""
    yield "frames", are_whole, "from the guest's memory"
    if made:
        return
    yield "frames-without", are_right, "from nowhere"
    yield "frames-without", are_whole, "the guest's files", "--root", program.root
    yield "frames-without", are_whole, "by build-id", "--symbols", program.files
    yield "frames-without", are_whole, "among many files", "--symbols", program.many
    yield "frames-without", are_right, "another build", "--root", program.wrong


def main():
    args = options(kernel="", seconds=6.0, make="", made="", backend="gdb",
                   accel="tcg").parse_args()
    if args.make:
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            Program("x86_64", folder)
            for name in ("frames", "frames.dive"):
                shutil.copy(os.path.join(folder, name), args.make)
        return
    suite, args.processor = asked_kernel(args)
    with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
        with or_skip():
            require_way(args)
            program = (Program.made(args.made) if args.made
                       else Program(args.processor, folder))
            guest = LinuxGuest(args.build, smp=1 if args.made else 2, memory=512, accel=args.accel,
                               release=releases.release(args.build, suite, args.processor),
                               programs={"frames": program.bare,
                                         "frames-without": program.without},
                               files=program.in_guest())
        tap, us = Tap(), Uniscope(args.build)
        with guest:
            guest.wait("READY", 600)
            guest.elf = None  # nobody names a file
            for name, judge, what, *more in points(program, args.made):
                tap.point(f"{what}, by {args.backend}", lambda n=name, j=judge, o=more: j(
                    take(us, args, guest, program, n, *o), WHOLE[args.processor]))
            done = us.run("record", "--root", "/nowhere", "1", good=(2,))
            tap.point("no such folder", lambda: check("no folder" in done.stderr, done.stderr))
        tap.end()


if __name__ == "__main__":
    main()
