#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much slower an emulated guest is while it is counted or traced.

usage: bench_trace.py BUILD

The guest times its own work: calls that are short or not so short, recursion, a loop
without calls.  Each way is run in turn with QEMU alone; the median of the ratios.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
SECONDS = 60  # a line at most
LINES = 3     # of a run; the first is left out: code is still being translated
WORK = ("mixed", "recursion", "tight", "compute")
WAYS = (("count", ["count"]), ("record", ["record"]), ("trace", ["trace"]), ("trace --last", ["trace", "--last", "5s"]),
        ("trace -f fib", ["trace", "-f", "^fib$"]))


def run(build, way, folder):
    """{work: ticks}"""
    log = os.path.join(folder, "serial")
    open(log, "w").close()
    vm = ["qemu-system-x86_64", "-M", "q35", "-m", "256", "-net", "none", "-vga", "none",
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


def main():
    build = os.path.abspath(sys.argv[1])
    ratios = {name: {w: [] for w in WORK} for name, _ in WAYS}
    with tempfile.TemporaryDirectory(prefix="uniscope-speed-") as folder:
        for _ in range(ROUNDS):
            for name, way in WAYS:
                alone = run(build, None, folder)
                with_it = run(build, way, folder)
                for w in WORK:
                    ratios[name][w].append(with_it[w] / alone[w])
    print(f"{'time, QEMU alone = 1':24}" + "".join(f"{w:>18}" for w in WORK))
    for name, _ in WAYS:
        cells = (f"{statistics.median(ratios[name][w]):.2f} "
                 f"({min(ratios[name][w]):.2f}-{max(ratios[name][w]):.2f})" for w in WORK)
        print(f"{name:24}" + "".join(f"{c:>18}" for c in cells))


if __name__ == "__main__":
    main()
