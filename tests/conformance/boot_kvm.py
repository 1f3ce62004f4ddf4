#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots under KVM, timed by uniscope boot: by KVM's tracepoints and by samples.

usage: boot_kvm.py BUILD [--cpu MODEL]

No time is compared with a bound: the host's load is in it.  What is compared is the
order of what must follow each other, and counts.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

from harness import Skip, Tap, Uniscope, check, kvm_works, note

HERE = os.path.dirname(os.path.abspath(__file__))
MACHINE = ["VMM launched", "VM made", "vCPU made", "first instruction"]


class Boots:
    def __init__(self, args):
        self.args, self.us, self.tap = args, Uniscope(args.build), Tap()

    def require(self):
        """Of uniscope's own rights: what it says of the backend that has the same."""
        if not kvm_works():
            raise Skip("/dev/kvm cannot be opened")
        rows = json.loads(self.us.run("doctor", "--json").stdout)
        bpf, = (row for row in rows if row["name"] == "bpf")
        if bpf["answer"] == "no":
            raise Skip(f"bpf: {bpf['details']}")

    def vm(self, guest, *options):
        if not shutil.which("qemu-system-x86_64"):
            raise Skip("qemu-system-x86_64 is not installed")
        elf = os.path.join(self.args.build, "tests/guests", guest + ".elf")
        return ["qemu-system-x86_64", "-M", "microvm", "-accel", "kvm", "-cpu",
                self.args.cpu, "-m", "64", "-display", "none", "-net", "none", "-kernel",
                elf, *options]

    def boot(self, *options, vm, good=(0,)):
        self.require()
        done = self.us.run("boot", "--json", "--no-cost", *options, "--", *vm, good=good)
        if done.returncode:
            return done, None
        told = json.loads(done.stdout)
        return {p["name"]: p for p in told["points"]}, told

    def in_order(self, at, names):
        for name in names:
            check(name in at, f"{name} is missing: {list(at)}")
        for k in range(len(at[names[0]]["runs_ns"])):
            times = [at[n]["runs_ns"][k] for n in names]
            note(f"run {k + 1}: {[t // 1000 for t in times]} us")
            check(all(a <= b for a, b in zip(times, times[1:])), f"{names}: {times}")

    # ---- What it tells ----

    def tracepoints(self):
        """Until its first HLT, and each boundary by KVM."""
        at, told = self.boot("--by", "kvm", "-n", "2", "--until", "first-idle",
                             vm=self.vm("idle"))
        names = [*MACHINE, "serial port written", "first serial byte"]
        self.in_order(at, names)
        self.in_order(at, ["serial port written", "first idle"])
        check(all(at[n]["by"] == "KVM" for n in [*MACHINE[1:], "first idle"]), f"{at}")
        check(at["first serial byte"]["by"] == "output", f"{at}")
        exits = told["exits"]
        note(f"exits: {exits}")
        # Where instructions are emulated no exit says where the guest was.
        check(sum(p["port I/O"] for p in exits.values()) > 0, "no port I/O of the guest")

    def samples(self):
        """A function on the stack: behind what was done before it, in its error."""
        at, told = self.boot("--by", "samples", "-n", "2", "--until", "kmain",
                             "--until", "main_loop", "--until", "serial:BEAT",
                             vm=self.vm("leaf"))
        self.in_order(at, [*MACHINE, "kernel entry", "serial port written", "main_loop",
                           "serial:BEAT"])
        self.in_order(at, ["kmain", "main_loop"])
        for name in ("kernel entry", "kmain", "main_loop"):
            check(at[name]["by"] == "samples", f"{at[name]}")
            errors = at[name]["error_ns"], at[name]["first_call_error_ns"]
            note(f"{name}, errors: {[e // 1000 for e in errors]} us")
            # A call before this one may have been missed, but none before the launch.
            check(errors[1] <= errors[0] <= max(at[name]["runs_ns"]), f"{at[name]}")

    def by_itself(self):
        """Without a word of how: all that can be seen, and why the rest is not."""
        at, told = self.boot(vm=self.vm("leaf"))
        self.in_order(at, [*MACHINE, "kernel entry", "kmain"])
        check(at["kmain"]["by"] in ("breakpoint", "samples"), f"{at['kmain']}")
        note(f"kmain by {at['kmain']['by']}: {told['unseen_functions']}")
        if at["kmain"]["by"] == "samples":
            check("breakpoints" in told["unseen_functions"], f"{told}")

    def profile(self):
        """Where its time goes: samples, each in the phase of its time."""
        out = self.us.data("boot.data")
        at, told = self.boot("--profile", "-o", out, "--until", "kmain", vm=self.vm("leaf"))
        profile = told["profile"]
        check(profile["by"] == "samples" and profile["samples"] > 0, f"{profile}")
        rows = {p["name"]: p["samples"] for p in profile["phases"]}
        note(f"{rows}")
        check({"firmware", "kernel"} <= set(rows), f"{rows}")
        check(sum(rows.values()) == profile["samples"], f"{rows}")
        folded = self.us.run("report", "-f", "folded", out).stdout.splitlines()
        check(all(line.startswith("[") for line in folded), f"{folded[:5]}")
        check(sum(int(line.rsplit(" ", 1)[1]) for line in folded) == profile["samples"],
              "not all is in the tree")
        used = told["used_most"]
        check(any(p["ports"] for p in used.values()), f"{used}")

    def first_function(self):
        """Of a kernel without a usual name, by its code: KVM has no plugin."""
        path = self.us.data("unseen.elf")
        with open(os.path.join(self.args.build, "tests/guests/leaf.elf"), "rb") as f:
            elf = f.read()
        with open(path, "wb") as f:
            f.write(elf.replace(b"\0kmain\0", b"\0Xmain\0"))
        vm = self.vm("leaf")
        vm[vm.index("-kernel") + 1] = path
        at, told = self.boot(vm=vm)
        note(told["first_function"])
        check(told["first_function"].startswith("boot_main: ") and
              told["first_function"].endswith("as its code says"), f"{told}")
        self.in_order(at, [*MACHINE, "kernel entry", "boot_main"])

    def other_vmm(self):
        """No QEMU: the same boundaries."""
        vm = [sys.executable, os.path.join(HERE, "tiny_vmm.py")]
        at, told = self.boot("-n", "2", "--until", "first-idle", vm=vm)
        self.in_order(at, [*MACHINE, "serial port written", "first idle"])
        self.in_order(at, ["serial port written", "first serial byte"])
        check(sum(p.get("port I/O", 0) for p in told["exits"].values()) == 1,
              f"{told['exits']}")

    def through_a_script(self):
        """What the command starts is looked at, too."""
        at, _ = self.boot("--by", "kvm", "--until", "serial:BEAT",
                          vm=["sh", "-c", '"$@" -serial stdio; true', "sh",
                              *self.vm("leaf")])
        self.in_order(at, [*MACHINE, "serial port written", "serial:BEAT"])

    # ---- What goes wrong ----

    def without_rights(self):
        """Each point says why it cannot be seen."""
        bare = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
        if not shutil.which("setpriv") or subprocess.run([*bare, "true"],
                                                         capture_output=True).returncode:
            raise Skip("no setpriv that takes all capabilities away")
        self.require()
        run = self.us.program
        self.us.program = bare[0]
        try:
            done = self.us.run(*bare[1:], run, "boot", "--no-cost", "--until",
                               "serial:BEAT", "--", *self.vm("leaf"))
        finally:
            self.us.program = run
        text = " ".join(done.stdout.split())
        check("cannot be seen here: " in text and "CAP_BPF" in text, done.stdout)

    def never(self):
        done, _ = self.boot("--by", "samples", "--until", "ring_bell", "-t", "3",
                            vm=self.vm("leaf"), good=(1,))
        check("no such function" in done.stderr, done.stderr)
        done, _ = self.boot("--by", "samples", "--until", "kmain", "--until",
                            "serial:NEVER", "-t", "5", vm=self.vm("leaf"), good=(1,))
        check("serial:NEVER was not reached" in done.stderr, done.stderr)

    def run(self):
        point = self.tap.point
        point("KVM's tracepoints", self.tracepoints)
        point("functions by samples", self.samples)
        point("the best way by itself", self.by_itself)
        point("where its time goes, by samples", self.profile)
        point("a first function, by the image's code", self.first_function)
        point("a VMM that is no QEMU", self.other_vmm)
        point("a VMM that a script starts", self.through_a_script)
        point("without the rights it says why", self.without_rights)
        point("what is never reached", self.never)
        self.tap.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    # Not the host's: where KVM emulates its guests, it does not take that.
    parser.add_argument("--cpu", default="qemu64")
    Boots(parser.parse_args()).run()


if __name__ == "__main__":
    main()
