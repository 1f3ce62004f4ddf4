#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""SIGKILL at random moments: the guest must go on, the recording must be readable.

usage: kill.py BUILD BACKEND ACCEL [PROCESSOR] [--times N] [--seed S] [--pauses]
"""
import argparse
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

from harness import (Skip, Tap, Uniscope, check, note, patience, require_way, start,
                     waited, way)


def guest(args, name, smp):
    plugin = {"plugin": True} if args.backend == "plugin" else {}
    return start(args.build, name, args.accel, smp, processor=args.processor, **plugin)


def kill_once(us, guest, backend, delay):
    """The recording, how long it was made, and for how long of that others had the CPUs."""
    out = us.data("killed.data")
    p = subprocess.Popen([us.program, "record", "--backend", backend, "--budget", "50",
                          "-e", guest.elf, "-o", out, guest.target(backend)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    began = time.monotonic()
    time.sleep(delay)
    lost = sum(waited(p.pid).values())
    check(p.poll() is None, f"it ended by itself: {p.stderr.read() if p.poll() else ''}")
    p.kill()
    lived = time.monotonic() - began
    p.wait()
    return out, lived, lost


def readable(us, out, lived):
    """Readable, cut, and whole up to the last second; too young a file may be empty.
    lived: how long it ran."""
    done = us.run("report", "--json", out, good=(0, 1))
    if done.returncode:
        check(lived < 1.0, f"after {lived:.2f} s: {done.stderr}")
        return 0
    report = json.loads(done.stdout)
    check(report["summary"]["end"] == "cut", f"it does not say that it was cut: {report}")
    return report["summary"]["last_ns"] / 1e9


def profiler(args, us):
    """The guest goes on after each kill of uniscope, and the recording is good."""
    rng = random.Random(args.seed)
    behind = 0
    with guest(args, "shares", 2) as g:
        g.wait("READY")
        for i in range(args.times):
            delay = rng.choice([rng.uniform(0.0, 0.3), rng.uniform(0.3, 1.5)])
            out, lived, lost = kill_once(us, g, args.backend, delay)
            check(g.goes_on(), f"kill {i} after {delay:.3f} s: the guest stands still")
            seconds = readable(us, out, lived - lost)
            if lived > 1.2:
                behind = max(behind, lived - lost - seconds)
        check(g.vm.poll() is None, "QEMU has ended")
    note(f"{args.times} kills, the guest went on each time; "
         f"recordings at most {behind:.2f} s behind (start included, not what "
         "others had the CPUs)")
    check(behind <= 1.5, f"a recording ends {behind:.2f} s before the kill")


# As a shell, a daemon or cron may start it.
CLOSED = ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-")


def closed(args, us):
    """Nothing that it prints may reach the VMM where a standard stream is closed."""
    with guest(args, "shares", 1) as g:
        g.wait("READY")
        out = us.data("closed.data")
        for streams in CLOSED:
            done = subprocess.run(["sh", "-c", f'"$@" {streams}', "sh", us.program,
                                   "record", "--backend", args.backend, "-d", "0.3",
                                   "-e", g.elf, "-o", out, g.target(args.backend)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            check(done.returncode in (0, 1), f"{streams}: exit {done.returncode}")
            check(g.goes_on(), f"{streams}: the guest stands still: {done.stdout}")
            us.run("report", out)


class Owner:
    """A second monitor, as libvirt has one."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("r")
        self.file.readline()  # its greeting
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command,
                                        "arguments": arguments}).encode())
        while True:
            said = json.loads(self.file.readline())
            if "event" not in said:
                return said.get("return")

    def runs(self):
        return self.ask("query-status")["running"]


def stays_paused(owner, looks=8):
    """It goes on at the next resume, within a look's time, or not at all."""
    for _ in range(looks):
        time.sleep(0.05)
        if owner.runs():
            return False
    return True


def pauses(args, us):
    """Its owner pauses the guest at random moments while it is sampled.  A stop of a guest
    that uniscope holds is lost (docs/safety.md); one of the next is not, and is kept."""
    rng, lost, n = random.Random(args.seed), 0, 2 * args.times
    with tempfile.TemporaryDirectory(prefix="uniscope-") as where:
        monitor = os.path.join(where, "owner")
        with start(args.build, "shares", args.accel, 1, processor=args.processor,
                   extra=("-qmp", f"unix:{monitor},server=on,wait=off")) as g:
            g.wait("READY")
            owner, out = Owner(monitor), us.data("paused.data")
            p = subprocess.Popen([us.program, "record", "--backend", args.backend, "-e",
                                  g.elf, "-o", out, g.target(args.backend)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            g.wait_for(lambda: os.path.exists(out) and os.path.getsize(out),
                       what="recording")
            for i in range(n):
                time.sleep(rng.uniform(0.0, 0.1))
                for again in range(100):
                    owner.ask("stop")
                    if stays_paused(owner):
                        break
                    lost += 1
                check(again < 99, f"pause {i}: 100 stops in a row were undone")
                check(p.poll() is None, "it ended by itself")
                owner.ask("cont")
                check(g.goes_on(), f"pause {i}: the guest stands still after cont")
            p.send_signal(signal.SIGINT)
            err = patience.communicate(p, 60)[1]
            check(p.returncode == 0, f"exit {p.returncode}: {err}")
            check(owner.runs(), "the guest is paused after the end")
    note(f"{n} pauses; {lost} stops fell into a hold and were lost")


def migrates(args, us):
    """The guest migrates while it is sampled: it runs where it goes, and stands where it
    was."""
    with tempfile.TemporaryDirectory(prefix="uniscope-") as where:
        def monitor(name):
            path = os.path.join(where, name)
            return path, ("-qmp", f"unix:{path},server=on,wait=off")

        def guest_of(name, *extra):
            path, option = monitor(name)
            return path, start(args.build, "shares", args.accel, 1,
                               processor=args.processor, extra=(*option, *extra))

        way_there = "unix:" + os.path.join(where, "migration")
        from_path, source = guest_of("source")
        to_path, goal = guest_of("goal", "-incoming", way_there)
        with source, goal:
            source.wait("READY")
            goal.wait_for(lambda: os.path.exists(way_there[5:]), what="socket")
            owner, there, out = Owner(from_path), Owner(to_path), us.data("migrated.data")
            p = subprocess.Popen([us.program, "record", "--backend", args.backend, "-e",
                                  source.elf, "-o", out, source.target(args.backend)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            source.wait_for(lambda: os.path.exists(out) and os.path.getsize(out),
                            what="recording")
            # Not so fast that it begins and ends within a sample on a busy host.
            owner.ask("migrate-set-parameters", **{"max-bandwidth": 1_000_000})
            owner.ask("migrate", uri=way_there)
            source.wait_for(lambda: owner.ask("query-migrate")["status"] == "completed",
                            what="end of the migration")
            goal.wait_for(lambda: there.ask("query-status")["status"] != "inmigrate",
                          what="end of the migration")
            check(there.runs(), "the guest is paused where it went")
            time.sleep(0.5)
            check(not owner.runs(), "the guest runs on where it was")
            check(p.poll() is None, "it ended by itself")
            p.send_signal(signal.SIGINT)
            err = patience.communicate(p, 60)[1]
            check(p.returncode == 0, f"exit {p.returncode}: {err}")


def stopped(args, us):
    """Ctrl-Z at random moments: uniscope stops, the guest does not."""
    rng, out = random.Random(args.seed), us.data("stopped.data")
    with guest(args, "shares", 2) as g:
        g.wait("READY")
        p = subprocess.Popen([us.program, "record", "--backend", args.backend, "--budget",
                              "50", "-e", g.elf, "-o", out, g.target(args.backend)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        g.wait_for(lambda: os.path.exists(out) and os.path.getsize(out), what="recording")
        for i in range(args.times + 5):
            time.sleep(rng.uniform(0.0, 0.2))
            p.send_signal(signal.SIGTSTP)
            status = os.waitpid(p.pid, os.WUNTRACED)[1]
            check(os.WIFSTOPPED(status), f"stop {i}: it has ended: {status:#x}")
            check(g.goes_on(), f"stop {i}: the guest stands still")
            p.send_signal(signal.SIGCONT)
        p.send_signal(signal.SIGINT)
        err = patience.communicate(p, 60)[1]
        check(p.returncode == 0, f"exit {p.returncode}: {err}")
        us.run("report", out)


def vmm(args, us):
    """The VMM is killed while attached: no hang, the recording says so."""
    for i in range(min(3, (args.times + 1) // 2)):
        with guest(args, "shares", 1) as g:
            g.wait("READY")
            out = us.data(f"gone{i}.data")
            p = subprocess.Popen([us.program, "record", "--backend", args.backend,
                                  "--json", "-e", g.elf, "-o", out,
                                  g.target(args.backend)],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            g.wait_for(lambda f=out: os.path.exists(f) and os.path.getsize(f),
                       what="recording")
            time.sleep(0.5 + i / 3)
            g.vm.kill()
            text, err = patience.communicate(p, 60)
            check(p.returncode == 0, f"exit {p.returncode}: {err}")
            end = json.loads(text)["end"]
            check("gone" in end or "touch" in end, f"the end is {end!r}")
            us.run("report", out)


def reboot(args, us):
    """The guest resets again and again: no hang, samples before and after."""
    with guest(args, "reboot", 1) as g:
        g.wait("READY")
        stats = us.record_enough(g, args.backend, "--budget", "50",
                                 seconds=4 if args.times > 3 else 2.5, enough=11)
        note(f"{g.serial().count('READY')} boots, {stats['running']} samples")
        us.report()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("backend")
    p.add_argument("accel")
    p.add_argument("processor", nargs="?", default="x86_64")
    p.add_argument("--times", type=int, default=10)
    p.add_argument("--pauses", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    try:
        require_way(args)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    us, tap = Uniscope(args.build), Tap()
    who = way(args)
    tap.point(f"{who}: {args.times} kills of uniscope", lambda: profiler(args, us))
    if args.backend != "plugin":  # it holds nothing
        tap.point(f"{who}: the terminal stops uniscope", lambda: stopped(args, us))
    if args.times > 1:  # it starts uniscope or guests often: on emulated hosts by night
        tap.point(f"{who}: standard streams are closed", lambda: closed(args, us))
        tap.point(f"{who}: the VMM is killed", lambda: vmm(args, us))
    if args.pauses:
        tap.point(f"{who}: its owner pauses the guest", lambda: pauses(args, us))
        tap.point(f"{who}: the guest migrates", lambda: migrates(args, us))
    tap.point(f"{who}: the guest reboots", lambda: reboot(args, us))
    tap.end()


main()
