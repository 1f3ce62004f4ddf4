#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope trace --listen: what Nanos's ftrace serves, to friends and to hostile peers.

usage: trace_http.py BUILD
"""
import argparse
import collections
import contextlib
import http.client
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Skip, Tap, Uniscope, check, note, patience  # noqa: E402
from tcg import Qemu  # noqa: E402
from trace import Converter, Tracing  # noqa: E402

FEW = "^(work|by_1|tail1|tick|deep)$"


class Serving(Tracing):
    """uniscope trace --listen of the guest."""

    def __init__(self, args, qemu, *options, before=(), **more):
        super().__init__(args, qemu, *options, before=["--listen", ":0", *before], **more)
        self.port = port_of(self.run)
        until(lambda: get(self.port, "/ftrace/tracing_on")[0] == 200)


def port_of(process):
    """As it says on standard error."""
    for line in process.stderr:
        if told := re.search(r"http://127\.0\.0\.1:(\d+)/ftrace/", line):
            return int(told[1])
        if "libmicrohttpd" in line:
            raise Skip(line.strip())
    raise RuntimeError(f"no port; exit {process.wait()}")


def until(holds, seconds=60):
    end = patience.clock() + seconds
    while not holds():
        check(patience.clock() < end, f"not in {seconds} s")
        time.sleep(0.02)


def get(port, path, method="GET", body=None, **fields):
    """(status, text)"""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        c.request(method, path, body, {k.replace("_", "-"): v for k, v in fields.items()})
        answer = c.getresponse()
        return answer.status, answer.read().decode()
    finally:
        c.close()


class Pipe:
    """Who reads trace_pipe, in a thread."""

    def __init__(self, port):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.c.request("GET", "/ftrace/trace_pipe")
        self.sock = self.c.sock
        self.answer = self.c.getresponse()
        check(self.answer.status == 200, f"status {self.answer.status}")
        self.text, self.whole = b"", False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while part := self.answer.read1(65536):
                self.text += part
            self.whole = True

    def end(self):
        self.thread.join(60)
        check(self.whole, "it was broken off")
        return self.text.decode()


def says_what_nanos_says(args, qemu):
    with Serving(args, qemu) as t:
        for path, said in (("available_tracers", "nop function_graph\n"),
                           ("current_tracer", "function_graph\n"), ("trace_clock", "mono\n"),
                           ("tracing_on", "1\n")):
            check(get(t.port, "/ftrace/" + path) == (200, said), path)
        check("/ftrace/trace_pipe" in get(t.port, "/")[1], "the index")
        for method, path, body, now in (("PUT", "tracing_on", "0", "0\n"),
                                        ("PUT", "tracing_on", "0\n", "0\n"),
                                        ("POST", "tracing_on", "1", "1\n"),
                                        ("GET", "tracing_enable/off", None, "0\n"),
                                        ("GET", "tracing_enable/on", None, "1\n")):
            check(get(t.port, "/ftrace/" + path, method, body) == (200, now), f"{method} {path}")
            check(get(t.port, "/ftrace/tracing_on")[1] == now, f"after {method} {path}")
        check(get(t.port, "/ftrace/trace", "HEAD") == (200, ""), "HEAD")
        t.end()


def trace_is_whole(args, qemu):
    """As Nanos's converter takes it, the calls are those that the guest counted."""
    with Serving(args, qemu, before=["-f", FEW]) as t:
        truth = t.counts()
        told = []
        for _ in range(2):  # it is still there
            status, text = get(t.port, "/ftrace/trace")
            check(status == 200, f"status {status}")
            got = Converter(text)
            told.append(collections.Counter(r[0] for r in got.rows))
        t.end()
        for calls in told:
            for name in ("work", "by_1", "tail1", "deep"):
                check(calls[name] == truth[name], f"{name}: {calls[name]} of {truth[name]}")
            check(calls["tick"] >= truth["tick"], f"tick: {calls['tick']} of {truth['tick']}")
        check(t.calls()["by_1"] == truth["by_1"], "in the recording")
        note(f"{sum(told[0].values())} calls")


def pipe_follows(args, qemu):
    """From when it is opened until the guest's end, beside the recording."""
    with Serving(args, qemu, name="shares", before=["-f", "^(f60|f30|f10)$"]) as t:
        pipes = [Pipe(t.port) for _ in range(2)]
        until(lambda: all(p.text.count(b"\n") > 40 for p in pipes))
        t.end()
        whole = t.calls()
        for p in pipes:
            text = p.end()
            check("LOST" not in text, "events were lost")
            calls = collections.Counter(r[0] for r in Converter(text).rows)
            for name in ("f60", "f30"):
                check(10 < calls[name] <= whole[name], f"{name}: {calls[name]} of {whole[name]}")
        note(f"{sum(calls.values())} of {sum(whole.values())} calls")


def slow_clients_cost_nothing(args, qemu):
    """They do not read, or go away; the guest is traced to its end, and nothing is lost.  On
    a host with too much to do events are lost without clients, too: then with memory for
    all of them."""
    for _ in range(3):
        lost = beside_slow_clients(args, qemu)
        if not lost:
            return
        note(f"once more after: {lost}")
        if loses_alone(args, qemu):
            lost = beside_slow_clients(args, qemu, "--ring", "256M")
            break
    check(not lost, lost)


def loses_alone(args, qemu):
    with Serving(args, qemu) as t:
        t.counts()
        t.end()
        return "lost" in t.said[1]


def beside_slow_clients(args, qemu, *options):
    """What is said of events that were lost; if none is, all calls are there."""
    with Serving(args, qemu, before=options) as t, contextlib.ExitStack() as peers:
        for i in range(3):
            c = peers.enter_context(socket.socket())
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", t.port))
            c.sendall(b"GET /ftrace/trace_pipe HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if i == 2:
                c.recv(100)
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
        truth = t.counts()
        t.end()
        if "lost" in t.said[1]:
            return " ".join(t.said[1].split())
        calls = t.calls()
        for name in ("work", "by_1", "fib", "hot"):
            check(calls[name] == truth[name], f"{name}: {calls[name]} of {truth[name]}")
        return ""


def many_readers(args, qemu):
    """Some, and no more; when one goes away there is room for the next."""
    with Serving(args, qemu, name="shares", before=["--last", "1s", "-f", "^f60$"]) as t:
        pipes = [Pipe(t.port) for _ in range(4)]
        status, said = get(t.port, "/ftrace/trace")
        check(status == 503 and "4 clients" in said, said)
        check(get(t.port, "/ftrace/tracing_on")[0] == 200, "the switch")
        pipes[0].sock.shutdown(socket.SHUT_RDWR)
        until(lambda: get(t.port, "/ftrace/trace")[0] == 200)
        t.end()
        for p in pipes[1:]:
            p.end()


def strangers_are_refused(args, qemu):
    """Another site's page, by name or by request."""
    with Serving(args, qemu, name="shares") as t:
        on = "/ftrace/tracing_on"
        for status, path, method, fields in (
                (403, "/ftrace/trace", "GET", {"Host": "evil.example"}),
                (403, on, "GET", {"Host": f"evil.example:{t.port}"}),
                (403, on, "PUT", {"Origin": "http://evil.example"}),
                (403, on, "POST", {"Origin": "null"}),
                (403, on, "POST", {"Sec_Fetch_Site": "cross-site"}),
                (403, "/ftrace/tracing_enable/off", "GET", {"Sec_Fetch_Site": "cross-site"}),
                (405, on, "DELETE", {}), (405, "/ftrace/trace", "PUT", {}),
                (404, "/ftrace/../etc/passwd", "GET", {}), (404, "/ftrace/trace%00", "GET", {}),
                (403, "http://evil.example" + on, "GET", {}),
                (404, f"http://127.0.0.1:{t.port}/none", "GET", {}),
                (200, f"http://127.0.0.1:{t.port}" + on, "GET", {}),
                (200, on, "GET", {"Host": f"localhost:{t.port}"})):
            got = get(t.port, path, method, "0" if method == "POST" else None, **fields)
            check(got[0] == status, f"{method} {path} {fields}: {got}, not {status}")
        own = f"http://127.0.0.1:{t.port}"
        check(get(t.port, on, "PUT", "1", Origin=own) == (200, "1\n"), "our own page")
        for body, status in (("2", 400), ("", 400), ("01", 400), ("x" * 10000, 413)):
            got = get(t.port, on, "PUT", body)
            check(got[0] == status, f"{body[:5]!r}: {got}, not {status}")
        check(get(t.port, on)[1] == "1\n", "still on")
        t.end()


def answered(port, request, says_no_more=False):
    """What comes back, if anything does, until the end."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as c:
        with contextlib.suppress(ConnectionError, BrokenPipeError):
            c.sendall(request)
            if says_no_more:
                c.shutdown(socket.SHUT_WR)
            got = b""
            while part := c.recv(65536):
                got += part
            return got
        return b""


def hostile_peers_are_borne(args, qemu):
    """Garbage, heads without end, silence, many at once: the next is served."""
    # A guest that sleeps: for half a minute there is nothing to do but to wait.
    with Serving(args, qemu, name="idle") as t, contextlib.ExitStack() as peers:
        line = b"GET /ftrace/tracing_on HTTP/1.1\r\nHost: localhost\r\n"
        for request in (b"\r\n" * 1000 + b"\0" * 1000, os.urandom(100000) + b"\r\n\r\n",
                        line + b"X: " + b"y" * 10**6 + b"\r\n\r\n",
                        line + b"".join(b"X%d: y\r\n" % i for i in range(10**5)) + b"\r\n",
                        b"GET /" + b"a" * 10**6 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
                        b"PUT /ftrace/tracing_on HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: -1\r\n\r\n0",
                        b"PUT /ftrace/tracing_on HTTP/1.1\r\nHost: localhost\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n0"):
            got = answered(t.port, request)
            check(not got or not got.startswith(b"HTTP/1.1 200"), f"{request[:40]}: {got[:80]}")
            check(get(t.port, "/ftrace/tracing_on") == (200, "1\n"), f"after {request[:40]}")
        check(b"200" in answered(t.port, b"GET /ftrace/tracing_on HTTP/1.0\r\n\r\n"), "HTTP/1.0")
        got = answered(t.port, b"GET /ftrace/trace HTTP/1.0\r\n\r\n", says_no_more=True)
        check(b"tracer: function_graph" in got, f"to who says no more: {got[:200]}")
        for i in range(60):  # half a request each; more than there are connections
            c = peers.enter_context(socket.socket())
            c.settimeout(30)
            c.connect(("127.0.0.1", t.port))
            with contextlib.suppress(ConnectionError):
                c.sendall(line[:i])

        def served():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return get(t.port, "/ftrace/tracing_on") == (200, "1\n")
            return False
        until(served)
        t.end()
        check(t.calls()["f60"] >= 0, "the recording")


def another_is_served(args, qemu):
    """A guest that another uniscope traces; until that ends."""
    with Tracing(args, qemu, name="shares", before=["-f", "^(f60|f30|f10)$"]) as t:
        t.wait("READY|TRUTH|shares", 60)
        with subprocess.Popen([t.us.program, "trace", "--listen", ":0", str(t.vm())],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as s:
            port = port_of(s)
            pipe = Pipe(port)
            until(lambda: pipe.text.count(b"\n") > 40)
            check(Converter(get(port, "/ftrace/trace")[1]).rows, "what is there")
            t.end()
            check(s.wait(60) == 0, f"exit {s.returncode}: {s.stderr.read()}")
            s.stdout.close()
            check(Converter(pipe.end()).rows, "rows")


def is_interrupted(args, qemu):
    """With clients that follow, do not read, or are half there."""
    with Serving(args, qemu, name="shares") as t, contextlib.ExitStack() as peers:
        pipe = Pipe(t.port)
        for request in (b"GET /ftrace/trace_pipe HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET"):
            c = peers.enter_context(socket.create_connection(("127.0.0.1", t.port)))
            c.sendall(request)
        until(lambda: pipe.text)
        t.end(signal.SIGINT)
        pipe.thread.join(60)
        check(not pipe.thread.is_alive(), "still read")


def refusals_say_why(args, qemu):
    us = Uniscope(args.build)
    vm = ["--", qemu.program, "-display", "none", "-kernel",
          os.path.join(args.build, "tests/guests/shares.elf")]
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        for where, words in ((taken, "another program has this port"),
                             ("nowhere:1", "must be an address with a port"),
                             ("127.0.0.1", "must be an address with a port"),
                             (":99999", "must be an address with a port"),
                             ("192.0.2.1:0", "no such address")):
            said = us.run("trace", "-o", us.data("x.data"), "--listen", where, *vm,
                          good=(1, 2, 3)).stderr
            check(words in said, f"{where}: {said}")
            check(not os.path.exists(us.data("x.data")), f"{where}: an empty recording")
    said = us.run("trace", "--listen", ":0", "-o", "x", "1", good=(2,)).stderr
    check("-o" in said, said)
    said = us.run("trace", "--listen", ":0", "999999999", good=(1, 2, 3)).stderr
    check("no guest" in said, said)
    said = us.run("trace", "-d", "1", "-o", us.data("y.data"), "--listen", "0.0.0.0:0",
                  *vm).stderr
    check("whoever reaches this address" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-qemu-") as folder:
        qemu = None

        def find():
            nonlocal qemu
            qemu = Qemu(args.build, "", folder)
            note(f"QEMU {qemu.version}")
        tap.point("QEMU is there", find)
        for name, test in (("it says what Nanos says", says_what_nanos_says),
                           ("the trace is whole", trace_is_whole),
                           ("trace_pipe follows", pipe_follows),
                           ("slow clients cost nothing", slow_clients_cost_nothing),
                           ("many readers", many_readers),
                           ("strangers are refused", strangers_are_refused),
                           ("hostile peers are borne", hostile_peers_are_borne),
                           ("another's guest is served", another_is_served),
                           ("Ctrl-C", is_interrupted),
                           ("refusals say why", refusals_say_why)) if qemu else ():
            tap.point(name, lambda t=test: t(args, qemu))
    tap.end()


if __name__ == "__main__":
    main()
