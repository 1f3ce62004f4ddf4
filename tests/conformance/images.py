#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Images that are not where they were linked, not all the time, or not the right ones.

usage: images.py BUILD BACKEND ACCEL [--only WORD]

The guests say on their serial port how far they moved, and which call paths exist.
"""
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading

import points
from harness import Guest, Skip, Tap, Uniscope, check, note, truth

CLUSTER = 65536
# What a guest does when it starts anew elsewhere: its tree leaves that out.
SETUP = {"interrupts_init", "lapic_enable", "slide_image", "truth_init", "vcpu_init"}
# Just then main_loop runs here and its caller called the one there: no CALL leads from one
# to the other, so the stack is cut.  It calls the first function of its new self.
ANEW = {("main_loop",), ("main_loop", "start_vcpu")}


def empty_disk(path):
    """A qcow2 image of 64 MiB with nothing in it: QEMU keeps snapshots in such a file.
    (docs/interop/qcow2.txt: header, refcount table, refcount block, L1 table.)"""
    header = struct.pack(">4sIQIIQIIQQIIQ", b"QFI\xfb", 2, 0, 0, 16, 64 << 20, 0, 1,
                         3 * CLUSTER, CLUSTER, 1, 0, 0)
    with open(path, "wb") as f:
        for part in (header, struct.pack(">Q", 2 * CLUSTER),
                     struct.pack(">HHHH", 1, 1, 1, 1), b""):
            f.write(part.ljust(CLUSTER, b"\0"))


class Monitor:
    """QEMU's monitor for humans: the other ways in are uniscope's."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.answer()

    def answer(self):
        text = b""
        while not text.endswith(b"(qemu) "):
            text += self.socket.recv(4096)
        return text

    def command(self, text):
        self.socket.sendall(text.encode() + b"\n")
        answer = self.answer()
        check(b"rror" not in answer, f"{text}: {answer}")


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.dir = tempfile.TemporaryDirectory(prefix="uniscope-")

    def guest(self, name, **more):
        return Guest(self.args.build, name, self.args.accel, **more)

    def record(self, g, seconds, *images):
        """Record with these images; the report as JSON."""
        args = [a for i in images or (g.elf,) for a in ("-e", i)]
        self.us.run("record", "--backend", self.args.backend, "-d", str(seconds),
                    "--budget", "50", "-o", self.us.data(), *args,
                    g.target(self.args.backend), timeout=seconds + 60)
        return self.us.report()

    def stacks(self, g, report, share, anew=frozenset()):
        """Nothing wrong, and at least this share of the stacks whole and named.  anew:
        cut ones that may be there."""
        tree = set().union(*(b.tree for b in truth.parse(g.serial())))
        n = named = cut = 0
        for path, count in self.us.paths(report, nowhere=False):
            n += count
            named += count if tuple(path) in tree else 0
            names = [f for f in path if not f.startswith("0x")]
            whole = len(names) == len(path) and not SETUP & set(path)
            if whole and path and tuple(path) not in tree:
                check(tuple(path) in anew, f"wrong: {path}")
                cut += count
        told = report["recording"]["truncated"]
        check(cut <= told, f"{cut} stacks are cut, {told} are said to be")
        note(f"{n} samples, {100 * named / n:.1f} % named to the root")
        check(named >= share * n, f"{named} of {n} named")

    def slide_of(self, g):
        line = next(s for s in g.serial().splitlines() if s.startswith("SLIDE "))
        return int(line.split()[1], 16)

    def used(self, report):
        return {int(m["bias"], 16) for m in report["modules"] if m["used"]}

    def slid(self):
        """It runs some pages further, by lot, from its start: found by record and dump."""
        for _ in range(2):
            with self.guest("shares-slide") as g:
                g.wait("READY")
                slide = self.slide_of(g)
                out = self.us.run("dump", "--backend", self.args.backend, "-e", g.elf,
                                  g.target(self.args.backend)).stdout
                check("start_vcpu+" in out, "dump:\n" + out)
                report = self.record(g, 3)
                note(f"slide {slide:#x}, found {[hex(b) for b in self.used(report)]}")
                check(slide in self.used(report), "not found")
                self.stacks(g, report, 0.99)

    def told(self):
        """The user says where it is: it is nowhere else."""
        with self.guest("shares-slide") as g:
            g.wait("READY")
            slide = self.slide_of(g)
            report = self.record(g, 2, f"{g.elf}@{slide:#x}")
            check(self.used(report) == {slide}, f"{self.used(report)}")
            self.stacks(g, report, 0.99)
            self.record(g, 2, f"{g.elf}@{slide + 4096:#x}")
            report = self.us.report()
            check(not any(f["module"] for f in report["functions"]), "named all the same")

    def moved(self):
        """It moves while it is recorded, and leaves its old self where it was.  On a busy
        host it may have moved before there is a sample, or after few: then there is another
        one."""
        for left in (2, 1, 0):
            with self.guest("shares-move") as g:
                g.wait("READY")
                report = self.record(g, 7)
                check("SLIDE" in g.serial(), "it has not moved")
                slide, used = self.slide_of(g), self.used(report)
                note(f"slide {slide:#x}, found {[hex(b) for b in used]}")
                late = left and used == {slide}
                check(late or used == {0, slide}, "not found, or another place")
                # Of one that is late, less than a tenth of the samples are of before.
                self.stacks(g, report, 0.9 if late else 0.99, ANEW)
                if not late:
                    return

    def snapshot(self, name, disk):
        """Leave a guest that runs in a snapshot of the disk."""
        monitor = os.path.join(self.dir.name, "monitor")
        with self.guest(name, extra=self.with_disk(disk, monitor)) as g:
            g.wait("READY")
            Monitor(monitor).command("savevm other")

    def with_disk(self, disk, monitor):
        return ["-drive", f"if=none,id=disk,file={disk}", "-monitor",
                f"unix:{monitor},server=on,wait=off"]

    def load(self, monitor):
        """A guest that a look holds would stay as still as it was."""
        monitor.command("loadvm other")
        monitor.command("cont")

    def replaced(self):
        """From one instant to the next another kernel runs, at the same addresses."""
        if self.args.accel == "kvm":
            raise Skip("the snapshots are of TCG")
        disk, monitor = (os.path.join(self.dir.name, n) for n in ("disk", "monitor2"))
        empty_disk(disk)
        self.snapshot("demo", disk)
        with self.guest("shares", extra=self.with_disk(disk, monitor)) as g:
            g.wait("READY")
            own = truth.parse(g.serial())[-1].functions()
            other = os.path.join(self.args.build, "tests", "guests", "demo.elf")
            timer = threading.Timer(3, self.load, (Monitor(monitor),))
            timer.start()
            report = self.record(g, 8, g.elf, other)
            timer.join()
            self.spans(report, g.elf, other)
            # Functions that both have are told apart by their file.
            modules = {f["name"].split(" (")[0]: f["module"] for f in report["functions"]
                       if f["total"] and f["module"] and not f["inlined"]}
            note(f"functions: {sorted(modules)}")
            check("copy_bytes_naive" in modules and modules["f60"] == "shares.elf",
                  "one of the two is missing")
            for name, module in modules.items():
                check(module == "demo.elf" or name in own,
                      f"{name} is no function of {module}")
            check(any("was in the guest at" in w for w in report["warnings"]),
                  f"warnings: {report['warnings']}")

    def spans(self, report, first, second):
        spans = [(os.path.basename(m["path"]), m.get("from_ns", 0) / 1e9,
                  m.get("until_ns", 0) / 1e9) for m in report["modules"] if m["used"]]
        note(f"spans: {spans}")
        check(len(spans) == 2 and spans[0][2] and spans[0][2] <= spans[1][1]
              and not spans[1][2], "the spans are wrong")

    def refused(self):
        """Other images than the one that runs: no name of theirs is given."""
        build = os.path.join(self.args.build, "tests", "guests")
        with self.guest("shares") as g:
            g.wait("READY")
            for name in ("demo", "shares-o0", "shares-nofp"):
                report = self.record(g, 1.5, os.path.join(build, name + ".elf"))
                named = [f["name"] for f in report["functions"] if f["module"]]
                check(not named, f"{name}: names given: {named}")
                check(any("NOT what ran" in w for w in report["warnings"]),
                      f"{name}: warnings: {report['warnings']}")
                out = self.dump_inside(g, os.path.join(build, name + ".elf"))
                check("warning: the symbol file is not" in out and "main_loop" not in out,
                      out)

    def dump_inside(self, g, elf):
        """One look at a vCPU; on a busy host it may be in the VMM, once or twice."""
        for _ in range(10):
            out = self.us.run("dump", "--backend", self.args.backend, "-e", elf,
                              g.target(self.args.backend)).stdout
            if "in the VMM on the guest's behalf" not in out:
                break
        return out

    def stripped(self):
        """Without symbols: found, and addresses with the image's name."""
        path = os.path.join(self.dir.name, "stripped.elf")
        with self.guest("shares-slide") as g:
            subprocess.run(["strip", "-o", path, g.elf], check=True)
            g.wait("READY")
            said = self.us.run("record", "--backend", self.args.backend, "-d", "2",
                               "--budget", "50", "-e", path, "-o", self.us.data(),
                               g.target(self.args.backend))
            told = "no symbols: stripped.elf is stripped"
            check((said.stdout + said.stderr).count(told) == 1, said.stdout + said.stderr)
            report = self.us.report()
            told = [w for w in report["warnings"] if "stripped.elf is stripped" in w]
            check(len(told) == 1 and "-e FILE" in told[0], f"{report['warnings']}")
            check(self.slide_of(g) in self.used(report), "not found")
            top = next(f for f in report["functions"] if f["name"][0] != "[")
            check(top["name"].startswith("0x") and top["module"] == "stripped.elf",
                  f"{top}")

    def apart(self):
        """Symbols and lines in another file, found by build-id; then that file alone."""
        folder = os.path.join(self.dir.name, "debug")
        path = os.path.join(self.dir.name, "apart.elf")
        with self.guest("shares") as g:
            subprocess.run(["strip", "-o", path, g.elf], check=True)
            g.wait("READY")
            self.us.run("record", "--backend", self.args.backend, "-d", "2", "-e", path,
                        "--budget", "50", "-o", self.us.data(),
                        g.target(self.args.backend))
            (module,) = [m for m in self.us.report()["modules"] if m["used"]]
            ab, rest = module["build_id"][:2], module["build_id"][2:]
            os.makedirs(os.path.join(folder, ".build-id", ab))
            subprocess.run(["objcopy", "--only-keep-debug", g.elf,
                            os.path.join(folder, ".build-id", ab, rest + ".debug")],
                           check=True)
            self.stacks(g, self.us.report("--symbols", folder), 0.99)
            os.unlink(path)
            report = self.us.report("--symbols", folder)
            self.stacks(g, report, 0.99)
            f60 = next(f for f in report["functions"] if f["name"] == "f60")
            check(f60["file"] and f60["line"] and f60["module"] == "apart.elf", f"{f60}")

    def beside(self):
        """The kernel's symbols, and those of another build, are left beside it: it is
        named by its own, without a word of the user's."""
        folder = os.path.join(self.dir.name, "beside")
        kernel = os.path.join(folder, "kernel")
        os.makedirs(os.path.join(folder, "build"))
        own, other = (Guest.built(self.args.build, name, "x86_64")
                      for name in ("shares", "demo"))
        subprocess.run(["strip", "-o", kernel, own], check=True)
        shutil.copy(own, os.path.join(folder, "build", "app.dbg"))
        shutil.copy(other, kernel + ".debug")
        with self.guest("shares", kernel=kernel, extra=("-nic", "none")) as g:
            g.wait("READY")
            said = self.without_a_word(g)
            check("kernel has no symbols: taken from" in said and "app.dbg" in said, said)
            self.stacks(g, self.us.report(), 0.99)

    def disk(self):
        """It starts from a disk, which is no ELF file; the ELF file is beside that."""
        if self.args.accel == "kvm":
            raise Skip("the firmware takes too long here")
        folder = os.path.join(self.dir.name, "from-disk")
        os.makedirs(os.path.join(folder, "build"))
        disk = os.path.join(folder, "os.img")
        built = os.path.join(self.args.build, "tests", "guests", "sector-protected")
        shutil.copy(built + ".bin", disk)
        shutil.copy(built + ".elf", os.path.join(folder, "build", "os.elf"))
        with self.guest("sector-protected", disk=disk) as g:
            g.wait("BEAT")
            said = self.without_a_word(g)
            check("os.img is no ELF file" in said and "os.elf (the same code)" in said,
                  said)
            names = {path[-1] for path, _ in self.us.paths() if path}
            check("work" in names and names <= {"work", "print", "_start"}, f"{names}")

    def iso(self):
        """GRUB starts it from an .iso; the kernel is where that was made."""
        if self.args.accel == "kvm":
            raise Skip("the firmware takes too long here")
        for tool in ("grub-mkrescue", "xorriso", "mformat"):
            if not shutil.which(tool):
                raise Skip(f"{tool} is not installed")
        folder = os.path.join(self.dir.name, "from-iso")
        boot = os.path.join(folder, "isodir", "boot")
        os.makedirs(os.path.join(boot, "grub"))
        shutil.copy(Guest.built(self.args.build, "shares", "x86_64"),
                    os.path.join(boot, "kernel.elf"))
        shutil.copy(Guest.built(self.args.build, "demo", "x86_64"),
                    os.path.join(folder, "kernel.elf"))  # of another build
        with open(os.path.join(boot, "grub", "grub.cfg"), "w") as f:
            f.write("set timeout=0\nmenuentry os {\n  multiboot /boot/kernel.elf\n}\n")
        iso = os.path.join(folder, "os.iso")
        made = subprocess.run(["grub-mkrescue", "-o", iso, os.path.join(folder, "isodir")],
                              capture_output=True, text=True)
        if made.returncode or not os.path.exists(iso):
            raise Skip(f"grub-mkrescue makes no .iso here: {made.stderr[-100:]}")
        with self.guest("shares", cdrom=iso, memory=128) as g:
            g.wait("READY")
            said = self.without_a_word(g)
            check("os.iso is no ELF file" in said
                  and "isodir/boot/kernel.elf (the same code)" in said, said)
            self.tree = truth.parse(g.serial())[-1].tree
            self.stacks(g, self.us.report(), 0.99)

    def without_a_word(self, g):
        """Record without -e; what is said."""
        return self.us.run("record", "--backend", self.args.backend, "-d", "2",
                           "--budget", "50", "-o", self.us.data(),
                           g.target(self.args.backend)).stderr

    def points(self):
        return [("slid", self.slid), ("told", self.told), ("moved", self.moved),
                ("replaced", self.replaced), ("refused", self.refused),
                ("stripped", self.stripped), ("apart", self.apart),
                ("beside", self.beside), ("disk", self.disk), ("iso", self.iso)]


if __name__ == "__main__":
    points.main(Suite)
