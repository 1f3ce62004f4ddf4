#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks and processes of kernels other than the one that test_linux.py boots, against
what /proc in the guest says of them.

usage: test_tasks.py BUILD KERNEL [--only WORD] [--backend B] [--accel A] [--seconds S]
       [--dumps N]

KERNEL: SUITE[:PROCESSOR[:META]], for example trixie, or bookworm:aarch64, where META is
the package that depends on the newest; pti: this machine's, with page-table
isolation, which this processor would not need; none: a kernel without its types (BTF);
reboot: one that starts again while it is recorded (reboot:aarch64); narrow: of 32 bits
(narrow:686: without PAE).
"""
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

import releases
import silence
from begin import options, or_skip
from guest import LinuxGuest, Release
from harness import Tap, Uniscope, check, note, require
from test_linux import WORKS, Suite

SLEEP = "sleep 1000"
BOOTS = {"pti": "pti=on"}
ENOUGH = 60  # samples of a process
CHANGED = re.compile(r"first between ([0-9.]+) and ([0-9.]+) s")
READY = re.compile(r"^READY\r?$", re.M)


class Other(Suite):
    """The points of test_linux.py that ask for tasks, of another kernel."""

    def __init__(self, args, release):
        super().__init__(args)
        self.release = release

    def start(self, kind, append=""):
        # Without CMPXCHG16B, behind which 6.12 falls over now and then in this emulation.
        self.guest = LinuxGuest(self.args.build, cpu="qemu64,-cx16", smp=2, work=WORKS,
                                accel=self.args.accel,
                                append=f"{append} {BOOTS.get(self.args.kernel, '')}",
                                release=self.release, memory=512,
                                programs=self.programs())
        self.guest.wait("READY", 300)
        check("FATAL" not in self.guest.serial(), self.guest.serial())
        self.kallsyms = self.guest.kallsyms()
        note(re.search("INIT .*", self.guest.serial())[0])
        if self.args.kernel in BOOTS:
            isolated = bool(re.search(r"^flags.* pti( |$)", self.guest.oracle()["cpuinfo"], re.M))
            check(isolated, "no page-table isolation")

    def is_ours(self):
        """Of this machine's processor, for which its compiler makes the program."""
        return self.release.processor == "x86_64" if self.release else True

    def programs(self):
        return super().programs() if self.is_ours() else {}

    def dumps(self, kind):
        """A busy guest goes on after each of many dumps of its tasks: it beats, and nothing
        holds it."""
        g = self.working(kind, "kernel_work")
        g.do("while :; do echo BEAT .; usleep 200000; done >/dev/console & echo $! >/tmp/beat")
        check(g.goes_on(), "the guest does not beat")
        done, tasks = Counter(), []
        for _ in range(self.args.dumps):
            said = self.us.run("dump", "--tasks", "--json", "--backend", self.args.backend,
                               g.target(self.args.backend), good=(0, 1, 3))
            done["told" if not said.returncode else said.stderr.splitlines()[0]] += 1
            if not said.returncode:
                tasks.append(len(json.loads(said.stdout)["tasks"]))
            if held := silence.held(g):
                done["left it held"] += 1
                note(held)
            elif not g.goes_on():
                done["left it standing"] += 1
                note(silence.why(g))
        g.do("kill $(cat /tmp/beat)")
        note(f"{kind}: {self.args.dumps} dumps: {dict(done)}; of {min(tasks, default=0)} to "
             f"{max(tasks, default=0)} tasks")
        check(not done["left it held"] and not done["left it standing"], "it does not go on")
        check(done["told"] > self.args.dumps / 2, "too few dumps")

    def run(self):
        kind = self.args.kernel
        self.point(f"tasks: {kind}", self.tasks, kind)
        self.point(f"processes: {kind}", self.processes, kind)
        if self.args.backend == "kvm":
            self.point(f"many dumps of tasks: {kind}", self.dumps, kind)
        if self.is_ours():
            self.point(f"what tasks wait for: {kind}", self.waits, kind)
        self.end()


class Without:
    """A kernel that does not tell where its tasks are: that is said, and all else goes."""

    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)

    def tasks_are_refused(self, g, said):
        """In one line, with a hint."""
        done = self.us.run("dump", "--tasks", g.target("gdb"), good=(1, 3))
        note(done.stderr.strip())
        check(said in done.stderr and not done.stdout, done.stderr + done.stdout)

    def all_else(self, g):
        self.us.record_enough(g, self.args.backend, "--budget", "50", seconds=4, enough=100)
        report = self.us.report()
        note(report["facts"]["linux"])
        check("no types (BTF)" in report["facts"]["linux"], "it is not said")
        check(report["summary"]["running"] > 50, report["summary"])
        report = self.us.report("--group-by", "process")
        check(any("knows no processes" in w for w in report["warnings"]), report["warnings"])
        # What is left: programs by their page tables.
        name, busy = max(((x["name"], x["samples"]) for x in report["groups"]),
                         key=lambda x: x[1])
        note(f"{name}: {busy} samples")
        check(re.fullmatch(r"\[page tables 0x[0-9a-f]+000\]", name), report["groups"])

    def run(self):
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            release = releases.without_types(self.args.build, folder)
            with LinuxGuest(self.args.build, cpu="qemu64", smp=2, release=release,
                            work=f"{SLEEP} & while :; do :; done &") as g:
                g.wait("READY", 300)
                self.tap.point("no types: tasks are refused", lambda: self.tasks_are_refused(
                    g, "has no type information (BTF)"))
                self.tap.point("no types: names and stacks", lambda: self.all_else(g))


class Narrow(Without):
    def run(self):
        pae = "" if self.args.kernel.endswith(":686") else "-pae"
        release = releases.release(self.args.build, "bookworm", "i386",
                                   "linux-image-686" + pae)
        release = Release(release.image, release.modules, busybox=release.busybox)
        with LinuxGuest(self.args.build, cpu="qemu64", smp=1, release=release,
                        work=f"{SLEEP} & while :; do :; done &") as g:
            g.wait("READY", 300)
            self.tap.point("32 bits: tasks are refused", lambda: self.tasks_are_refused(
                g, "no 64-bit Linux kernel"))


class Reboot(Without):
    """Its second start has another slide, other tasks, and other work."""
    WORK = """
work() {
	sh -c "printf $1 >/proc/self/comm; while :; do :; done" &
}
if dd if=/dev/vda bs=512 skip=60000 count=1 2>/dev/null | grep -q again; then
	work second
else
	echo again | dd of=/dev/vda bs=512 seek=60000 count=1 conv=fsync,notrunc 2>/dev/null
	work first
fi
"""

    def again(self, g):
        """It is recorded from its first work into its second; whose was what?"""
        record = [self.us.program, "record", "--json", "--backend", self.args.backend,
                  "--budget", "50", "-d", "900", "-o", self.us.data(),
                  g.target(self.args.backend)]
        with subprocess.Popen(record, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as p:
            self.us.wait_for_kernel()
            self.us.wait_for_process("first", ENOUGH)
            g.do("(sleep 1; reboot -f) >/dev/null 2>&1 &")
            g.wait_for(lambda: len(READY.findall(g.serial())) > 1, 300, "second start")
            self.us.wait_for_process("second", ENOUGH)
            p.send_signal(signal.SIGINT)
            stats, said = p.communicate(timeout=120)
        check(p.returncode == 0, said)
        note(f"{json.loads(stats)['running']} samples")
        report = self.us.report("--group-by", "process")
        note("; ".join(f"{x['name']} {x['samples']}" for x in report["groups"][:8]))
        check(any("replaced by another" in w for w in report["warnings"]),
              report["warnings"])
        for name in ("first", "second"):
            rows = [x for x in report["groups"] if x["name"].startswith(name + " (")]
            check(len(rows) == 1 and rows[0]["samples"] >= ENOUGH,
                  f"{name}: {rows}; {report['facts'].get('linux')}; {report['warnings']}")
        begin, end = (float(s) for s in CHANGED.search(" ".join(report["warnings"])).groups())
        for name, span in (("first", f"{end:.1f},"), ("second", f",{begin:.1f}")):
            there = self.us.report("--group-by", "process", "--time", span)
            check(not self.us.of_process(there, name), f"{name} in {span}: {there['groups'][:8]}")

    def run(self):
        _, *processor = self.args.kernel.split(":")
        release = releases.release(self.args.build, "bookworm" if processor else "", *processor)
        accel = self.args.accel
        with LinuxGuest(self.args.build, cpu="host" if accel == "kvm" else "qemu64", smp=1,
                        work=self.WORK, reboots=True, release=release, accel=accel) as g:
            g.wait("READY", 300)
            self.tap.point("the kernel starts again", lambda: self.again(g))


OTHERS = {"none": Without, "reboot": Reboot, "narrow": Narrow}


def main():
    # dumps: by the backend kvm.
    args = options(kernel="", only="", backend="gdb", accel="tcg", seconds=6.0, short=False,
                   dumps=30).parse_args()
    with or_skip():
        require(args.accel, "aarch64" if ":aarch64" in args.kernel else "x86_64")
        if args.kernel.split(":")[0] in OTHERS:
            tests = OTHERS[args.kernel.split(":")[0]](args)
        else:
            where = [] if args.kernel in BOOTS else args.kernel.split(":")
            tests = Other(args, releases.release(args.build, *where or [""]))
        tests.run()
    tests.tap.end()


if __name__ == "__main__":
    sys.exit(main())
