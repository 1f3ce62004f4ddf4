#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Are 95 of 100 intervals right for guests that run?  Rows of docs/accuracy.md.

usage: real.py BUILD BACKEND ACCEL [GUEST] [--functions F...] [--truth KIND] [--runs N]
       [--seconds S] [--hz HZ] [--budget P] [--prints] [--keep FOLDER | --again FOLDER]

Records one guest again and again and compares its functions, that do the same in each
call, with what it states on its serial port.  The truth is of a span that begins before
the recording and ends after it, which matters little for guests whose rounds are short.
What the host took away, in some function or other, is not to be in it, nor is it in the
samples: a report with a focus has those in these functions only, and by kvm those alone
that had a host CPU.  There are several truths:

work   the calls, times what each has to do.  In shares-steady, shares-1ms and shares-10ms
       f60, f30 and f10 call one loop, so that this is the time, too.
best   the calls, times the shortest one.  But of two loops that are as fast alone one may
       take a third longer while the processor is shared.  And a stop of an emulated
       guest (gdb, qmp) halts its clock before its vCPUs, so that a call may seem shorter
       than any is.
clock  the time that passed on the guest's clock, with what the host took.  Of rounds that
       take seconds it is the only one: meanwhile a processor that is shared becomes a
       tenth faster or slower.

A guest that is nearly idle does little besides stating the truth, and one such line more or
fewer in the one span counts; and of rounds that take seconds the one before and behind a
recording are much of the span.  With --prints only the part of a recording between two of
these is looked at, which its samples show, and the truth is of that part.

Without --truth it is work for those guests, clock for others of gdb and qmp under TCG
and with --prints, else best.  --keep has each recording in a folder, with its truths;
--again looks at those once more.
"""
import argparse
import glob
import gzip
import itertools
import json
import math
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Uniscope, note, start, truth, waited  # noqa: E402

WORK = {"f60": 6, "f30": 3, "f10": 1}
GAP_MS = 200  # prints are farther apart, samples of one are not
ONE_LOOP = ("shares-steady", "shares-1ms", "shares-10ms")


class Sums:
    def __init__(self):
        self.inside, self.long_inside, self.widths, self.long_widths = 0, 0, [], []
        self.errors = []

    def add(self, got, share, span, long_run):
        self.inside += span[0] <= share <= span[1]
        self.long_inside += long_run[0] <= share <= long_run[1]
        self.widths.append(span[1] - span[0])
        self.long_widths.append(long_run[1] - long_run[0])
        self.errors.append(got - share)

    def bias(self):
        return sum(self.errors) / len(self.errors)

    def deviation(self):
        """Around the mean: what is the same in all recordings is no chance."""
        return math.sqrt(sum((e - self.bias()) ** 2 for e in self.errors)
                         / max(1, len(self.errors) - 1))

    def by_honest(self, widths):
        """The intervals' width by the honest one, 3.92 standard deviations.  Each error
        by its own width, for on a busy host some recordings have few samples."""
        squares = [(3.92 * (e - self.bias()) / w) ** 2
                   for e, w in zip(self.errors, widths) if w > 0]
        return math.sqrt(max(1, len(squares) - 1) / sum(squares)) if any(squares) else 0

    def row(self):
        """Inside, width, points, mean error, its standard error, long run."""
        runs = len(self.errors)
        return [f"{100 * self.inside / runs:.1f} %", f"{self.by_honest(self.widths):.2f}",
                f"{50 * sum(self.widths) / runs:.2f}", f"{100 * self.bias():+.2f}",
                f"{100 * self.deviation() / math.sqrt(runs):.2f}",
                f"{100 * self.long_inside / runs:.1f} %",
                f"{self.by_honest(self.long_widths):.2f}"]


def parts(amount):
    whole = sum(amount.values())
    return {name: a / whole for name, a in amount.items()} if whole else {}


def truths(t, names):
    """Each function's share of all of them, in each sense."""
    f = {name: t.fn[name] for name in names}
    got = {"best": t.steady_shares(names), "clock": parts({n: f[n].self for n in names})}
    if all(name in WORK for name in names):
        got["work"] = parts({name: f[name].calls * WORK[name] for name in names})
    return got


def prints(us):
    """When the samples of a recording saw the guest begin to state its truth: ms."""
    us.run("report", "--format", "firefox", "-o", us.data("times"), us.data())
    with gzip.open(us.data("times")) as f:
        profile = json.load(f)
    times, name = [], "print_truth"
    for thread in profile["threads"]:
        names = profile.get("shared", thread)["stringArray"]
        functions = [names[n] for n in thread["funcTable"]["name"]]
        stacks = [functions[f] == name for f in
                  (thread["frameTable"]["func"][x] for x in thread["stackTable"]["frame"])]
        for i, above in enumerate(thread["stackTable"]["prefix"]):
            stacks[i] = stacks[i] or (above is not None and stacks[above])
        at = itertools.accumulate(thread["samples"]["timeDeltas"])
        times += [t for t, x in zip(at, thread["samples"]["stack"])
                  if x is not None and stacks[x]]
    begun = [t for before, t in zip([-GAP_MS, *times], times) if t - before >= GAP_MS]
    return [t for t in begun if t > 10]  # else it was in the middle of one


def between_prints(us, guest, first, last, scale):
    """(truth, from ms, until ms) of the part of a recording that begins and ends with a
    print that was seen: which ones these were is known by the distances between all.
    scale: what a second of the guest's clock takes while it is recorded.  None: fewer
    than two were."""
    seen = prints(us)
    stated = [s for s in truth.parse(guest.serial())[-1].snapshots[0]
              if first.seq <= s.seq <= last.seq]
    at = [1000 * scale * s.tsc / s.tsc_hz for s in stated]
    if len(seen) < 2:
        return None

    def nearest(k, i):
        """To the one seen, if the first one seen was k: (how far, which)."""
        return min((abs((a - at[k]) - (seen[i] - seen[0])), n) for n, a in enumerate(at))

    def misses(k):
        """Of few prints the distances may be those of others, too: the one stated first
        was said a moment before the recording."""
        return (sum(nearest(k, i)[0] for i in range(len(seen)))
                + abs(at[k] - at[0] - seen[0]) / 5)

    k = min(range(len(stated)), key=misses)
    return truth.difference(stated[k], stated[nearest(k, -1)[1]]), seen[0], seen[-1]


class Waits:
    """What part of the time a guest's busiest thread waited for a host CPU."""

    def __init__(self, guest):
        self.pid = getattr(guest.vm, "pid", 0)  # a domain has none
        self.before, self.began = waited(self.pid), time.monotonic()

    def part(self):
        seconds = max((s - self.before.get(thread, 0)
                       for thread, s in waited(self.pid).items()), default=0)
        return seconds / (time.monotonic() - self.began)


def record(us, guest, args):
    before = guest.wait_truth()
    waits, began = Waits(guest), time.monotonic()
    us.record(guest, args.backend, "-F", str(args.hz), "--budget", str(args.budget),
              seconds=args.seconds)
    host = waits.part()
    after = guest.wait_truth()
    took = time.monotonic() - began
    t = truth.merge([truth.difference(b, a) for b, a in zip(before, after)])
    part = None
    if args.prints:
        a, b = after[0], before[0]
        stood = max(0, took - (a.tsc - b.tsc) / a.tsc_hz)
        found = between_prints(us, guest, b, a, args.seconds / (args.seconds - stood))
        if not found:
            note("a recording that shows no two prints does not count")
            return record(us, guest, args)
        t, *part = found
    return {"truths": truths(t, args.functions), "idle": t.idle_share(), "host": host,
            "time": part}


def idle_of(args, known, recording):
    """The guest's idle share, had it not been sampled: by kvm its clock goes on while a vCPU
    that runs is held."""
    held = recording["stolen_ns"] / recording["vcpu_ns"] if args.backend == "kvm" else 0
    return known["idle"] / (1 - held)


def look(us, args, known, sums):
    stops = args.accel == "tcg" and args.backend in ("gdb", "qmp")
    kind = args.truth or ("work" if args.guest in ONE_LOOP else
                          "clock" if stops or args.prints else "best")
    # By kvm what waited for a host CPU has a stack, too, and the clock goes on meanwhile.
    on_cpu = ("--filter", "state=guest") if args.backend == "kvm" and kind != "clock" else ()
    part = known.get("time")
    of = ("--time", "{:.3f}ms,{:.3f}ms".format(*part)) if part else ()
    report = us.report("--focus", "^(" + "|".join(args.functions) + ")$", *on_cpu, *of)
    functions = {f["name"]: f for f in report["functions"]}
    s = report["summary"]
    if not s["running"]:
        note("a recording without a sample in these functions does not count")
        return {"focus": 0, "all": report["recording"]["running"], "host": known["host"]}
    focused = s["running"]
    # What no sample was in has no row.
    none = [0, min(1, 3.8 / max(1, s["running"]))]
    for name, share in known["truths"][kind].items():
        f = functions.get(name, {"total": 0, "total_interval": none, "total_long_run": none})
        sums.setdefault(name, Sums()).add(f["total"] / s["running"], share,
                                          f["total_interval"], f["total_long_run"])
    if s["idle"]:
        # Of all time, what waited for a host CPU with it.
        r = us.report(*of)
        s = r["summary"]
        n = s["idle"] + s["running"]
        # The guest knows that it idled when it comes back from the interrupt.
        woken = sum(f["total"] for f in r["functions"] if f["name"] == "wait_for_tick") / n
        idle = idle_of(args, known, report["recording"])
        sums.setdefault("(idle)", Sums()).add(s["idle"] / n + woken, idle, *(
            [x + woken for x in s[key]] for key in ("idle_interval", "idle_long_run")))
    return {"focus": focused, "all": report["recording"]["running"],
            "host": known["host"]}


def keep(us, folder, number, known):
    os.makedirs(folder, exist_ok=True)
    base = os.path.join(folder, f"{number:04}")
    shutil.copy(us.data(), base + ".data")
    with open(base + ".json", "w", encoding="ascii") as f:
        json.dump(known, f)


def again(us, args, sums):
    for path in sorted(glob.glob(os.path.join(args.again, "*.json"))):
        with open(path, encoding="ascii") as f:
            known = json.load(f)
        shutil.copy(path.removesuffix("json") + "data", us.data())
        yield look(us, args, known, sums)


def record_all(us, args, sums):
    plugin = {"plugin": True} if args.backend == "plugin" else {}
    with start(args.build, args.guest, args.accel, **plugin) as guest:
        guest.wait("READY")
        for number in range(args.runs):
            known = record(us, guest, args)
            if args.keep:
                keep(us, args.keep, number, known)
            yield look(us, args, known, sums)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "backend", "accel"):
        parser.add_argument(name)
    parser.add_argument("guest", nargs="?", default="shares")
    parser.add_argument("--functions", nargs="+")
    parser.add_argument("--truth", choices=["work", "best", "clock"])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--hz", type=int, default=997)
    parser.add_argument("--budget", type=int, default=50)
    parser.add_argument("--prints", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--again")
    args = parser.parse_args()
    if not args.functions:
        args.functions = ["tick_work"] if args.guest == "idle" else list(WORK)
    return args


def main():
    args = arguments()
    us, sums = Uniscope(args.build), {}
    n = list((again if args.again else record_all)(us, args, sums))

    def mean(what):
        return sum(x[what] for x in n) / len(n)

    note(f"{args.guest} by {args.backend} on {args.accel}, {args.seconds:g} s at {args.hz} "
         f"Hz: {mean('focus'):.0f} samples in these functions of {mean('all'):.0f}; the "
         f"guest waited for a host CPU {100 * mean('host'):.0f} % of the time")
    for name, s in sums.items():
        print("| " + " | ".join([f"{args.guest}, {args.backend}, {args.accel}", name,
                                 str(len(s.errors)), str(args.hz), f"{args.seconds:g}",
                                 f"{100 * mean('host'):.0f} %", *s.row()]) + " |", flush=True)


if __name__ == "__main__":
    main()
