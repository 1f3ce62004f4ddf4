#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whose the samples of a Debian guest are: processes, their threads, the kernel's own,
against what the guest says of itself.

usage: test_owners.py BUILD [KERNEL] [--only WORD] [--backend B] [--accel A] [--seconds S]
       [--bomb S]

KERNEL: SUITE[:PROCESSOR] of Debian, as for test_tasks.py.  On aarch64 a program in Go
stands for those in Rust and Pascal, and that in C is a static one, by Debian's C library.
"""
import base64
import contextlib
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter, defaultdict

import releases
from begin import asked_kernel, options, or_skip
from guest import LinuxGuest
from harness import Skip, Tap, Uniscope, check, note, require_way
from programs import PROGRAMS
from recording import GUEST, Recording
from stops import Stops

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "serve"))
from served import Serve, until  # noqa: E402

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "owners")
LIBRARIES = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"]
# Each of the two programs that end at once is alone at its addresses.
SHORT = {"short-a": 0x20000000, "short-b": 0x30000000}
SHORT_SIZE = 0x10000
ENOUGH_SHORT = 20  # samples in each of them
WORK = 100000
# Of a share, beside its interval: what TCG's stops at blocks shift; in a host that TCG
# emulates, where it is known what stops took.
SHIFT, SHIFT_BELOW = 0.05, 0.02


def build(folder, name, source, *flags, gcc="gcc"):
    program = os.path.join(folder, name)
    if os.path.exists(program) and not os.path.exists(os.path.join(HERE, source)):
        return program  # a rig has what was made before
    os.makedirs(folder, exist_ok=True)
    if not shutil.which(gcc):
        raise Skip(f"{gcc} is not installed")
    done = subprocess.run([gcc, "-O1", "-g", *flags, os.path.join(HERE, source), "-o", program],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"{gcc}: {done.stderr.strip()[-200:]}")
    return program


def short_programs(folder, gcc, *flags):
    return {name: build(folder, name, "short.c", "-static", "-nostdlib", "-fno-pie", "-no-pie",
                        *flags, f"-DWORK={WORK}", f"-Wl,-Ttext-segment={address:#x}", gcc=gcc)
            for name, address in SHORT.items()}


def go_program(folder):
    """Go brings its own library for every processor."""
    source, program = os.path.join(HERE, "..", "programs", "shares.go"), os.path.join(folder, "go")
    if os.path.exists(program) and not os.path.exists(source):
        return {"go": program}
    if not shutil.which("go"):
        raise Skip("go is not installed")
    done = subprocess.run(["go", "build", "-o", program, source], capture_output=True, text=True,
                          env={**os.environ, "GOARCH": "arm64", "CGO_ENABLED": "0",
                               "GOCACHE": os.path.abspath(os.path.join(folder, "cache"))})
    if done.returncode:
        raise Skip(f"go: {done.stderr.strip()[-200:]}")
    return {"go": program}


def threads_program(build_folder, folder, gcc):
    """By the C library of a package, which is fetched."""
    root = "/"
    if shutil.which(gcc):
        root = releases.Suite(build_folder, "bookworm", "aarch64").closure(("libc6-dev",))
    return {"threads": build(folder, "threads", "threads.c", "-static", "-pthread",
                             "--sysroot=" + root, gcc=gcc)}


def stops_library(build_folder):
    return build(os.path.join(build_folder, "tests", "linux", "owners"), "stops.so", "stops.c",
                 "-shared", "-fPIC")


def programs(build_folder, processor, fetch=True):
    """{name: file}: what is built here, and a program in Rust and one in Pascal if
    their compilers are there."""
    folder = os.path.join(build_folder, "tests", "linux", "owners")
    if processor == "aarch64":
        folder += "-aarch64"
        gcc = "aarch64-linux-gnu-gcc"
        found = {**short_programs(folder, gcc), **go_program(folder)}
        try:
            found.update(threads_program(build_folder, folder, gcc) if fetch else {})
        except Skip as why:
            note(f"without threads: {why}")
        return found
    found = {"threads": build(folder, "threads", "threads.c", "-pthread"),
             **short_programs(folder, "gcc", "-fcf-protection=none")}
    for p in PROGRAMS:
        if p.name in ("rust", "fpc-gw2"):
            try:
                found[p.name] = p.build(build_folder)
            except Skip as why:
                note(f"without {p.name}: {why}")
    return found


class Suite:
    def __init__(self, args, release):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.guest, self.up = None, []
        self.release = release
        self.ours = release.processor == "x86_64"
        self.there = set()  # processes that were there when the recording had ended
        # In a host that is emulated all that uniscope does takes the guest its CPU for long,
        # and the guest counts that for the program that had its vCPU (there is no
        # CONFIG_PARAVIRT_TIME_ACCOUNTING): few looks, for longer.
        self.slow = args.accel == "kvm"
        # A stop by kvm takes milliseconds there, a turn of the guest's scheduler: so seldom
        # that it has been forgotten when the next one comes.
        self.stops = Stops(stops_library(args.build), self.us.dir.name) \
            if self.slow and args.backend == "kvm" else None
        self.time_ns = 0  # of the vCPUs, in the recording

    def vcpus(self):
        """Two, but under KVM one where the host has one CPU: what a guest counts of its
        processes is all the time that they had a vCPU, with a CPU of the host or without."""
        return 2 if self.args.accel == "tcg" else min(2, os.cpu_count())

    def start(self):
        """Dynamic programs have their libraries."""
        if self.guest:
            return self.guest
        self.programs = programs(self.args.build, self.release.processor)
        libraries = {path: os.path.realpath(path) for path in LIBRARIES if self.ours}
        missing = [path for path in libraries.values() if not os.path.exists(path)]
        if missing:
            raise Skip(f"no {missing[0]}: programs of other machines do not run in the guest")
        # Without CMPXCHG16B: see test_tasks.py.
        self.guest = LinuxGuest(self.args.build, cpu="qemu64,-cx16", smp=self.vcpus(), work="",
                                memory=512, accel=self.args.accel, release=self.release,
                                programs=self.programs, files=libraries)
        self.guest.wait("READY", 600)
        note(re.search("INIT .*", self.guest.serial())[0])
        note("isolated page tables: " +
             (self.guest.do("dmesg | grep -i 'page.table.*isolation' || echo no").strip()))
        self.guest.elf = None
        return self.guest

    def end(self):
        if self.guest:
            self.guest.__exit__()
        self.guest = None

    def record(self, *more, seconds=None, enough=300):
        return self.us.record_enough(self.guest, self.args.backend, "--budget", "50", *more,
                                     seconds=seconds or self.args.seconds, enough=enough)

    def look(self, name):
        """The guest keeps what it counts now.  To tell it takes its serial port ten seconds
        and more in a host that is emulated, and some task is charged with much of them:
        not between the two looks that are compared."""
        # Before all that is busy, of which it would be one more.
        self.guest.do_first("grep -s '' /proc/[0-9]*/task/[0-9]*/stat /proc/uptime "
                            f">/tmp/{name}; true")

    def truth(self, name=None):
        """{tid: (name, process, ticks, of the kernel, ticks of children that ended)} by the
        guest's own count, at that look or now; its name is what the kernel keeps, without
        what /proc adds for kworkers."""
        if not name:
            self.look(name := "now")
        said = self.guest.do_first(f"cat /tmp/{name}")
        up, = re.findall(r"^/proc/uptime:(\S+) ", said, re.M)
        self.up, tids = [*self.up[-1:], float(up)], {}
        line = (r"^/proc/(\d+)/task/\d+/stat:(\d+) \((.*)\) \S (?:\S+ ){5}(\d+) (?:\S+ ){4}"
                r"(\d+) (\d+) (\d+) (\d+) ")
        for process, tid, name, flags, user, system, *ended in re.findall(line, said, re.M):
            tids[int(tid)] = (name, int(process), int(user) + int(system),
                              bool(int(flags) & 0x200000),
                              (tid == process) * sum(int(n) for n in ended))
        return tids

    @staticmethod
    def ended(before, after):
        """Ticks of processes that ended in between, and were waited for."""
        return sum(a[4] - before[tid][4] for tid, a in after.items() if tid in before)

    def groups(self, key, *more):
        """[(name, number, samples, interval)] of threads or processes, and the report."""
        report = self.us.report("--sort", key, *more)
        rows = []
        for g in report["groups"]:
            m = re.match(r"(.*?) \((\d+)(?:, inside \d+)?\)(?: of .* \(\d+(?:, inside \d+)?\))?$",
                         g["name"])
            rows.append((m[1] if m else g["name"], int(m[2]) if m else None, g["samples"],
                         g["interval"]))
        return rows, report

    def stopped(self, of):
        """(the part of its time for which the guest was held, that in each of them)."""
        if not self.stops:
            return 0, {}
        r, each, number = Recording(self.us.data()), defaultdict(float), Counter()
        held, samples = self.stops.by_task(r)
        for task, seconds in held.items():
            if task in r.tasks:
                who = r.tasks[task].tgid if of == "process" else r.tasks[task].pid
                each[who] += 1e9 * seconds / self.time_ns
                number[who] += samples[task]
        note("a stop took on average: " + "; ".join(
            f"in {who} {1e-6 * each[who] * self.time_ns / n:.1f} ms"
            for who, n in number.most_common(9)))
        return 1e9 * sum(held.values()) / self.time_ns, each

    def compare(self, rows, before, after, of, running):
        """Each share against the guest's own count, within its interval.  Of samples at
        which a vCPU had a CPU of the host: the guest knows nothing of others.  It counts the
        time for which it was held, too, in whom it was held."""
        ran = running - self.us.waited()
        ticks = defaultdict(int)
        for tid, (_, process, n, *_) in after.items():
            ticks[process if of == "process" else tid] += n - before.get(tid, (0, 0, 0))[2]
        # Those that have ended meanwhile had a part of it, too; no vCPU was idle.  (The
        # ticks of /proc/stat are lost while the guest stands, these times are not.)  On
        # aarch64 and under KVM these times are lost, too.
        total, wrong = 100 * self.guest.smp * (self.up[1] - self.up[0]), []
        if not self.ours or self.args.accel == "kvm":
            total = sum(ticks.values()) + self.ended(before, after)
        got = {number: (name, n, interval) for name, number, n, interval in rows
               if number is not None}
        held, each = self.stopped(of)
        for number, n in sorted(ticks.items(), key=lambda t: -t[1]):
            share = n / total
            name, samples, (low, high) = got.get(number, ("nobody", 0, (0, 0)))
            if share < 0.02 and samples < 0.02 * running:
                continue
            low, mid, high = ((1 - held) * part * running / ran + each.get(number, 0)
                              for part in (low, samples / running, high))
            note(f"{of} {number} {name}: {100 * samples / ran:.1f} %, with stops {100 * mid:.1f} "
                 f"({100 * low:.1f}-{100 * high:.1f}), by its own count {100 * share:.1f} %")
            widen = (3.29 / 1.96 - 1) * (high - low) / 2 + (SHIFT_BELOW if self.stops else SHIFT)
            if not low - widen <= share <= high + widen:
                wrong.append((number, name))
        check(not wrong, f"other shares: {wrong}")

    def names(self, rows, after):
        """What is still there has the name that it says itself."""
        wrong = [(name, number, after[number][0]) for name, number, _, _ in rows
                 if number in after and number and not
                 (after[number][0].startswith(name) if after[number][3]
                  else after[number][0] == name)]
        check(not wrong, f"wrong names: {wrong}")

    def busy(self, *commands):
        """What runs in the background until self.stop()."""
        for command in commands:
            self.guest.do(f"{command} >/dev/null 2>&1 & echo $! >>/tmp/pids")
        self.guest.do("sleep 2")

    def stop(self):
        self.guest.do("kill -9 $(cat /tmp/pids); rm /tmp/pids; killall -9 gzip dd wc; true")

    def shares(self):
        """Five programs, one a pipeline and one with threads, each by its own count."""
        self.start()
        self.busy("sh -c 'while :; do :; done'",
                  "sh -c 'dd if=/dev/zero bs=16k | gzip -1 | wc -c'",
                  *("/bin/" + name for name in ("threads", "rust", "fpc-gw2", "go")
                    if name in self.programs))
        self.look("before")
        with self.stops.noted() if self.stops else contextlib.nullcontext():
            stats = self.record("-F", "4", enough=500, seconds=4 * self.args.seconds) \
                if self.stops else self.record("-F", "49" if self.slow else "197", enough=500)
        self.look("after")
        before, after = self.truth("before"), self.truth("after")
        self.there = {process for _, process, *_ in after.values()}
        maps = self.guest.all_maps()
        self.stop()
        rows, report = self.groups("process")
        running, owners = report["summary"]["running"], report["owners"]
        note(f"whose it is, of {running}: {owners}; no CPU of the host at {self.us.waited()}")
        check(sum(owners.values()) == running, owners)
        self.time_ns = stats["vcpu_ns"]
        self.compare(rows, before, after, "process", running)
        self.files(rows, maps, running)
        looked, known = self.asked()
        note(f"the kernel was known after {known:.1f} s")
        check(owners["current"] >= 0.99 * looked, f"asked at {looked} samples: {owners}")
        check(known < self.args.seconds / 4, "its tables were read late")
        threads, _ = self.groups("thread")
        self.names(threads, after)
        if "threads" in self.programs:
            self.begins(maps)
        self.compare(threads, before, after, "thread", running)

    def asked(self):
        """Samples at which the guest's kernel could be asked who runs, and since when.  Its
        tables are read while it is recorded: on a host without CPU time for that, late."""
        samples = Recording(self.us.data()).samples
        known = min((s.t for s in samples if s.task and not s.task >> 63), default=0)
        return sum(s.weight for s in samples
                   if s.t >= known and s.state == GUEST and s.frames), known

    def begins(self, maps):
        """A thread begins in another function than its process: whoever has a sample, its
        stack tells which of the two it is."""
        where, r = {True: Counter(), False: Counter()}, Recording(self.us.data())
        for s in r.samples:
            task = r.tasks.get(s.task)
            if not task or task.process != "threads" or not s.whole():
                continue
            file = [m for m in maps.get(task.tgid, []) if m.path == "/bin/threads"]
            at = [f.pc - file[0].start for f in s.frames
                  if f.user and any(m.start <= f.pc < m.end for m in file)]
            if at:
                where[task.name == "threads"][at[-1]] += s.weight
        note("outermost in the program: " + "; ".join(
            f"{who}: { {hex(at): n for at, n in where[own].items()} }"
            for who, own in (("its main thread", True), ("the others", False))))
        both = where[True].keys() & where[False].keys()
        check(not both, f"of both: {[hex(at) for at in both]}")
        check(where[True] and where[False], "no stacks of both")

    def files(self, rows, maps, running):
        """What each program has mapped is what the guest says of it, and its samples are in
        those files alone."""
        own, wrong = Recording(self.us.data()).mapped_as(maps)
        check(not wrong, "; ".join(wrong[:3]))
        note(f"{len(own)} mappings of {len({m.pid for m in own})} processes as in /proc/PID/maps")
        for name, number, samples, _ in rows:
            if number not in maps or samples < 0.02 * running:
                continue
            report, there = self.us.report("--pid", str(number), "--user-only"), Counter()
            for f in report["functions"]:
                there[f["module"] or ""] += f["self"]
            has = {m.path for m in maps[number] if "x" in m.flags}
            files = {module: n for module, n in there.items() if module in has}
            note(f"process {number} {name}: {sum(files.values())} of {there.total()} samples in "
                 f"it are in its files {sorted(files)}")
            other = [module for module in there if module.startswith("/") and module not in has]
            check(not other, f"{name} has not mapped {other}")
            check(sum(files.values()) >= 0.9 * there.total() - 5, f"not known: {there}")

    def kernel(self):
        """The kernel's own threads at work: they write a disk and give time to all."""
        self.start()
        self.busy("sh -c 'while :; do dd if=/dev/zero of=/dev/vda bs=64k count=300; done'",
                  "sh -c 'while :; do cat /proc/*/maps; done'")
        before = self.truth()
        # A thread that comes up seldom: longer, until one was met.
        for longer in (1, 2, 4, 8):
            self.record("-F", "97" if self.slow else "497", seconds=longer * self.args.seconds)
            own = [(name, number, n) for name, number, n, _ in self.groups("thread")[0]
                   if number in before and before[number][3]]
            if any(name.startswith("kworker") for name, _, _ in own) and len(own) > 2:
                break
        after = self.truth()
        self.stop()
        note(f"threads of the kernel: {own}")
        self.names(self.groups("thread")[0], {t: a for t, a in after.items() if t in before})
        check(any(name.startswith("kworker") for name, _, _ in own) and len(own) > 2,
              "no kworker under load")
        idle = [number for _, number, n in own if after[number][2] == 0 and n > 20]
        check(not idle, f"the guest says that these did nothing: {idle}")

    def inside(self):
        """ps says which Linux it is and what is busy."""
        g = self.start()
        self.busy("taskset 1 sh -c 'while :; do :; done'")
        pid = int(g.do("cat /tmp/pids"))
        said = self.us.run("ps", "--inside", str(g.vm.pid)).stdout
        note(next((line.strip() for line in said.splitlines() if "inside" in line), said))
        for _ in range(3):
            got, = json.loads(self.us.run("ps", "--inside", "--json", str(g.vm.pid)).stdout)
            got = got["inside"]
            if "pid" in got:
                break
            note(f"nobody was busy: {got}")  # a host that gave the guest no CPU meanwhile
        self.stop()
        check(got["kernel"] == g.do("uname -r").strip(), got)
        check((got["process"], got["pid"]) == ("sh", pid), f"{got}, not sh ({pid})")
        check(0.2 < got["cpu_share"] < 1.5, got)

    def live(self):
        """What top shows, while it is recorded: rows by process and thread."""
        g = self.start()
        self.busy("taskset 1 sh -c 'while :; do :; done'",
                  f"taskset {1 << (g.smp - 1):x} /bin/threads")
        pid = int(g.do("cat /tmp/pids").split()[0])

        def top(*more):
            done = self.us.run("top", "--json", "-w", "all", "-F", "99", "--budget", "50", "-d",
                               str(max(6, self.args.seconds / 2)), *more, g.target(self.args.backend))
            return json.loads(done.stdout.splitlines()[-1])

        said = top("--sort", "process")
        of = {(r["process"] or r["name"], r.get("pid")): r["samples"] for r in said["groups"]}
        threads = top("--sort", "thread")["groups"]
        alone = top("--pid", str(pid), "--sort", "process")
        self.served(pid)
        self.stop()
        note(f"{of} of {said['running']}")
        n = said["running"]
        check(n > 50, n)
        check(of.get(("sh", pid), 0) > self.least() * n, of)
        check(any(name == "threads" for name, _ in of), of)
        check(sum(of.values()) == n, of)
        names = [(r["name"], r["process"], r.get("pid"), r.get("tid")) for r in threads]
        own = {name.split()[0]: pid for name, process, pid, tid in names
               if process == "threads" and tid != pid}
        check({"once", "twice"} <= own.keys() and len(set(own.values())) == 1, names)
        rows = [(r["process"], r["pid"], r["samples"]) for r in alone["groups"]]
        check(rows == [("sh", pid, alone["running"])] and alone["running"] > 20, rows)

    def least(self):
        """Of all samples, those without a CPU of the host, too: of one that shares its vCPU
        with three threads, or has it alone."""
        return 0.2 if self.guest.smp > 1 else 0.05

    def served(self, pid):
        """The same in the page of `record --serve`."""
        def roots(profile):
            node, func = profile["node"], profile["func"]["name"]
            top = [i for i, parent in enumerate(node["parent"]) if parent == 0 and i]
            return {func[node["func"][i]]: node["total"][i] for i in top}

        with Serve(self.args.build, "--backend", self.args.backend, "-F", "99", "--budget", "50",
                   self.guest.target(self.args.backend), command="record",
                   options=["--serve=:0", "--no-open", "-o", self.us.data()]) as s:
            def asked(path, **query):
                status, text = s.get(path, **query)
                return json.loads(text) if status == 200 else {}

            # What is known of the first six seconds is told a little later.
            until(lambda: asked("/history").get("now", 0) > 9000, "9 s of it", 200)
            check(asked("/history")["owners"], "it knows of processes")
            plain = asked("/data", **{"from": 0, "to": 6000})
            data = asked("/data", **{"from": 0, "to": 6000, "owners": 1})
            one = asked("/data", **{"from": 0, "to": 6000, "process": f"sh ({pid})"})
            by_name = asked("/data", **{"from": 0, "to": 6000, "process": "sh", "owners": 1})
            s.end()
        with Serve(self.args.build, self.us.data()) as s:
            kept = json.loads(re.search(r'id="data">(.*?)</script>', s.get()[1], re.S)[1])
            s.end()
        if "gzip" in kept:
            kept = json.loads(gzip.decompress(base64.b64decode(kept["gzip"])))
        check(f"sh ({pid})" in roots(kept["byProcess"]), "the page of the recording, too")
        check("byProcess" not in plain and plain["summary"] == data["summary"], "without owners=1")
        by, n = roots(data["byProcess"]), data["summary"]["running"]
        note(f"in the page: {by} of {n}")
        check(by.get(f"sh ({pid})", 0) > self.least() * n and
              any(x.startswith("threads (") for x in by), by)
        check(one["summary"]["running"] == by[f"sh ({pid})"], one["summary"])
        check(set(roots(by_name["byProcess"])) == {x for x in by if x.startswith("sh (")}, by)

    def filters(self):
        """Of the same recording."""
        rows, report = self.groups("comm")
        by_name = {name: n for name, _, n, _ in rows}
        for how in (("--comm", "^twice$"), ("--filter", "comm=^twice$")):
            part = self.us.report(*how)["summary"]["running"]
            check(part == by_name["twice"] > 0, f"{how}: {part}, not {by_name}")
        rows, report = self.groups("process")
        pid = next(number for name, number, _, _ in rows if name == "threads")
        part = self.us.report("--pid", str(pid))["summary"]["running"]
        check(part == next(n for _, number, n, _ in rows if number == pid), "--pid")
        tree = self.us.report("--by", "process")
        names = {f["id"]: f["name"] for f in tree["functions"]}
        roots = {names[n["function"]]: n["total"] for n in tree["tree"] if n["parent"] == 0}
        want = {g["name"]: g["samples"] for g in self.us.report("--sort", "process")["groups"]}
        check(roots == want, f"{roots} are not {want}")
        page = os.path.join(os.path.dirname(self.us.data()), "page.html")
        self.us.run("report", "-o", page, "--no-code", self.us.data())
        with open(page) as f:
            data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', f.read(), re.S)[1])
        if "gzip" in data:
            data = json.loads(gzip.decompress(base64.b64decode(data["gzip"])))
        tree = data["byProcess"]
        roots = {tree["func"]["name"][func]: total for func, parent, total in
                 list(zip(*(tree["node"][c] for c in ("func", "parent", "total"))))[1:] if not parent}
        check(roots == want, f"on the page {roots}")
        check(not set(want) & set(data["func"]["name"]), "and not where nobody asked")
        self.containers(rows, report["owners"])

    def containers(self, processes, owners):
        """The cgroup is not known of what page tables alone tell, and of processes that
        ended before it was read."""
        of = {g["name"]: g["samples"] for g in
              self.us.report("--sort", "container")["groups"]}
        ended = sum(n for _, number, n, _ in processes if number not in self.there)
        note(f"cgroups: {of}; {ended} samples of processes that ended; {owners}")
        unknown = of.pop("[not known]", 0)
        check(unknown <= owners["tables"] + owners["nobody"] + ended, f"{unknown} of none")
        check(of and all(re.match(r"\[kernel\]|/", name) for name in of), of)

    def exports(self):
        """Other tools' files of the same recording: its threads under their own numbers."""
        folder = os.path.dirname(self.us.data())
        # Samples without a CPU of the host are nobody's.
        rows = [(name, number, n) for name, number, n, _ in self.groups("thread")[0]
                if n > 20 and number is not None]
        out = {suffix: os.path.join(folder, "x" + suffix)
               for suffix in (".pb.gz", ".trace.json", ".perf.data", ".json.gz")}
        for path in out.values():
            self.us.run("report", "-o", path, self.us.data())
        with gzip.open(out[".pb.gz"]) as f:
            labels = f.read()
        missing = [w for w in (b"process", b"thread", b"comm", b"container", b"twice")
                   if w not in labels]
        check(not missing, f"no labels {missing} in pprof")
        with open(out[".trace.json"]) as f:
            events = json.load(f)["traceEvents"]
        tracks = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
        check("vCPU 0: threads" in tracks, tracks)
        shown = {e["name"] for e in events if e.get("cat") == "thread"}
        lacks = [name for name, number, _ in rows
                 if not any(s.startswith(f"{name} ({number}") for s in shown)]
        check(not lacks, f"no slices of {lacks}")
        with gzip.open(out[".json.gz"]) as f:
            threads = {t["name"]: t for t in json.load(f)["threads"]}
        for name, number, n in rows:
            t = next((t for s, t in threads.items() if s.startswith(f"{name} ({number}")), None)
            check(t and sum(t["samples"]["weight"] or [1] * t["samples"]["length"]) == n,
                  f"firefox has not {name} ({number}): {sorted(threads)}")
        if not shutil.which("perf"):
            note("perf is not installed")
            return
        said = subprocess.run(["perf", "script", "-i", out[".perf.data"], "-F", "comm,pid,tid"],
                              capture_output=True, text=True)
        threads = {(m[1], int(m[2])) for m in
                   re.finditer(r"^\s*(\S.*?)\s+\d+/(\d+)\s*$", said.stdout, re.M)}
        lacks = [(name, number) for name, number, _ in rows
                 if number and (name, number) not in threads]
        check(not lacks, f"perf script does not show {lacks}: {sorted(threads)[:9]} {said.stderr}")

    def of_short(self, pc):
        """Whose code it is: no other program is there."""
        return next((name for name, at in SHORT.items() if at <= pc < at + SHORT_SIZE), None)

    def met(self):
        """Samples of the recording by whose code they are in, and the recording."""
        r, met = Recording(self.us.data()), Counter()
        for s in r.samples:
            mine = s.frames and s.frames[0].user and self.of_short(s.frames[0].pc)
            met[mine or "others"] += s.weight * bool(s.frames)
        return met, r

    def bombed(self):
        """As met(), while processes end at once; recorded for longer if too few of them are
        met, then long enough to expect twice as many as are needed."""
        g, seconds = self.start(), self.args.bomb
        for name in SHORT:
            g.do(f"(while :; do /bin/{name}; done) >/dev/null 2>&1 & echo $! >>/tmp/bomb")
        for _ in range(3):
            self.us.record(g, self.args.backend, "--budget", "50", "-F", "997", seconds=seconds)
            met, r = self.met()
            note(f"samples by their program counter in {seconds:.0f} s: {dict(met)}")
            fewest = min(met[name] for name in SHORT)
            if fewest > ENOUGH_SHORT:
                break
            seconds *= min(8, max(1, 2 * ENOUGH_SHORT / max(fewest, 1)))
        g.do("kill -9 $(cat /tmp/bomb); rm /tmp/bomb")
        check(fewest > ENOUGH_SHORT, f"too few were met: {met}")
        return met, r

    def bomb(self):
        """Processes that end at once, whose page tables go from one to the next: each
        program counter says whose it is, and nobody else is blamed."""
        (met, r), report = self.bombed(), self.us.report("--sort", "comm")
        running, owners = report["summary"]["running"], report["owners"]
        wrong, seen, roots = [], defaultdict(set), defaultdict(set)
        for s in r.samples:
            task = r.tasks.get(s.task)
            mine = s.frames and s.frames[0].user and self.of_short(s.frames[0].pc)
            if task and s.root:
                roots[s.root].add(task.pid)
            if mine and task:
                seen[mine].add(task.pid)
            if task and bool(mine) != (task.name in SHORT) and s.frames and s.frames[0].user:
                wrong.append((hex(s.frames[0].pc), task))
            elif mine and task and task.name != mine:
                wrong.append((hex(s.frames[0].pc), task))
        reused = {root: pids for root, pids in roots.items() if len(pids) > 1}
        note(f"{running} samples, {len({t.pid for t in r.tasks.values()})} processes and threads"
             "; in programs that end at once: "
             f"{ {name: len(pids) for name, pids in seen.items()} } processes; "
             f"{len(reused)} of {len(roots)} page tables had several, one "
             f"{max(map(len, roots.values()), default=0)}")
        waited = self.us.waited()
        # Who holds the vCPU knows whose those are that waited, too.
        nobody, ran = max(0, owners["nobody"] - waited), max(1, running - waited)
        note(f"of nobody: {100 * nobody / ran:.2f} % of {ran} that ran; {owners}")
        check(not wrong, f"{len(wrong)} blamed wrongly: {wrong[:3]}")
        check(sum(owners.values()) == running, owners)
        looked, _ = self.asked()
        check(owners["current"] >= 0.99 * looked, f"asked at {looked} samples")
        check(all(len(seen[name]) > 5 for name in SHORT), f"too few were met: {seen}")
        check(reused, "no page tables were used again")

    def tables_alone(self):
        """The same recording, as if no sample had said whose it is: by page tables."""
        with open(self.us.data(), "rb") as f:
            data = f.read()
        kept, at = [data[:16]], 16
        while at + 12 <= len(data):
            size, = struct.unpack_from("<I", data, at + 4)
            if data[at:at + 4] != b"TASK":
                kept.append(data[at:at + 12 + size])
            at += 12 + size
        with open(self.us.data(), "wb") as f:
            f.write(b"".join(kept))
        report = self.us.report("--sort", "process")
        running, owners = report["summary"]["running"], report["owners"]
        note(f"by page tables alone: of nobody {100 * owners['nobody'] / running:.1f} % of "
             f"{running}; {owners}")
        check(owners["current"] == 0 and sum(owners.values()) == running, owners)
        self.blamed()

    def blamed(self):
        """Nobody for what the program counter says is another's."""
        for name in SHORT:
            part = self.us.report("--filter", f"process=^{name} ", "--user-only")
            wrong = [f["name"] for f in part["functions"] if f["self"] and
                     self.of_short(int(f["name"].split("-")[0], 16)) != name]
            check(not wrong, f"{name} is blamed for {wrong}")
        others = self.us.report("--filter", r"process=^(sh|init|threads|swapper[^ ]*) ", "--user-only")
        wrong = [f["name"] for f in others["functions"] if f["self"]
                 and f["name"].startswith("0x")
                 and self.of_short(int(f["name"].split("-")[0], 16))]
        check(not wrong, f"others are blamed for {wrong}")

    def point(self, name, function, *args):
        if self.args.only in name:
            self.tap.point(name, lambda: function(*args))

    def run(self):
        self.point("shares of programs and threads", self.shares)
        if self.ours:
            self.point("filters and roots", self.filters)
            self.point("files for other tools", self.exports)
        self.point("the kernel's own threads", self.kernel)
        if self.ours:
            self.point("inside", self.inside)
            self.point("live: top and serve", self.live)
        self.point("a bomb of short processes", self.bomb)
        self.point("page tables that were used again", self.tables_alone)
        self.end()
        self.tap.end()


def main():
    # bomb: seconds.
    args = options(kernel="", only="", backend="gdb", accel="tcg", seconds=15.0,
                   bomb=30.0).parse_args()
    suite, args.processor = asked_kernel(args)
    with or_skip():
        require_way(args)
        release = releases.release(args.build, suite, args.processor)
    Suite(args, release).run()


if __name__ == "__main__":
    main()
