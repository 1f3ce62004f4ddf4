#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope trace and replay on a guest that counts its own calls: each has to be there.

usage: trace.py BUILD [--processor NAME] [--qemu SUITE] [--short]

--qemu SUITE: by the QEMU of another suite of Debian's, unpacked into the build folder.
"""
import argparse
import collections
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Skip, Tap, Uniscope, check, note, patience  # noqa: E402
from tcg import PROCESSORS, Counting, Qemu, open_pids  # noqa: E402

# What the timer's interrupt enters.
ENTRIES = {"x86_64": "tick_entry", "aarch64": "tick_vectors", "riscv64": "tick_entry"}
# A fifth of the rounds, for what looks at each call in another form: the forms are the same
# in all rounds, and to read millions of lines here takes longer than to trace them.
FEW = {"x86_64": "counted-few"}
LINE = re.compile(r" (\d+)\) .{14}\|  ( *)(\S.*)")
CALLED = re.compile(r"^[^,\n]+(?=,)", re.M)  # in a row of the csv


class Tracing(Counting):
    """uniscope trace of the guest."""

    command = "trace"

    def __init__(self, args, qemu, *options, few=False, **more):
        if few:
            more["name"] = FEW.get(args.processor, "counted")
        super().__init__(args, qemu, *options, **more)

    def replay(self, format_, *args):
        return self.us.run("replay", "--format", format_, *args, self.out).stdout

    def rows(self, *args):
        """Those of the csv, but for its head."""
        rows = csv.reader(self.replay("csv", *args).splitlines())
        check(next(rows) == ["function", "tid", "latency_us", "latency_us_self"], "head")
        return rows

    def calls(self, *args):
        """Of each function.  There are millions, and none has a comma in its name."""
        calls = collections.Counter(CALLED.findall(self.replay("csv", *args)))
        check(calls.pop("function", 0) == 1, "head")
        return calls


def compare(truth, calls, smp=1):
    """Every call has returned but for the last that goes to another thread for good."""
    wrong = []
    for name, n in truth.items():
        open_ = smp if name == "pong" else 0
        if name != "top_loop_rounds" and not n - open_ <= calls[name] <= n:
            wrong.append(f"{name}: {calls[name]} of {n}")
    check(not wrong, "; ".join(wrong))
    check(truth["tick"] > 0, "no interrupt came")
    note(f"{len(truth) - 1} functions, {sum(calls.values())} calls that returned")


def is_traced(args, qemu, *options, smp=1, ring=()):
    """On a host with too much to do events may be lost, and that is said; not with memory
    for all of them."""
    with Tracing(args, qemu, *options, smp=smp, before=ring) as t:
        truth = t.counts()
        t.end()
        if not ring and "lost" in t.said[1]:
            note(f"once more after: {' '.join(t.said[1].split())}")
            return is_traced(args, qemu, *options, smp=smp, ring=["--ring", "256M"])
        check("lost" not in t.said[1], t.said[1])
        calls = t.calls()
        compare(truth, calls, smp)
        counted = {f["name"]: f["calls"] for f in t.report()["functions"]}
        for name, n in truth.items():
            check(name == "top_loop_rounds" or counted[name] == n, f"{name} in the profile")


def is_nested(args, qemu):
    """As text, what is open is closed, one level further in for each call."""
    with Tracing(args, qemu, few=True,
                 before=["-f", "^(work|by_1|by_2|hot|tail1|tail2|deep)$"]) as t:
        truth = t.counts()
        t.end()
        said = t.us.run("replay", "-f", "nothing_like_it", t.out).stderr
        check("no function of the trace matches -f nothing_like_it" in said, said)
        open_, n = [], collections.Counter()
        for line in t.replay("graph").splitlines():
            told = LINE.match(line)
            if not told:
                continue
            depth, what = len(told[2]) // 2, told[3]
            check(depth == len(open_) - (what == "}"), f"{line}: {len(open_)} are open")
            if what == "}":
                open_.pop()
                continue
            n[what.split("(")[0]] += 1
            if what.endswith("{"):
                open_.append(what)
        check(not open_, f"left open: {open_}")
        for name in ("work", "by_1", "by_2", "hot", "tail1", "tail2", "deep"):
            check(n[name] == truth[name], f"{name}: {n[name]} of {truth[name]}")
        note(f"{sum(n.values())} calls in {truth['work']} rounds")


def times_add_up(args, qemu):
    """A function takes as long as it and what it calls."""
    with Tracing(args, qemu, before=["-f", "^(work|by_1|by_2|hot)$"], few=True) as t:
        t.counts()
        t.end()
        whole, self_, last = 0.0, 0.0, 0.0
        for name, _, latency, own in t.rows():
            check(float(own) <= float(latency), f"{name}: {own} of {latency} us")
            self_ += float(own)
            if name == "work":
                whole += float(latency)
            last = float(latency)
        check(last > 0 and abs(whole - self_) <= 1e-4 * whole,
              f"{whole} us in work, {self_} us in all of them")
        note(f"{whole:.3f} us in work, {self_:.3f} us in it and what it calls")


def rare_calls_have_their_time(args, qemu):
    """The guest leaves ask_device by its own clock, 12.5 ms after compute, whatever the
    number of instructions."""
    with Tracing(args, qemu, name="exits", before=["-f", "^(ask_device|compute|nap)$"]) as t:
        t.wait(r"(?s)(BEAT.*){12}")
        t.end()
        took = sorted(float(row[2]) for row in t.rows() if row[0] == "ask_device")
        check(len(took) > 20, f"{len(took)} calls")
        median = took[len(took) // 2]
        check(median > 12300, f"{median} us for 12500: {took}")
        note(f"{took[0]}, {median} us for 12500")


class Converter:
    """What Nanos's parse-trace.py makes of a text: the calls on CPU 0, a row for each
    that has ended.  A line that is not of one of its forms is left out."""

    TIME = r"[@*#!+ ] (?P<time>\d+.?\d*) us +\| +"
    LEAF = re.compile(r" 0\) " + TIME + r"(?P<name>[\w.]+)\(\);")
    RETURN = re.compile(r" 0\) " + TIME + r"\}(?P<comment>.*)")
    ENTRY = re.compile(r" 0\) [@*#!+ ]  *\| +(?P<name>[\w.]+)\(\) \{")
    SWITCH = re.compile(r" 0\) \w*-(?P<from>\d+)  => \w*-(?P<to>\d+) *$", re.A)

    def __init__(self, text):
        self.rows, self.left_out, self.tid = [], [], 0
        self.open = collections.defaultdict(list)
        for line in text.splitlines():
            for form, take in ((self.ENTRY, self.enter), (self.LEAF, self.leaf),
                               (self.RETURN, self.leave), (self.SWITCH, self.switch)):
                if told := form.match(line):
                    take(told)
                    break
            else:
                self.left_out.append(line)

    def enter(self, told):
        self.open[self.tid].append([told["name"], 0.0])

    def leaf(self, told):
        self.row(told["name"], float(told["time"]), 0.0, "")

    def leave(self, told):
        check(self.open[self.tid], f"nothing is open: {told[0]}")
        name, inner = self.open[self.tid].pop()
        self.row(name, float(told["time"]), inner, told["comment"])

    def row(self, name, time_, inner, comment):
        if self.open[self.tid]:
            self.open[self.tid][-1][1] += time_
        self.rows.append((name, self.tid, time_, time_ - inner, comment))

    def switch(self, told):
        check(int(told["from"]) == self.tid, f"on {self.tid}: {told[0]}")
        self.tid = int(told["to"])


def handlers_are_between_arrows(args, qemu):
    """A stub and the handler to which it jumps are both parts of the interrupt."""
    with Tracing(args, qemu, name="counted-table",
                 before=["-f", "^(tick_entry|common_entry|tick)$"]) as t:
        t.counts()
        t.end()
        inside, n = False, 0
        for line in t.replay("graph").splitlines():
            if line.endswith(("==> |", "== |")):
                inside = line.endswith("==> |")
            elif re.search(r"\btick\(\)", line):
                check(inside, f"outside of the arrows: {line}")
                n += 1
        check(n, "no tick")
        note(f"{n} ticks")


def is_as_nanos_reads_it(args, qemu):
    """Its converter makes of the text what the csv has, to the digits of the text."""
    few = "^(hot|by_1|by_2|fib)$"
    with Tracing(args, qemu, before=["--notrace", few], few=True) as t:
        truth = {name: n for name, n in t.counts().items() if not re.match(few, name)}
        t.end()
        got = Converter(t.replay("graph"))
        odd = [x for x in got.left_out if x[:1] not in "#-" and not x.endswith(("==> |", "== |"))
               and "not seen to return" not in x
               and "continues on another stack" not in x]
        check(not odd, f"lines that it does not know: {odd[:3]}")
        rows = [r for r in got.rows if not r[4]]
        mine = list(t.rows())
        check(len(rows) == len(mine), f"{len(rows)} rows, the csv has {len(mine)}")
        for nanos, (name, tid, whole, own) in zip(rows, mine):
            check(nanos[:2] == (name, int(tid)), f"{nanos}: {name} on {tid}")
            check(abs(nanos[2] - float(whole)) <= 1e-3 + 1e-6 * nanos[2], f"{nanos}: {whole} us")
            # Each of its calls was cut to the digits that are shown.
            check(-0.01 * nanos[2] - 0.002 <= nanos[3] - float(own) <= 0.01 * nanos[2] + 0.002,
                  f"{nanos}: itself {own} us")
        check(len({r[1] for r in rows}) > 2, "threads")
        calls = collections.Counter(r[0] for r in rows)
        compare(truth, calls)
        note(f"{len(rows)} rows of {len({r[1] for r in rows})} stacks, "
             f"{len(got.rows) - len(rows)} not seen to return")


def turns_are_traced(args, qemu):
    """Or refused, by a QEMU that cannot tell them apart."""
    options = ["-accel", "tcg,thread=single"]
    if not qemu.mixes:
        is_traced(args, qemu, *options, smp=4)
        return
    with Tracing(args, qemu, *options, smp=4) as t:
        said = patience.communicate(t.run, 120)[1]
        check(t.run.returncode == 1 and "trace: all vCPUs are in one thread" in said, said)


def is_repeated(args, qemu):
    told = []
    for _ in range(2):
        with Tracing(args, qemu, before=["--deterministic"], few=True) as t:
            truth = t.counts()
            time.sleep(0.5)  # it stands still
            t.end()
            told.append(t.replay("csv"))
            compare(truth, t.calls())
    check(told[0] == told[1], "the second run was otherwise")
    note(f"{len(told[0])} bytes of csv, twice")


def is_chosen(args, qemu):
    """By name and by depth, when it is recorded and when it is read."""
    with Tracing(args, qemu, before=["-f", "^(work|by_|hot)", "--notrace", "_2$",
                                     "--depth", "2"]) as t:
        truth = t.counts()
        t.end()
        calls = t.calls()
        check(set(calls) == {"work", "by_1", "hot"}, f"{set(calls)}")
        check(calls["by_1"] == truth["by_1"], f"by_1: {calls}")
        check(0 < calls["hot"] < truth["hot"], f"hot: {calls['hot']}, too deep or not there")
        outer = t.calls("-f", "work", "--depth", "1")
        check(outer == {"work": truth["work"]}, f"{outer}")
        check(not t.calls("--notrace", "."), "nothing is left")


def begins_and_ends(args, qemu):
    """Between the two, each time anew."""
    with Tracing(args, qemu, before=["--from", "moves_stack", "--until", "array"]) as t:
        truth = t.counts()
        t.end()
        calls = t.calls()
        check(calls["moves_stack"] == truth["moves_stack"], f"{calls}")
        check(calls["hot"] < truth["hot"] / 100, f"hot: {calls['hot']} of {truth['hot']}")
        check(not calls["array"], f"array: {calls['array']} have returned")


def is_switched(args, qemu):
    """Off, on, a snapshot; each while it runs."""
    with Tracing(args, qemu, before=["--last", "500ms"], name="shares") as t:
        t.wait("READY|TRUTH|shares", 60)
        vm = str(t.vm())
        now = t.us.data("now.data")

        def calls_now():
            t.us.run("trace", "--snapshot", "-o", now, vm)
            return t.us.run("replay", "--format", "csv", now).stdout.splitlines()

        def come(enough, *functions):
            """A busy host makes them late, and fewer."""
            end = patience.clock() + 60
            while (n := min(sum(f in line for line in calls_now())
                            for f in functions)) <= enough:
                check(patience.clock() < end, f"{n} calls in the snapshot")
                time.sleep(0.3)

        come(100, "")
        said = t.us.run("trace", "--off", vm).stdout
        check("is off" in said, said)
        counts = []
        for _ in range(2):
            time.sleep(0.3)
            counts.append(calls_now())
        check(counts[0] == counts[1] or len(counts[0]) >= len(counts[1]), "it was off")
        t.us.run("trace", "--on", vm)
        # Those before it was off are older than what is kept.  They take a millisecond
        # each, so that a host with much to do has some of them in that time.
        come(5, "f60", "f30")
        t.end()
        check(t.calls()["f60"], "none in the recording")


def qemu_is_killed(args, qemu):
    """What was written until then is there, to the last record."""
    with Tracing(args, qemu) as t:
        t.wait("READY")
        os.kill(t.vm(), signal.SIGKILL)
        t.end(0, code=1)
        check("QEMU was killed: Killed" in t.said[1], t.said)
        calls = t.calls()
        check(sum(calls.values()) > 10, f"{calls}")
        check(t.report()["summary"]["end"] == "guest gone", "how it ended")
        note(f"{sum(calls.values())} calls until then")


def uniscope_is_killed(args, qemu):
    """The guest goes on; the recording is good up to then."""
    with Tracing(args, qemu) as t:
        t.wait("READY")
        mine = t.files()
        vm = open_pids(os.path.join(mine, "counts"))
        t.run.kill()
        t.run.wait()
        try:
            t.counts()
            check(sum(t.calls().values()) > 10, "nothing was recorded")
        finally:
            for pid in vm:
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(mine)


def is_json(args, qemu):
    """Each begin has its end, on its thread, in order."""
    with Tracing(args, qemu, before=["-f", "^(work|by_1|by_2|tail1|tick|deep)$"],
                 few=True) as t:
        truth = t.counts()
        t.end()
        told = json.loads(t.replay("chrome"))
        stacks, n, last = collections.defaultdict(list), collections.Counter(), {}
        for e in told["traceEvents"]:
            if e["ph"] == "M":
                continue
            check(e["ts"] >= last.get(e["tid"], 0), f"{e} goes back")
            last[e["tid"]] = e["ts"]
            if e["ph"] == "B":
                n[e["name"]] += 1
                stacks[e["tid"]].append(e["name"])
            else:
                check(stacks[e["tid"]].pop() == e["name"], f"{e} ends another")
        check(not any(stacks.values()), "left open")
        for name in ("work", "by_1", "tail1", "tick", "deep"):
            check(n[name] == truth[name], f"{name}: {n[name]} of {truth[name]}")


def fields(message):
    """{number: [values]} of a message in Protocol Buffers' wire format."""
    got, at = collections.defaultdict(list), 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
            check(at <= len(message), "a field goes beyond its message")
        else:
            check(key & 7 == 0, f"wire type {key & 7}")
        got[key >> 3].append(value)
    return got


class Perfetto:
    """The slices of a trace, by the numbers that Perfetto's protos publish."""

    def __init__(self, data):
        self.tracks, self.names, self.kinds = {}, {}, {}
        self.slices = []  # (track, name, ns, depth, category, cpu, begin), as they end
        self.open = collections.defaultdict(list)
        self.last = collections.Counter()
        for packet in map(fields, fields(data)[1]):
            check(packet[10] == [1], "its sequence")
            for track in map(fields, packet[60]):
                self.tracks[track[1][0]] = track
            for interned in map(fields, packet[12]):
                for kind, into in ((1, self.kinds), (2, self.names)):
                    for x in map(fields, interned[kind]):
                        into[x[1][0]] = x[2][0].decode()
            for event in map(fields, packet[11]):
                self.event(packet[8][0], event)

    def event(self, ns, event):
        track, = event[11]
        check(track in self.tracks, f"track {track} was not told")
        check(ns >= self.last[track], f"track {track} goes back")
        self.last[track] = ns
        if event[9] == [1]:
            name = event[23][0].decode() if event[23] else self.names[event[10][0]]
            cpu = [x for a in event[4] for x in fields(a)[3]]
            self.open[track].append((name, ns, [self.kinds[c] for c in event[3]], cpu))
        else:
            check(event[9] == [2], f"type {event[9]}")
            name, begin, kind, cpu = self.open[track].pop()
            self.slices.append((track, name, ns - begin, len(self.open[track]), kind, cpu, begin))


def is_perfetto(args, qemu):
    """Its slices are the calls of the csv, as long, one in another; and vCPUs have tracks."""
    with Tracing(args, qemu, smp=2, few=True,
                 before=["-f", f"^(work|by_1|tail1|tick|{ENTRIES[args.processor]}|deep)$"]) as t:
        truth = t.counts()
        t.end()
        path = t.us.data("trace.pftrace")
        t.us.run("replay", "-o", path, t.out)
        with open(path, "rb") as f:
            p = Perfetto(data := f.read())
        whole = {tid: fields(track[4][0]) for tid, track in p.tracks.items() if track[4]}
        calls = [s for s in p.slices if s[0] in whole]
        n = collections.Counter(s[1] for s in calls)
        for name in ("work", "by_1", "tail1", "tick", "deep"):
            check(n[name] == truth[name], f"{name}: {n[name]} of {truth[name]}")
        mine = sorted((name, str(whole[track][2][0] - 1), f"{ns // 1000}.{ns % 1000:03}")
                      for track, name, ns, *_ in calls)
        check(mine == sorted((r[0], r[1], r[2]) for r in t.rows()), "not as long as in the csv")
        kinds = {s[1]: s[4] for s in calls}
        check(kinds[ENTRIES[args.processor]] == ["interrupt"] and kinds["work"] == ["function"], f"{kinds}")
        check({s[3] for s in calls if s[1] == "by_1"} == {1}, "by_1 is in work")
        check({s[5][0] for s in calls} <= {0, 1}, "vCPUs")
        vcpus = {track[2][0].decode() for track in p.tracks.values() if track[2]}
        check(vcpus == {"vCPU 0", "vCPU 1"}, f"{vcpus}")
        t.us.run("replay", "-o", path, "--time", "0,1ms", t.out)
        with open(path, "rb") as f:
            few = Perfetto(f.read())
        check(len(few.slices) < len(p.slices) / 2, "--time")
        note(f"{len(calls)} calls, {len(data)} bytes")


def calls_by_format(t, *args):
    """{format: {function: calls}}"""
    told = {}

    def replay(format_):
        path = os.path.join(tempfile.mkdtemp(dir=t.us.dir.name), "out")
        t.us.run("replay", "--format", format_, "-o", path, *args, t.out)
        return path
    told["csv"] = t.calls(*args)
    told["graph"] = collections.Counter(re.findall(r"\|  +(\w+)\(\)", t.replay("graph", *args)))
    events = json.loads(t.replay("chrome", *args))["traceEvents"]
    told["chrome"] = collections.Counter(e["name"] for e in events if e["ph"] == "E")
    with open(replay("perfetto"), "rb") as f:
        told["perfetto"] = collections.Counter(x[1] for x in Perfetto(f.read()).slices if x[5])
    with open(replay("html")) as f:
        data, = re.findall(r'^.*?(\{"title":.*\})', f.read(), re.M)
    page = json.loads(data)["func"]
    told["html"] = collections.Counter({x: n for x, n in zip(page["name"], page["calls"]) if n})
    if shutil.which("uftrace"):
        said = subprocess.run(["uftrace", "report", "-d", replay("uftrace"), "-f", "call"],
                              capture_output=True, text=True).stdout
        told["uftrace"] = collections.Counter(
            {x: int(n) for n, x in re.findall(r"^ *(\d+)  (\w+)$", said, re.M)})
    return told


def is_filtered_in_all_formats(args, qemu):
    """What is chosen when it is read is the same in each, and what the whole trace says."""
    entry = ENTRIES[args.processor]
    # Where a function saves its registers by calling another, as riscv's may, one that then
    # changes stacks has a slice on each, but is one call: see below.
    more = "array" if args.processor == "riscv64" else "array|moves_stack"
    with Tracing(args, qemu, smp=2,
                 before=["-f", f"^(work|by_1|tail1|{more}|{entry})$"], few=True) as t:
        truth = t.counts()
        t.end()
        path = t.us.data("trace.pftrace")
        t.us.run("replay", "-o", path, t.out)
        with open(path, "rb") as f:
            whole = [x for x in Perfetto(f.read()).slices if x[5]]
        # On a busy host, one vCPU may have run alone for a third of the trace.
        begun = sorted(x[6] for x in whole if x[1] == "by_1" and x[5] == [0])
        first, last = begun[len(begun) // 3], begun[2 * len(begun) // 3]
        span = f"{first}ns,{last}ns"
        for options, chosen in (
                (["-f", f"^(by_1|{entry})$"], lambda x: x[1] in ("by_1", entry)),
                (["--notrace", "^by_"], lambda x: x[1] != "by_1"),
                (["--depth", "1"], lambda x: x[3] == 0), (["--vcpu", "1"], lambda x: x[5] == [1]),
                (["--time", span], lambda x: first <= x[6] < last),
                (["-f", "by_1", "--vcpu", "0", "--time", span],
                 lambda x: x[1] == "by_1" and x[5] == [0] and first <= x[6] < last)):
            want = collections.Counter(x[1] for x in whole if chosen(x))
            check(want, f"{options}: nothing is chosen")
            for format_, calls in calls_by_format(t, *options).items():
                check(calls == want, f"{options}, {format_}: {calls}, not {want}")
        check({entry, "tail1", *more.split("|")} <= {x[1] for x in whole}, "functions")
        check(sum(x[1] == "array" for x in whole) == truth["array"], "array")
        note(f"{len(whole)} calls")
    if args.processor == "riscv64":
        changes_stacks_once(args, qemu)


def changes_stacks_once(args, qemu):
    """It is one call in all that has calls, and the same slices in all that has slices."""
    with Tracing(args, qemu, before=["-f", "^(work|moves_stack)$"]) as t:
        truth = t.counts()
        t.end()
        told = {name: n["moves_stack"] for name, n in calls_by_format(t).items()}
        for name in {"csv", "html", "uftrace"} & set(told):
            check(told[name] == truth["moves_stack"], f"{name}: {told}, {truth}")
        slices = {told[name] for name in ("graph", "chrome", "perfetto")}
        check(len(slices) == 1 and min(slices) >= truth["moves_stack"], f"{told}")


def is_read_by_uftrace(args, qemu):
    """Its report has every call, its replay a line for each."""
    if not shutil.which("uftrace"):
        raise Skip("uftrace is not installed")
    with Tracing(args, qemu, smp=2, few=True) as t:
        truth = t.counts()
        t.end()
        folder = t.us.data("trace.uftrace")
        t.us.run("replay", "-o", folder, t.out)
        said = subprocess.run(["uftrace", "report", "-d", folder, "-f", "call"],
                              capture_output=True, text=True)
        check(said.returncode == 0 and not said.stderr, said.stderr)
        calls = {name: int(n) for n, name in re.findall(r"^ *(\d+)  (\S+)$", said.stdout, re.M)}
        wrong = [f"{name}: {calls.get(name)} of {n}" for name, n in truth.items()
                 if name != "top_loop_rounds" and calls.get(name) != n]
        check(not wrong, "; ".join(wrong))
        t.us.run("replay", "-f", "^(work|by_1)$", "-o", t.us.data("few.uftrace"), t.out)
        said = subprocess.run(["uftrace", "replay", "-d", t.us.data("few.uftrace"), "-f", "none"],
                              capture_output=True, text=True)
        check(said.returncode == 0 and not said.stderr, said.stderr)
        lines = collections.Counter(re.findall(r"^ *(\w+)\(\)", said.stdout, re.M))
        for name in ("work", "by_1"):
            check(lines[name] == truth[name], f"{lines} of {name}: {truth[name]}")
        again = t.us.run("replay", "-o", folder, t.out, good=(1,)).stderr
        check("not empty" in again, again)


def refusals_say_why(args):
    us = Uniscope(args.build)
    elf = os.path.join(args.build, "tests/guests/shares.elf")
    vm = ["--", "qemu-system-x86_64", "-kernel", elf]
    bare, packed = us.data("bare.elf"), us.data("bzImage")
    subprocess.run(["objcopy", "-S", elf, bare], check=True)
    with open(packed, "w", encoding="ascii") as f:
        f.write("no ELF file\n" * 100)
    for option in ("-f", "--notrace", "--from", "--until"):
        for file, words in ((bare, "bare.elf is stripped"), (packed, "bzImage is no ELF file")):
            said = us.run("trace", "-o", us.data("x.data"), option, "^vfs_read$", *vm[:-1], file,
                          good=(1,)).stderr
            check(words in said and "no symbols" in said and "kallsyms" in said,
                  f"{option}: {said}")
    for command, words in (
            (["--", "true"], "no QEMU"), (["--", "qemu-system-x86_64", "-enable-kvm"], "KVM"),
            (["--from", "nothing_like_it", *vm], "no such function"),
            (["-f", "nothing_like_it", *vm], "no function of the images is left"),
            (["-f", "(", *vm], "("), (["--ring", "3", *vm], "--ring"),
            (["--depth", "0", *vm], "--depth"), (["--on", "999999999"], "no guest"),
            (["-o", "x.json", *vm], "replay"), ([], "a command that starts QEMU")):
        out = [] if "-o" in command else ["-o", us.data("x.data")]
        said = us.run("trace", *out, *command, good=(1, 2, 3)).stderr
        check(words in said, f"{command}: {said}")
    for command, words in ((["--format", "crome", "x"], "chrome"), (["/nowhere"], "No such"),
                           (["-o", "x.png", "x"], "names no format"),
                           (["--format", "uftrace", "x"], "-o")):
        said = us.run("replay", *command, good=(1, 2, 3)).stderr
        check(words in said, f"{command}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    parser.add_argument("--processor", default="x86_64", choices=PROCESSORS)
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-qemu-") as folder:
        qemu = None

        def find():
            nonlocal qemu
            qemu = Qemu(args.build, args.qemu, folder, args.processor)
            note(f"QEMU {qemu.version}")
        tap.point("QEMU is there", find)
        if qemu:
            points(tap, args, qemu)
    tap.end()


def points(tap, args, qemu):
    for name, options, smp in (
            ("one vCPU", [], 1), ("four vCPUs", [], 4),
            ("one instruction a block", qemu.one_insn_per_block(), 1)):
        tap.point(f"every call is traced: {name}",
                  lambda o=options, n=smp: is_traced(args, qemu, *o, smp=n))
        if args.short:
            return
    tap.point("two deterministic traces are the same", lambda: is_repeated(args, qemu))
    tap.point("vCPUs in turns are traced, or refused", lambda: turns_are_traced(args, qemu))
    if args.qemu:
        return
    for name, test in (("text is nested", is_nested),
                       ("Nanos's converter takes the text", is_as_nanos_reads_it),
                       ("times add up", times_add_up),
                       ("rare calls have their time", rare_calls_have_their_time),
                       ("functions are chosen", is_chosen),
                       ("from one function until another", begins_and_ends),
                       ("off, on, a snapshot", is_switched), ("JSON is whole", is_json),
                       ("Perfetto's has every call", is_perfetto),
                       ("filters hold in all formats", is_filtered_in_all_formats),
                       ("uftrace reads it", is_read_by_uftrace),
                       ("QEMU is killed", qemu_is_killed),
                       ("uniscope is killed", uniscope_is_killed)):
        tap.point(name, lambda t=test: t(args, qemu))
    if qemu.processor == "x86_64":
        tap.point("handlers are between the arrows", lambda: handlers_are_between_arrows(args, qemu))
    tap.point("refusals say why", lambda: refusals_say_why(args))


if __name__ == "__main__":
    main()
