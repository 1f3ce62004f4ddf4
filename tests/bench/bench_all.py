#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to record all guests of a host: uniscope's CPU time as a share of a core.

usage: bench_all.py BUILD [GUESTS [HZ [SECONDS]]]

GUESTS small ones (20), one in ten busy and the others idle but for 3 % of the time, at
HZ (99) by the bpf backend, for SECONDS (20), once all are recorded; and a tenth of
them, to see what one more costs.  Other guests of this host are recorded, too, and
counted: `unshare --pid --fork --mount-proc` hides them.  Beside that, what the programs took in the threads of
the guests, and uniscope's memory.  The goal is 2 % of a core for 20 at 99 Hz.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Guest, Skip, Uniscope, require_way  # noqa: E402


def cpu_ns(pid):
    """Of all its threads, those that have ended too."""
    with open(f"/proc/{pid}/stat") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def memory_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        line, = (text for text in f if text.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def wait_for_all(directory, n, p):
    """Until there is a file for each, and half a second more."""
    end = time.monotonic() + 120
    while len(os.listdir(directory) if os.path.isdir(directory) else ()) < n:
        if p.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"not all are recorded: {p.stderr.read()}")
        time.sleep(0.1)
    time.sleep(3)


def measure(us, n, hz, seconds):
    directory = us.data(f"guests{n}")
    p = subprocess.Popen([us.program, "record", "--all", "--json", "--backend", "bpf",
                          "-F", str(hz), "-o", directory], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    wait_for_all(directory, n, p)
    begin, cpu = time.monotonic(), cpu_ns(p.pid)
    time.sleep(seconds)
    share = (cpu_ns(p.pid) - cpu) / 1e9 / (time.monotonic() - begin)
    memory = memory_mib(p.pid)
    p.send_signal(signal.SIGINT)
    recordings = json.loads(p.communicate(timeout=60)[0])["recordings"]
    taken = sum(r["stolen_ns"] for r in recordings)
    observed = max(r["seconds"] for r in recordings)
    print(f"{len(recordings)} guests at {hz:g} Hz: {100 * share:.2f} % of a core, "
          f"{memory:.1f} MiB; {sum(r['due'] for r in recordings)} looks due, "
          f"{sum(r['running'] for r in recordings)} running, "
          f"{sum(r['lost'] for r in recordings)} lost; the programs took "
          f"{100 * taken / 1e9 / observed:.3f} % of a core", flush=True)
    return share


def main():
    build = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    hz = float(sys.argv[3]) if len(sys.argv) > 3 else 99
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 20

    class Way:
        backend, accel = "bpf", "kvm"
    Way.build = build
    try:
        require_way(Way)
    except Skip as why:
        print(f"SKIP {why}")
        return
    us = Uniscope(build)
    with contextlib.ExitStack() as running:
        def start(i):
            name = "shares" if i % 10 == 0 else "idle"
            g = running.enter_context(Guest(build, name, "kvm", memory=32))
            g.wait("READY", 240)
        few = max(1, n // 10)
        for i in range(few):
            start(i)
        of_few = measure(us, few, hz, seconds)
        for i in range(few, n):
            start(i)
        of_all = measure(us, n, hz, seconds)
    if n > few:
        print(f"one more guest: {100 * (of_all - of_few) / (n - few):.3f} % of a core")


main()
