#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to look on with `uniscope top`, beside what `uniscope record` takes for the
same: both as shares of a core, in one run.

usage: bench_top.py BUILD [GUESTS [SECONDS]]

A demo guest with two vCPUs at 997 Hz, in a terminal of 80x24 that is read all the time
and as --json; and GUESTS small ones (20), two busy and the others idle but for 3 % of the
time, found by --all, at 99 and 997 Hz: `top --all`, and `serve --all` with a browser at its
list, beside `record --all`.  By the bpf backend under KVM, else by gdb (one guest) and
QEMU's plugin (--all) under TCG.  Each for SECONDS (15), in turns, three times; the median.
The goals are 2 and 5 % of a core above record.  Other guests of this host are found, too:
`unshare --pid --fork --mount-proc` hides them.
"""
import contextlib
import fcntl
import http.client
import json
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", place) for place in ("conformance", "serve")]
from served import Serve  # noqa: E402
from harness import Guest, Skip, Uniscope, require, require_way  # noqa: E402

TURNS = 3


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        user, system = f.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def drain(fd):
    with contextlib.suppress(OSError):
        while os.read(fd, 65536):
            pass


def in_terminal(argv):
    """The program in a terminal of its own, whose screen is read."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    p = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave,
                         start_new_session=True,
                         env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
    os.close(slave)
    threading.Thread(target=drain, args=(master,), daemon=True).start()
    return p


def plain(argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


class Looked:
    """What serves, and a browser that shows its list of guests: it asks at each tick."""

    def __init__(self, argv):
        self.served = Serve(os.path.dirname(argv[0]), *argv[2:])
        self.pid = self.served.process.pid
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        c = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=60)
        with contextlib.suppress(OSError, http.client.HTTPException):
            c.request("GET", self.served.path("/events"))
            events = c.getresponse()
            while line := events.readline():
                if line.startswith(b"data: "):
                    self.guests = json.loads(self.served.get("/guests")[1])

    def send_signal(self, how):
        self.served.process.send_signal(how)

    def wait(self, seconds):
        return self.served.process.wait(seconds)


def share(start, argv, settle, seconds):
    """Of a core, once all is attached."""
    p = start(argv)
    time.sleep(settle)
    begin, cpu = time.monotonic(), cpu_seconds(p.pid)
    time.sleep(seconds)
    taken = (cpu_seconds(p.pid) - cpu) / (time.monotonic() - begin)
    p.send_signal(signal.SIGINT)
    if code := p.wait(60):
        raise RuntimeError(f"{' '.join(argv)}: exit {code}")
    return 100 * taken


def compare(what, ways, settle, seconds):
    """ways: {name: (start, argv)}, record first."""
    got = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, (start, argv) in ways.items():
            got[name].append(share(start, argv, settle, seconds))
    middle = {name: statistics.median(v) for name, v in got.items()}
    first = next(iter(middle))
    print(f"{what}: {first} {middle[first]:.2f} % of a core; above that " + ", ".join(
        f"{name} {middle[name] - middle[first]:.2f} %" for name in list(middle)[1:]),
        flush=True)


def one(us, build, backend, accel, seconds):
    with Guest(build, "demo", accel, 2) as g:
        g.wait("READY", 240)
        more = ["--backend", backend, "-F", "997", "-e", g.elf, g.target(backend)]
        compare(f"{backend} {accel}, 2 vCPUs, 997 Hz", {
            "record": (plain, [us.program, "record", "-o", us.data(), *more]),
            "top": (in_terminal, [us.program, "top", *more]),
            "top --json": (plain, [us.program, "top", "--json", *more]),
        }, 3, seconds)


def all_of(us, build, n, backend, accel, seconds):
    with contextlib.ExitStack() as running:
        for i in range(n):
            name = "shares" if i < 2 else "idle"
            g = running.enter_context(Guest(build, name, accel, memory=32,
                                            plugin=backend == "plugin"))
            g.wait("READY", 240)
        for hz in ("99", "997"):
            more = ["--all", "--backend", backend, "-F", hz]
            out = us.data("all" + hz)
            compare(f"{n} guests by {backend} {accel}, {hz} Hz", {
                "record --all": (plain, [us.program, "record", "-o", out, *more]),
                "top --all": (in_terminal, [us.program, "top", *more]),
                "serve --all": (Looked, [us.program, "serve", *more]),
            }, 8, seconds)


def main():
    build = os.path.abspath(sys.argv[1])
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 15
    us = Uniscope(build)

    class Way:
        backend, accel = "bpf", "kvm"
    Way.build = build
    ways = ("bpf", "kvm"), ("bpf", "kvm")
    try:
        require_way(Way)
    except Skip:
        ways = ("gdb", "tcg"), ("plugin", "tcg")
        try:
            require("tcg")
        except Skip as why:
            print(f"SKIP {why}")
            return
    one(us, build, *ways[0], seconds)
    if n:
        all_of(us, build, n, *ways[1], seconds)


main()
