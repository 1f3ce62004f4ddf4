#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot a host with a hypervisor in QEMU's emulation, and run a test inside or a shell.

usage: rig.py BUILD RIG [SCRIPT [WORD...]] [--cpus N] [--seconds S] [--icount]

The script is sourced by the shell of the host (init.sh), with the words as $1, $2.  Its TAP
comes over the serial line, and its exit status: without a status the test has failed.  What
Debian's packages are needed is downloaded once, into BUILD/rigs and BUILD/packages.
"""
import argparse
import glob
import gzip
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import paths  # noqa: F401
import packages
import vmlinux
from harness import Skip, patience
from image import Image
from rigs import RIGS
from tap import Join

_STATUS = re.compile(r"@@ \S+ done status (\d+)$")
_PANIC = re.compile(r"Kernel panic - not syncing|Panic on CPU \d+:")


def kernel_folder(image, rig):
    if image.suite:
        return image.suite.kernel(rig.kernel)
    return packages.unpack_linux(image.build, rig.kernel)


def kernel_file(folder):
    """What QEMU boots at once: to unpack it under emulation would take a minute."""
    packed, = glob.glob(os.path.join(folder, "boot", "vmlinuz-*"))
    with open(packed, "rb") as f:
        if f.read(0x206)[0x202:] != b"HdrS":
            return packed
    return vmlinux.extract_file(packed, os.path.join(folder, "boot", "vmlinux"))


def hypervisor_file(image, rig, where):
    """QEMU boots what is not packed alone: a multiboot ELF, an arm64 Image."""
    if not rig.hypervisor:
        return ""
    packed = image.find(rig.hypervisor)[0][1]
    with open(packed, "rb") as f:
        if f.read(2) != b"\x1f\x8b":
            return packed
    bare = os.path.join(where, "hypervisor")
    with gzip.open(packed) as f, open(bare, "wb") as to:
        shutil.copyfileobj(f, to)
    return bare


def log_file(where):
    return os.path.join(where, "log")


def gdb_socket(where):
    return os.path.join(where, "gdb")


def stacks(build, where):
    """Where a host is that does not come to its end: what uniscope is for."""
    dump = [os.path.join(build, "uniscope"), "dump", "gdb:" + gdb_socket(where)]
    for _ in range(3):
        try:
            done = subprocess.run(dump, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=20)
            yield from done.stdout.splitlines()
        except subprocess.TimeoutExpired as late:
            yield str(late)


def tail(path):
    """What the hypervisor said last: why a host has stopped, if it fell over."""
    if not os.path.exists(path):
        return []
    with open(path, errors="replace") as f:
        return [line.rstrip() for line in f][-60:]


def prepare(args, rig, where):
    """QEMU's command."""
    image = Image(args.build, rig)
    folder = kernel_folder(image, rig)
    initrd = os.path.join(where, "initrd")
    image.write(initrd, folder, args.script, args.words)
    argv = shlex.split(rig.qemu.format(
        kernel=kernel_file(folder), initrd=initrd,
        hypervisor=hypervisor_file(image, rig, where), log=log_file(where)))
    if not shutil.which(argv[0]):
        raise Skip(f"{argv[0]} is not installed")
    if args.cpus:
        argv += ["-smp", str(args.cpus)]
    if args.icount:
        argv += ["-icount", "shift=0,sleep=off"]
    return argv + ["-accel", "tcg", "-nodefaults", "-display", "none", "-no-reboot",
                   "-gdb", f"unix:{gdb_socket(where)},server=on,wait=off"]


class Console:
    """Lines of a rig that runs, each as soon as it is there."""

    def __init__(self, argv, end):
        self.end = end  # by patience.clock()
        self.closed = False  # QEMU has ended
        self.vm = subprocess.Popen(argv + ["-serial", "stdio"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.vm.kill()
        self.vm.wait()

    def lines(self):
        """Until QEMU has ended or the time is over."""
        rest, fd = b"", self.vm.stdout.fileno()
        while (left := self.end - patience.clock()) > 0:
            if not select.select([fd], [], [], left)[0]:
                continue
            more = os.read(fd, 65536)
            if not more:
                self.closed = True
                break
            *whole, rest = (rest + more).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
        yield rest.decode(errors="replace").rstrip("\r")


def run_once(argv, tap, end, build, where):
    """(exit status or None, has the host's kernel or hypervisor fallen over?)"""
    begin, status, fell = time.monotonic(), None, False
    with Console(argv, end) as console:
        for line in console.lines():
            if said := _STATUS.match(line):
                status = int(said[1])
            if line.startswith("@@"):
                line += f" ({time.monotonic() - begin:.1f} s since QEMU's start)"
            fell |= bool(_PANIC.search(line))
            tap.line(line)
        # A host that resets itself without a word, by a triple fault, has fallen over, too.
        fell |= console.closed and status is None
        if status is None and not fell:
            for line in stacks(build, where):
                tap.line("# " + line)
    for line in tail(log_file(where)) if status != 0 else ():
        fell |= bool(_PANIC.search(line))
        tap.line("# " + line)
    return status, fell and status is None


def run_test(argv, seconds, build, where):
    """0, or 1 if anything failed.  Emulated hosts fall over now and then, with and
    without a test: one that does is started once more, and that is said."""
    tap, end = Join(), patience.clock() + seconds
    status, fell = run_once(argv, tap, end, build, where)
    if fell:
        tap.line("# the emulated host itself fell over: once more")
        tap.forget()
        status, _ = run_once(argv, tap, end, build, where)
    tap.point(status == 0, "no exit status: it did not end" if status is None
              else f"exit status {status}")
    tap.end()
    return 1 if tap.bad else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("rig", choices=RIGS)
    p.add_argument("script", nargs="?")
    p.add_argument("words", nargs="*", help="the script's arguments")
    p.add_argument("--cpus", type=int, help="of the host, not as many as its row says")
    p.add_argument("--seconds", type=float, default=600, help="at most, then it failed")
    p.add_argument("--icount", action="store_true",
                   help="its clock counts instructions: 1 ns each, on a busy machine too")
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    with tempfile.TemporaryDirectory(prefix="uniscope-") as where:
        try:
            argv = prepare(args, RIGS[args.rig], where)
        except Skip as why:
            print(f"1..0 # SKIP {' '.join(str(why).split())}")
            return 0
        if args.script:
            return run_test(argv, args.seconds, args.build, where)
        print(f"{args.rig}: exit ends it, Ctrl-a x kills it, uniscope is in PATH")
        return subprocess.run(argv + ["-serial", "mon:stdio"]).returncode


# So that QEMU ends with this program.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
if __name__ == "__main__":
    sys.exit(main())
