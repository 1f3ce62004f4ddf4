#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of a program that is 40 calls deep, by what took it into the kernel: how many are
whole, down to its _start, by each backend.

usage: test_user_stacks.py BUILD [--processor P] [--backends A,B] [--seconds S]

The program is Debian's Linux guest's first; x86_64 (64 and 32 bits), aarch64 or riscv64,
under TCG.  And stacks of what a busybox without symbols does, whose own code has no call
frame information either: its main and those of its applets never return.
"""
import os
import re
import shutil
import struct
import subprocess
import tempfile
from collections import Counter

import guest  # noqa: F401  where the others are
from begin import options, or_skip
from guest import LinuxGuest, static_busybox
from harness import Skip, Tap, Uniscope, check, note, require
from ports import PORTS, PortGuest
from recording import Recording

HERE = os.path.dirname(os.path.abspath(__file__))
DEPTH = 40
# On aarch64 not between the instructions that keep the program's stack pointer.
WHOLE = {"x86_64": 0.98, "i386": 0.98, "aarch64": 0.95, "riscv64": 0.98}
ENOUGH = 150
NOBODYS = 0.05  # of the samples, at most; 0.15 before entries were looked into
COMPILERS = {"x86_64": ["gcc"], "i386": ["gcc", "-m32"],
             **{name: [port.compiler] for name, port in PORTS.items()}}
FLAGS = ["-O2", "-g", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fomit-frame-pointer",
         "-fasynchronous-unwind-tables", "-fno-optimize-sibling-calls"]
# What a program comes into the kernel by, as one of the first two functions there is
# called; riscv64 has one entry for all.
WAYS = [("system call",
         r"entry_SYSCALL|entry_SYSENTER|entry_INT80|asm_int80|el0t_\d+_sync|do_trap_ecall_u"),
        ("fault", r"asm_exc_|do_page_fault"),
        ("interrupt", r"asm_sysvec|asm_common_interrupt|el0t_\d+_irq|do_irq"),
        ("entry", r"handle_exception|ret_from_exception")]
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
echo READY
exec /bin/deep
"""


# What an applet's main does itself is cut: it may be a function without a frame.
BARE_WHOLE = {"x86_64": 0.93, "aarch64": 0.9, "riscv64": 0.93}
FALSE_ENDS = 0.005  # on aarch64 1 of 869, at an entry that has not kept the stack pointer
FIRST_FUNCTION = 64  # bytes
BARE_WORK = """
yes >/dev/null &
md5sum /dev/zero &
while :; do awk '{ s += length($0) } END { print s }' /proc/kallsyms >/dev/null; done &
while :; do gzip -c /bin/busybox >/dev/null; done &
while :; do find /proc -name 'u*' >/dev/null; done &
while :; do i=$((i+1)); case $i in *00) ls -lR /proc/1 >/dev/null;; esac; done &
"""
BARE_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev /sbin /usr/bin /usr/sbin
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s
""" + BARE_WORK + """
echo READY
while :; do sleep 1000; done
"""


def program(build, processor):
    source = os.path.join(HERE, "programs", "deep.c")
    path = os.path.join(build, "tests", "linux", "deep-" + processor)
    compiler = COMPILERS[processor]
    if not shutil.which(compiler[0]):
        raise Skip(f"{compiler[0]} is not installed")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done = subprocess.run([*compiler, *FLAGS, source, "-o", path], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"{' '.join(compiler)}: {done.stderr.strip()[-200:]}")
    return path


class X86(LinuxGuest):
    def __init__(self, build, file):
        super().__init__(build, cpu="max", smp=1, programs={"deep": file},
                         work="deep >/dev/null 2>&1 &")
        self.elf = file


class Other(PortGuest):
    def __init__(self, build, processor, file):
        super().__init__(build, processor, INIT, smp=1, files={"/bin/deep": file})
        self.elf = file


def classify(report, module):
    """{way: Counter of whole, cut, deeper than it can be, without the program}"""
    functions = {f["id"]: f for f in report["functions"]}
    paths, ways, cut = {0: []}, {}, Counter()
    for node in report["tree"]:
        f = functions[node["function"]]
        paths[node["id"]] = path = paths[node["parent"]] + [f]
        if not node["self"]:
            continue
        mine = [f["name"] for f in path if f["module"] == module and not f["inlined"]]
        kernel = [f["name"] for f in path if f["module"] == "linux"]
        if not mine and not kernel:
            continue
        way = "in the program" if not kernel else next(
            (name for name, regex in WAYS if any(re.match(regex, f) for f in kernel[:2])), None)
        if not way:  # the kernel's own work
            continue
        deep = sum(name.startswith("dive") for name in mine)
        end = ("none" if not mine else "wrong" if deep > DEPTH else
               "whole" if mine[0] == "_start" else "cut")
        ways.setdefault(way, Counter())[end] += node["self"]
        if end in ("cut", "none"):
            cut[";".join(kernel[:2] + mine[:2] + mine[-1:]) or "?"] += node["self"]
    return ways, cut


def measure(us, g, backend, seconds, whole):
    ways = {}
    for longer in (1, 2, 4):
        us.record(g, backend, "--budget", "50", seconds=longer * seconds)
        ways, cut = classify(us.report(), os.path.basename(g.elf))
        if sum(sum(c.values()) for c in ways.values()) >= ENOUGH:
            break
    all_ways = sum(ways.values(), Counter())
    for way, c in sorted(ways.items()):
        n = sum(c.values())
        note(f"{backend}, {way}: {100 * c['whole'] / n:.1f} % of {n} stacks are whole "
             f"({c['cut']} cut, {c['none']} without the program, {c['wrong']} too deep)")
    for path, n in cut.most_common(4):
        note(f"{backend}: {n} not whole at {path}")
    n = sum(all_ways.values())
    check(n >= ENOUGH, f"only {n} samples")
    check(not all_ways["wrong"], "stacks are deeper than they can be")
    check(all_ways["whole"] >= whole * n, f"{backend}: {all_ways['whole']} of {n} are whole")


def names(us, g):
    """Of the program with its symbols, and stripped: whose samples there are, and what its
    functions are called by a folder with the guest's files, and without."""
    us.record_enough(g, "gdb", "--budget", "50", seconds=5, enough=6 * ENOUGH)
    rows = {r["name"]: r["samples"] for r in us.report("--sort", "process")["groups"]}
    n, own = sum(rows.values()), rows.get("deep (1)", 0)
    note(f"{own} of {n} are the program's: {rows}")
    check(own >= 0.8 * n, f"others have {n - own} of {n}")
    check(rows.get("[kernel]", 0) <= NOBODYS * n, "too many are nobody's")
    with tempfile.TemporaryDirectory(prefix="uniscope-") as root:
        os.mkdir(os.path.join(root, "bin"))
        there = os.path.join(root, "bin", "deep")
        shutil.copy(g.whole, there)
        told = subprocess.run(["nm", g.whole], capture_output=True, text=True, check=True).stdout
        truth = {line.split()[2] for line in told.splitlines() if line.split()[1] in "tT"}
        for stripped in (False, True):
            if stripped:
                subprocess.run([g.strip, there], check=True)
            named = [f for f in us.report("--root", root)["functions"]
                     if f["module"] == "/bin/deep" and not f["inlined"]]
            known = sum(f["self"] for f in named if f["known"])
            samples = sum(f["self"] for f in named)
            note(f"{'stripped' if stripped else 'whole'}: {known} of {samples} have a name")
            check(samples >= ENOUGH / 4, "hardly any")
            if stripped:
                check(not known, [f["name"] for f in named if f["known"]])
                continue
            check(known == samples, [f["name"] for f in named if not f["known"]])
            check({f["name"] for f in named} <= truth, {f["name"] for f in named} - truth)


def entry_point(path):
    with open(path, "rb") as f:
        return struct.unpack_from("<Q", f.read(32), 24)[0]


def bare(us, g, processor, busybox):
    """Whole stacks lead down to the function that the kernel enters, all of them."""
    us.record_enough(g, "gdb", "--budget", "50", seconds=5, enough=2 * ENOUGH)
    own = [s for s in Recording(us.data()).samples if any(f.user for f in s.frames)]
    whole = [s for s in own if s.whole()]
    n, n_whole = (sum(s.weight for s in some) for some in (own, whole))
    note(f"{n_whole} of {n} stacks of busybox are whole")
    cut = Counter(hex(s.frames[-1].pc) for s in own if not s.whole())
    note(f"cut at {cut.most_common(4)}")
    check(n >= ENOUGH, f"only {n} samples")
    entry = entry_point(busybox)
    wrong = Counter(hex(s.frames[-1].pc) for s in whole
                    if not 0 < s.frames[-1].pc - entry < FIRST_FUNCTION)
    note(f"end elsewhere than at {entry:#x}: {dict(wrong)}")
    check(sum(wrong.values()) <= FALSE_ENDS * n_whole, "stacks end where they do not")
    check(n_whole >= BARE_WHOLE[processor] * n, f"{n_whole} of {n} are whole")


def bare_guest(args, port):
    """(guest, its busybox)"""
    if not port:
        return (LinuxGuest(args.build, cpu="max", smp=1, work=BARE_WORK), static_busybox())
    g = PortGuest(args.build, args.processor, BARE_INIT, smp=1)
    return g, g.busybox


def test_bare(us, args, port):
    g, busybox = bare_guest(args, port)
    g.elf = None
    with g:
        g.wait("READY")
        bare(us, g, args.processor, busybox)


def main():
    p = options(backends="", seconds=5.0)
    p.add_argument("--processor", default="x86_64", choices=COMPILERS)
    args = p.parse_args()
    port = PORTS.get(args.processor)
    with or_skip():
        require("tcg", *([args.processor] if port else []))
        file = program(args.build, args.processor)
        if not port:
            static_busybox()
        g = Other(args.build, args.processor, file) if port else X86(args.build, file)
    tap, us = Tap(), Uniscope(args.build)
    backends = args.backends.split(",") if args.backends else ["gdb"] if port else ["gdb", "qmp"]
    with g:
        g.wait("READY")
        for backend in backends:
            tap.point(f"{args.processor} by {backend}",
                      lambda b=backend: measure(us, g, b, args.seconds,
                                                WHOLE[args.processor]))
        if port:
            g.whole, g.elf, g.strip = g.elf, None, port.compiler.replace("gcc", "strip")
            tap.point(f"{args.processor}: processes and names", lambda: names(us, g))
    if args.processor in BARE_WHOLE:
        tap.point(f"{args.processor}: code without anything",
                  lambda: test_bare(us, args, port))
    tap.end()


if __name__ == "__main__":
    main()
