#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers of a Debian guest, which are cgroups and pid namespaces, and programs that
make code when they run: against what the guest says of itself.

usage: test_containers.py BUILD [--only WORD] [--seconds S]
"""
import gzip
import json
import os
import sys
import tempfile

from begin import options, or_skip
from guest import LinuxGuest
from harness import Tap, Uniscope, check, note, require
from test_owners import build

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from served import Serve, until  # noqa: E402

TOP = "/sys/fs/cgroup"
V1 = "/v1"  # a hierarchy of one controller
# Two levels; one is that of a program in a pid namespace of its own, one is in V1.
GROUPS = {"plain": "/machine.slice/plain.scope", "inside": "/machine.slice/inside.scope",
          "old": "/machine.slice/old.scope"}
ENOUGH = 300
MADE = {"made:sixty a;b", "made:twenty"}


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        folder = os.path.join(args.build, "tests", "linux", "containers")
        jit = build(folder, "jit", "jit.c", "-static")
        self.root = tempfile.TemporaryDirectory(prefix="uniscope-")
        os.mkdir(os.path.join(self.root.name, "tmp"))
        self.guest = LinuxGuest(args.build, cpu="qemu64", smp=1, memory=384,
                                programs={"jit": jit})

    def path(self, name):
        """As the guest says, of the hierarchy that the program was put into."""
        text = self.guest.do(f"cat /proc/{self.pid[name]}/cgroup")
        word = ":pids:" if name == "old" else "0::"
        return next(line.partition(word)[2].strip() for line in text.splitlines() if word in line)

    def start(self):
        """{name: its number}: the program in all groups, a shell in none."""
        g = self.guest
        g.wait("READY")
        g.elf = None
        g.do(f"mkdir -p {TOP} && mount -t cgroup2 none {TOP}")
        g.do(f"mkdir -p {V1} && mount -t cgroup -o pids none {V1}")
        self.pid = {}
        for name, how in (("plain", "/bin/jit"), ("inside", "unshare -p -f /bin/jit"),
                          ("old", "/bin/jit")):
            top = V1 if name == "old" else TOP
            first = int(g.do(f"{how} >/dev/null 2>&1 & echo $!"))
            g.do(f"while ! ls /tmp/perf-*.map | grep -q {'perf-1.map' if name == 'inside' else first}"
                 "; do usleep 100000; done")
            self.pid[name] = int(g.do("pidof jit").split()[0])
            g.do(f"mkdir -p {top}{GROUPS[name]}; echo {self.pid[name]} > "
                 f"{top}{GROUPS[name]}/cgroup.procs")
        self.shell = int(g.do("sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"))
        self.truth = {name: self.path(name) for name in self.pid}
        note(f"the guest says: {self.pid} {self.truth}")
        self.us.record_enough(g, "gdb", "--budget", "50", seconds=self.args.seconds,
                              enough=ENOUGH)
        # What each has written, as if the guest's files were mounted.
        for file in g.do("ls /tmp").split():
            if file.startswith("perf-"):
                with open(os.path.join(self.root.name, "tmp", file), "w") as f:
                    f.write(g.do(f"cat /tmp/{file}"))

    def by(self, *args):
        return {g["name"]: g["samples"] for g in self.us.report(*args)["groups"]}

    def containers(self):
        check(self.truth == GROUPS, self.truth)
        rows = self.by("--sort", "container")
        processes = self.by("--sort", "process")
        note(f"{rows}; {processes}")
        for name, path in self.truth.items():
            own = next(n for p, n in processes.items()
                       if p.startswith(f"jit ({self.pid[name]}"))
            check(rows.get(path) == own > 0.1 * ENOUGH, f"{path} is not {own}: {rows}")
            part = self.us.report("--container", path.rpartition("/")[2], "--sort", "process")
            check([g["samples"] for g in part["groups"]] == [own], part["groups"])
            check(part["summary"]["running"] == own, part["summary"])
        both = self.us.report("--container", "^/machine.slice/")["summary"]["running"]
        check(both == sum(rows[p] for p in self.truth.values()), both)
        groups = self.us.report("--group-by", "container")["groups"]
        check({g["name"]: g["samples"] for g in groups} == rows, groups)
        folded = os.path.join(self.root.name, "x.folded")
        self.us.run("report", "--by", "container", "-o", folded, self.us.data())
        with open(folded) as f:
            roots = {line.split(";")[0] for line in f}
        check(set(GROUPS.values()) <= roots, roots)

    def live(self):
        """top, and what serve gives to pprof."""
        g = self.guest
        done = self.us.run("top", "--json", "-w", "all", "-F", "99", "--budget", "50", "-d",
                           str(max(6, self.args.seconds)), "--sort", "container",
                           g.target("gdb"))
        rows = {r["name"]: r["samples"] for r in json.loads(done.stdout.splitlines()[-1])["groups"]}
        note(f"top: {rows}")
        check(all(rows.get(path, 0) > 5 for path in GROUPS.values()), rows)
        with Serve(self.args.build, "--backend", "gdb", "-F", "99", "--budget", "50",
                   g.target("gdb")) as s:
            def labels():
                status, _, body = s.ask(s.path("/debug/pprof/profile", seconds=30))
                return gzip.decompress(body) if status == 200 else b""
            until(lambda: all(p.encode() in labels() for p in GROUPS.values()),
                  "both paths in pprof", 120)
            s.end()

    def functions(self, *args):
        rows = [f for f in self.us.report("--user-only", "--limit", "0", *args)["functions"]
                if f["module"] == "[jit]" and f["self"]]
        return rows, sum(f["self"] for f in rows)

    def made_code(self):
        rows, n = self.functions()
        check(n > 0.2 * ENOUGH and not any(f["known"] for f in rows), rows)
        rows, with_root = self.functions("--root", self.root.name)
        note(f"{[(f['name'], f['self']) for f in rows]} of {n}")
        check(with_root == n and all(f["known"] for f in rows), "without a name")
        check({f["name"].rpartition(" (0x")[0] or f["name"] for f in rows} == MADE, rows)

    def whose_map(self):
        """Of each process alone; that in a namespace has written perf-1.map."""
        for name, pid in self.pid.items():
            number = 1 if name == "inside" else pid
            path = os.path.join(self.root.name, "tmp", f"perf-{number}.map")
            with open(path) as f:
                told = {line.split(" ", 2)[2].strip() for line in f}
            check(told == MADE, told)
            os.rename(path, path + ".away")
            rows, _ = self.functions("--root", self.root.name, "--pid", str(pid))
            check(rows and not any(f["known"] for f in rows), f"{name}: {rows}")
            os.rename(path + ".away", path)
            rows, _ = self.functions("--root", self.root.name, "--pid", str(pid))
            check(rows and all(f["known"] for f in rows), f"{name}: {rows}")

    def run(self):
        with self.guest:
            self.start()
            points = [("containers", self.containers), ("made code", self.made_code),
                      ("made code in a pid namespace", self.whose_map),
                      ("containers, live", self.live)]
            for name, function in points:
                if self.args.only in name:
                    self.tap.point(name, function)
        self.tap.end()


def main():
    args = options(only="", seconds=5.0).parse_args()
    with or_skip():
        require("tcg")
        suite = Suite(args)
    suite.run()


if __name__ == "__main__":
    main()
