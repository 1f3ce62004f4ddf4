# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest in QEMU's emulation that uniscope starts with its plugin."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "rigs")]
from harness import Skip, Uniscope, check, patience  # noqa: E402
from debs import Suite  # noqa: E402


class Processor(NamedTuple):
    """A machine for guests that count."""
    options: tuple
    hot: int         # instructions of a call of hot
    round: int       # of a round of top_loop; one more a call
    packages: tuple  # of another suite, that have its QEMU
    firmware: tuple  # folders of these, for -L


PROCESSORS = {
    "x86_64": Processor(("-M", "q35", "-m", "256", "-net", "none", "-vga", "none"), 2, 3,
                        ("qemu-system-x86",),
                        ("usr/share/seabios", "usr/lib/ipxe/qemu")),
    # The same guests, without 64-bit code.
    "i386": Processor(("-M", "pc", "-m", "256", "-net", "none", "-vga", "none"), 2, 3,
                      ("qemu-system-x86",), ("usr/share/seabios", "usr/lib/ipxe/qemu")),
    "aarch64": Processor(("-M", "virt", "-cpu", "max", "-m", "64", "-nic", "none"), 5, 6,
                         ("qemu-system-arm",), ()),
    "riscv64": Processor(("-M", "virt", "-m", "64", "-nic", "none"), 5, 6,
                         ("qemu-system-riscv", "opensbi"),
                         ("usr/lib/riscv64-linux-gnu/opensbi/generic",)),
}


class Qemu:
    """The machine's own, or one of another suite."""

    def __init__(self, build, suite, folder, processor="x86_64"):
        self.processor = processor
        self.machine = PROCESSORS[processor]
        self.program, self.old = "qemu-system-" + processor, False
        if suite:
            self.program = self._of_suite(os.path.abspath(build), suite, folder)
        elif not shutil.which(self.program):
            raise Skip(f"{self.program} is not installed")
        told = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        self.version = re.search(r"version (\S+)", told.stdout)[1]
        self.old = int(self.version.split(".")[0]) < 8
        self.mixes = int(self.version.split(".")[0]) >= 10

    def _of_suite(self, build, suite, folder):
        """A script by the name of QEMU: that is how it is known to be one."""
        root = Suite(build, suite, "x86_64").closure(
            (*self.machine.packages, "python3", "libelf1t64", "libdw1t64", "libjansson4"))
        libraries = os.path.join(root, "usr/lib/x86_64-linux-gnu")
        places = " ".join("-L " + os.path.join(root, place)
                          for place in ("usr/share/qemu", *self.machine.firmware))
        path = os.path.join(folder, self.program)
        with open(path, "w") as f:
            f.write(f"""#!/bin/sh
QEMU_MODULE_DIR={libraries}/qemu exec {libraries}/ld-linux-x86-64.so.2 \\
--library-path {libraries} --argv0 {self.program} {root}/usr/bin/{self.program} \\
{places} "$@"
""")
        os.chmod(path, 0o755)
        return path

    def elf(self, build, name):
        """A guest's image."""
        path = (f"{name}.elf" if self.processor in ("x86_64", "i386")
                else f"ports/{name}-{self.processor}.elf")
        return os.path.join(build, "tests/guests", path)

    def one_insn_per_block(self):
        return ["-singlestep"] if self.old else ["-accel", "tcg,one-insn-per-tb=on"]


class Counting:
    """uniscope COMMAND of the guest, from its start until it has printed its counts."""

    command = "count"

    def __init__(self, args, qemu, *options, name="counted", out="counts.data", smp=1,
                 before=(), kernel=None):
        self.us = Uniscope(args.build)
        self.folder = self.us.dir.name
        self.log = os.path.join(self.folder, "serial")
        self.out = self.us.data(out)
        self.elf = kernel or qemu.elf(args.build, name)
        if not os.path.exists(self.elf):
            raise Skip(f"{self.elf} is not built")
        open(self.log, "w").close()
        self.run = subprocess.Popen(
            [self.us.program, self.command, "-o", self.out, *before, "--", qemu.program,
             *qemu.machine.options, "-smp", str(smp), "-display", "none", "-serial",
             "file:" + self.log, "-kernel", self.elf, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self, pattern, seconds=120):
        end = patience.clock() + seconds
        while patience.clock() < end:
            with open(self.log, errors="replace") as f:
                told = re.search(pattern, f.read())
            if told:
                return told
            if self.run.poll() not in (None, -signal.SIGKILL):
                raise RuntimeError(f"it ended: {self.run.communicate()}")
            time.sleep(0.02)
        raise RuntimeError(f"no {pattern} in {seconds} s; {self.last_words()}")

    def last_words(self):
        """Of a guest that does not go on: what it said last, and what its threads do."""
        with open(self.log, errors="replace") as f:
            told = [f"it said {f.read()[-200:]!r}"]
        try:
            for task in glob.glob(f"/proc/{self.vm()}/task/*"):
                with open(task + "/stat") as stat, open(task + "/wchan") as wchan:
                    name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
                    state, *_, user, system = rest.split()[:13]
                    told.append(f"{name}: {state} {wchan.read()}, {user} + {system} ticks")
        except (OSError, ValueError) as e:
            told.append(str(e))
        return "; ".join(told)

    def counts(self):
        return json.loads(self.wait(r"COUNTS (\{.*\})")[1])

    def end(self, how=signal.SIGINT, code=0):
        """By this signal; 0: it ends by itself.  With this exit code."""
        if self.run.poll() is None and how:
            self.run.send_signal(how)
        self.said = patience.communicate(self.run, 120)
        check(self.run.returncode == code, f"exit {self.run.returncode}: {self.said}")

    def vm(self):
        """The pid of its QEMU."""
        pids = subprocess.run(["pgrep", "-P", str(self.run.pid)], capture_output=True,
                              text=True).stdout.split()
        found, = (int(p) for p in pids if self.elf in open(f"/proc/{p}/cmdline").read())
        return found

    def files(self):
        """The folder of the plugin's files."""
        mine = [d for d in glob.glob("/dev/shm/uniscope-*") + glob.glob("/tmp/uniscope-*")
                if os.path.exists(os.path.join(d, "counts"))
                and self.log in open_by(os.path.join(d, "counts"))]
        check(len(mine) == 1, f"counts in {mine}")
        return mine[0]

    def report(self, *args):
        told = self.us.run("report", "--json", *args, self.out).stdout
        return json.loads(told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """uniscope ends its QEMU, but not where it is killed."""
        if self.run.poll() is None:
            self.run.terminate()
            try:
                patience.communicate(self.run, 30)
            except subprocess.TimeoutExpired:
                os.kill(self.vm(), signal.SIGKILL)
                self.run.kill()
                self.run.wait()
        self.us.dir.cleanup()


def open_pids(path):
    """Who has it mapped."""
    found = []
    for maps in glob.glob("/proc/[0-9]*/maps"):
        try:
            if path in open(maps).read():
                found.append(int(maps.split("/")[2]))
        except OSError:
            pass
    return found


def open_by(path):
    """The command lines of those; of another test's, some may have ended meanwhile."""
    lines = []
    for pid in open_pids(path):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline") as f:
            lines.append(f.read().replace("\0", " "))
    return " ".join(lines)
