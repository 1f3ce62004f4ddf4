#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to know a Linux guest's tasks and what they have mapped while it is
recorded: the CPU time of uniscope's thread that reads them.

usage: bench_tasks.py BUILD [PROCESSES [SECONDS]]

A guest with PROCESSES (500) that sleep, under TCG by the gdb backend, at 10 Hz; beside
the same guest with none, and with 50 more that are busy, at 99 Hz.  The goal is 5 ms for
500, the first time too.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("conformance", "linux")]
from guest import LinuxGuest  # noqa: E402
from harness import Skip, Uniscope  # noqa: E402

BUSY = 50


def measure(us, g, seconds, hz=10):
    out = us.run("record", "--json", "--backend", "gdb", "-F", str(hz), "-d", str(seconds),
                 "-o", us.data(), g.target("gdb"), timeout=seconds + 60).stdout
    s = json.loads(out)["scans"]
    later = (s["cost_ns"] - s["cost_first_ns"]) / max(1, s["scans"] - 1)
    busy = ""
    if s["feeds"]:
        busy = (f"; of those that samples were in {s['feeds']} times, "
                f"{s['feed_max_ns'] / 1e6:.2f} ms the longest, with their call frame information")
    print(f"{s['tasks']} tasks: {s['cost_first_ns'] / 1e6:.2f} ms of a CPU the first time, "
          f"{later / 1e6:.2f} ms on average of the {s['scans'] - 1} after it, "
          f"{s['cost_max_ns'] / 1e6:.2f} ms the longest{busy}")


def main():
    build = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    us = Uniscope(build)
    try:
        with LinuxGuest(build, cpu="qemu64", memory=512) as g:
            g.wait("READY", 300)
            measure(us, g, seconds)
            g.do(f"i=0; while [ $i -lt {n} ]; do sleep 100000 & i=$((i + 1)); done", 300)
            g.wait_for(lambda: int(g.do("ps | grep -c 'sleep 10000[0]'")) >= n, 300)
            measure(us, g, seconds)
            g.do(f"i=0; while [ $i -lt {BUSY} ]; do sh -c 'while :; do :; done' & "
                 "i=$((i + 1)); done", 300)
            measure(us, g, seconds, 99)
    except Skip as why:
        print(f"SKIP {why}")


main()
