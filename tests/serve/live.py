#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope serve of a guest that runs: of an invented one, and with --qemu of real ones, by
QEMU's plugin.

usage: live.py BUILD [--qemu]
"""
import argparse
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import Serve, until  # noqa: E402
from harness import Guest, Skip, Tap, check, note, require  # noqa: E402
from packages import unpack  # noqa: E402

CLIENTS, LISTENERS = 50, 100


def asked(s, path, **query):
    status, text = s.get(path, **query)
    check(status == 200, f"{path} {query}: {status} {text[:200]}")
    return json.loads(text)


def observed(s, seconds=2, **query):
    """Once so many seconds of the guest are there."""
    until(lambda: s.get("/history", **query)[0] == 200, "a guest")
    until(lambda: asked(s, "/history", **query).get("now", -1) > 1000 * seconds, f"{seconds} s of it")


class Listener:
    """A browser that waits for news, in a thread."""

    def __init__(self, s):
        self.c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
        self.c.request("GET", s.path("/events"))
        self.sock = self.c.sock
        self.answer = self.c.getresponse()
        self.status, self.ticks, self.whole = self.answer.status, 0, False
        self.thread = threading.Thread(target=self.read)
        if self.status == 200:
            check(self.answer.getheader("Content-Type") == "text/event-stream", "its type")
            self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while line := self.answer.readline():
                self.ticks += line.startswith(b"data: ")
            self.whole = True

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        if self.status == 200:
            self.thread.join(60)
        self.c.close()


def data_is_renewed(build):
    with Serve(build, "fake:") as s:
        observed(s)
        status, page = s.get()
        check(status == 200 and 'id="data">null</script>' in page, "the page has no data of its own")
        check("connect-src 'self'" in page and s.get("/live", guest="an invented guest")[1] == page, "it asks")
        first = asked(s, "/data", last=5000)
        check(first["summary"]["running"] > 1000 and len(first["func"]["name"]) > 3, f"{first['summary']}")
        until(lambda: asked(s, "/data", last=0)["summary"]["running"] > first["summary"]["running"] + 1000, "more")
        part = asked(s, "/data", **{"from": 1000, "to": 2000})
        check(1900 < part["summary"]["running"] < 2100, f"a second of two vCPUs: {part['summary']}")
        check(part == asked(s, "/data", **{"from": 1000, "to": 2000, "time": 0}), "the same again")
        check("time" not in part and asked(s, "/data", **{"from": 1000, "to": 2000, "time": 1})["time"], "by time")
        whole = {"from": 1000, "to": 2000}
        # No Linux: there is nothing to switch to, and nothing of a process.
        check("byProcess" not in asked(s, "/data", **whole, owners=1), "processes of no Linux")
        for name in ("sh", "sh (7)", ".*", "(", "a{9999}{9999}{9999}"):
            of = asked(s, "/data", **whole, process=name)
            check(of["summary"]["running"] == 0 and of["warnings"], f"{name}: {of['summary']}")
        check(asked(s, "/data", **whole, process="[kernel]")["summary"]["running"] == part["summary"]["running"],
              "of no process")
        history = asked(s, "/history", since=1)
        check(history["owners"] is False, "no processes")
        check(history["first"] == 1 and history["rows"] == 2 and
              all(990 < sec[0] < 1005 and not any(sec[1:4]) for sec in history["seconds"]), f"{history}")
        guest, = asked(s, "/guests")
        check(guest["busy"] == 1 and guest["hottest"] and not guest["ended"], f"{guest}")
        check(guest["host_cpu"] is None, f"it has no process: {guest}")
        s.end()


def nonsense_is_refused(build):
    with Serve(build, "fake:") as s:
        observed(s, 0)
        for path, query in (("/data", {"last": "x"}), ("/data", {"last": "-1"}), ("/data", {"last": "1e9"}),
                            ("/data", {"last": "9" * 18}), ("/data", {"from": 5, "to": 5}),
                            ("/data", {"from": 9, "to": 5}), ("/data", {"time": 2}), ("/history", {"since": "a"}),
                            ("/debug/pprof/profile", {"seconds": "99999"}),
                            ("/debug/pprof/profile", {"seconds": "0"}),
                            ("/debug/pprof/profile", {"last": "0"}),
                            ("/debug/pprof/profile", {"last": "x"}), ("/data", {"owners": 2}),
                            ("/data", {"process": "x" * 128}), ("/data", {"process": "x" * 9999})):
            status, told = s.get(path, **query)
            check(status == 400, f"{path} {query}: {status} {told[:99]}")
        status, _, _ = s.ask(s.path("/data") + "&process=")
        check(status == 400, f"an empty name: {status}")
        for path in ("/data", "/history", "/debug/pprof/profile"):
            check(s.get(path, guest="nobody")[0] == 404, path)
        for path in ("/data", "/history", "/guests", "/events", "/live", "/debug/pprof/profile"):
            check(s.get(path, token="")[0] == 403, f"{path} without a token")
            status, _, _ = s.ask(s.path(path), fields={"Origin": "http://evil.example"})
            check(status == 403, f"{path} of another site")
            check(s.ask(s.path(path), "POST", body="x")[0] == 405, f"POST {path}")
        check(s.get("/recording", file="/etc/passwd")[0] == 404, "no recordings here")
        later = asked(s, "/data", **{"from": 10**9, "to": 10**9 + 1})
        check(later["summary"]["running"] == 0 and later["warnings"], "a time that has not come")
        s.end()


def fifty_at_once(build):
    """Pages that listen and ask, others that do not read: all hear of it, and the capture goes on."""
    with tempfile.TemporaryDirectory() as folder, Serve(build, "-o", os.path.join(folder, "x.data"), "fake:") as s, \
            contextlib.ExitStack() as peers:
        observed(s)
        before, sanitized = s.memory(), s.is_sanitized()
        for path in ["/events"] * 20 + ["/data"] * 20:  # they do not read, or go away
            c = peers.enter_context(socket.socket())
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(f"GET {s.path(path, last=60000)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            if len(path) % 2:
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
        listeners = [Listener(s) for _ in range(CLIENTS)]
        check(all(x.status == 200 for x in listeners), "all may listen")
        for _ in range(3):
            with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
                got = list(pool.map(lambda _: asked(s, "/data", last=5000), range(CLIENTS)))
            check(all(g["summary"]["running"] > 1000 for g in got), "data for each")
        heard = [x.ticks for x in listeners]
        until(lambda: all(x.ticks >= n + 2 for x, n in zip(listeners, heard)), "ticks for each")
        grown = s.memory() - before
        for x in listeners:
            x.close()
        s.end()
        told = subprocess.run([os.path.join(build, "uniscope"), "report", "--json", os.path.join(folder, "x.data")],
                              check=True, capture_output=True, text=True).stdout
        lost = json.loads(told)["recording"]["lost"]
        check(lost == 0, f"{lost} samples lost")
        note(f"{CLIENTS} pages: {grown >> 10} KiB more")
        if not sanitized:
            check(grown < 64 << 20, f"{grown} bytes more")


def listeners_are_bounded(build):
    """Some, and no more; others are still answered, and when one goes there is room."""
    with Serve(build, "fake:") as s:
        observed(s, 0)
        listeners = [Listener(s) for _ in range(LISTENERS)]
        check(all(x.status == 200 for x in listeners), "those")
        check(s.get("/events")[0] == 503, "one more")
        check(asked(s, "/guests"), "an answer")
        listeners[7].close()
        spare = []

        def is_room():
            spare.append(Listener(s))
            return spare[-1].status == 200
        until(is_room, "room")
        s.end()  # they are told at once
        for x in listeners + spare:
            x.close()


def pprof_program(build):
    if shutil.which("go"):
        return [shutil.which("go"), "tool", "pprof"]
    return glob.glob(os.path.join(unpack(build, "golang-1.19-go"), "usr/lib/go-*/pkg/tool/*/pprof"))[:1]


def top(build, folder, url, *options):
    told = subprocess.run([*pprof_program(build), "-top", "-nodecount=1000", *options, url], check=True, text=True,
                          env={**os.environ, "PPROF_TMPDIR": folder, "HOME": folder}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout
    return {m[2]: int(m[1]) for m in re.finditer(
        r"^\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(.*?)(?: \(inline\))?$", told, re.M)}


def pprof_takes_it_live(build):
    """The next seconds by the printed URL, and the last ones."""
    with Serve(build, "fake:") as s, tempfile.TemporaryDirectory() as folder:
        observed(s, 3)
        n = sum(top(build, folder, s.url, "-seconds=2").values())
        check(2 * 2 * 997 * 0.5 < n < 2 * 2 * 997 * 2, f"{n} samples of the next 2 s")
        url = f"http://127.0.0.1:{s.port}" + s.path("/debug/pprof/profile", last=2)
        n = sum(top(build, folder, url).values())
        check(2 * 2 * 997 * 0.5 < n <= 2 * 2 * 1000, f"{n} samples of the last 2 s")
        s.end()


def waiting_for_a_profile_ends(build):
    """Who has gone, and Ctrl-C, do not wait for an hour."""
    with Serve(build, "fake:") as s, contextlib.ExitStack() as peers:
        observed(s, 0)
        for _ in range(3):
            c = peers.enter_context(socket.create_connection(("127.0.0.1", s.port)))
            c.sendall(f"GET {s.path('/debug/pprof/profile', seconds=3600)} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                      .encode())
        c.close()
        observed(s, 1)
        s.end()


def record_serves_too(build):
    """While it records, and after that until Ctrl-C; the file is whole."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "x.data")
        with Serve(build, "-o", out, "-d", "3", "fake:", command="record", options=["--serve=:0", "--no-open"]) as s:
            observed(s, 1)
            check(asked(s, "/data", last=1000)["summary"]["running"] > 0, "data")
            until(lambda: asked(s, "/history")["ended"], "the end of the recording")
            n = asked(s, "/data", last=0)["summary"]["running"]
            until(lambda: "the page stays until Ctrl-C" in s.errors(), "what is told")
            s.end()
        told = subprocess.run([os.path.join(build, "uniscope"), "report", "--json", out], check=True,
                              capture_output=True, text=True).stdout
        check(json.loads(told)["summary"]["running"] == n, "the same samples")
        with Serve(build, "-o", out, "--tasks", "4", "fake:", command="record",
                   options=["--serve=:0", "--no-open"]) as s:
            observed(s, 0)
            # No task is known of it: the page has no switch, and the answer is the same.
            check(asked(s, "/history")["waits"] is False, "no waits")
            check("waits" not in asked(s, "/data", last=0, waits=1), "no profile of them")
            check(s.get("/data", last=0, waits=2)[0] == 400, "waits=2")
            s.end()


def usage(build):
    def fails(code, said, *args):
        done = subprocess.run([os.path.join(build, "uniscope"), *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        check(done.returncode == code and re.search(said, done.stderr), f"{args}: {done.returncode} {done.stderr}")
    serve = ("serve", "--no-open", "--port", "0")
    fails(2, "--all takes no target", *serve, "--all", "web")
    fails(2, "did you mean kvm", *serve, "--backend", "kvn", "fake:")
    fails(2, "are for guests", *serve, "-F", "99", __file__)
    fails(2, "-F 0: must be", *serve, "-F", "0", "fake:")
    fails(2, "are for guests", *serve, "--tasks", "4", __file__)
    fails(2, "--tasks 51: must be", *serve, "--tasks", "51", "fake:")
    fails(3, "no-such-guest", *serve, "no-such-guest")
    fails(2, "--serve needs a recording in a file", "record", "--serve", "-o", "-", "fake:")
    fails(2, "must be an address with a port", "record", "--serve=nowhere", "fake:")


def some_of_all_guests(build):
    """Two guests by QEMU's plugin, which disturbs no other: listed, each with its page; one ends."""
    require("tcg")
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        guests = [stack.enter_context(Guest(build, "shares", "tcg", plugin=True)) for _ in range(2)]
        for g in guests:
            g.wait("READY")
        s = stack.enter_context(Serve(build, "--all", "--backend", "plugin", "-F", "997", "-e", guests[0].elf))

        def mine():
            return [g for g in asked(s, "/guests") if g["name"].split()[0] == "shares"]
        until(lambda: len(mine()) == 2 and all(g["seconds"] > 3 for g in mine()), "both guests")
        check({g["name"] for g in mine()} == {"shares", "shares 2"}, f"{mine()}")
        check({g["hottest"] for g in mine()} == {"f60"}, f"{mine()}")
        check('"live":true' in s.get()[1], "the list")
        # Busy guests: of a host CPU what they get of it.
        until(lambda: all(g["host_cpu"] for g in mine()), f"what their VMMs take: {mine()}")
        check(all(g["host_cpu"] < 1.5 for g in mine()), f"{mine()}")
        url = f"http://127.0.0.1:{s.port}" + s.path("/debug/pprof/profile", last=3, guest="shares 2")
        check("f60" in top(build, folder, url), "go tool pprof of one of them")
        guests[0].vm.kill()
        until(lambda: sum(g["ended"] for g in mine()) == 1, "the end of one")
        gone = next(g for g in mine() if g["ended"])
        check(gone["host_cpu"] is None, f"it takes nothing any more: {gone}")
        check(asked(s, "/data", guest=gone["name"], last=0)["summary"]["running"] > 0, f"its page stays: {gone}")
        s.end(signal.SIGTERM)


def one_guest_that_ends(build):
    require("tcg")
    with contextlib.ExitStack() as stack:
        guest = stack.enter_context(Guest(build, "shares", "tcg", plugin=True))
        guest.wait("READY")
        s = stack.enter_context(Serve(build, "--backend", "plugin", "-e", guest.elf, str(guest.vm.pid)))
        observed(s, 2)
        data = asked(s, "/data", last=2000)
        func = data["func"]
        ran = data["summary"]["running"] - data["summary"]["ready"]
        shares = dict(zip(func["name"], (n / ran for n in func["self"])))
        check(abs(shares["f60"] - 0.6) < 0.15 and abs(shares["f30"] - 0.3) < 0.15, f"{shares}")
        guest.vm.kill()
        until(lambda: asked(s, "/history")["ended"], "its end")
        told = asked(s, "/history")["words"]
        check(told and asked(s, "/data", last=0)["summary"]["running"] > 0, "the page stays, and says so")
        until(lambda: "the page stays until Ctrl-C" in s.errors(), s.errors())
        check(top(build, guest.dir.name, s.url)["f60"] > 0, "go tool pprof does not wait")
        note(f"it says: {told}")
        s.end()


POINTS = (data_is_renewed, nonsense_is_refused, fifty_at_once, listeners_are_bounded, pprof_takes_it_live,
          waiting_for_a_profile_ends, record_serves_too, usage)
QEMU = (one_guest_that_ends, some_of_all_guests)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--qemu", action="store_true")
    args = p.parse_args()
    tap = Tap()
    for point in QEMU if args.qemu else POINTS:
        tap.point(point.__name__.replace("_", " "), lambda p=point: p(args.build))
    tap.end()


if __name__ == "__main__":
    main()
