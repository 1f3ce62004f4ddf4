#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much slower an emulated guest is while it is counted or traced.

usage: bench_trace.py BUILD [ROUNDS]

The guest times its own work in pieces of a millisecond, and tells the shortest of each
kind: calls that are short or not so short, recursion, a loop without calls.  Each way
is run in turn with QEMU alone; the median of the ratios.  With this machine's QEMU, and
with that of Debian trixie, which is unpacked into the build folder.
"""
import json
import os
import re
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
WAYS = (("count --functions", ["count", "--functions"]), ("count", ["count"]),
        ("trace", ["trace"]), ("trace --last", ["trace", "--last", "5s"]),
        ("trace -f fib", ["trace", "-f", "^fib$"]))


def run(build, qemu, way, folder):
    """{work: ticks}"""
    log = os.path.join(folder, "serial")
    open(log, "w").close()
    vm = [qemu.program, "-M", "q35", "-m", "256", "-net", "none", "-vga", "none",
          "-display", "none", "-serial", "file:" + log, "-kernel",
          os.path.join(build, "tests/guests/speed.elf")]
    if way:
        vm = [os.path.join(build, "uniscope"), *way, "-o", os.path.join(folder, "x.data"),
              "--", *vm]
    p = subprocess.Popen(vm, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def compare(build, qemu, rounds, folder):
    ratios = {name: {w: [] for w in WORK} for name, _ in WAYS}
    for _ in range(rounds):
        for name, way in WAYS:
            alone = run(build, qemu, None, folder)
            with_it = run(build, qemu, way, folder)
            for w in WORK:
                ratios[name][w].append(with_it[w] / alone[w])
    head = f"QEMU {qemu.version} alone = 1"
    print(f"{head:24}" + "".join(f"{w:>18}" for w in WORK))
    for name, _ in WAYS:
        cells = (f"{statistics.median(ratios[name][w]):.2f} "
                 f"({min(ratios[name][w]):.2f}-{max(ratios[name][w]):.2f})" for w in WORK)
        print(f"{name:24}" + "".join(f"{c:>18}" for c in cells), flush=True)


def main():
    build = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="uniscope-speed-") as folder:
        for suite in ("", "trixie"):
            try:
                compare(build, Qemu(build, suite, folder), rounds, folder)
            except Skip as why:
                print(f"QEMU of {suite}: {why}")


if __name__ == "__main__":
    main()
