#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the truth that a test guest states on its serial port.

    log = truth.parse(open("serial.log").read())
    boot = log[-1]                      # one entry for each start of the guest
    boot.tree                           # {("start_vcpu", "kmain"), ...}: legal paths
    first, last = boot.snapshots[0][0], boot.snapshots[0][-1]   # of vCPU 0
    truth.difference(first, last).shares()      # {"f60": 0.6, ...}, of busy time

A snapshot is cumulative, so any two give the truth of the time between them.  Ticks
are wall time: what the host took away from the vCPU is in them, as it is in a profile
by wall time.  steady_shares() leaves it out, for functions whose calls are all alike.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field


@dataclass
class Function:
    calls: int
    self: int  # ticks
    best: int = 0  # ticks of the shortest stretch
    with_callees: bool = False  # self is of the function and all that it calls


@dataclass
class Snapshot:
    vcpu: int
    seq: int
    tsc: int
    tsc_hz: int  # 0: not known
    fn: dict
    idle: int
    total: int

    def accounted(self):
        """Ticks of all functions and of idle: has to be the total."""
        return self.idle + sum(f.self for f in self.fn.values())

    def busy(self):
        return sum(f.self for f in self.fn.values())

    def seconds(self):
        return self.total / self.tsc_hz if self.tsc_hz else None

    def idle_share(self):
        return self.idle / self.total if self.total else 0.0

    def shares(self, of_total=False):
        """Each function's share of the busy time, or of all the time."""
        whole = self.total if of_total else self.busy()
        return {name: f.self / whole if whole else 0.0 for name, f in self.fn.items()}

    def steady_shares(self, names):
        """As shares() among names, as if the host had never taken the CPU away."""
        ticks = {name: self.fn[name].calls * self.fn[name].best for name in names}
        whole = sum(ticks.values())
        return {name: t / whole if whole else 0.0 for name, t in ticks.items()}


@dataclass
class Boot:
    """What a guest printed from one start to the next."""

    tree: set = field(default_factory=set)  # of tuples of function names, root first
    n_vcpus: int = 0  # 0: not ready yet
    snapshots: dict = field(default_factory=dict)  # vCPU: list of Snapshot
    beats: list = field(default_factory=list)
    phases: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    def functions(self):
        return {name for path in self.tree for name in path}

    def is_legal(self, path):
        return tuple(path) in self.tree

    def last(self, vcpu=0):
        snapshots = self.snapshots.get(vcpu)
        return snapshots[-1] if snapshots else None

    def between(self, from_tsc, to_tsc, vcpu=0):
        """The truth of the smallest stated span around two moments, or None."""
        before = [s for s in self.snapshots.get(vcpu, []) if s.tsc <= from_tsc]
        after = [s for s in self.snapshots.get(vcpu, []) if s.tsc >= to_tsc]
        return difference(before[-1], after[0]) if before and after else None


def difference(first, last):
    """What happened between two snapshots of a vCPU."""
    if first.vcpu != last.vcpu:
        raise ValueError("snapshots of different vCPUs")
    nothing = Function(0, 0)
    fn = {}
    for name, f in last.fn.items():
        old = first.fn.get(name, nothing)
        fn[name] = Function(f.calls - old.calls, f.self - old.self, f.best,
                            f.with_callees)
    return Snapshot(last.vcpu, last.seq, last.tsc, last.tsc_hz, fn,
                    last.idle - first.idle, last.total - first.total)


def merge(snapshots):
    """The sum over vCPUs."""
    fn = {}
    for s in snapshots:
        for name, f in s.fn.items():
            old = fn.setdefault(name, Function(0, 0, f.best, f.with_callees))
            old.calls += f.calls
            old.self += f.self
            old.best = min(old.best, f.best)
    first = snapshots[0]
    return Snapshot(-1, first.seq, first.tsc, first.tsc_hz, fn,
                    sum(s.idle for s in snapshots), sum(s.total for s in snapshots))


def _snapshot(text):
    d = json.loads(text)
    d["fn"] = {name: Function(**f) for name, f in d["fn"].items()}
    return Snapshot(**d)


def _read_line(boot, word, rest):
    if word == "TREE":
        boot.tree.add(tuple(rest.split(";")))
    elif word == "READY":
        boot.n_vcpus = int(rest.removeprefix("vcpus="))
    elif word == "BEAT":
        boot.beats.append(int(rest))
    elif word == "PHASE":
        boot.phases.append(rest)
    elif word in ("FAULT", "FATAL"):
        boot.faults.append(f"{word} {rest}")
    elif word == "TRUTH":
        s = _snapshot(rest)
        boot.snapshots.setdefault(s.vcpu, []).append(s)


def parse(text):
    """A list of Boot, the oldest first.  A line that was cut, at the end of the log or
    by a reset, is left out; other words than the guest's (firmware) too."""
    boots = []
    for line in text.split("\n")[:-1]:
        word, _, rest = line.rstrip("\r").partition(" ")
        starts = word == "TREE" and (not boots or boots[-1].n_vcpus)
        if starts:
            boots.append(Boot())
        if not boots:
            boots.append(Boot())
        try:
            _read_line(boots[-1], word, rest)
        except (ValueError, TypeError, KeyError):
            continue
    return boots


def main():
    parser = argparse.ArgumentParser(description="Print the shares that a guest states.")
    parser.add_argument("log", help="what the guest wrote on its serial port")
    args = parser.parse_args()
    with open(args.log, encoding="ascii", errors="replace") as file:
        boots = parse(file.read())
    if not boots or not boots[-1].snapshots:
        sys.exit(f"{args.log}: no TRUTH line")
    for vcpu in sorted(boots[-1].snapshots):
        last = boots[-1].last(vcpu)
        print(f"vCPU {vcpu}: idle {100 * last.idle_share():.1f} % of the time; busy:")
        shares = last.shares()
        for name in sorted(shares, key=shares.get, reverse=True):
            if last.fn[name].calls or last.fn[name].self:
                print(f"  {100 * shares[name]:6.2f} %  {name}")


if __name__ == "__main__":
    main()
