# SPDX-License-Identifier: GPL-2.0-or-later
"""A boot by uniscope boot, and what it tells: for boot.py and its parts."""
import json
import os
import shutil
import subprocess
import tempfile

from harness import Skip, Tap, Uniscope, check, note
from tcg import Qemu

CLOCK = ("-icount", "shift=3,sleep=off", "-rtc", "clock=vm,base=2020-01-01")
NS_OF_INSN = 8  # by that clock
PC = ("-M", "q35", "-m", "64", "-net", "none", "-display", "none")
VIRT = ("-M", "virt", "-m", "64", "-nic", "none", "-display", "none")


class Boots:
    def __init__(self, args):
        self.args, self.us, self.tap = args, Uniscope(args.build), Tap()
        self.folder = tempfile.TemporaryDirectory(prefix="uniscope-boot-")
        self.qemu = Qemu(args.build, args.qemu, self.folder.name)

    def elf(self, name, folder="tests/guests"):
        path = os.path.join(self.args.build, folder, name)
        if not os.path.exists(path):
            raise Skip(f"{path} is not built")
        return path

    def boot(self, *options, vm=(), elf=None, pc=PC, program=None, good=(0,)):
        done = self.us.run("boot", *options, "--", program or self.qemu.program, *pc,
                           "-kernel", elf or self.elf("demo.elf"), *vm, good=good)
        return json.loads(done.stdout) if "--json" in options else done

    def moments(self, *options, **more):
        told = self.boot("--json", "--no-cost", *options, **more)
        return {p["name"]: p for p in told["points"]}, told

    def in_turn(self, at, names):
        """In each of two boots, each of these is no sooner than the one before."""
        for k in range(2):
            times = [at[n]["runs_ns"][k] for n in names]
            note(f"run {k + 1}: {[t // 1000 for t in times]} us")
            check(times == sorted(times), f"{times}")

    def given_up(self, got_there, *options, **more):
        """A boot that comes to no end; for longer, where a busy host has not got there."""
        for seconds in (2, 8, 30):
            done = self.boot(*options, "--until", "serial:NEVER", "-t", str(seconds), good=(1,),
                             **more)
            check(f"serial:NEVER was not reached in {seconds} s" in done.stderr, done.stderr)
            if got_there(done):
                break
        return done

    def complaint(self, text, *options, code=1, **more):
        done = self.boot(*options, good=(code,), **more)
        check(text in " ".join(done.stderr.split()), done.stderr)

    def emulator(self, program):
        """One for another processor."""
        if self.args.qemu or not shutil.which(program):
            raise Skip(f"{program} is not there")
        return program

    def disk(self):
        path = self.us.data("disk")
        with open(path, "wb") as f:
            f.truncate(1 << 20)
        return path

    def named_firmware(self):
        """An ELF file with a name for all of SeaBIOS, where a PC has it."""
        source, elf = self.us.data("firmware.S"), self.us.data("firmware.elf")
        with open(source, "w") as f:
            f.write(".globl seabios\n.type seabios, @function\nseabios: .fill 0x20000\n"
                    ".size seabios, . - seabios\n")
        subprocess.run(["gcc", "-c", "-o", source + ".o", source], check=True)
        subprocess.run(["ld", "-m", "elf_x86_64", "-Ttext=0xe0000", "-e", "seabios", "-o", elf,
                        source + ".o"], check=True)
        return elf
