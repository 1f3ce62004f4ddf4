#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Are 95 of 100 intervals right for guests that run?  A row of docs/accuracy.md.

usage: real.py BUILD BACKEND ACCEL GUEST [--runs N] [--seconds S] [--hz HZ] [--budget P]

Records one guest again and again and compares with what it states on its serial port.
That is the truth of a span that begins before the recording and ends after it, so for
guests that do the same all the time.  A sample that waited for a host CPU is in no
function: shares and intervals are of the others.
"""
import argparse
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from harness import NOWHERE, Uniscope, note, start, truth  # noqa: E402

LEAST_SHARE = 0.02


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


def one(us, guest, args, sums):
    before = guest.wait_truth()
    us.record(guest, args.backend, "-F", str(args.hz), "--budget", str(args.budget),
              seconds=args.seconds)
    after = guest.wait_truth()
    t = truth.merge([truth.difference(b, a) for b, a in zip(before, after)])
    report = us.report()
    functions = {f["name"]: f for f in report["functions"]}
    nowhere = sum(functions[n]["self"] for n in NOWHERE if n in functions)
    there = report["summary"]["running"] - nowhere
    scale = report["summary"]["running"] / there if there else 1
    whole = {name: sum(f.self for n, f in t.fn.items() if n == name) / t.busy()
             for name in t.fn}
    for name, share in whole.items():
        f = functions.get(name)
        if share < LEAST_SHARE or not f or there < 50:
            continue
        kind = "total" if name in args.leaves else "self"
        sums.setdefault(name, Sums()).add(
            f[kind] / there, share, [scale * x for x in f[kind + "_interval"]],
            [scale * x for x in f[kind + "_long_run"]])
    s = report["summary"]
    if s["idle"]:
        all_samples = s["idle"] + s["running"]
        sums.setdefault("(idle)", Sums()).add(
            s["idle"] / all_samples, t.idle_share(), s["idle_interval"],
            s["idle_long_run"])
    return s["running"], 1 - there / max(1, s["running"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("build", "backend", "accel", "guest"):
        parser.add_argument(name)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--hz", type=int, default=997)
    parser.add_argument("--budget", type=int, default=50)
    # Their loops are functions of their own.
    parser.add_argument("--leaves", nargs="*", default=["f60", "f30", "f10"])
    args = parser.parse_args()
    us, sums, n, waited = Uniscope(args.build), {}, [], []
    with start(args.build, args.guest, args.accel) as guest:
        guest.wait("READY")
        for _ in range(args.runs):
            samples, part = one(us, guest, args, sums)
            n.append(samples)
            waited.append(part)
    note(f"{args.guest} by {args.backend} on {args.accel}, {args.seconds:g} s at {args.hz} "
         f"Hz: {sum(n) / len(n):.0f} samples, {100 * sum(waited) / len(waited):.1f} % "
         "waited for a host CPU")
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
