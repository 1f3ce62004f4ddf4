#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest under KVM, by each backend that can look at it: do their profiles agree?

usage: agree.py BUILD [--seconds S] [--rounds N] [--exits-apart]

In short recordings by turns, so that what changes on the host changes for all of them.
Of each two, every function's shares may differ by what the recordings of one backend
differ among themselves (at 99.9 %, as many are compared) and half a point: of what takes
a moment to be stopped, a little more has passed.  Where vCPUs waited for a host CPU for a fifth of the time, or
with --exits-apart, the function that prints is left out, as in conformance.py.
"""
import argparse
import itertools
from dataclasses import dataclass, field

from conformance import CLOCK_POINTS, PRINTS, WrongStack
from harness import Skip, Tap, Uniscope, check, note, require_way, start, truth

BACKENDS = ("bpf", "kvm", "gdb")
T = 4.4  # Student's t at 99.9 %, for a dozen of recordings


@dataclass
class Profile:
    rounds: list = field(default_factory=list)  # of {function: samples}
    waited: int = 0

    def add(self, us, tree):
        report = us.report()
        rows = us.paths(report, nowhere=False)
        self.waited += sum(n for _, n in us.paths(report)) - sum(n for p, n in rows if p)
        samples = {}
        for path, n in rows:
            if not path:
                continue  # in an exit, without registers
            if not any(t[-len(path):] == tuple(path) for t in tree):
                raise WrongStack(f"wrong stack: {';'.join(path)}")
            samples[path[-1]] = samples.get(path[-1], 0) + n
        self.rounds.append(samples)

    def without(self, name):
        for samples in self.rounds:
            samples.pop(name, None)

    def names(self):
        return {name for samples in self.rounds for name in samples}

    def total(self):
        return sum(sum(samples.values()) for samples in self.rounds)

    def share(self, name):
        """(share, its variance): samples of one recording are like each other."""
        n, rounds = self.total(), len(self.rounds)
        share = sum(samples.get(name, 0) for samples in self.rounds) / n
        squares = sum((samples.get(name, 0) - share * sum(samples.values())) ** 2
                      for samples in self.rounds)
        return share, rounds / (rounds - 1) * squares / n ** 2


class Agreement:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)

    def backends(self):
        able = []
        for backend in BACKENDS:
            try:
                require_way(argparse.Namespace(build=self.args.build, backend=backend,
                                               accel="kvm"))
                able.append(backend)
            except Skip as why:
                note(f"without {backend}: {why}")
        if len(able) < 2:
            raise Skip("there is nothing to compare")
        return able

    def profiles(self, guest, backends):
        profiles = {backend: Profile() for backend in backends}
        for _ in range(self.args.rounds):
            for backend in backends:
                self.us.record(guest, backend, "--budget", "30",
                               seconds=self.args.seconds)
                tree = truth.parse(guest.serial())[-1].tree
                profiles[backend].add(self.us, tree)
        return profiles

    def compare(self, profiles):
        waited = max(p.waited / (p.waited + p.total())
                     for p in profiles.values())
        if self.args.exits_apart or waited > 0.2:
            note(f"without {PRINTS}; waited {100 * waited:.0f} % of the time")
            for p in profiles.values():
                p.without(PRINTS)
        names = sorted({name for p in profiles.values() for name in p.names()})
        for name in names:
            shares = {b: p.share(name) for b, p in profiles.items()}
            line = f"{name}: " + ", ".join(f"{b} {100 * s:.2f} %"
                                           for b, (s, _) in shares.items())
            if max(s for s, _ in shares.values()) > 0.02:
                note(line)
            for (s, s_var), (t, t_var) in itertools.combinations(shares.values(), 2):
                bound = 100 * T * (s_var + t_var) ** 0.5 + CLOCK_POINTS
                check(100 * abs(s - t) <= bound, f"they differ by more than {bound:.2f} "
                      f"points: {line}")

    def agree(self, name, smp):
        backends = self.backends()
        with start(self.args.build, name, "kvm", smp) as guest:
            guest.wait("READY")
            for left in (2, 1, 0):
                profiles = self.profiles(guest, backends)
                note(f"{name} x{smp}: samples: " + ", ".join(
                    f"{b} {p.total()}" for b, p in profiles.items()))
                try:
                    self.compare(profiles)
                    break
                except AssertionError as err:
                    if not left:
                        raise
                    note(f"once more after: {err}")
            check(guest.goes_on(), "the guest does not go on")

    def run(self):
        for name, smp in (("shares", 1), ("shares", 2), ("recurse", 1)):
            self.tap.point(f"{name} x{smp}: {', '.join(BACKENDS)}",
                           lambda n=name, s=smp: self.agree(n, s))
        self.tap.end()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--exits-apart", action="store_true")
    Agreement(p.parse_args()).run()


if __name__ == "__main__":
    main()
