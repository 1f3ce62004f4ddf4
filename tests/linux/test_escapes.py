#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that calls its programs, files and cgroups what terminals, browsers and readers
of JSON take for something else: whatever is printed of it is only text.

usage: test_escapes.py BUILD [--seconds S]
"""
import gzip
import json
import os
import subprocess
import sys
import unicodedata

from begin import options, or_skip
from guest import LinuxGuest
from harness import Tap, Uniscope, check, note, require

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from served import Serve, until  # noqa: E402

# An escape, a control character of one byte and one of two, no character at all, and
# a line's end.  15 bytes, which the kernel keeps of a name.
COMM = b"\x1b[31mv\x07\xc2\x9b\xff<q7>\n"
# Besides, what turns the direction of writing; a file's name is longer.
FILE = b"busybox\x1b]0;file\x07\xe2\x80\xae\xc3\xff<q8>'\"\\\x7f;"
GROUP = b"grp\x1b[2J\x9b\xe2\x80\xae<i>\"\\"
TOP = "/sys/fs/cgroup"
# What is seen of each name.
SEEN = {"comm": "[31mv", "file": "]0;file", "group": "grp"}
KEYS = ["process", "thread", "comm", "container", "image"]
PACKED = {".json.gz", ".pb.gz"}
FORMATS = {"text": ".txt", "folded": ".folded", "callgrind": ".callgrind",
           "qprofiler": ".txt", "exits": ".txt", "phases": ".txt", "tree": ".txt",
           "json": ".json", "speedscope": ".speedscope.json", "chrome": ".trace.json",
           "firefox": ".json.gz", "html": ".html", "pprof": ".pb.gz"}
MARKUP = ["<q7", "<q8", "<q9"]


def shell(name):
    """printf's, for sh."""
    return "".join(f"\\{byte:03o}" for byte in name)


def is_text(what, data, allowed="\n"):
    """No byte of it makes a terminal or a browser do anything."""
    try:
        text = data.decode()
    except UnicodeDecodeError as err:
        raise AssertionError(f"{what}: no UTF-8: {data[max(0, err.start - 30):err.end + 10]}")
    for n, c in enumerate(text):
        kind = unicodedata.category(c)
        override = c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        check(c in allowed or kind != "Cc" and not override,
              f"{what}: {c!r} in {text[max(0, n - 40):n + 40]!r}")
    return text


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.guest = LinuxGuest(args.build, cpu="qemu64", smp=1, memory=256)

    def start(self):
        """Three that are busy and one that sleeps."""
        g = self.guest
        g.wait("READY")
        g.elf = None
        g.do(f"mkdir -p {TOP} && mount -t cgroup2 none {TOP}")
        g.do(f"mkdir \"{TOP}/$(printf '{shell(GROUP)}')\"")
        g.do(f"cp /bin/busybox \"/tmp/$(printf '{shell(FILE)}')\"")
        self.pids = [int(g.do(f"{command} >/dev/null 2>&1 & echo $!")) for command in (
            f"sh -c 'printf \"{shell(COMM)}\" >/proc/self/comm; while :; do :; done'",
            f"\"/tmp/$(printf '{shell(FILE)}')\" sh -c 'while :; do :; done'",
            "sh -c 'while :; do :; done'",
            f"\"/tmp/$(printf '{shell(FILE)}')\" sleep 100000")]
        g.do(f"echo {self.pids[2]} >\"{TOP}/$(printf '{shell(GROUP)}')/cgroup.procs\"")
        comm = g.do(f"od -An -tx1 /proc/{self.pids[0]}/comm | tr -d ' \\n'; echo")
        check(bytes.fromhex(comm)[:len(COMM)] == COMM, f"the guest's own: {comm}")
        self.us.record_enough(g, "gdb", "--budget", "50", "--tasks", "4",
                              seconds=self.args.seconds, enough=200)

    def printed(self, *args, **more):
        """As the bytes that came."""
        path = self.us.data("printed")
        with open(path, "wb") as out:
            done = subprocess.run([self.us.program, *args], stdout=out, stderr=subprocess.PIPE,
                                  timeout=120, **more)
        check(done.returncode == 0, f"{args}: {done.stderr}")
        is_text(f"{args}, what it says", done.stderr, "\n\r")
        with open(path, "rb") as f:
            return f.read()

    def tables(self):
        """Whatever is asked of a report."""
        seen = ""
        for key in KEYS:
            for how in (["--sort", key], ["--group-by", key], ["--waits", "--group-by", key],
                        *([["--by", key], ["--by", key, "--tree"]] if key != "image" else [])):
                seen += is_text(f"report {how}", self.printed("report", *how, self.us.data()))
        for name, part in SEEN.items():
            check(part in seen, f"the {name} is nowhere: {seen[:2000]}")

    def formats(self):
        for name, suffix in FORMATS.items():
            for by in ([], ["--by", "process"], ["--by", "container"]):
                path = self.us.data("out" + suffix)
                self.printed("report", "-f", name, *by, "-o", path, self.us.data())
                with (gzip.open if suffix in PACKED else open)(path, "rb") as f:
                    data = f.read()
                if name != "pprof":
                    text = is_text(f"{name} {by}", data, "\n\t")
                if name in ("json", "speedscope", "chrome", "firefox"):
                    json.loads(text)
                if name == "html":
                    check(not any(word in text for word in MARKUP), f"{name} {by}: markup")
                if name == "folded":
                    bad = [line for line in text.splitlines() if not line.rpartition(" ")[2].isdigit()]
                    check(not bad, f"{name} {by}: {bad[:3]}")
        note(f"{len(FORMATS)} formats")

    def live(self):
        """What is printed of it while it runs."""
        g, seen = self.guest, ""
        target = g.target("gdb")
        for args in (("dump", "--tasks", target), ("dump", target), ("ps", "--inside", str(g.vm.pid)),
                     ("top", "-d", "4", "-F", "99", "--budget", "50", "--sort", "process", target),
                     ("top", "-d", "4", "-F", "99", "--budget", "50", "--sort", "container",
                      "--tasks", "4", target)):
            for more in ((), ("--json",)):
                text = is_text(" ".join(args[:-1]), self.printed(args[0], *more, *args[1:]))
                seen += text
                if more:
                    for line in text.splitlines() if args[0] == "top" else [text]:
                        json.loads(line)
        for name, part in SEEN.items():
            check(part in seen, f"the {name} is nowhere")

    def served(self):
        g = self.guest
        with Serve(self.args.build, "--backend", "gdb", "-F", "99", "--budget", "50",
                   g.target("gdb")) as s:
            until(lambda: json.loads(s.get("/history")[1]).get("now", 0) > 5000, "5 s of it", 100)
            for path, query in (("", {}), ("/history", {}), ("/data", {"owners": 1})):
                status, text = s.get(path, **query) if path else s.get()
                check(status == 200, f"{path}: {status}")
                text = is_text(f"serve {path}", text.encode(), "\n\t")
                if path:
                    json.loads(text)
                else:
                    check(not any(word in text for word in MARKUP), "markup in the page")
            s.end()

    def run(self):
        with self.guest:
            self.tap.point("record", self.start)
            self.tap.point("tables", self.tables)
            self.tap.point("formats", self.formats)
            self.tap.point("dump, ps and top", self.live)
            self.tap.point("serve", self.served)
        self.tap.end()


def main():
    args = options(seconds=10.0).parse_args()
    with or_skip():
        require("tcg")
        suite = Suite(args)
    suite.run()


if __name__ == "__main__":
    main()
