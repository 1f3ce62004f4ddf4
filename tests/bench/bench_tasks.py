#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to know a Linux guest's tasks and what they have mapped while it is
recorded: the CPU time of uniscope's thread that reads them.

usage: bench_tasks.py BUILD [PROCESSES [SECONDS]]

A guest with PROCESSES (500) that sleep, under TCG by the gdb backend, at 10 Hz; beside
the same guest with none, and with 50 more that are busy, at 99 Hz.  Then the same in
a guest under KVM, by the backends kvm and bpf, and how often the threads that look at it
stopped it.  The goal is 5 ms for 500, the first time too, and no stop.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", name) for name in ("conformance", "linux")]
import moved  # noqa: E402
from guest import LinuxGuest  # noqa: E402
from harness import Skip, Uniscope, require, require_way  # noqa: E402

BUSY = 50
# What KVM runs on all hosts: it only counts.
COUNTS = "void _start(void) { for (volatile long n = 0;; n++); }"


def measure(us, g, seconds, hz=10, backend="gdb"):
    out = us.run("record", "--json", "--backend", backend, "-F", str(hz), "-d", str(seconds),
                 "-o", us.data(), g.target(backend), timeout=seconds + 60).stdout
    s = json.loads(out).get("scans")
    if not s:
        print(f"{backend}: nothing ran in {seconds} s")
        return
    later = (s["cost_ns"] - s["cost_first_ns"]) / max(1, s["scans"] - 1)
    busy = ""
    if s["feeds"]:
        busy = (f"; of those that samples were in {s['feeds']} times, "
                f"{s['feed_max_ns'] / 1e6:.2f} ms the longest, with their call frame information")
    print(f"{backend}: {s['tasks']} tasks: {s['cost_first_ns'] / 1e6:.2f} ms of a CPU the first time, "
          f"{later / 1e6:.2f} ms on average of the {s['scans'] - 1} after it, "
          f"{s['cost_max_ns'] / 1e6:.2f} ms the longest{busy}")


def start(g, command, n, shown):
    g.do(f"i=0; while [ $i -lt {n} ]; do {command} & i=$((i + 1)); done", 300)
    g.wait_for(lambda: int(g.do(f"ps | grep -c '{shown}'")) >= n, 300)


def sleepers(g, n):
    start(g, "sleep 100000", n, "sleep 10000[0]")


def under_tcg(build, us, n, seconds):
    with LinuxGuest(build, cpu="qemu64", memory=512) as g:
        g.wait("READY", 300)
        measure(us, g, seconds)
        sleepers(g, n)
        measure(us, g, seconds)
        start(g, "sh -c 'while :; do :; done'", BUSY, "while [:]")
        measure(us, g, seconds, 99)


def stops(us, g, seconds, backend):
    """Whatever could stop the guest, by the thread of uniscope that called it."""
    if not shutil.which("strace"):
        print(f"{backend}: stops were not counted: strace is not installed")
        return
    log = us.data("strace")
    record = [us.program, "record", "--json", "--backend", backend, "-F", "20", "-d",
              str(seconds), "-o", us.data(), g.target(backend)]
    done = subprocess.run(["strace", "-f", "-qq", "-o", log, "-e",
                           "trace=ptrace,kill,tgkill,tkill,pidfd_send_signal,connect,"
                           "process_vm_readv", *record], stdout=subprocess.PIPE, text=True,
                          check=True)
    got = json.loads(done.stdout)
    if "scans" not in got:
        print(f"{backend}: nothing ran while stops were counted")
        return
    with open(log) as f:
        calls = collections.Counter(m.groups() for m in re.finditer(
            r"^(\d+) +(?:process_vm_readv\(|(?:ptrace\((?=PTRACE))?(\w+))", f.read(), re.M))
    # Of all threads that which reads most.
    scans = max(calls, key=lambda who: calls[who] if not who[1] else 0)[0]
    own = sum(n for (tid, what), n in calls.items() if tid == scans and what)
    others = ", ".join(f"{n} {what}" for (tid, what), n in calls.items() if tid != scans and what)
    print(f"{backend}: {got['scans']['scans']} readings of {got['scans']['tasks']} tasks beside "
          f"{got['due']} samples: in the thread that reads them {calls[scans, None]} reads of memory "
          f"and {own} calls that could stop it (ptrace, signals, the monitor); "
          f"in the others: {others or 'none'}")


def counting(folder):
    """The file of a program that is always busy."""
    program = os.path.join(folder, "counts")
    if not shutil.which("gcc"):
        raise Skip("gcc is not installed")
    subprocess.run(["gcc", "-O1", "-static", "-nostdlib", "-fno-pie", "-no-pie",
                    "-mgeneral-regs-only", "-x", "c", "-", "-o", program],
                   input=COUNTS, text=True, check=True)
    return program


def by_way(build, us, g, seconds, hz, backend):
    class Way:
        accel = "kvm"
    Way.build, Way.backend = build, backend
    try:
        require_way(Way)
    except Skip as why:
        print(f"{backend}: left out: {why}")
        return
    measure(us, g, seconds, hz, backend)
    stops(us, g, seconds, backend)


def under_kvm(build, us, n, seconds, busy):
    require("kvm", "x86_64")
    with LinuxGuest(build, cpu=moved.CPU, append=moved.APPEND, memory=512,
                    programs={"counts": counting(us.dir.name)}) as g:
        g.wait("READY", 300)
        sleepers(g, n)
        if busy:
            start(g, "counts", busy, "[c]ounts")
        moved.to_kvm(g)
        for backend in ("kvm", "bpf"):
            by_way(build, us, g, seconds, 99 if busy else 10, backend)
        if not moved.is_running(g):
            print("and then the guest met an instruction that this host's KVM does not know")


def main():
    build = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    us = Uniscope(build)
    try:
        under_tcg(build, us, n, seconds)
    except Skip as why:
        print(f"SKIP {why}")
        return
    try:
        for busy in (0, BUSY):
            under_kvm(build, us, n, seconds, busy)
    except Skip as why:
        print(f"under KVM: left out: {why}")


main()
