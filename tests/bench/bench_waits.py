#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What record --tasks takes of a host CPU, of uniscope's own time: a guest with PROCESSES
(500) that sleep, under TCG by the gdb backend.

usage: bench_waits.py BUILD [PROCESSES [SECONDS]]

The first look unwinds each stack; later ones know of most tasks that they did not run.
Beside it, the same at a guest with none of these processes.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("conformance", "linux")]
from guest import LinuxGuest  # noqa: E402
from harness import Skip, Uniscope  # noqa: E402

HZ = 4


def measure(us, g, seconds):
    out = us.run("record", "--json", "--backend", "gdb", "-F", "10", "-d", str(seconds), "--tasks",
                 str(HZ), "-o", us.data(), g.target("gdb"), timeout=seconds + 60).stdout
    t = json.loads(out)["tasks"]
    later = (t["cost_ns"] - t["cost_max_ns"]) / max(1, t["looks"] - 1)
    print(f"{t['tasks'] / t['looks']:.0f} tasks, {t['due'] / t['looks']:.0f} of them wait: "
          f"{t['cost_max_ns'] / 1e6:.2f} ms of CPU time the longest look, {later / 1e6:.2f} ms on "
          f"average of the others; {HZ} looks a second take {100 * t['cost_ns'] / 1e9 / seconds:.2f} "
          f"% of a host CPU; {t['moved'] + t['failed'] + t['skipped'] + t['lost']} of {t['due']} "
          f"were not taken")
    return t["cost_ns"] / t["looks"]


def main():
    build = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    us = Uniscope(build)
    try:
        with LinuxGuest(build, cpu="qemu64", memory=512) as g:
            g.wait("READY", 300)
            few = measure(us, g, seconds)
            g.do(f"i=0; while [ $i -lt {n} ]; do sleep 100000 & i=$((i + 1)); done", 300)
            g.wait_for(lambda: int(g.do("ps | grep -c 'sleep 10000[0]'")) >= n, 300)
            many = measure(us, g, seconds)
    except Skip as why:
        print(f"SKIP {why}")
        return
    print(f"a look at {n} more is {many / few:.1f} times as long")


main()
