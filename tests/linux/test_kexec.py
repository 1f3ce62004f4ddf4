#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that starts another by kexec, or that panics, while it is looked at: names and
processes have to be those of the kernel that runs, by its own /proc.

usage: test_kexec.py BUILD KIND [--backend B] [--accel A --made FILE]
       test_kexec.py BUILD --make FILE

KIND: same, the same version elsewhere (KASLR); fixed, at the same addresses (nokaslr);
other, another version; crash, the one that is there for a panic (kdump); panic, one that stays where it is.  On a host without a compiler,
the program that starts kernels is one that was made before.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import releases
import waiting
from begin import options, or_skip
from guest import LinuxGuest, initramfs, vmlinux_elf
from harness import Skip, Tap, Uniscope, check, note, require_way

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = """
sh -c 'printf {name} >/proc/self/comm; while :; do :; done' &
sh -c 'printf {name}-k >/proc/self/comm; while :; do read -r x </proc/stat; done' &
"""
ENOUGH = 20  # samples of a process: on an emulated host they take seconds
READY = re.compile(r"^READY\r?$", re.M)
COMMAND = "console=ttyS0 quiet panic=-1"
STARTED = re.compile(r"replaced by another one, or restarted, 1 time during .* first "
                     r"between ([0-9.]+) and ([0-9.]+) s")


def program(folder, made):
    if made:
        return made
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
            self.us.wait_for_kernel()
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
        got = waiting.dump_tasks(self.us, self.guest.target(self.args.backend),
                                 self.args.backend)
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
    """Three kernels, one after the other; with crash, two."""

    def __init__(self, args, folder):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.crash = args.kernel == "crash"
        self.fixed = "nokaslr" if args.kernel == "fixed" else ""
        first = releases.release(args.build, "")
        second = (releases.release(args.build, "trixie") if args.kernel == "other"
                  else first)
        kexec, files = {"kexec": program(folder, args.made)}, {}
        for name, release in (("third", first), ("second", second))[self.crash:]:
            initrd = os.path.join(folder, name)
            initramfs(release, WORK.format(name=name), kexec, files).write(initrd)
            files = {"/next/kernel": release.image, "/next/initrd": initrd}
        cpu = "host" if args.accel == "kvm" else "qemu64,-cx16"
        self.guest = LinuxGuest(args.build, cpu=cpu, smp=1, memory=1024 if self.crash else 640,
                                accel=args.accel, work=WORK.format(name="first"),
                                append="crashkernel=320M" if self.crash else self.fixed,
                                release=first, programs=kexec, files=files)
        self.started = 1

    def target(self):
        return self.guest.target(self.args.backend)

    def command(self, name, *more):
        return [self.us.program, name, "--json", "--backend", self.args.backend,
                "--budget", "50", *more, self.target()]

    def load(self):
        """Before it is looked at; what the kernel that runs says of itself."""
        self.guest.do(f"kexec {'crash' if self.crash else 'load'} /next/kernel /next/initrd "
                      f"'{COMMAND} {self.fixed}'", 300)
        return self.guest.kallsyms()

    def go(self):
        """Until the next kernel is at work."""
        g = self.guest
        how = "echo c >/proc/sysrq-trigger" if self.crash else "kexec go"
        g.do(f"(sleep 1; {how}) >/dev/null 2>&1 &")
        self.started += 1
        g.wait_for(lambda: len(READY.findall(g.serial())) == self.started, 300,
                   "next kernel")
        g.control.close()
        g.control = None

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
            self.us.wait_for_kernel()
            self.us.wait_for_process("first", ENOUGH)
            self.go()
            self.us.wait_for_process("second", ENOUGH)
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
            # But for those next to the change, to a tenth of a second.
            check(self.us.of_process(report, here) >= ENOUGH / 2, f"{here}: {busy}")
            check(not any(name.startswith(elsewhere) for name in busy), busy)

    def top(self):
        """Its last seconds are of the one kernel, and then of the other alone."""
        self.load()
        rows = []

        def shows(name, not_shown):
            names = [x["name"] for x in rows[-1]["groups"]] if rows else []
            return (any(n.startswith(name) for n in names) and
                    not any(n.startswith(not_shown) for n in names))
        with running(self.command("top", "-d", "900", "--sort", "process")) as p:
            reader = threading.Thread(target=lambda: [rows.append(json.loads(line))
                                                      for line in p.stdout])
            reader.start()
            try:
                self.guest.wait_for(lambda: shows("second", "first"), 120, "second in top")
                self.go()
                self.guest.wait_for(lambda: shows("third", "second"), 120, "third in top")
            finally:
                note(str({x["name"]: x["samples"] for x in rows[-1]["groups"]}) if rows else "")
                p.send_signal(signal.SIGINT)
                reader.join(180)
            check(p.wait(60) == 0, p.stderr.read())

    def dump(self):
        g = self.guest
        got = waiting.dump_tasks(self.us, self.target(), self.args.backend)
        truth = g.kallsyms()
        frames = [f for t in got["tasks"] for f in t.get("frames", ())
                  if int(f["pc"], 16) >> 63 and f["function"]]
        wrong = [f for f in frames
                 if f["function"] not in truth.names(int(f["pc"], 16) - 1)
                 and f["function"] not in truth.names(int(f["pc"], 16))]
        names = {t["name"] for t in got["tasks"]}
        note(f"{len(names)} names of tasks, {len(frames)} frames, {len(wrong)} wrong")
        last = "second" if self.crash else "third"
        check({last, last + "-k"} <= names and "first" not in names, sorted(names))
        check(len(frames) > 100 and not wrong, wrong[:5])

    def run(self):
        kind = self.args.kernel
        with self.guest as g:
            g.wait("READY", 300)
            self.tap.point(f"{kind}: record", self.record)
            if not self.crash:
                self.tap.point(f"{kind}: top", self.top)
            self.tap.point(f"{kind}: dump", self.dump)


def main():
    p = options(backend="gdb", accel="tcg", make="", made="")  # accel: of all but panic
    p.add_argument("kernel", nargs="?", choices=["same", "fixed", "other", "crash", "panic"])
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    if args.make:
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            shutil.copy(program(folder, None), args.make)
        return
    with or_skip(), tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
        require_way(args)
        tests = (Panic if args.kernel == "panic" else Kexec)(args, folder)
        tests.run()
    tests.tap.end()


if __name__ == "__main__":
    sys.exit(main())
