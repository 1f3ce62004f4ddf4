#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count and trace on a kernel that Free Pascal has compiled.

usage: pascal.py BUILD

Its threads have odd stack pointers and never return.  Every count has to be the kernel's,
every caller one that the code allows.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from edges import Edges  # noqa: E402
from harness import Skip, Tap, check, note  # noqa: E402
from tcg import Counting, Qemu  # noqa: E402
from trace import Tracing  # noqa: E402

SOURCES = os.path.join(HERE, "..", "guests")
# A recursion stays one: it is counted as it is compiled.
COMPILE = ("fpc", "-n", "-Tlinux", "-O2", "-OoNOTAILREC", "-Cn", "-v0")
LINK = ("gcc", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=sha1",
        "-Wl,-z,max-page-size=0x1000", "-Wl,-z,noexecstack",
        "-Wl,--no-warn-rwx-segments")


def built(build, folder):
    """The kernel's ELF file, built in this folder."""
    library = os.path.join(build, "tests/guests/guest-lib.o")
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip()
    if not shutil.which("fpc") or machine != "x86_64":
        raise Skip("Free Pascal for x86-64 is not installed")
    elf = os.path.join(folder, "pascal.elf")
    for unit, more in (("system", ["-Us"]), ("kernel", ["-Fu" + folder])):
        subprocess.run([*COMPILE, *more, "-FE" + folder, f"pascal/{unit}.pas"], check=True,
                       cwd=SOURCES, stdout=subprocess.DEVNULL)
    subprocess.run([*LINK, "-Wl,-T,x86/guest.lds", "-o", elf,
                    os.path.join(folder, "kernel.o"), os.path.abspath(library)],
                   check=True, cwd=SOURCES)
    return elf


def compare(truth, calls):
    """calls: {name: calls}; a name is KERNEL.OUTER.INNER, or that of its symbol."""
    wrong = []
    for name, n in truth.items():
        found = [c for f, c in calls.items() if f.startswith("KERNEL")
                 and f.split(".")[-1].split("(")[0] == name]
        if found != [n]:
            wrong.append(f"{name}: {found} of {n}")
    check(not wrong, "; ".join(wrong))


def is_counted(args, qemu, elf):
    with Counting(args, qemu, kernel=elf) as c:
        truth = c.counts()
        c.end()
        report = c.report()
    compare(truth, {f["name"]: f["calls"] for f in report["functions"]})
    total = sum(f["self"] for f in report["functions"])
    check(total == report["summary"]["running"], f"{total}: {report['summary']}")
    check(not report["warnings"], f"{report['warnings']}")
    edges = Edges(report, elf)
    check(not edges.wrong, f"callers that the code denies: {edges.wrong}")
    check(edges.roots["KERNEL.THREAD"] == truth["THREAD"], f"roots: {edges.roots}")
    note(f"{sum(truth.values())} calls; {edges}")


def is_traced(args, qemu, elf):
    """All that have returned; threads do not, nor does what was open at the end."""
    with Tracing(args, qemu, kernel=elf) as t:
        truth = t.counts()
        t.end()
        calls = t.calls()
    returning = {n: c for n, c in truth.items() if n not in ("THREAD", "YIELD")}
    compare(returning, calls)
    left, = (truth["YIELD"] - c for f, c in calls.items() if f.endswith(".YIELD"))
    check(left == truth["THREAD"], f"{left} threads have left the processor for good")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
        try:
            qemu = Qemu(args.build, "", folder)
            elf = built(args.build, folder)
        except Skip as why:
            print(f"1..0 # SKIP {why}")
            return
        tap.point("every call is counted", lambda: is_counted(args, qemu, elf))
        tap.point("every call is traced", lambda: is_traced(args, qemu, elf))
    tap.end()


if __name__ == "__main__":
    main()
