#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a page that is renewed each second takes of a CPU, beside recording alone: of an invented
guest with two vCPUs at 997 Hz, and of several.  The page's part is what its browser asks for.

usage: bench_serve.py BUILD [--seconds N]
"""
import argparse
import contextlib
import http.client
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "serve"))
from served import Serve, until  # noqa: E402

MOST = 2.0  # percent of a core, of one page
WARM_S = 7


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(pid, seconds, each_second=lambda: None):
    """Percent of a core."""
    before, began = cpu_seconds(pid), time.monotonic()
    while time.monotonic() < began + seconds:
        each_second()
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)


class Page:
    """What live.js asks for at each tick."""

    def __init__(self, s):
        self.s, self.since = s, 0
        self.c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
        self.c.request("GET", s.path("/events"))
        self.events = self.c.getresponse()

    def tick(self):
        while not self.events.readline().startswith(b"data: "):
            pass
        self.s.get("/history", since=self.since)
        self.since += 1
        status, data = self.s.get("/data", last=5000)
        assert status == 200, data
        return len(data)


def recording_alone(build, seconds):
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.Popen([os.path.join(build, "uniscope"), "record", "-o", os.path.join(folder, "x"), "fake:"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(WARM_S)
            return measured(p.pid, seconds, lambda: time.sleep(0.1))
        finally:
            p.kill()
            p.wait()


def served(build, seconds, n_page):
    with Serve(build, "fake:") as s, contextlib.ExitStack() as stack:
        until(lambda: s.get("/history")[0] == 200, "a guest")
        pages = [Page(s) for _ in range(n_page)]
        for page in pages:
            stack.callback(page.c.close)
        time.sleep(WARM_S)

        def each_second():
            for page in pages:
                page.tick()
            if not pages:
                time.sleep(0.1)
        return measured(s.process.pid, seconds, each_second)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=30)
    a = p.parse_args()
    alone = recording_alone(a.build, a.seconds)
    print(f"recording alone: {alone:.2f} % of a core")
    bad = False
    for n in (0, 1, 10):
        more = served(a.build, a.seconds, n) - alone
        print(f"served, {n} pages that look: {more:.2f} % of a core more")
        bad = bad or (n == 1 and more > MOST)
    print(f"bound of one page: {MOST} %: {'exceeded' if bad else 'kept'}")
    return bad


sys.exit(main())
