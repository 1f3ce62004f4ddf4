#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count and trace where the host or its QEMU is not as they would like it.

usage: plugin_hosts.py BUILD LOADER [--times N] [--seed S]

LOADER: the program of plugin/load.c.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Skip, Tap, Uniscope, check, note, patience  # noqa: E402
from tcg import Counting, Qemu, open_pids  # noqa: E402
from trace import Tracing  # noqa: E402
import debs  # noqa: E402

# What a QEMU that was built without plugins does (include/qemu/plugin.h).
WITHOUT_PLUGINS = """#!/bin/sh
for word; do
  case "$word" in -plugin)
    echo "qemu-system-x86_64: plugin interface not enabled in this build" >&2
    exit 1;;
  esac
done
exec {qemu} "$@"
"""


class Hosts:
    def __init__(self, args):
        self.args = args
        self.qemu = Qemu(args.build, "", "")
        self.us = Uniscope(args.build)
        self.elf = self.qemu.elf(args.build, "counted")
        self.plugin = os.path.join(args.build, "uniscope-plugin.so")

    def vm(self, program, *options):
        return [program, *self.qemu.machine.options, "-display", "none", "-kernel", self.elf,
                *options]

    # --- the host's memory ---

    def in_small_shm(self, size, *command, tmpdir=""):
        """uniscope with a /dev/shm of this size, of which nothing is left behind."""
        with tempfile.TemporaryDirectory(prefix="uniscope-") as own:
            return self.in_shm(size, tmpdir, shlex.join(
                [self.us.program, *command, "-o", os.path.join(own, "data"), "--",
                 *self.vm(self.qemu.program)]))

    @staticmethod
    def in_shm(size, tmpdir, words):
        script = (f"mount -t tmpfs -o size={size} none /dev/shm || exit 77\nunset TMPDIR\n"
                  f"{'TMPDIR=' * bool(tmpdir)}{tmpdir} {words}\n"
                  "code=$?\ntest -z \"$(ls /dev/shm)\" || exit 78\nexit $code")
        done = patience.run(["unshare", "-m", "sh", "-c", script], 120)
        if done.returncode == 77 or "unshare" in done.stderr:
            raise Skip(f"no mount of our own here: {done.stderr[-100:]}")
        check(done.returncode != 78, "it has left files in /dev/shm")
        return done

    def shm_is_full(self):
        """In the folder that is chosen without one, in it, and with what is advised then: at
        once, for most of the time they wait for -d."""
        cases = [(size, command, words, tmpdir) for tmpdir in ("", "/dev/shm")
                 for size, command, words in (("1m", "count", "count --nodes"),
                                              ("1m", "trace", "count --nodes"),
                                              ("24m", "trace", "trace --ring"))]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            advised = pool.submit(self.in_small_shm, "4m", "count", "--nodes", "1000", "-d", "10",
                                  tmpdir="/dev/shm")
            runs = [pool.submit(self.in_small_shm, size, command, *([] if tmpdir else ["-d", "5"]),
                                tmpdir=tmpdir) for size, command, _, tmpdir in cases]
        for (size, command, words, tmpdir), done in zip(cases, (r.result() for r in runs)):
            if not tmpdir:
                check(done.returncode == 0, f"in /tmp: {done.stderr}")
                continue
            check(done.returncode == 1 and words in done.stderr and "TMPDIR=DIR" in done.stderr
                  and "remount" in done.stderr and "ended with status" in done.stderr,
                  f"{command} in {size}: exit {done.returncode}: {done.stderr}")
        check(advised.result().returncode == 0, f"what was advised: {advised.result().stderr}")

    def record_goes_without(self):
        done = self.in_small_shm("1m", "record", "-d", "2", tmpdir="/dev/shm")
        check(done.returncode == 0 and "QEMU did not start with it" in done.stderr, done.stderr)

    # --- what has no room ---

    def tree_is_full(self):
        """What is in it is right, what is not is told: together it is the whole."""
        told = []
        for nodes in ("524288", "64"):
            with Counting(self.args, self.qemu,
                          before=["--deterministic", "--nodes", nodes]) as c:
                c.counts()
                c.wait("COUNTS.*\n")
                time.sleep(0.5)  # it stands still
                c.end()
                told.append(c.report())
        whole, small = ({f["name"]: f for f in r["functions"]} for r in told)
        lost = small["[tree is full]"]["calls"]
        check(lost > 1000 and f"{lost} calls did not fit" in " ".join(told[1]["warnings"]),
              f"{lost} lost: {told[1]['warnings']}")
        check(not told[0]["warnings"], f"{told[0]['warnings']}")
        for name, f in small.items():
            check(name[0] == "[" or f["calls"] <= whole[name]["calls"]
                  and f["self"] <= whole[name]["self"], f"{name}: {f}, {whole.get(name)}")
        for key in ("calls", "self"):
            sums = [sum(f[key] for f in r["functions"]) for r in told]
            check(sums[0] == sums[1], f"{key}: {sums}")
        note(f"{len(small)} of {len(whole)} functions, {lost} calls in no node")

    def reader_is_slow(self):
        """One that stands for a while loses events, which are counted, and no calls."""
        with Tracing(self.args, self.qemu, before=["--ring", "64K"]) as t:
            t.wait("READY")
            t.run.send_signal(signal.SIGSTOP)
            try:
                truth = t.counts()
            finally:
                t.run.send_signal(signal.SIGCONT)
            t.end()
            report, calls = t.report(), t.calls()
        lost, = (int(w.split()[0]) for w in report["warnings"] if "came too fast" in w)
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        wrong = [n for n in truth if n != "top_loop_rounds" and counted[n] != truth[n]]
        check(not wrong, f"counted otherwise: {wrong}")
        both = 2 * sum(truth[n] for n in ("fib", "hot"))
        check(both < lost, f"{lost} lost of {both} and more")
        more = [n for n, c in calls.items() if n in truth and c > truth[n]]
        check(not more, f"traced more often than called: {more}")
        note(f"{lost} events lost, {sum(calls.values())} calls traced")

    # --- SIGKILL ---

    def started(self, c):
        """The pid of its QEMU, as soon as there is one; None: there never was."""
        end = patience.clock() + 10
        while patience.clock() < end:
            found = subprocess.run(["pgrep", "-f", "file:" + c.log], capture_output=True,
                                   text=True).stdout.split()
            pids = [int(p) for p in found if int(p) != c.run.pid]
            if pids:
                return pids[0]
            time.sleep(0.005)
        return None

    def qemu_is_killed(self):
        """At any moment: a recording that can be read, or what has happened."""
        rng = random.Random(self.args.seed)
        became = collections.Counter()
        for i in range(self.args.times):
            with (Counting, Tracing)[i % 2](self.args, self.qemu) as c:
                pid = self.started(c)
                time.sleep(rng.choice([0, 0.02, 0.1, rng.uniform(0, 1)]))
                os.kill(pid, signal.SIGKILL)
                said = c.run.communicate(timeout=60)[1]
                check(c.run.returncode == 1 and "QEMU was killed" in said, said)
                early = "QEMU was killed at its start" in said
                became[early] += 1
                if early:
                    continue
                report = c.report()
                total = sum(f["self"] for f in report["functions"])
                check(report["summary"]["end"] == "guest gone", report["summary"]["end"])
                check(total == report["summary"]["running"], f"{total}: {report['summary']}")
        note(f"{became[0]} recordings, {became[1]} times killed before there was one")

    def uniscope_is_killed(self):
        """At any moment: the guest goes on, and what it counts can be read."""
        rng = random.Random(self.args.seed)
        for i in range(self.args.times):
            with (Counting, Tracing)[i % 2](self.args, self.qemu) as c:
                time.sleep(rng.uniform(0, 1))
                c.run.kill()
                c.run.wait()
                pid = self.started(c)
                if pid:  # else there was none yet
                    self.goes_on(c, pid)

    def goes_on(self, c, pid):
        folder = None
        try:
            truth = c.counts()
            time.sleep(0.3)
            folder = c.files()
            check(pid in open_pids(os.path.join(folder, "counts")), "it is another's")
            self.equals(c, truth, os.path.join(folder, "counts"))
        finally:
            os.kill(pid, signal.SIGKILL)
            if folder:
                shutil.rmtree(folder)

    def equals(self, c, truth, counts):
        out = c.us.data("attached.data")
        c.us.run("count", "--attach", counts, "-e", c.elf, "-o", out)
        report = json.loads(c.us.run("report", "--json", out).stdout)
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        wrong = [n for n in truth if n != "top_loop_rounds" and counted[n] != truth[n]]
        check(not wrong, f"counted otherwise: {wrong}")

    # --- QEMUs of all kinds ---

    def has_no_plugins(self):
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            path = os.path.join(folder, self.qemu.program)
            with open(path, "w") as f:
                f.write(WITHOUT_PLUGINS.format(qemu=shutil.which(self.qemu.program)))
            os.chmod(path, 0o755)
            for command in ("count", "trace"):
                done = self.us.run(command, "-o", self.us.data(), "--", *self.vm(path),
                                   good=(1,))
                check("not enabled in this build" in done.stderr
                      and "it was built without plugins" in done.stderr, done.stderr)
            done = self.us.run("record", "-d", "2", "-o", self.us.data(), "--",
                               *self.vm(path))
            check("QEMU did not start with it" in done.stderr, done.stderr)

    def is_xens(self):
        """One of Debian's that was really built without: the emulator of Xen's domains."""
        root = debs.Suite(self.args.build, "bookworm", "x86_64").package("qemu-system-xen")
        path = os.path.join(root, "usr/libexec/xen-qemu-system-i386")
        told = patience.run([path, "--version"], 60)
        if told.returncode:
            raise Skip(f"it does not run here: {told.stderr.strip()}")
        for command in ("count", "trace"):
            done = self.us.run(command, "-o", self.us.data(), "--", path, "-kernel", self.elf,
                               good=(1,))
            check("not enabled in this build" in done.stderr
                  and "it was built without plugins" in done.stderr, done.stderr)
        done = self.us.run("record", "--backend", "plugin", "--", path, good=(1,))
        check("takes no plugins" in done.stderr, done.stderr)
        note(told.stdout.splitlines()[0])

    def load(self, target, least, most, machine):
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            done = patience.run([self.args.loader, self.plugin, target, str(least),
                                 str(most), str(machine), f"counts={folder}/counts"], 60)
            check(not os.listdir(folder), f"files: {os.listdir(folder)}")
        return done

    def is_of_another_version(self):
        for least, most in ((99, 99), (2, 99)):
            done = self.load("x86_64", least, most, 1)
            check(done.returncode == 1 and f"of versions {least} to {most}" in done.stderr
                  and "this plugin has version 1" in done.stderr, f"{done}")

    def uniscope_is_of_another_version(self):
        """The program beside a plugin whose files have another version."""
        with open(self.plugin, "rb") as f:
            plugin = f.read()
        with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
            program = shutil.copy(self.us.program, folder)
            out = "-o", self.us.data()
            for magic, *command in ((b"USBOOT", "boot"), (b"USBOOT", "boot", "--profile", *out),
                                    (b"USFUNCS", "count", *out), (b"USFUNCS", "trace", *out)):
                at = plugin.index(magic) + len(magic)
                with open(os.path.join(folder, "uniscope-plugin.so"), "wb") as f:
                    f.write(plugin[:at] + b"!" + plugin[at + 1:])
                done = patience.run([program, *command, "--", *self.vm(self.qemu.program)], 60)
                check(done.returncode == 1 and "of another version of uniscope" in done.stderr,
                      f"{command}: {done}")

    def is_for_another_guest(self):
        for target, machine, words in (("mips", 1, "architecture mips"),
                                       ("x86_64", 0, "linux-user")):
            done = self.load(target, 1, 1, machine)
            check(done.returncode == 1 and words in done.stderr, f"{done}")

    def runs_already(self):
        """The messages say how it has to be started; so it is, and is counted."""
        folder = self.us.data("prepared")
        word, path = shlex.split(self.us.run("record", "--prepare", folder, "-e",
                                             self.elf).stdout)
        with Counting(self.args, self.qemu) as c:
            c.wait("READY")
            pid = str(self.started(c))
            said = self.us.run("count", pid, good=(2,)).stderr
            check("record --prepare" in said and "--attach" in said, said)
            c.end()
        log = self.us.data("serial")
        with subprocess.Popen(self.vm(self.qemu.program, word, path, "-serial",
                                      "file:" + log)) as vm:
            try:
                end = patience.clock() + 120
                while "COUNTS" not in self.text(log) and patience.clock() < end:
                    time.sleep(0.05)
                time.sleep(0.3)
                truth = json.loads(self.text(log).split("COUNTS ")[1].splitlines()[0])
                with_elf = collections.namedtuple("Of", "us elf")(self.us, self.elf)
                self.equals(with_elf, truth, os.path.join(folder, "counts"))
            finally:
                vm.kill()

    def text(self, path):
        return open(path, errors="replace").read() if os.path.exists(path) else ""

    def has_others_beside(self):
        """A kernel that shows nothing of its code, beside the ELF file of another."""
        folder = self.us.data("beside")
        os.makedirs(folder)
        kernel = os.path.join(folder, "kernel.img")
        shutil.copy(self.elf, os.path.join(folder, "kernel.elf"))
        # Linux's setup header (Documentation/arch/x86/boot.rst), with code that is packed
        # in a way that nobody knows: it halts.
        image = bytearray(random.Random(1).randbytes(64 << 10))
        image[0x1f1], image[0x1fe:0x200], image[0x202:0x206] = 1, b"\x55\xaa", b"HdrS"
        image[0x206:0x208], image[0x400:0x402] = b"\x0c\x02", b"\xf4\xeb"
        with open(kernel, "wb") as f:
            f.write(image)
        said = self.us.run("count", "-d", "1", "-o", self.us.data(), "--",
                           self.qemu.program, "-M", "q35", "-display", "none", "-net",
                           "none", "-S", "-kernel", kernel).stderr
        report = self.us.report()
        named = [f["name"] for f in report["functions"] if f["known"]
                 and f["name"][0] != "["]
        check("no symbols" in said and not named and not report["modules"],
              f"{named}, {report['modules']}: {said}")

    def has_labels(self):
        """Symbols in the midst of functions: these are called as often as before."""
        symbols = subprocess.run(["nm", "-S", self.elf], capture_output=True,
                                 text=True).stdout
        starts = {w[3]: int(w[0], 16) for w in map(str.split, symbols.splitlines())
                  if len(w) == 4}
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", self.elf],
                              capture_output=True, text=True).stdout
        sections = subprocess.run(["objdump", "-h", "-w", self.elf], capture_output=True,
                                  text=True).stdout
        text = next(int(w[3], 16) for w in map(str.split, sections.splitlines())
                    if len(w) > 3 and w[1] == ".text")
        path = self.us.data("labels.elf")
        options = []
        for name in ("fib", "work", "deep"):
            body = code.split(f"<{name}>:\n")[1].split("\n\n")[0].splitlines()
            at = int(body[len(body) // 2].split(":")[0], 16)
            check(at > starts[name], f"{name} has no midst")
            options += ["--add-symbol", f"in_{name}=.text:{at - text},global"]
            behind = next(int(after.split(":")[0], 16) for line, after in zip(body, body[1:])
                          if "\tcall " in line)
            if behind != at:
                options += ["--add-symbol", f"behind_{name}=.text:{behind - text},global"]
        subprocess.run(["objcopy", *options, self.elf, path], check=True)
        with Counting(self.args, self.qemu, kernel=path) as c:
            truth = c.counts()
            c.end()
            report = c.report()
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        wrong = [f"{n}: {counted[n]} of {truth[n]}" for n in truth
                 if n != "top_loop_rounds" and counted[n] != truth[n]]
        check(not wrong, f"{wrong}")
        of = {f["id"]: f["name"] for f in report["functions"]}
        above = {n["id"]: of[n["function"]] for n in report["tree"]}
        taken = {of[n["function"]] for n in report["tree"]
                 if above.get(n["parent"]) == "[interrupts]" and "_" in of[n["function"]]
                 and of[n["function"]].split("_")[0] in ("in", "behind")}
        check(not taken, f"taken for interrupts: {taken}")
        note(f"{({n: counted.get(n) for n in ('in_fib', 'in_work', 'in_deep')})}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("loader")
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    args = parser.parse_args()
    note(f"--seed {args.seed}")
    tap = Tap()
    try:
        hosts = Hosts(args)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    for name, test in (("/dev/shm is full", hosts.shm_is_full),
                       ("record goes without the plugin then", hosts.record_goes_without),
                       ("the tree is full", hosts.tree_is_full),
                       ("a reader is too slow", hosts.reader_is_slow),
                       ("QEMU is killed", hosts.qemu_is_killed),
                       ("uniscope is killed", hosts.uniscope_is_killed),
                       ("QEMU has no plugins", hosts.has_no_plugins),
                       ("Xen's QEMU has none", hosts.is_xens),
                       ("QEMU is of another version", hosts.is_of_another_version),
                       ("uniscope is of another version",
                        hosts.uniscope_is_of_another_version),
                       ("QEMU is for another guest", hosts.is_for_another_guest),
                       ("QEMU runs already", hosts.runs_already),
                       ("another's symbols are beside the kernel",
                        hosts.has_others_beside),
                       ("symbols within functions", hosts.has_labels)):
        tap.point(name, test)
    tap.end()


if __name__ == "__main__":
    main()
