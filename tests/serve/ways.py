#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope serve of a real guest, by any backend: what the page gets and what pprof takes, beside
what the guest says of itself.

usage: ways.py BUILD BACKEND ACCEL [--seconds S]
"""
import argparse
import gzip
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import Serve, until  # noqa: E402
from live import Listener, asked  # noqa: E402
from harness import Guest, Skip, Tap, check, note, require_way, truth  # noqa: E402

LOOPS = ("f60", "f30", "f10")
Z = 3.29
# The guest's clock goes on while its vCPU waits for a host CPU, in whatever function that is.
CLOCK_POINTS = 4.0
ENOUGH = 60


def fields(message):
    """[(number, value)] of a protobuf message: int, or the bytes of what is in it."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 0x7f) << shift
            shift += 7
            at += 1
            if message[at - 1] < 0x80:
                return value, at
    at, rows = 0, []
    while at < len(message):
        tag, at = varint(at)
        value, at = varint(at)
        if tag & 7 == 2:
            rows.append((tag >> 3, message[at:at + value]))
            at += value
        else:
            rows.append((tag >> 3, value))
    return rows


def numbers(value):
    """Of a repeated field, which is packed or has one."""
    if isinstance(value, int):
        return [value]
    at, out = 0, [0]
    for byte in value:
        out[-1] |= (byte & 0x7f) << at
        at += 7
        if byte < 0x80:
            out.append(0)
            at = 0
    return out[:-1]


def pprof_self(packed):
    """{function: samples in which it is the innermost} of a profile.proto."""
    profile = fields(gzip.decompress(packed))
    strings = [v.decode() for k, v in profile if k == 6]
    function = {f[1]: strings[f[2]] for f in (dict(fields(v)) for k, v in profile if k == 5)}
    at = {}
    for v in (v for k, v in profile if k == 4):
        lines = [dict(fields(line)) for k, line in fields(v) if k == 4]
        at[dict(fields(v))[1]] = function[lines[-1][1]] if lines else None
    got = {}
    for sample in (fields(v) for k, v in profile if k == 2):
        places = [n for k, v in sample if k == 1 for n in numbers(v)]
        count = [n for k, v in sample if k == 2 for n in numbers(v)][0]
        if places:
            got[at[places[0]]] = got.get(at[places[0]], 0) + count
    return got


class Ways:
    def __init__(self, args):
        self.args = args

    def compare(self, what, got, before, after):
        """Samples of the three loops, of each other, beside the guest's own ticks."""
        t = truth.merge([truth.difference(b, a) for b, a in zip(before, after)])
        n, ticks = (sum(of(f) for f in LOOPS) for of in (lambda f: got.get(f, 0), lambda f: t.fn[f].self))
        check(n >= ENOUGH, f"{what}: only {n} samples: {got}")
        for f in LOOPS:
            real, share = t.fn[f].self / ticks, got.get(f, 0) / n
            line = f"{what}: {f} {100 * share:.1f} % of {n} samples, truth {100 * real:.1f} %"
            note(line)
            check(abs(share - real) <= Z * (real * (1 - real) / n) ** 0.5 + CLOCK_POINTS / 100, "outside: " + line)

    def page(self, s, guest, seconds):
        """Of a span of the guest's time that the truth is known of."""
        def now():
            return asked(s, "/history")["now"]
        before, begin = guest.wait_truth(), now()
        until(lambda: now() > begin + 1000 * seconds, f"{seconds} s of it", 300)
        end, after = now(), guest.wait_truth()
        data = asked(s, "/data", **{"from": begin, "to": end})
        # What is inlined into them has names of its own there.
        self.compare("page", dict(zip(data["func"]["name"], data["func"]["total"])), before, after)
        check(data["summary"]["running"] > 0 and data["func"]["name"], f"{data['summary']}")
        return data

    def pprof(self, s, guest, seconds):
        before = guest.wait_truth()
        began = time.monotonic()
        status, _, packed = s.ask(s.path("/debug/pprof/profile", seconds=seconds), timeout=600)
        check(status == 200, packed[:200])
        note(f"{seconds} s by pprof in {time.monotonic() - began:.1f} s")
        self.compare("pprof", pprof_self(packed), before, guest.wait_truth())

    def whole(self):
        a = self.args
        with Guest(a.build, "shares", a.accel, 1) as guest:
            guest.wait("READY", 240)
            with Serve(a.build, "--backend", a.backend, "--budget", "50", "-e", guest.elf,
                       guest.target(a.backend)) as s:
                until(lambda: s.get("/history")[0] == 200, "a guest", 240)
                until(lambda: asked(s, "/history").get("now", -1) > 1000, "a second of it", 240)
                news = Listener(s)
                for look in (self.page, self.pprof):
                    self.once_more(look, s, guest)
                check(news.ticks >= 2, f"{news.ticks} ticks")
                news.close()
                check(guest.goes_on(), "the guest does not go on")
                self.its_end(s, guest)

    def once_more(self, look, s, guest):
        """Longer each time: a busy host gives few samples, and does not repeat itself."""
        for longer in (1, 3, 6):
            try:
                look(s, guest, longer * self.args.seconds)
                return
            except AssertionError as err:
                if longer == 6:
                    raise
                note(f"once more after: {err}")

    def its_end(self, s, guest):
        guest.vm.kill()
        until(lambda: asked(s, "/history")["ended"], "its end", 120)
        told = asked(s, "/history")["words"]
        check(told and asked(s, "/data", last=0)["summary"]["running"] > 0, "the page stays, and says so")
        status, _, packed = s.ask(s.path("/debug/pprof/profile"), timeout=120)
        check(status == 200 and pprof_self(packed).get("f60"), "pprof of one that has ended")
        note(f"it says: {json.dumps(told)}")
        s.end()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("backend")
    p.add_argument("accel")
    p.add_argument("--seconds", type=int, default=10)
    args = p.parse_args()
    try:
        require_way(args)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tap = Tap()
    tap.point(f"serve by {args.backend} {args.accel}", Ways(args).whole)
    tap.end()


if __name__ == "__main__":
    main()
