#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count and trace on guests with odd stacks, threads that never return, exception
returns.

usage: callers.py BUILD [--processor NAME] [--qemu SUITE] [--only WORD] [--short]

The guests count in memory how often they call what.  They are stopped, and both counts
are compared: each may differ by the one call that is just being made.  Each caller must
have an instruction that can lead to what it calls (edges.py).  In a trace each of these calls
has returned, but for one of each function on each vCPU.
"""
import argparse
import collections
import csv
import json
import os
import re
import socket
import struct
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import anywhere  # noqa: E402
import edges  # noqa: E402
from harness import Skip, Tap, check, note, truth  # noqa: E402
from tcg import PROCESSORS, Counting, Qemu  # noqa: E402

MAX_VCPUS = 4
# What the guest counts of these are the rounds of their loops.
ROUNDS = re.compile(r".*_(loop|thread)$")
# It does not count these, or not before its threads begin.
UNCOUNTED = ("report", "serial_write", "receive_burst")
# Counted at once, so many.
AT_ONCE = {"dive": 100, "parse_header": 32, "copy_bytes_naive": 32, "checksum": 64,
           "send_reply": 32}
# Before a guest's threads begin; its tree leaves that out.
SETUP = {"boot_main", "boot64", "start_high", "start64", "start32", "startup_code_end"}
NARROW = ("flat", "pae", "2level", "large", "compat")

GUESTS = {
    "x86_64": ("shares-skew", "shares-nofp-skew", "recurse-skew", "switch-skew",
               "demo-skew", "ends", "ends-nofp", "halves", "halves-nofp", "badfp",
               "cyclic", "leaf", "idle", "shares-flat-skew", "shares-pae-skew",
               "shares-compat-skew", "recurse-flat-nofp", "recurse-pae-skew-nofp",
               "recurse-compat-skew", "patches", "shares-2level", "shares-large-nofp",
               "halves-flat-nofp", "halves-pae", "halves-compat-nofp"),
    "i386": ("shares-flat-skew", "recurse-flat-nofp", "halves-flat-nofp", "shares-2level",
             "recurse-pae-skew-nofp", "shares-large-nofp", "halves-pae"),
    "aarch64": ("ends", "ends-nofp", "switch", "recurse", "shares-nofp", "demo", "leaf",
                "badfp", "idle", "patches"),
    "riscv64": ("ends", "ends-nofp", "ends-mret", "ends-nofp-mret", "switch", "recurse",
                "shares-nofp", "demo", "leaf", "badfp", "idle", "patches"),
}
SHORT = {
    "x86_64": ("switch-skew", "recurse-skew", "ends-nofp", "halves-nofp", "demo-skew",
               "recurse-pae-skew-nofp", "halves-flat-nofp", "patches"),
    "i386": ("halves-flat-nofp", "recurse-pae-skew-nofp"),
    "aarch64": ("ends-nofp", "demo", "patches"),
    "riscv64": ("ends-nofp-mret", "ends-nofp", "demo", "patches"),
}
# And those that are traced, too.
TRACED = {
    "x86_64": ("ends-nofp", "switch-skew", "demo-skew", "halves-nofp", "halves-flat-nofp",
               "patches"),
    "i386": ("halves-flat-nofp", "recurse-flat-nofp"),
    "aarch64": ("ends-nofp", "switch", "patches"),
    "riscv64": ("ends-nofp-mret", "ends-nofp", "switch", "patches"),
}


class Monitor:
    """QEMU's, by JSON."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rw")
        self.lines.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        self.lines.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.lines.flush()
        while True:
            told = json.loads(self.lines.readline())
            check("error" not in told, f"{name}: {told}")
            if "return" in told:
                return told["return"]


def variables(elf):
    """{name: (address, bytes)} of the image's data."""
    found = {}
    for s in elf.sections:
        if s[1] != 2:
            continue
        names = elf.sections[s[6]][4]
        for at in range(s[4], s[4] + s[5], 24 if elf.wide else 16):
            if elf.wide:
                name, info, _, _, value, size = struct.unpack_from("<IBBHQQ", elf.data, at)
            else:
                name, value, size, info = struct.unpack_from("<IIIB", elf.data, at)
            if info & 15 == 1:
                end = elf.data.index(b"\0", names + name)
                found[elf.data[names + name:end].decode()] = value, size
    return found


def truths_of(monitor, elf, names, folder):
    """{function: calls} as the guest's memory has it (tests/guests/truth.h)."""
    data = variables(elf)
    at, size = data.get("truths") or data.get("vcpus") or data["servers"]
    path = os.path.join(folder, "truths")
    signed = at - (1 << 64) if at >> 63 else at
    monitor.command("memsave", val=signed, size=size, filename=path)
    with open(path, "rb") as f:
        body = f.read()
    head, function, calls = (56, 40, 8) if elf.wide else (52, 32, 4)
    sums, each = dict.fromkeys(names, 0), size // MAX_VCPUS
    first = next(i for i in range(0, each, 4)
                 if struct.unpack_from("<II", body, i) == (0, len(names) + 1))
    for vcpu in range(MAX_VCPUS):
        for i, name in enumerate(names):
            sums[name] += struct.unpack_from(
                "<Q", body, vcpu * each + first + head + (i + 1) * function + calls)[0]
    return sums


def machine_of(processor, name):
    if processor in ("x86_64", "i386"):
        return ["-M", "pc" if any(n in name for n in NARROW) else "microvm"]
    return ["-bios", "none"] if "mret" in name else []


def guest_options(processor, name):
    options = machine_of(processor, name)
    qmp = tempfile.mktemp(prefix="uniscope-qmp-")
    return qmp, [*options, "-qmp", f"unix:{qmp},server=on,wait=off"]


def paths(report):
    """Each path of the tree, as names, the root first."""
    functions = {f["id"]: f["name"] for f in report["functions"]}
    path = {0: ()}
    for n in report["tree"]:
        path[n["id"]] = (*path[n["parent"]], functions[n["function"]])
    return {p: n for n in report["tree"] for p in [path[n["id"]]]}


def agree(counted, stated, smp):
    wrong = []
    for name, calls in stated.items():
        if ROUNDS.match(name) or name in UNCOUNTED:
            continue
        got, off = counted.get(name, 0), smp * AT_ONCE.get(name, 1)
        # It is counted by its caller, just before, or by itself, just after.
        if not -off <= got - calls <= off:
            wrong.append(f"{name}: {got} of {calls}")
    check(not wrong, "; ".join(wrong))


def odd_paths(report, boot):
    """Those of functions of the guest's tree that the guest does not have."""
    mine = boot.functions()
    below = {path[i:] for path in boot.tree for i in range(len(path))}
    return {p: n["calls"] for p, n in paths(report).items()
            if len(p) > 1 and p[-1] in mine and p[-2] in mine and p[-2:] not in
            {b[-2:] for b in below}}


class Tracing(Counting):
    command = "trace"


def have_returned(c, counted, names, smp):
    """No call is in the trace that was not counted; each has returned, or is being made."""
    check(" lost" not in c.said[1], c.said[1])
    rows = csv.reader(c.us.run("replay", "--format", "csv", c.out).stdout.splitlines())
    returned = collections.Counter(row[0] for row in rows)
    wrong = [f"{n}: {returned[n]} returned of {counted.get(n, 0)}" for n in names
             if not 0 <= counted.get(n, 0) - returned[n] <= smp * AT_ONCE.get(n, 1)]
    check(not wrong, "; ".join(wrong))


def is_right(args, qemu, name, smp, how=Counting, ring=()):
    """On a host with too much to do events of a trace may be lost, and that is said; not with
    memory for all of them."""
    qmp, options = guest_options(qemu.processor, name)
    with how(args, qemu, *options, name=name, smp=smp, before=ring) as c:
        c.wait('TRUTH (.*"seq":[1-9][^}]*}.*\n)')
        time.sleep(args.seconds)
        monitor = Monitor(qmp)
        monitor.command("stop")
        with open(c.log, errors="replace") as f:
            boot = truth.parse(f.read())[-1]
        elf = edges.Elf(c.elf)
        stated = truths_of(monitor, elf, list(boot.last().fn), c.folder)
        c.end()
        if how is Tracing and not ring and " lost" in c.said[1]:
            note(f"once more after: {' '.join(c.said[1].split())}")
            return is_right(args, qemu, name, smp, how, ["--ring", "256M"])
        report = c.report()
        if args.keep:
            os.system(f"cp {c.out} {args.keep}/{name}-{qemu.processor}.data")
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        agree(counted, stated, smp)
        if how is Tracing:
            have_returned(c, counted, stated, smp)
        total = sum(f["self"] for f in report["functions"])
        check(total == report["summary"]["running"],
              f"{total} instructions in functions, {report['summary']['running']} in all")
        check(not report["warnings"], f"{report['warnings']}")
        odd = odd_paths(report, boot)
        check(not odd, f"paths that the guest has not: {odd}")
        found = edges.Edges(report, c.elf)
        note(f"{name}: {sum(stated.values())} calls stated; {found}")
        check(not found.wrong, f"{found.wrong}")


def is_reset(args, qemu, how):
    """What was being executed has ended; each boot is in the tree; it is told."""
    with how(args, qemu, *machine_of(qemu.processor, "reboot"), name="reboot",
             smp=2) as c:
        c.wait('(?s)(REBOOT.*){2}READY.*TRUTH {"vcpu":1')
        c.end()
        with open(c.log, errors="replace") as f:
            boots = f.read().count("REBOOT") + 1
        report = c.report()
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        # It may be about to reset once more, or have just begun to boot.
        resets = re.search(r"was reset (\d+) times", " ".join(report["warnings"]))
        n = int(resets[1]) if resets else 0
        check(boots - 2 <= n <= boots - 1, f"{n} resets told, {boots} boots")
        check(n <= counted["boot_main"] <= n + 1 >= counted["reset_machine"] >= n,
              f"{n} resets: {counted}")
        check(2 * n <= counted["main_loop"] <= counted["vcpu_init"] <= 2 * n + 2,
              f"{n} resets: {counted}")
        found = edges.Edges(report, c.elf)
        note(f"{boots} boots; {found}")
        check(not found.wrong, f"{found.wrong}")
        below = [n for n in found.interrupts if n[0] != "["]
        check(not below, f"no interrupt: {below}")
        words = f"was reset {n} times"
        page = c.us.data("page.html")
        c.us.run("report", "-o", page, c.out)
        with open(page) as f:
            told = (" ".join(report["warnings"]), c.us.run("report", c.out).stdout, f.read())
        for text in told:
            check(words in " ".join(text.replace("#", " ").split()), f"{words}: {text[:800]}")


def slide_is_told(args, qemu):
    """It goes on elsewhere: without names, and with the next time."""
    name = "shares-slide"
    with Counting(args, qemu, *machine_of(qemu.processor, name), name=name,
                  before=["--deterministic"]) as c:
        slide = int(c.wait("SLIDE (0x[0-9a-f]+)")[1], 16)
        c.wait("TRUTH")
        c.end()
        report = c.report()
        told = " ".join(report["warnings"])
        check(f"-e ELF@{slide:#x} " in told, f"{slide:#x}: {told}")
        own = {"f60", "stage", "main_loop"} & {f["name"] for f in report["functions"]}
        check(not own, f"{own} were not there")
    with Counting(args, qemu, *machine_of(qemu.processor, name), name=name,
                  before=["--deterministic", "-e", f"{c.elf}@{slide:#x}", "-e", c.elf]) as c:
        check(int(c.wait("SLIDE (0x[0-9a-f]+)")[1], 16) == slide, "it slid elsewhere")
        c.wait("TRUTH")
        c.end()
        report = c.report()
        functions = {f["name"]: f for f in report["functions"]}
        check({"f60", "stage", "main_loop"} <= set(functions), f"{list(functions)}")
        check(not report["warnings"], f"{report['warnings']}")
        share = functions["f60"]["total"] / report["summary"]["running"]
        note(f"slide {slide:#x}; {share:.2f} in f60")


class Recording(Counting):
    command = "record"


def slide_is_told_by_record(args, qemu):
    """What record starts gets the plugin by itself; a record of the running guest has names."""
    name = "shares-slide"
    with Recording(args, qemu, *machine_of(qemu.processor, name), name=name) as c:
        slide = int(c.wait("SLIDE (0x[0-9a-f]+)")[1], 16)
        c.wait("TRUTH")
        c.end()
        report = c.report()
        check(report["facts"]["backend"] == "plugin", f"{report['facts']}")
        for told in (" ".join(report["warnings"]), c.said[1]):
            check(f"-e ELF@{slide:#x} " in told, f"{slide:#x}: {told}")


def is_loaded_anywhere(args, qemu, how, folder):
    """A position-independent kernel: where it is is told, and then each call is counted."""
    elf, kernel = anywhere.build(folder, anywhere.COUNTS)
    told, bias = {}, ""
    for _ in range(2):
        with how(args, qemu, kernel=elf, before=["--deterministic", "-e", kernel + bias]) as c:
            c.wait(anywhere.TEXT)
            time.sleep(0.3)  # it halts
            c.end()
            report = c.report()
            told = " ".join(report["warnings"])
            counted = {f["name"]: f["calls"] for f in report["functions"]}
            if not bias:
                bias = re.search(r"-e ELF(@0x[0-9a-f]+) ", told)[1]
                check("inner" not in counted, f"{counted}")
                continue
            wrong = {n: counted.get(n, 0) for n, calls in anywhere.CALLS.items()
                     if counted.get(n, 0) != calls}
            check(not wrong, f"{wrong} of {anywhere.CALLS}: {told}")
            if how is Tracing:
                have_returned(c, counted, anywhere.CALLS, 1)
    note(f"{bias}: {sum(anywhere.CALLS.values())} calls")


def tree_is_full(args, qemu):
    """Of what has a node, all is right; the rest is told."""
    with Counting(args, qemu, *machine_of(qemu.processor, "recurse"), name="recurse", smp=2,
                  before=("--nodes", "90")) as c:
        c.wait('TRUTH (.*"seq":[1-9])')
        c.end()
        report = c.report()
        counted = {f["name"]: f for f in report["functions"]}
        total = sum(f["self"] for f in report["functions"])
        check(total == report["summary"]["running"], f"{total} of {report['summary']}")
        lost = counted["[tree is full]"]
        check(lost["calls"] and lost["self"], f"{lost}")
        check(f"{lost['calls']} calls did not fit" in " ".join(report["warnings"]),
              f"{lost}: {report['warnings']}")
        check(counted["boot_main"]["calls"] == 1, f"{counted['boot_main']}")
        found = edges.Edges(report, c.elf)
        note(f"{lost['calls']} calls had no room; {found}")
        check(not found.wrong, f"{found.wrong}")


def vcpus(name, most):
    return 1 if any(n in name for n in NARROW) else most


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    parser.add_argument("--processor", default="x86_64", choices=PROCESSORS)
    parser.add_argument("--only", default="")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--keep", help="a folder for the recordings")
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-qemu-") as folder:
        try:
            qemu = Qemu(args.build, args.qemu, folder, args.processor)
        except Skip as why:
            print(f"1..0 # SKIP {why}")
            return
        note(f"QEMU {qemu.version}")
        for name in (SHORT if args.short else GUESTS)[args.processor]:
            smp = vcpus(name, 2 if args.short else 3)
            if args.only in name:
                tap.point(f"{name}, {smp} vCPU",
                          lambda n=name, s=smp: is_right(args, qemu, n, s))
        for name in TRACED[args.processor][:1 if args.short else None]:
            if args.only in name:
                tap.point(f"{name}, traced",
                          lambda n=name: is_right(args, qemu, n, vcpus(n, 3), Tracing))
        for name, how in (("count", Counting), ("trace", Tracing)):
            if args.processor in ("i386", "x86_64") and args.only in "anywhere" and not (
                    args.short and how is Tracing):
                tap.point(f"a kernel that is loaded anywhere: {name}",
                          lambda h=how: is_loaded_anywhere(args, qemu, h, folder))
        if args.processor == "i386":
            tap.end()
            return
        for name, how in (("count", Counting), ("trace", Tracing)):
            if args.only in "reset" and not (args.short and how is Tracing):
                tap.point(f"a machine that is reset: {name}",
                          lambda h=how: is_reset(args, qemu, h))
        if args.only in "slide":
            tap.point("an image that slides", lambda: slide_is_told(args, qemu))
            tap.point("an image that slides, recorded",
                      lambda: slide_is_told_by_record(args, qemu))
        if args.only in "full":
            tap.point("a full tree", lambda: tree_is_full(args, qemu))
        tap.end()


if __name__ == "__main__":
    main()
