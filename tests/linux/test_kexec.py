#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that starts another by kexec, or that panics, while it is looked at: names and
processes have to be those of the kernel that runs, by its own /proc.

usage: test_kexec.py BUILD KIND [--backend B]

KIND: same, the same version elsewhere (KASLR); fixed, at the same addresses (nokaslr);
other, another version; panic, one that stays where it is.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import releases
from guest import LinuxGuest, initramfs, vmlinux_elf
from harness import Skip, Tap, Uniscope, check, note, require

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = """
sh -c 'printf {name} >/proc/self/comm; while :; do :; done' &
sh -c 'printf {name}-k >/proc/self/comm; while :; do read -r x </proc/stat; done' &
"""
READY = re.compile(r"^READY\r?$", re.M)
COMMAND = "console=ttyS0 quiet panic=-1"
STARTED = re.compile(r"replaced by another one, or started anew, 1 time during .* first "
                     r"between ([0-9.]+) and ([0-9.]+) s")


def program(folder):
    if not shutil.which("gcc"):
        raise Skip("gcc is not installed")
    out = os.path.join(folder, "kexec")
    done = subprocess.run(["gcc", "-O2", "-static", "-o", out,
                           os.path.join(HERE, "programs", "kexec.c")],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"gcc: {done.stderr.strip()[-200:]}")
    return out


class Panic:
    """It says what it died of, and waits for nobody."""

    def __init__(self, args, _):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.guest = LinuxGuest(args.build, cpu="qemu64,-cx16", smp=2, memory=256,
                                work=WORK.format(name="first"), append="panic=0")

    def panic(self):
        g = self.guest
        record = [self.us.program, "record", "--json", "--backend", self.args.backend,
                  "--budget", "50", "-d", "900", "-o", self.us.data(),
                  g.target(self.args.backend)]
        with running(record) as p:
            time.sleep(3)
            g.do("(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &")
            g.wait_for(lambda: "Kernel panic" in g.serial(), 120, "panic")
            time.sleep(3)
            stop(p)
        report = self.us.report()
        check(not any("replaced by" in w for w in report["warnings"]), report["warnings"])
        names = {f["name"] for f in report["functions"] if f["total"]}
        check("panic" in names, "panic() is in no stack")

    def dump(self):
        """Where it stays, and all tasks as it left them."""
        done = self.us.run("dump", "--tasks", "--json", "--backend", self.args.backend,
                           self.guest.target(self.args.backend))
        got = json.loads(done.stdout)
        stacks = [[f["function"] for f in v["frames"]] for v in got["vcpus"]]
        note(" < ".join(str(name) for name in stacks[0][:8]))
        check(any("panic" in names and "sysrq_handle_crash" in names for names in stacks),
              stacks)
        names = {t["name"] for t in got["tasks"]}
        check({"first", "first-k"} <= names, sorted(names))

    def run(self):
        with self.guest as g:
            g.wait("READY", 300)
            self.tap.point("panic: record", self.panic)
            self.tap.point("panic: dump", self.dump)


@contextlib.contextmanager
def running(command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as p:
        try:
            yield p
        finally:
            if p.poll() is None:
                p.kill()


def stop(p):
    """What it printed: it ends as soon as it is asked to."""
    p.send_signal(signal.SIGINT)
    out, said = p.communicate(timeout=180)
    check(p.returncode == 0, said)
    return out


class Kexec:
    """Three kernels, one after the other."""

    def __init__(self, args, folder):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.fixed = "nokaslr" if args.kernel == "fixed" else ""
        first = releases.release(args.build, "")
        second = (releases.release(args.build, "trixie") if args.kernel == "other"
                  else first)
        kexec, files = {"kexec": program(folder)}, {}
        for name, release in (("third", first), ("second", second)):
            initrd = os.path.join(folder, name)
            initramfs(release, WORK.format(name=name), kexec, files).write(initrd)
            files = {"/next/kernel": release.image, "/next/initrd": initrd}
        self.guest = LinuxGuest(args.build, cpu="qemu64,-cx16", smp=1, memory=640,
                                work=WORK.format(name="first"), append=self.fixed,
                                release=first, programs=kexec, files=files)
        self.started = 1

    def target(self):
        return self.guest.target(self.args.backend)

    def command(self, name, *more):
        return [self.us.program, name, "--json", "--backend", self.args.backend,
                "--budget", "50", *more, self.target()]

    def load(self):
        """Before it is looked at; what the kernel that runs says of itself."""
        self.guest.do("kexec load /next/kernel /next/initrd "
                      f"'{COMMAND} {self.fixed}'", 300)
        return self.guest.kallsyms()

    def go(self):
        """Until the next kernel is at work."""
        g = self.guest
        g.do("(sleep 1; kexec go) >/dev/null 2>&1 &")
        self.started += 1
        g.wait_for(lambda: len(READY.findall(g.serial())) == self.started, 300,
                   "next kernel")
        g.control.close()
        g.control = None
        time.sleep(8)

    def names(self, truth, *more):
        """Of each address that the report names, in a part of the recording."""
        rows = [f for f in self.us.report(*more)["functions"]
                if f["known"] and f["module"] == "linux"]
        wrong = [(f["name"], f["start"]) for f in rows
                 if f["raw"] not in truth.names(int(f["start"], 16))
                 and f["name"] not in truth.names(int(f["start"], 16))]
        note(f"{' '.join(more)}: {len(rows)} functions of the kernel, {len(wrong)} by "
             "another name than in /proc/kallsyms")
        check(len(rows) > 10 and not wrong, wrong[:5])

    def record(self):
        first = self.load()
        more = (["-e", vmlinux_elf(self.args.build)] if self.args.kernel == "other" else [])
        with running(self.command("record", "-d", "900", "-o", self.us.data(), *more)) as p:
            time.sleep(5)
            self.go()
            stop(p)
        report = self.us.report("--group-by", "process")
        note("; ".join(f"{x['name']} {x['samples']}" for x in report["groups"][:6]))
        at = next((STARTED.search(w) for w in report["warnings"] if STARTED.search(w)), None)
        check(at, report["warnings"])
        note(f"{at[0]}; {report['facts']['linux']}")
        begin, end = float(at[1]), float(at[2])
        self.names(first, "--time", f",{begin - 0.1:.1f}")
        self.names(self.guest.kallsyms(), "--time", f"{end + 0.1:.1f},")
        self.processes(begin, end)

    def processes(self, begin, end):
        """None of the one kernel while the other ran."""
        for here, elsewhere, span in (("first", "second", f",{begin - 0.1:.1f}"),
                                      ("second", "first", f"{end + 0.1:.1f},")):
            report = self.us.report("--group-by", "process", "--time", span)
            busy = {x["name"]: x["samples"] for x in report["groups"]}
            mine = sum(n for name, n in busy.items() if name.startswith(here))
            check(mine > 0.1 * report["summary"]["running"], f"{here}: {busy}")
            check(not any(name.startswith(elsewhere) for name in busy), busy)

    def top(self):
        self.load()
        with running(self.command("top", "-d", "900", "--sort", "process")) as p:
            time.sleep(5)
            self.go()
            rows = [json.loads(line) for line in stop(p).splitlines()]
        last = {x["name"]: x["samples"] for x in rows[-1]["groups"]}
        note(str(last))
        check(any(name.startswith("third") for name in last) and
              not any(name.startswith("second") for name in last), last)

    def dump(self):
        g = self.guest
        got = json.loads(self.us.run("dump", "--tasks", "--json", "--backend",
                                     self.args.backend, self.target()).stdout)
        truth = g.kallsyms()
        frames = [f for t in got["tasks"] for f in t.get("frames", ())
                  if int(f["pc"], 16) >> 63 and f["function"]]
        wrong = [f for f in frames
                 if f["function"] not in truth.names(int(f["pc"], 16) - 1)
                 and f["function"] not in truth.names(int(f["pc"], 16))]
        names = {t["name"] for t in got["tasks"]}
        note(f"{len(names)} names of tasks, {len(frames)} frames, {len(wrong)} wrong")
        check({"third", "third-k"} <= names and "first" not in names, sorted(names))
        check(len(frames) > 100 and not wrong, wrong[:5])

    def run(self):
        kind = self.args.kernel
        with self.guest as g:
            g.wait("READY", 300)
            self.tap.point(f"{kind}: record", self.record)
            self.tap.point(f"{kind}: top", self.top)
            self.tap.point(f"{kind}: dump", self.dump)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build", type=os.path.abspath)
    p.add_argument("kernel", choices=["same", "fixed", "other", "panic"])
    p.add_argument("--backend", default="gdb")
    args = p.parse_args()
    try:
        require("tcg")
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            tests = (Panic if args.kernel == "panic" else Kexec)(args, folder)
            tests.run()
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tests.tap.end()


if __name__ == "__main__":
    sys.exit(main())
