#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much slower an emulated guest is while it is counted or traced.

usage: bench_trace.py BUILD FLOOR [ROUNDS]

FLOOR: floor-plugin.c, built: a plugin that is called where the tree of calls is counted, and
does nothing.

The guest times its own work in pieces of a millisecond, and tells the shortest of each
kind: calls that are short or not so short, recursion, a loop without calls.  All ways
are run in turn with QEMU alone; the median of the ratios, the least and the most.  With this machine's QEMU, and
with that of Debian trixie, which is unpacked into the build folder.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Skip  # noqa: E402
from tcg import Qemu  # noqa: E402

ROUNDS = 5
SECONDS = 120  # a line at most
LINES = 2      # of a run; the first is left out: code is still being translated
WORK = ("mixed", "recursion", "tight", "compute")
FLOOR = "empty callbacks"
WAYS = ((FLOOR, None), ("count --functions", ["count", "--functions"]), ("count", ["count"]),
        ("trace", ["trace"]), ("trace --last", ["trace", "--last", "5s"]),
        ("trace -f fib", ["trace", "-f", "^fib$"]))


def started(build, qemu, way, folder, floor):
    """The QEMU, by itself (way None) or as way has it; what it prints, goes to serial."""
    log = os.path.join(folder, "serial")
    open(log, "w").close()
    vm = [qemu.program, "-M", "q35", "-m", "256", "-net", "none", "-vga", "none",
          "-display", "none", "-serial", "file:" + log, "-kernel",
          os.path.join(build, "tests/guests/speed.elf")]
    if floor:
        vm += ["-plugin", f"{floor},functions={folder}/functions"]
    if way:
        vm = [os.path.join(build, "uniscope"), *way, "-o", os.path.join(folder, "x.data"),
              "--", *vm]
    return subprocess.Popen(vm, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), log


def run(build, qemu, way, folder, floor=None):
    """{work: ticks}"""
    p, log = started(build, qemu, way, folder, floor)
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            lines = re.findall(r"SPEED (\{.*\})", open(log).read())
            if len(lines) >= LINES:
                told = [json.loads(x) for x in lines[1:LINES]]
                return {w: min(t[w] for t in told) for w in WORK}
            time.sleep(0.05)
        raise RuntimeError(f"{way}: no figures")
    finally:
        p.terminate()
        p.wait()


def keep_functions(build, qemu, folder):
    """The file that uniscope writes for its plugin, of the same guest."""
    p, log = started(build, qemu, ["count"], folder, None)
    try:
        while p.poll() is None and "SPEED" not in open(log).read():
            time.sleep(0.05)
        words = subprocess.run(["ps", "-o", "args=", "--ppid", str(p.pid)],
                               capture_output=True, text=True).stdout
        shutil.copy(re.search(r",functions=([^,\s]+)", words)[1], f"{folder}/functions")
    finally:
        p.terminate()
        p.wait()


def print_row(name, ratios):
    cells = (f"{statistics.median(ratios[w]):.2f} ({min(ratios[w]):.2f}-{max(ratios[w]):.2f})"
             for w in WORK)
    print(f"{name:24}" + "".join(f"{c:>18}" for c in cells), flush=True)


def compare(build, qemu, rounds, folder, floor):
    ratios = {name: {w: [] for w in WORK} for name, _ in WAYS}
    keep_functions(build, qemu, folder)
    for _ in range(rounds):
        alone = run(build, qemu, None, folder)
        for name, way in WAYS:
            with_it = run(build, qemu, way, folder, None if way else floor)
            for w in WORK:
                ratios[name][w].append(with_it[w] / alone[w])
    print(f"{f'QEMU {qemu.version} alone = 1':24}" + "".join(f"{w:>18}" for w in WORK))
    for name, _ in WAYS:
        print_row(name, ratios[name])
    print_row("count, with these = 1", {w: [a / b for a, b in zip(
        ratios["count"][w], ratios[FLOOR][w])] for w in WORK})


def main():
    build = os.path.abspath(sys.argv[1])
    floor = os.path.abspath(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="uniscope-speed-") as folder:
        for suite in ("", "trixie"):
            try:
                compare(build, Qemu(build, suite, folder), rounds, folder, floor)
            except Skip as why:
                print(f"QEMU of {suite}: {why}")


if __name__ == "__main__":
    main()
