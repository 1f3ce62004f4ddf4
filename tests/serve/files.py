#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope serve FILE...: to friends and to hostile peers.

usage: files.py BUILD GOLDEN ELF
"""
import argparse
import concurrent.futures
import contextlib
import glob
import http.client
import json
import os
import pwd
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import Serve, until  # noqa: E402
from harness import Skip, Tap, check, note  # noqa: E402
from packages import unpack  # noqa: E402

CLIENTS = 50


class Shelf:
    """A folder of recordings: whole, cut, empty, ..."""

    def __init__(self, args, folder):
        self.build, self.folder, self.golden = args.build, folder, os.path.abspath(args.golden)
        shutil.copy(args.elf, os.path.join(folder, "guest.elf"))
        for kind in ("whole", "cut"):
            self.write(kind + ".data", self.run("record", kind, "guest.elf"))
        whole = self.read("whole.data")
        self.write("newer.data", whole[:8] + struct.pack("<I", 99) + whole[12:])
        self.write("half.data", whole[:len(whole) // 2])
        self.write("head.data", whole[:12])
        self.write("empty.data", b"")
        self.write("note.txt", b"nothing of ours\n")
        os.mkfifo(self.path("pipe"))
        os.symlink("/etc/passwd", self.path("passwd"))
        self.write("<b>&\"' é.data", whole)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def write(self, name, data):
        with open(self.path(name), "wb") as f:
            f.write(data)

    def run(self, *words):
        return subprocess.run([self.golden, *words], cwd=self.folder, check=True,
                              stdout=subprocess.PIPE).stdout

    def serve(self, *args, **more):
        return Serve(self.build, *args, cwd=self.folder, **more)


def listed(s):
    status, page = s.get()
    check(status == 200, page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    return {r["name"]: r for r in data["recordings"]}


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def one_is_shown_at_once(x):
    with x.serve("whole.data") as s:
        status, fields, got = s.ask(s.path())
        check(status == 200 and fields["Content-Type"].startswith("text/html"), f"{status} {fields}")
        check("frame-ancestors 'none'" in fields["Content-Security-Policy"], "policy")
        check(fields["Cache-Control"] == "no-store" and fields["Referrer-Policy"] == "no-referrer",
              f"{fields}")
        check("Set-Cookie" not in fields, "a cookie")
        check(int(fields["Content-Length"]) == len(got), "length")
        want = x.run("report", "html", "whole.data", "by-time", "code")
        page, report = data_of(got.decode()), data_of(want.decode())
        differ = [k for k in {**page, **report} if page.get(k) != report.get(k)]
        check(not differ, f"the page is the report's, but for {differ}")
        check(s.get("/recording", file="whole.data")[1] == got.decode(), "by its name")
        status, head, nothing = s.ask(s.path(), "HEAD")
        check(status == 200 and not nothing, "HEAD")
        check(all(head[k] == fields[k] for k in ("Content-Length", "Content-Type")),
              f"{head}")
        s.end()


def waits_are_beside(x):
    """Of a Linux guest: what tasks waited for, as in the report's page."""
    with tempfile.TemporaryDirectory(prefix="uniscope-serve-") as folder:
        data, page = os.path.join(folder, "waits.data"), os.path.join(folder, "x.html")
        with open(data, "wb") as f:
            f.write(x.run("record", "waits", "guest.elf"))
        subprocess.run([os.path.join(x.build, "uniscope"), "report", "-o", page, data], cwd=x.folder,
                       check=True, stdout=subprocess.DEVNULL)
        with open(page, encoding="utf-8") as f:
            want = data_of(f.read())
        check("waits" in want, f"{want.keys()}")
        with x.serve(data) as s:
            got = data_of(s.get()[1])
            s.end()
    differ = [k for k in {**got, **want} if k != "code" and got.get(k) != want.get(k)]
    check(not differ, f"the page is the report's, but for {differ}")


def folder_is_listed(x):
    with x.serve(".") as s:
        got = listed(s)
        check(set(got) == {"whole.data", "cut.data", "newer.data", "half.data", "head.data",
                           "<b>&\"' é.data"}, f"{sorted(got)}")
        check("format 99" in got["newer.data"]["why"], got["newer.data"]["why"])
        check("only 12 bytes" in got["head.data"]["why"], got["head.data"]["why"])
        whole = got["whole.data"]
        check(whole["guest"].startswith("demo <b>") and "\033" not in whole["guest"] and
              whole["backend"] == "kvm" and not whole["why"], f"{whole}")
        check(s.get("/recording", file="<b>&\"' é.data")[0] == 200, "a name with everything")
        x.write("later.data", x.read("whole.data"))
        check("later.data" in listed(s), "one to come")
        check(s.get("/recording", file="later.data")[0] == 200, "which is shown")
        os.unlink(x.path("later.data"))
        check(s.get("/recording", file="later.data")[0] == 404, "and gone")
        s.end()


def names_without_links(x):
    """A link could not be followed, so there is none, and the list says why."""
    data, odd = x.read("whole.data"), (b"tab\t1.data", b"caf\xe9.data")
    for name in odd:
        with open(os.path.join(os.fsencode(x.folder), name), "wb") as f:
            f.write(data)
    with x.serve(".") as s:
        got = {name: r for name, r in listed(s).items() if not r["link"]}
        check(len(got) == 2 and all("rename it" in r["why"] for r in got.values()), f"{got}")
        check(all(r["link"] for name, r in listed(s).items() if name not in got), "links")
        s.end()
    for name in odd:
        os.unlink(os.path.join(os.fsencode(x.folder), name))


def files_and_folders_together(x):
    os.mkdir(x.path("sub"))
    shutil.copy(x.path("whole.data"), x.path("sub/deep.data"))
    with x.serve("whole.data", "sub/", "empty.data") as s:
        got = listed(s)
        check(set(got) == {"whole.data", "sub/deep.data", "empty.data"}, f"{sorted(got)}")
        check("empty" in got["empty.data"]["why"], f"{got}")
        check(s.get("/recording", file="sub/deep.data")[0] == 200, "in a folder")
        check("empty.data: read a recording: the file is empty" in s.errors(), s.errors())
        s.end()
    shutil.rmtree(x.path("sub"))


def broken_recordings(x):
    """Of one that is cut there is a page, with a warning; the others say what they are."""
    with x.serve(".") as s:
        for name, status, said in (("cut.data", 200, "cut"), ("half.data", 200, "cut"),
                                   ("newer.data", 422, "format 99"),
                                   ("head.data", 422, "only 12 bytes")):
            got = s.get("/recording", file=name)
            check(got[0] == status and said in got[1], f"{name}: {got[0]} {got[1][:300]}")
        x.write("whole2.data", x.read("whole.data"))
        first = s.get("/recording", file="whole2.data")[1]
        x.write("whole2.data", x.read("cut.data"))
        check(s.get("/recording", file="whole2.data")[1] != first, "one that was replaced")
        os.unlink(x.path("whole2.data"))
        s.end()


def another_architecture(x):
    """The image of a guest is not one of its processor: no names, and it says why."""
    elf = bytearray(x.read("guest.elf"))
    elf[18:20] = struct.pack("<H", 183)  # aarch64
    elf = elf.replace(b"golden-guest-of-test", b"the-build-of-another")
    check(b"the-build-of-another" in elf, "the image's build-id")
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("guest.elf", elf), ("whole.data", x.read("whole.data"))):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        with Serve(x.build, "whole.data", cwd=folder) as s:
            status, page = s.get()
            told = data_of(page)["warnings"]
            check(status == 200 and any("guest.elf" in w for w in told), f"{status} {told}")
            s.end()


def nothing_else_is_served(x):
    """No path and no name leads to a file that is not one of them."""
    os.mkdir(x.path("in"))
    shutil.copy(x.path("whole.data"), x.path("in/a.data"))
    with x.serve("in", "whole.data") as s:
        check(s.get("/recording", file="in/a.data")[0] == 200, "itself")
        check(s.get("/recording", file="a.data")[0] == 200, "by its file name, which no other has")
        for name in ("../etc/passwd", "/etc/passwd", "in/../whole.data", "in/../../etc/passwd",
                     "in//a.data", "./in/a.data", "in/./a.data", "in/", "in", "", ".", "..", "in/..",
                     x.path("in/a.data"), "in/a.data\n", "in/a.data%00", "in/a.data\0",
                     "note.txt", "cut.data", "in/" + "b" * 300, "b" * 900):
            status, told = s.get("/recording", file=name)
            check(status in (400, 404), f"{name!r}: {status} {told[:100]}")
            check("root:" not in told and "\0" not in told, told)
        for raw in ("in%2fa.data%00", "in%2Fa.data%zz", "%", "%2", "in/a.data%ff", "in%0aa", "%2e%2e%2fwhole.data",
                    "x" * 5000):
            status, _, _ = s.ask(f"/recording?token={s.token}&file={raw}")
            check(status in (400, 404), f"{raw}: {status}")
        for path in ("/..", "/../", "/../whole.data", "/in/a.data", "/%2e%2e/whole.data", "//", "/recording/",
                     "/recording/..", "/./", "/index.html", "/debug/pprof/../profile", "/recording%00"):
            status, _, _ = s.ask(path + "?token=" + s.token)
            check(status == 404, f"{path}: {status}")
        s.end()
    shutil.rmtree(x.path("in"))


def token_is_needed(x):
    with x.serve("whole.data") as s, x.serve("whole.data") as other:
        check(s.token != other.token, "the same token twice")
        for token in ("", s.token[:-1], s.token + "0", s.token.upper() + "x", "0" * 32, other.token):
            for path in ("/", "/recording", "/debug/pprof/profile", "/nothing"):
                status, told = s.get(path, token=token)
                check(status == 403 and "token" in told, f"{path} {token}: {status}")
        status, _, _ = s.ask("/", fields={"Cookie": "token=" + s.token})
        check(status == 403, "a cookie")
        check(s.ask(f"/?token={'0' * 32}&token={s.token}")[0] == 403, "the first one counts")
        other.end()
        s.end()


def strangers_are_refused(x):
    """By name (DNS rebinding), by page, by method."""
    with x.serve("whole.data") as s:
        own, path = f"127.0.0.1:{s.port}", s.path()
        cross = {"Sec-Fetch-Site": "cross-site"}
        for status, method, fields in (
                (200, "GET", {"Host": f"localhost:{s.port}"}),
                (200, "GET", {"Origin": "http://" + own, "Sec-Fetch-Site": "same-origin"}),
                (200, "GET", {**cross, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}),
                (403, "GET", {"Host": "evil.example"}), (403, "GET", {"Host": f"evil.example:{s.port}"}),
                (403, "GET", {"Host": f"127.0.0.1.evil.example:{s.port}"}),
                (403, "GET", {"Origin": "http://evil.example"}), (403, "GET", {"Origin": "null"}),
                (403, "GET", {"Origin": "https://" + own}),
                (403, "GET", {"Origin": f"http://127.0.0.1:{s.port + 1}"}),
                (403, "GET", cross), (403, "GET", {"Sec-Fetch-Site": "same-site"}),
                (403, "GET", {**cross, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}),
                (403, "GET", {**cross, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}),
                (405, "POST", {}), (405, "PUT", {}), (405, "DELETE", {}), (405, "OPTIONS", {}),
                (405, "PATCH", {}), (405, "PROPFIND", {})):
            got, _, told = s.ask(path, method, fields, "0" if method in ("POST", "PUT") else None)
            check(got == status, f"{method} {fields}: {got}, not {status}: {told[:100]}")
        s.end()


def own_names_are_taken(x):
    """Of this machine and of a proxy, with the dot of the DNS root or without it."""
    own, full = socket.gethostname(), socket.getaddrinfo(socket.gethostname(), None, flags=socket.AI_CANONNAME)
    program = [os.path.join(x.build, "uniscope"), "serve", "--no-open", "--listen", "0.0.0.0:0", "--host-name",
               "vm.proxy.example", "whole.data"]
    with subprocess.Popen(program, cwd=x.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        port, token = re.search(r":(\d+)/\?token=(\w+)", p.stdout.readline()).groups()

        def status(host):
            c = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
            with contextlib.closing(c):
                c.request("GET", "/?token=" + token, headers={"Host": host})
                answer = c.getresponse()
                return answer.status, answer.read().decode()
        for host in ("localhost.", own, own + ".", "vm.proxy.example", "VM.Proxy.Example.:80"):
            check(status(host)[0] == 200, f"{host}: {status(host)}")
        until(lambda: status(full[0][3])[0] == 200, f"the full name {full[0][3]}")
        got = status("evil.example")
        check(got[0] == 403 and "this machine's name" in got[1] and own not in got[1], f"{got}")
        p.terminate()
        check(p.wait(60) == 0, "SIGTERM")


def all_addresses_are_told(x):
    """[::] stands for those of IPv6, too, but not for those that need a zone."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        return note("no IPv6")
    program = [os.path.join(x.build, "uniscope"), "serve", "--no-open", "--listen", "[::]:0", "whole.data"]
    with subprocess.Popen(program, cwd=x.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        urls = []
        while (line := p.stdout.readline()).startswith("http"):
            urls.append(line.strip())
        p.terminate()
        check(p.wait(60) == 0, "SIGTERM")
    check(any(u.startswith("http://[::1]:") for u in urls) and "fe80" not in "".join(urls), f"{urls}")
    with open("/proc/sys/net/ipv6/bindv6only") as f:
        only = f.read().strip() == "1"
    check(any(u.startswith("http://127.0.0.1:") for u in urls) != only, f"{urls}")


def answered(port, request):
    """What comes back, if anything does, until the end."""
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as c, \
            contextlib.suppress(OSError):  # a reset, while it is still written
        c.sendall(request)
        c.shutdown(socket.SHUT_WR)
        while part := c.recv(65536):
            got += part
    return got


def hostile_peers_are_borne(x):
    """A port scanner's nonsense, heads without end, readers that go away in mid stream."""
    with x.serve("whole.data") as s, contextlib.ExitStack() as peers:
        whole = len(s.get()[1])
        line = f"GET {s.path()} HTTP/1.1\r\nHost: localhost\r\n".encode()
        for request in (b"\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n", b"OPTIONS / RTSP/1.0\r\n\r\n", b"HELP\r\n",
                        b"\x16\x03\x00\x00\x53\x01\x00\x00\x4f\x03\x00" + os.urandom(64),
                        b"\x80\x00\x00\x28\x72\xfe\x1d\x13\0\0\0\0\0\0\0\2\0\1\x86\xa0",
                        b"\0\x0c\0\0\x10\0\0\0\0\0\0\0\0\0", b"SSH-2.0-x\r\n", b"\0" * 5000,
                        os.urandom(100000) + b"\r\n\r\n", b"GET /" + b"a" * 10**6 + b" HTTP/1.1\r\n\r\n",
                        line + b"X: " + b"y" * 10**6 + b"\r\n\r\n",
                        b"GET /?token=" + b"%" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"GET /?" + b"token&" * 2000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            got = answered(s.port, request)
            check(not got.startswith(b"HTTP/1.1 200"), f"{request[:40]}: {got[:80]}")
        check(len(s.get()[1]) == whole, "after that")
        for i in range(20):  # they read a little of it, and go: with a reset, and without
            c = peers.enter_context(socket.socket())
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(line + b"\r\n")
            if i % 4 < 3:
                c.recv(100 + i)
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", i % 2, 0))
                c.close()
        for i in range(160):  # more than there are connections, with half a request each
            c = peers.enter_context(socket.socket())
            c.settimeout(30)
            c.connect(("127.0.0.1", s.port))
            with contextlib.suppress(ConnectionError):
                c.sendall(line[:i])

        def served():
            with contextlib.suppress(OSError):
                return len(s.get()[1]) == whole
            return False
        until(served, "served again")
        s.end()


def many_at_once(x):
    """Fifty; what they get is made once and is in memory once, also for slow ones."""
    big = x.run("record", "big", "guest.elf")
    x.write("big.data", big)
    with x.serve("big.data") as s, contextlib.ExitStack() as peers:
        page = s.get()[1]
        check(len(page) > 10**5, f"{len(page)} bytes")
        before = s.memory()
        for _ in range(CLIENTS):  # they do not read
            c = peers.enter_context(socket.socket())
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(f"GET {s.path()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            got = list(pool.map(lambda _: s.get()[1], range(CLIENTS)))
        check(all(g == page for g in got), "all have the same")
        grown = s.memory() - before
        note(f"{2 * CLIENTS} at once, {len(page) >> 10} KiB each: {grown >> 10} KiB more")
        if not s.is_sanitized():
            check(grown < CLIENTS * len(page) / 4, f"{grown} bytes more")
        s.end()


def pprof_takes_it(x):
    """By the very URL that is printed, and by that of one of several."""
    program = shutil.which("go") and [shutil.which("go"), "tool", "pprof"]
    program = program or glob.glob(os.path.join(unpack(x.build, "golang-1.19-go"),
                                                "usr/lib/go-*/pkg/tool/*/pprof"))[:1]
    want = {f["name"]: (f["self"], f["total"]) for f in
            json.loads(x.run("report", "json", "whole.data"))["functions"]}

    def top(url):
        told = subprocess.run(
            [*program, "-top", "-nodefraction=0", "-nodecount=1000", url], check=True, text=True,
            env={**os.environ, "PPROF_TMPDIR": x.folder, "HOME": x.folder}, stdout=subprocess.PIPE).stdout
        rows = re.findall(r"^\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+(\d+)\s+[\d.]+%\s+(.*?)(?: \(inline\))?$",
                          told, re.M)
        return {name: (int(flat), int(cum)) for flat, cum, name in rows}
    with x.serve("whole.data") as s:
        check(top(s.url) == want, "by the printed URL")
        s.end()
    with x.serve(".") as s:
        check(s.get("/debug/pprof/profile")[0] == 400, "which?")
        status, told = s.get("/debug/pprof/profile", file="none.data")
        check(status == 404 and "whole.data" in told, f"the names: {status} {told}")
        url = f"http://127.0.0.1:{s.port}" + s.path("/debug/pprof/profile", file="whole.data")
        check(top(url) == want, "one of several")
        s.end()
    note(f"{len(want)} functions")


def usage(x):
    def fails(code, said, *args, cwd=x.folder):
        done = subprocess.run([os.path.join(x.build, "uniscope"), "serve", "--no-open", *args], cwd=cwd,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        check(done.returncode == code and re.search(said, done.stderr),
              f"{args}: {done.returncode} {done.stderr}")
    for port in ("x", "-1", "65536", "1x", "", "99999999999"):
        fails(2, "--port .*: must be from 0 to 65535", "--port", port, "whole.data")
    fails(2, "must be an address with a port", "--listen", "evil.example:80", "whole.data")
    fails(1, "192.0.2.1:0: .*\n.*no such address", "--listen", "192.0.2.1:0", "whole.data")
    fails(1, "open none.data: No such file", "none.data")
    fails(1, "neither a file nor a folder", "pipe")
    fails(1, "the file is empty", "empty.data")
    fails(1, "this is no recording", "note.txt")
    fails(1, "format 99", "newer.data")
    with x.serve("whole.data") as s:
        fails(1, r"in use\n.*--port \d+ is free", "--port", str(s.port), "whole.data")
        done = subprocess.run([os.path.join(x.build, "uniscope"), "serve", "--no-open", "--port",
                               str(s.port), "whole.data"], cwd=x.folder, capture_output=True, text=True)
        free = re.search(r"--port (\d+) is free", done.stderr)[1]
        with x.serve("whole.data", port=free) as second:
            check(second.port == int(free), "the one that was offered")
            second.end()
        s.end()


def first_answer(url):
    """(status, where it leads)"""
    c = http.client.HTTPConnection(url.split("/")[2], timeout=60)
    with contextlib.closing(c):
        c.request("GET", "/" + url.split("/", 3)[3], headers={"Sec-Fetch-Site": "none"})
        answer = c.getresponse()
        return answer.status, answer.getheader("Location")


def without_a_display(x):
    """The way from another machine is told; a browser is started only where it can be seen."""
    started = x.path("started")
    x.write("xdg-open", f'#!/bin/sh\necho "$@" >"{started}.part" && mv "{started}.part" "{started}"\n'.encode())
    os.chmod(x.path("xdg-open"), 0o755)
    program = [os.path.join(x.build, "uniscope"), "serve", "--port", "0", "whole.data"]
    for display in ("", ":7"):
        env = {**os.environ, "PATH": x.folder + ":" + os.environ["PATH"], "DISPLAY": display,
               "WAYLAND_DISPLAY": ""}
        env.pop("SUDO_UID", None)
        with subprocess.Popen(program, cwd=x.folder, env=env, stdout=subprocess.PIPE, text=True) as p:
            url = p.stdout.readline().strip()
            port = re.search(r":(\d+)/", url)[1]
            told = p.stdout.readline()
            if display:
                until(lambda: os.path.exists(started), "a browser")
                with open(started) as f:
                    given = f.read().strip()
                token = url.split("=")[1]  # which other users would see in the browser's command line
                check(given.startswith(f"http://127.0.0.1:{port}/?open=") and token not in given, given)
                got = [first_answer(given) for _ in range(2)]
                check(got == [(302, "/?token=" + token), (403, None)], f"{got}")
            else:
                check(f"ssh -L {port}:127.0.0.1:{port} " in told, told)
                check(not os.path.exists(started), "a browser without a display")
            p.terminate()
            check(p.wait(60) == 0, "SIGTERM")


def browser_of_who_called_sudo(x):
    """It has that user's home, groups and session, not root's."""
    if os.geteuid():
        return note("not root")
    user = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="uniscope-browser-") as folder:
        os.chmod(folder, 0o777)
        started, opener = os.path.join(folder, "started"), os.path.join(folder, "xdg-open")
        with open(opener, "w") as f:
            f.write(f'#!/bin/sh\n(id -u; id -G; env) >"{started}.part" && mv "{started}.part" "{started}"\n')
        os.chmod(opener, 0o755)
        env = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "DISPLAY": ":7", "HOME": "/root",
               "USER": "root", "LOGNAME": "root", "XDG_RUNTIME_DIR": "/run/user/0",
               "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus",
               "SUDO_UID": str(user.pw_uid), "SUDO_GID": str(user.pw_gid)}
        program = [os.path.join(x.build, "uniscope"), "serve", "--port", "0", "whole.data"]
        with subprocess.Popen(program, cwd=x.folder, env=env, stdout=subprocess.PIPE, text=True) as p:
            until(lambda: os.path.exists(started), "a browser")
            p.terminate()
            check(p.wait(60) == 0, "SIGTERM")
        with open(started) as f:
            uid, groups, *lines = f.read().splitlines()
    got = dict(line.split("=", 1) for line in lines if "=" in line)
    check(int(uid) == user.pw_uid, uid)
    want = set(os.getgrouplist(user.pw_name, user.pw_gid))
    check({int(g) for g in groups.split()} == want, f"{groups} {want}")
    check(got["HOME"] == user.pw_dir and got["USER"] == got["LOGNAME"] == user.pw_name, f"{got}")
    own = f"/run/user/{user.pw_uid}"
    check(got.get("XDG_RUNTIME_DIR") == (own if os.path.isdir(own) else None), f"{got}")
    check("/run/user/0/" not in got.get("DBUS_SESSION_BUS_ADDRESS", ""), f"{got}")


POINTS = (one_is_shown_at_once, waits_are_beside, folder_is_listed, names_without_links, files_and_folders_together, broken_recordings,
          another_architecture, nothing_else_is_served, token_is_needed, strangers_are_refused,
          own_names_are_taken, all_addresses_are_told,
          hostile_peers_are_borne, many_at_once, pprof_takes_it, usage, without_a_display, browser_of_who_called_sudo)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("golden")
    p.add_argument("elf")
    args = p.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-serve-") as folder:
        x = Shelf(args, folder)
        for point in POINTS:
            tap.point(point.__name__.replace("_", " "), lambda p=point: p(x))
    tap.end()


main()
