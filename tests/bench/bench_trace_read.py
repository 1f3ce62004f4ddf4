#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast a trace is read and written in each format, and how soon its page is open.

usage: bench_trace_read.py BUILD [EVENTS]

CPU time beside that of reading the recording alone, in turn; the median of the ratios.
What a page takes to open, of this trace and of a hundredth of it.
"""
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "web"))
import browser  # noqa: E402

ROUNDS = 3
GIBIBYTE = 2**27  # events of 8 bytes, as QEMU's plugin writes them
FORMATS = ("csv", "graph", "perfetto", "html")


def run(*argv):
    """(CPU seconds, the peak of its memory in MiB)"""
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"{argv}: {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def opened(path):
    """Seconds until the page has drawn itself; the best of some."""
    best = []
    for _ in range(ROUNDS):
        b = browser.Browser(browser.find())
        try:
            b.open("about:blank")
            begun = time.monotonic()
            b.open("file://" + path)
            b.settle()
            best.append(time.monotonic() - begun)
        finally:
            b.close()
    return min(best)


def pages(uniscope, make, folder, events):
    if not browser.find():
        print("no chromium: how soon a page is open was not measured")
        return
    took = []
    for n in (events // 100, events):
        data, page = os.path.join(folder, "p.data"), os.path.join(folder, f"{n}.html")
        run(make, data, str(n))
        run(uniscope, "replay", "-o", page, data)
        took.append(opened(page))
        print(f"page of {n / 1e6:6.1f} million events: {os.path.getsize(page) / 1024:6.0f} KiB, "
              f"open after {took[-1]:.2f} s")
    print(f"the larger takes {took[1] / took[0]:.2f} times as long")


def main():
    build = os.path.abspath(sys.argv[1])
    events = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000_000
    uniscope = os.path.join(build, "uniscope")
    make = os.path.join(build, "tests/bench/make-trace")
    ratios, took = {f: [] for f in FORMATS}, {f: [] for f in FORMATS}
    with tempfile.TemporaryDirectory(prefix="uniscope-read-", dir="/var/tmp") as folder:
        data = os.path.join(folder, "t.data")
        run(make, data, str(events))
        print(f"{events / 1e6:.0f} million events, {os.path.getsize(data) / events:.2f} bytes each")
        memory = {}
        for _ in range(ROUNDS):
            for f in FORMATS:
                alone, _ = run(make, data)
                cpu, memory[f] = run(uniscope, "replay", "--format", f, data)
                ratios[f].append(cpu / alone)
                took[f].append(cpu)
        print(f"{'CPU, reading alone = 1':24}{'seconds':>9}{'million/s':>11}{'MiB':>6}")
        for f in FORMATS:
            cpu = statistics.median(took[f])
            print(f"{f:9}{statistics.median(ratios[f]):6.1f}{'':9}{cpu:9.1f}"
                  f"{events / cpu / 1e6:11.1f}{memory[f]:6.0f}")
        pages(uniscope, make, folder, events if len(sys.argv) > 2 else GIBIBYTE)


if __name__ == "__main__":
    main()
