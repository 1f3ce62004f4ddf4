#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to read the list of a Linux guest's tasks while it is recorded: the CPU
time of uniscope's thread that reads it about once a second.

usage: bench_tasks.py BUILD [PROCESSES [SECONDS]]

A guest with PROCESSES (500) that sleep, under TCG by the gdb backend, at 10 Hz; beside
the same guest with none.  The goal is 5 ms for 500.
"""
import glob
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("conformance", "linux")]
from guest import LinuxGuest  # noqa: E402
from harness import Skip, Uniscope  # noqa: E402


def threads(pid):
    """{thread: (ns on a CPU, times that it was given one)}"""
    got = {}
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path) as f:
            on_cpu, _, times = map(int, f.read().split())
        got[path] = on_cpu, times
    return got


def measure(us, g, seconds):
    """Milliseconds a second of the thread that is awake least often, but is."""
    p = subprocess.Popen([us.program, "record", "--backend", "gdb", "-F", "10", "-d",
                          str(seconds + 8), "-o", us.data(), g.target("gdb")],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(5)  # its kernel was read
    before = threads(p.pid)
    time.sleep(seconds)
    after = threads(p.pid)
    p.wait()
    spent = [(after[t][1] - before[t][1], after[t][0] - before[t][0])
             for t in after if t in before and after[t][1] > before[t][1] + seconds / 2]
    _, ns = min(spent)
    return ns / seconds / 1e6


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
            tasks = len(us.run("dump", "--tasks", g.target("gdb")).stdout.split("\ntask "))
    except Skip as why:
        print(f"SKIP {why}")
        return
    print(f"{tasks - 1} tasks: {many:.2f} ms of a CPU each second, {many / few:.1f} times "
          f"that of a guest with {n} fewer ({few:.2f} ms)")


main()
