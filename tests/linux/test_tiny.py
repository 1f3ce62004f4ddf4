#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Small kernels without types (BTF), with and without symbol tables: what -e vmlinux
gives, against /proc, and what is said without it.

usage: test_tiny.py BUILD KERNEL [--backend B]

KERNEL: one of tiny.KERNELS.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import tiny
import waiting
from begin import options, or_skip
from guest import LinuxGuest
from harness import Skip, Tap, Uniscope, check, note, require
from test_linux import Suite

BUSY = "while :; do :; done"


class Tiny:
    def __init__(self, args, folder):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        image, self.elf = tiny.kernel(args.build, args.kernel)
        # Where nothing lies beside it.
        self.image = shutil.copy(image, self.sub(folder, "image"))
        self.guest = LinuxGuest(args.build, cpu="qemu64", smp=1, memory=128,
                                release=tiny.release(self.image, folder),
                                append="no_timer_check")
        self.folder = folder
        # What it has types for is known without a file.
        self.file = [] if args.kernel == "shuffled" else ["-e", self.elf]

    @staticmethod
    def sub(folder, name):
        os.mkdir(os.path.join(folder, name))
        return os.path.join(folder, name)

    def target(self):
        return self.guest.target(self.args.backend)

    def refused(self, said, *more, hint=""):
        """In one line, with what helps."""
        done = self.us.run("dump", "--tasks", "--backend", self.args.backend, *more,
                           self.target(), good=(3,))
        note(done.stderr.strip())
        check(said in done.stderr and hint in done.stderr and not done.stdout,
              done.stderr + done.stdout)

    def without(self):
        nameless = self.args.kernel == "nameless"
        self.refused("no 64-bit Linux kernel" if nameless else "no type information (BTF)",
                     hint="-e vmlinux")
        self.us.record(self.guest, self.args.backend, seconds=1)

    def other_build(self):
        """A vmlinux whose build-id is another: it differs in nothing else."""
        other = os.path.join(self.sub(self.folder, "other"), "vmlinux")
        said = subprocess.run(["readelf", "-n", self.elf], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        number = bytes.fromhex(re.search("Build ID: ([0-9a-f]+)", said)[1])
        with open(self.elf, "rb") as f:
            data = f.read()
        data = data.replace(number, bytes(len(number)))
        with open(other, "wb") as f:
            f.write(data)
        self.refused("no 64-bit Linux kernel" if self.args.kernel == "nameless" else
                     "vmlinux is not of this build", "-e", other)

    def stripped(self):
        self.refused("vmlinux.plain has no debug information (DWARF)", "-e", self.plain())

    def with_file(self):
        """The same by the file's debug information, of a kernel that has types."""
        self.file = ["-e", self.elf]
        self.tasks_alone()

    def plain(self):
        plain = os.path.join(self.sub(self.folder, "plain"), "vmlinux.plain")
        if not shutil.which("strip"):
            raise Skip("strip is not installed")
        check(os.system(f"strip -g {self.elf} -o {plain}") == 0, "strip")
        return plain

    def tasks(self):
        """Each that waits, where the guest's own /proc says."""
        g = self.guest
        pids = [int(g.do(f"{c} >/dev/null 2>&1 & echo $!")) for c in ("sleep 1000", BUSY)]
        before = Suite.proc_stacks(self, g)
        got = waiting.dump_tasks(self.us, self.target(), self.args.backend, *self.file)
        after = Suite.proc_stacks(self, g)
        tasks = {t["pid"]: t for t in got["tasks"]}
        still = {pid: s for pid, s in after.items()
                 if s == before.get(pid) and s[1] in "SDI" and pid > 1}
        wrong = [f"{pid} {s}: {tasks.get(pid)}" for pid, s in still.items()
                 if pid not in tasks or not Suite.same_name(tasks[pid]["name"], s[0])
                 or tasks[pid]["state"] != s[1] or not Suite.is_whole(tasks[pid])
                 or s[2] and not self.agrees(tasks[pid]["frames"], s[2])]
        note(f"{len(tasks)} tasks, {len(still)} that waited all the time, {len(wrong)} "
             "with another stack than in /proc")
        check(not got["tasks_missing"] and not wrong, "; ".join(wrong[:3]))
        check(pids[0] in still and len(still) > 5, f"only {sorted(still)}")
        check(any("nanosleep" in (f["function"] or "") for f in tasks[pids[0]]["frames"]),
              tasks[pids[0]])
        return pids

    def agrees(self, frames, said):
        frames = [f for f in frames if not f["user"]]
        return (self.among if self.args.kernel in tiny.GUESSES else self.same)(frames, said)

    @staticmethod
    def among(frames, said):
        """A kernel that guesses says of all that looks like a return address on the stack:
        ours are among them, in this order, and the outermost is the same."""
        names = [f["function"] for f in frames if not f["inlined"]
                 and not Tiny.is_scheduler(f["function"])]
        left = iter(name for name, _ in said)
        return (len(names) > 1 and all(name in left for name in names)
                and next(left, None) is None)

    @staticmethod
    def is_scheduler(name):
        return "sched" in name or name.startswith(("__switch", "do_nanosleep"))

    @staticmethod
    def same(frames, said):
        """Functions, those inlined aside; the kernel leaves out its scheduler's."""
        names = [f["function"] for f in frames if not f["inlined"]]
        return names[-len(said):] == [name for name, _ in said] and all(
            Tiny.is_scheduler(name) for name in names[:-len(said)])

    def processes(self):
        """One of two is always busy, and has most of the samples."""
        g = self.guest
        pid = int(g.do(f"{BUSY} >/dev/null 2>&1 & echo $!"))
        self.us.record_enough(g, self.args.backend, "--budget", "50", "-F", "97", *self.file,
                              seconds=3, enough=60)
        g.do(f"kill {pid}; true")
        report = self.us.report("--group-by", "process")
        note(report["facts"]["linux"] + "; " + ", ".join(
            f"{x['name']} {x['samples']}" for x in report["groups"][:4]))
        check(not self.file or "and vmlinux" in report["facts"]["linux"], report["facts"]["linux"])
        mine = sum(x["samples"] for x in report["groups"]
                   if re.search(rf"\({pid}\)$", x["name"]))
        check(mine > 0.8 * report["summary"]["running"], report["groups"][:4])

    def run(self):
        with self.guest as g:
            g.wait("READY", 300)
            g.elf = None
            for name, what in self.points():
                self.tap.point(f"{self.args.kernel}: {name}", what)

    def points(self):
        kernel, both = self.args.kernel, [("tasks", self.tasks_alone), ("processes", self.processes)]
        if kernel == "shuffled":
            return [*both, ("tasks by its file", self.with_file)]
        before = [("without its file", self.without), ("a file of another build", self.other_build)]
        more = [("a file without DWARF", self.stripped)] if kernel != "nameless" else []
        return [*before, *both, *more]

    def tasks_alone(self):
        for pid in self.tasks():
            self.guest.do(f"kill {pid}; true")


def main():
    p = options(backend="gdb")
    p.add_argument("kernel", choices=sorted(tiny.KERNELS))
    args = p.parse_args()
    with or_skip(), tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
        require("tcg")
        tests = Tiny(args, folder)
        tests.run()
    tests.tap.end()


if __name__ == "__main__":
    sys.exit(main())
