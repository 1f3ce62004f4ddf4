#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples a second of a guest under TCG, as record takes them by default, beside
QProfiler's way in the same run; and how much slower the guest works meanwhile.

usage: bench_tcg.py BUILD

QProfiler's way: a Python program asks QEMU's monitor for the registers of vCPU 0, waits
0.1 ms, and does it again; no stacks, no stop.  What bounds qmp: a stop and a cont, each
with its reply, and nothing else.  Rounds of all are taken in turn.
"""
import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Guest, Uniscope, truth  # noqa: E402

ROUNDS = 3
SECONDS = 3
PERIOD = 0.0001  # its own smallest
GUESTS = (("shares", 1), ("demo", 1), ("shares", 3), ("demo", 3))


@contextlib.contextmanager
def monitor(guest):
    """A function that runs a command."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(guest.qmp)
        f = s.makefile("rw")
        f.readline()

        def ask(command, **arguments):
            message = {"execute": command}
            if arguments:
                message["arguments"] = arguments
            f.write(json.dumps(message, separators=(",", ":")))
            f.flush()
            while "return" not in (reply := json.loads(f.readline())):
                pass
            return reply["return"]

        ask("qmp_capabilities")
        yield ask


def bare_stop(guest):
    """Seconds of a stop and a cont, half of them."""
    took, end = [], time.monotonic() + 1
    with monitor(guest) as ask:
        while time.monotonic() < end:
            begin = time.monotonic()
            ask("stop")
            ask("cont")
            took.append(time.monotonic() - begin)
            time.sleep(0.001)
    return statistics.median(took)


def qprofiler(guest):
    """Samples a second."""
    with monitor(guest) as ask:
        hits, end = {}, time.monotonic() + SECONDS
        while time.monotonic() < end:
            text = ask("human-monitor-command", **{"command-line": "info registers"})
            rip = re.search("RIP=([0-9a-f]+)", text).group(1)
            hits[rip] = hits.get(rip, 0) + 1
            time.sleep(PERIOD)
        return sum(hits.values()) / SECONDS


def work(before, after):
    """Calls of the guest's functions per second, all vCPUs."""
    return sum(sum(f.calls for f in d.fn.values()) / d.seconds()
               for d in map(truth.difference, before, after))


def record(us, guest, backend):
    p = subprocess.Popen([us.program, "record", "--json", "--backend", backend, "-e",
                          guest.elf, "-d", str(SECONDS + 2), "-o", us.data(),
                          guest.target(backend)], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    time.sleep(0.3)
    before = guest.wait_truth()
    time.sleep(SECONDS - 1)
    during = work(before, guest.wait_truth())
    return json.loads(p.communicate()[0]), during


def bench(us, guest, name, smp):
    theirs, bare, ours, slow = [], [], {"gdb": [], "qmp": []}, {"gdb": [], "qmp": []}
    for _ in range(ROUNDS):
        theirs.append(qprofiler(guest))
        bare.append(bare_stop(guest))
        for backend in ours:
            before = guest.wait_truth()
            time.sleep(1)
            alone = work(before, guest.wait_truth())
            stats, during = record(us, guest, backend)
            ours[backend].append(stats)
            slow[backend].append(during / alone)
    rate = statistics.median(theirs)
    print(f"{name}, {smp} vCPU{'s' if smp > 1 else ''}: QProfiler's way {rate:.0f} "
          "program counters a second, of vCPU 0; a bare stop and cont by the monitor "
          f"{1e6 * statistics.median(bare):.0f} us")
    for backend, v in ours.items():
        def median(key):
            return statistics.median(s[key] for s in v)
        hz = median("hz_reached")
        print(f"  {backend}: {hz:.0f} stacks a second of each vCPU, "
              f"{smp * hz / rate:.2f} times QProfiler's in all; the guest works at "
              f"{statistics.median(slow[backend]):.2f} of its speed, "
              f"{median('stolen_percent'):.1f} % counted as taken; held "
              f"{median('held_p50_ns') / 1e3:.0f} us p50, "
              f"{median('held_p99_ns') / 1e3:.0f} us p99", flush=True)


def main():
    build = sys.argv[1]
    us = Uniscope(build)
    for name, smp in GUESTS:
        with Guest(build, name, "tcg", smp) as guest:
            guest.wait("READY")
            bench(us, guest, name, smp)


main()
