#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All guests of a host at once (record --all), and vCPUs that are plugged in.

usage: all.py BUILD BACKEND ACCEL [--seconds S] [--only WORD]

Other guests may run on this host: they are recorded, too, and not looked at here.
"""
import json
import os
import re
import signal
import socket
import subprocess
import time

import points
from conformance import Suite
from harness import Skip, check, note, patience, truth

# A function that only this guest has.
MARK = {"shares": "f60", "demo": "checksum", "recurse": "dive", "switch": "red_work"}


class Recorder:
    """`record --all` into a folder, until it is told to end."""

    def __init__(self, us, backend, folder, *args):
        self.us, self.dir = us, us.data(folder)
        self.p = subprocess.Popen(
            [us.program, "record", "--all", "--json", "--backend", backend, "-F", "500",
             "--budget", "50", "-o", self.dir, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.kill()
            self.p.communicate()

    def end(self):
        """Ctrl-C; the figures of each guest, by pid."""
        self.p.send_signal(signal.SIGINT)
        text, err = patience.communicate(self.p, 30)
        check(self.p.returncode == 0, f"exit {self.p.returncode}: {err}")
        self.stderr = err
        return {r["pid"]: r for r in json.loads(text)["recordings"]}

    def path_of(self, guest):
        """The file that is this guest's while it is recorded, or None."""
        for name in os.listdir(self.dir) if os.path.isdir(self.dir) else ():
            path = os.path.join(self.dir, name)
            done = self.us.run("report", "--json", path, good=(0, 1))
            if done.returncode == 0 and \
                    json.loads(done.stdout)["facts"].get("pid") == str(guest.vm.pid):
                return path
        return None

    def wait_for(self, *guests):
        for g in guests:
            g.wait_for(lambda g=g: self.path_of(g), what="recording")


class All(Suite):
    def names(self, path):
        self.report = json.loads(self.us.run("report", "--json", path).stdout)
        return {f for stack, _ in self.us.paths(self.report) for f in stack}

    def own_functions(self, guest, figures):
        """Those of this guest, and of no other."""
        path = figures[guest.vm.pid]["recording"]
        name = re.escape(guest.name)
        check(re.fullmatch(rf"{name}(-{guest.vm.pid})?\.data", os.path.basename(path)),
              f"{guest.name} is in {path}")
        names = self.names(path)
        note(f"{os.path.basename(path)}: {figures[guest.vm.pid]['running']} samples, "
             f"{figures[guest.vm.pid]['end']}")
        check(MARK[guest.name] in names, f"{guest.name}: only {sorted(names)}")
        others = {m for n, m in MARK.items() if n != guest.name} & names
        check(not others, f"{guest.name} has functions of others: {others}")
        self.sums_match(figures[guest.vm.pid])

    def right_stacks(self, guest, figures):
        """Frame by frame, of one that was recorded in its main loop only."""
        self.names(figures[guest.vm.pid]["recording"])
        self.tree = truth.parse(guest.serial())[-1].tree
        self.stacks(figures[guest.vm.pid], guest.name, whole=False)

    def several(self):
        """Two of one name, one whose VMM is killed, one that starts in the middle."""
        with self.guest("shares") as a, self.guest("shares") as same, \
                self.guest("demo") as b, self.guest("recurse") as c:
            for g in (a, same, b, c):
                g.wait("READY")
            with Recorder(self.us, self.args.backend, "guests") as r:
                r.wait_for(a, same, b, c)
                time.sleep(self.args.seconds / 2)
                with self.guest("switch") as d:
                    d.wait("READY")
                    r.wait_for(d)
                    c.vm.kill()
                    time.sleep(self.args.seconds / 2)
                    for g in (a, same, b, d):
                        check(g.goes_on(40), f"{g.name} does not go on")
                    figures = r.end()
            for g in (a, same, b, c, d):
                self.own_functions(g, figures)
            for g in (a, same, b):
                self.right_stacks(g, figures)
                check(figures[g.vm.pid]["end"] == "interrupted", f"{g.name} ended early")
            check("gone" in figures[c.vm.pid]["end"], f"it is {figures[c.vm.pid]['end']}")
            check(len({f["recording"] for f in figures.values()}) == len(figures),
                  "two guests in one file")

    def killed(self):
        """SIGKILL: each file is readable, and says that it is cut."""
        with self.guest("shares") as a, self.guest("demo") as b:
            a.wait("READY")
            b.wait("READY")
            with Recorder(self.us, self.args.backend, "killed") as r:
                r.wait_for(a, b)
                begin = time.monotonic()
                time.sleep(2)
                r.p.kill()
                lived = time.monotonic() - begin
                r.p.communicate()
            for g in (a, b):
                path = r.path_of(g)
                names = self.names(path)
                summary = self.report["summary"]
                check(summary["end"] == "cut", f"{g.name}: {summary}")
                check(MARK[g.name] in names, f"{g.name}: only {sorted(names)}")
                check(summary["last_ns"] / 1e9 > lived - 1,
                      f"{g.name}: {summary['last_ns']} ns of {lived:.2f} s")
                check(g.goes_on(), f"{g.name} does not go on")

    def duration(self):
        """All end together; the folder holds an earlier recording.  A guest of another
        test may have the name that was a's or b's the last time."""
        figures = {}
        with self.guest("shares") as a, self.guest("demo") as b:
            a.wait("READY")
            b.wait("READY")
            for _ in range(2):
                earlier = {f["recording"] for f in figures.values()}
                with Recorder(self.us, self.args.backend, "timed", "-d", "2") as r:
                    text, err = patience.communicate(r.p, 60)
                    check(r.p.returncode == 0, err)
                figures = {f["pid"]: f for f in json.loads(text)["recordings"]}
            for g in (a, b):
                self.own_functions(g, figures)
                check(figures[g.vm.pid]["end"] == "done", f"{figures[g.vm.pid]}")
            again = earlier & {f["recording"] for f in figures.values()}
            check(again, "no file has the name of an earlier one")
            for path in again:
                check(os.path.exists(path + ".old"), f"the earlier {path} is not kept")

    def plug(self, guest):
        """A second vCPU; the guest lets it lie."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(guest.qmp)
            f = s.makefile("rw")
            f.readline()

            def ask(what, **arguments):
                f.write(json.dumps({"execute": what, "arguments": arguments}) + "\n")
                f.flush()
                answer = json.loads(f.readline())
                while "event" in answer:
                    answer = json.loads(f.readline())
                if "error" in answer:
                    raise Skip(f"QEMU plugs no vCPU in: {answer['error']['desc']}")
                return answer["return"]

            ask("qmp_capabilities")
            free, = (c for c in ask("query-hotpluggable-cpus") if "qom-path" not in c)
            ask("device_add", driver=free["type"], id="second", **free["props"])

    def plugged(self):
        """What is plugged in has the next number, and is off until it is started."""
        more = ("-smp", "1,maxcpus=2", "-cpu", "qemu64")
        with self.guest("shares", machine="pc", extra=more) as g:
            g.wait("READY", 240)
            out = self.us.data("plugged.data")
            p = subprocess.Popen([self.us.program, "record", "--json", "--backend",
                                  self.args.backend, "-o", out, g.target("bpf")],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            g.wait_for(lambda: os.path.exists(out) and os.path.getsize(out) > 1000,
                       what="recording")
            self.plug(g)
            time.sleep(4)
            p.send_signal(signal.SIGINT)
            text, err = patience.communicate(p, 30)
            check(p.returncode == 0, err)
            stats = json.loads(text)
            self.sums_match(stats)
            names = self.names(out)
            note(f"{stats['running']} samples, {stats['off']} off")
            check(self.report["facts"]["vcpus"] == "2", f"{self.report['facts']}")
            check("f60" in names, f"only {sorted(names)}")
            check(stats["off"] > 500, "the new vCPU is not there")
            check(g.goes_on(60), "the guest does not go on")

    def points(self):
        yield "several guests at once", self.several
        yield "killed", self.killed
        yield "duration", self.duration
        if self.args.backend == "bpf":
            yield "a vCPU is plugged in", self.plugged


if __name__ == "__main__":
    points.main(All)
