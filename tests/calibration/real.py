#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Are 95 of 100 intervals right for guests that run?  A row of docs/accuracy.md.

usage: real.py BUILD BACKEND ACCEL [GUEST] [--functions F...] [--runs N] [--seconds S]
       [--hz HZ] [--budget P]

Records one guest again and again and compares its functions, that do the same in each
call, with what it states on its serial port: the calls in the time around the recording,
times the shortest that one took.  So what the host took away, in some function or
other, is neither in the truth nor in the samples: a report with a focus has those in
these functions only, and by kvm those alone that had a host CPU.  The truth is of a span that begins before the recording and ends
after it, which matters little for guests that do the same all the time.

A stop of an emulated guest (gdb, qmp) halts its clock before its vCPUs, so a call may seem
shorter than any is: the truth there is the time that passed on the guest's clock, and
what the host took is in it as it is in the samples.
"""
import argparse
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import Uniscope, note, start, truth  # noqa: E402


class Sums:
    def __init__(self):
        self.inside, self.long_inside, self.widths, self.long_widths = 0, 0, [], []
        self.errors, self.shares = [], []

    def add(self, got, share, span, long_run):
        self.inside += span[0] <= share <= span[1]
        self.long_inside += long_run[0] <= share <= long_run[1]
        self.widths.append(span[1] - span[0])
        self.long_widths.append(long_run[1] - long_run[0])
        self.errors.append(got - share)
        self.shares.append(got)

    def deviation(self):
        """Around the mean: what is the same in all recordings is no chance."""
        mean = sum(self.errors) / len(self.errors)
        return math.sqrt(sum((e - mean) ** 2 for e in self.errors)
                         / max(1, len(self.errors) - 1))

    def bias(self):
        return sum(self.errors) / len(self.errors)


def shares(t, args):
    """Each function's share of the time of all of them."""
    if args.accel != "tcg" or args.backend not in ("gdb", "qmp"):
        return t.steady_shares(args.functions)
    took = {name: t.fn[name].self for name in args.functions}
    return {name: ticks / sum(took.values()) for name, ticks in took.items()}


def one(us, guest, args, sums):
    before = guest.wait_truth()
    us.record(guest, args.backend, "-F", str(args.hz), "--budget", str(args.budget),
              seconds=args.seconds)
    after = guest.wait_truth()
    t = truth.merge([truth.difference(b, a) for b, a in zip(before, after)])
    # By kvm what waited for a host CPU has a stack, too.
    on_cpu = ("--filter", "state=guest") if args.backend == "kvm" else ()
    report = us.report("--focus", "^(" + "|".join(args.functions) + ")$", *on_cpu)
    functions = {f["name"]: f for f in report["functions"]}
    running = report["summary"]["running"]
    for name, share in shares(t, args).items():
        f = functions[name]
        sums.setdefault(name, Sums()).add(f["total"] / running, share,
                                          f["total_interval"], f["total_long_run"])
    s = report["summary"]
    if s["idle"]:
        everything = s["idle"] + s["running"] + s["unfocused"]
        sums.setdefault("(idle)", Sums()).add(
            s["idle"] / everything, t.idle_share(), s["idle_interval"],
            s["idle_long_run"])
    return running, report["recording"]["running"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "backend", "accel"):
        parser.add_argument(name)
    parser.add_argument("guest", nargs="?", default="shares")
    parser.add_argument("--functions", nargs="+", default=["f60", "f30", "f10"])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--hz", type=int, default=997)
    parser.add_argument("--budget", type=int, default=50)
    args = parser.parse_args()
    us, sums, n = Uniscope(args.build), {}, []
    plugin = {"plugin": True} if args.backend == "plugin" else {}
    with start(args.build, args.guest, args.accel, **plugin) as guest:
        guest.wait("READY")
        for _ in range(args.runs):
            n.append(one(us, guest, args, sums))
    note(f"{args.guest} by {args.backend} on {args.accel}, {args.seconds:g} s at {args.hz} "
         f"Hz: {sum(x for x, _ in n) / len(n):.0f} samples in these functions of "
         f"{sum(x for _, x in n) / len(n):.0f}")
    for name, s in sums.items():
        honest = 3.92 * s.deviation()
        runs = len(s.errors)
        width, long_width = sum(s.widths) / runs, sum(s.long_widths) / runs
        print(f"| {args.guest}, {args.backend} | {name} | {runs} | {args.hz} | "
              f"{args.seconds:g} | {s.inside} | {width / honest if honest else 0:.2f} | "
              f"{50 * width:.2f} | {100 * s.bias():+.2f} | {s.long_inside} | "
              f"{long_width / honest if honest else 0:.2f} |", flush=True)


if __name__ == "__main__":
    main()
