#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""From the start of the program to the first sample, its memory while it records, and
bytes a sample, on the demo guest.

usage: bench_attach.py BUILD [BACKEND ACCEL]
The floor of the start is the same program with --version, in the same run.
"""
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Guest, Uniscope, kvm_works  # noqa: E402

ROUNDS = 5


def peak_rss(argv):
    """(standard output, peak resident bytes) of a command."""
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = status
    return out, usage.ru_maxrss * 1024


def main():
    build = sys.argv[1]
    ways = [tuple(sys.argv[2:4])] if len(sys.argv) > 3 else [("gdb", "tcg"), ("qmp", "tcg")]
    if len(sys.argv) <= 3 and kvm_works():
        ways.insert(0, ("kvm", "kvm"))
    us = Uniscope(build)
    for backend, accel in ways:
        floor, attach, rss = [], [], []
        with Guest(build, "demo", accel, 2) as g:
            g.wait("READY")
            for _ in range(ROUNDS):
                begin = time.monotonic()
                us.run("--version")
                floor.append(time.monotonic() - begin)
                out, peak = peak_rss([us.program, "record", "--json", "--backend", backend,
                                      "-e", g.elf, "--budget", "50", "-d", "2",
                                      "-o", us.data(), g.target(backend)])
                stats = json.loads(out)
                attach.append(stats["attach_ns"] / 1e9)
                rss.append(peak)
        n = stats["running"] + stats["idle"] + stats["off"]
        print(f"{backend} {accel}: first sample after {1e3 * statistics.median(attach):.1f} "
              f"ms, {statistics.median(attach) / statistics.median(floor):.1f} times a start "
              f"and end of the program; peak {max(rss) / 2**20:.1f} MiB; "
              f"{stats['bytes'] / n:.1f} bytes a sample in {n} samples, file and facts in all")


main()
