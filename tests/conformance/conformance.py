#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""One suite for all backends: profiles of the test guests against their own truth.

usage: conformance.py BUILD BACKEND ACCEL [PROCESSOR] [--seconds S] [--only WORD]...
       [--short] [--figures only|none] [--exits-apart]

A guest states on its serial port how much time each function took and which call
paths exist.  Every sampled stack must be such a path, and every function's share
must lie within the interval that the report states, widened from 95 % to 99.9 % since
many are compared (z 3.29 instead of 1.96) plus 0.5 points for the guest's own clock.
The truth is of another span than the recording's: from the TRUTH line before it to the
one behind.  So it is the interval for the long run that must hold, not that for the
recorded span.
A vCPU that waits for a host CPU stands still by its own clock too, somewhere, and one
that had halted by the time it was stopped was busy nobody knows where: such samples
are left out of the comparison of functions.
A comparison of figures that fails is made again, twice at most: chance and a busy host
do not repeat themselves, a bias does.  A wrong stack is never excused.
With --exits-apart the function that prints is left out of both, and the samples in the
one that sets a timer to wait: on an emulated host an exit takes as long as thousands of
instructions, and waits for other threads.  The first is also left out where vCPUs waited
for a host CPU for a fifth of the time: one that sleeps in an exit is let run sooner than
one that computes, so the functions do not wait alike.
Under TCG samples fall on the start of translation blocks: there the shift is measured
and printed, and bounded loosely.
"""
import math
import os
import re
import subprocess
import time

import points
from harness import (Skip, Tap, Uniscope, check, longer, note, processor_of, start, truth,
                     waited)

Z = 3.29
CLOCK_POINTS = 0.5  # percentage points
TCG_POINTS = 12.0
# By the plugin's own clock its time is not the guest's; by the guest's it is.
PLUGIN_POINTS = 1.5
# The guest's clock goes on while its vCPUs wait for a host CPU, and counts that for the
# function in which they happen to be.  Where it is more than this part of the time, in
# all three recordings, the truth is made of chance.
MOST_WAITED = 0.5
# The guest's function that does nothing but exits to the VMM.
PRINTS = "serial_write"
# Where it sets its timer and halts: idle time by its own clock, all of it.
WAITS = "wait_for_packets"
# Those in which it reads its clock, and which it counts for the function before or
# behind: on an emulated host they take a part of the time that shows.  They are left out
# of the samples there, and nobody knows what of the truth they are: that much it may err.
MEASURES = ("truth_enter", "truth_call")
# Page tables of other processors than x86, which has modes.py.
MODES = {"aarch64": ("39bit", "large", "16k", "64k", "52bit", "o0", "slide"),
         "riscv64": ("sv39", "sv57", "large", "o0", "slide")}


def wilson(k, n, z=Z):
    """Half width of the score interval and its centre, in percent."""
    p = k / n
    d = 1 + z * z / n
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return 100 * (p + z * z / (2 * n)) / d, 100 * half


def owner(path, names):
    """The innermost frame that the truth names: what is too short to be timed by the
    guest counts for the function around it there, so it does here."""
    return next((f for f in reversed(path) if f in names), None)


class FewSamples(AssertionError):
    def __init__(self, n, waited=0):
        super().__init__(f"only {n} samples")
        self.n, self.waited = n, waited  # the share that waited for a host CPU


class Differs(AssertionError):
    def __init__(self, text, waited):
        super().__init__(text)
        self.waited = waited


class WrongStack(Exception):
    """Never excused by a busy host."""


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.processor = processor_of(args)
        self.no_system_calls = None  # why
        # Stacks are right or wrong; it is shares that take samples.  In rigs they are few:
        # to interrupt a guest of an emulated KVM takes long.
        self.in_rig = "PATIENCE" in os.environ
        enough = 0.8 if not self.in_rig else 2 if args.backend == "kvm" else 1.2
        self.for_stacks = min(args.seconds, enough) if args.short else args.seconds
        # Xen is tested in emulation.
        self.tcg = args.accel in ("tcg", "pv", "pvh", "hvm")
        self.points_off = (PLUGIN_POINTS if args.backend == "plugin" else
                           TCG_POINTS if self.tcg else 0)

    def guest(self, name, smp=1, **more):
        if self.args.backend == "plugin":
            more["plugin"] = True
        return start(self.args.build, name, self.args.accel, smp,
                     processor=self.processor, **more)

    def budget(self):
        # The tests want samples; what a user wants is tested in budget().
        return ["--budget", "30" if self.args.backend == "kvm" else "50"]

    def record(self, guest, *more, seconds=None):
        """Record between two TRUTH lines; the truth of that time and the figures."""
        before = guest.wait_truth()
        pid = getattr(guest.vm, "pid", 0)  # a domain has none
        began, waits = time.monotonic(), waited(pid)
        stats = self.us.record(guest, self.args.backend, *self.budget(), *more,
                               seconds=seconds or self.args.seconds)
        after = guest.wait_truth()
        # The most of its threads: of one vCPU, the share of the time.
        self.waited = max((s - waits.get(thread, s) for thread, s in
                           waited(pid).items()), default=0)
        self.waited /= time.monotonic() - began
        self.tree = truth.parse(guest.serial())[-1].tree
        return truth.merge([truth.difference(b, a) for b, a in zip(before, after)]), stats

    def record_stacks(self, guest, *more, seconds):
        """As record(), for what is compared with no figures of the guest's: once it has
        stated some, no more are waited for."""
        if None in guest.truths():
            guest.wait_truth()
        # By kvm, a sample takes a rig long: with less, it would wait for most of the time.
        # (A Xen domain of one CPU that is held for most of it serves its timer alone.)
        much = self.in_rig and self.args.backend == "kvm"
        budget = ("--budget", "90") if much else self.budget()
        stats = self.us.record(guest, self.args.backend, *budget, *more, seconds=seconds)
        self.tree = truth.parse(guest.serial())[-1].tree
        return stats

    def sums_match(self, s):
        parts = ("running", "idle", "off", "late", "backed_off", "failed", "lost")
        check(s["due"] == sum(s[p] for p in parts), f"the sums do not match: {s}")
        check(s["lost"] == 0, f"{s['lost']} lost")

    def measured(self, n):
        """What the guest's reading of its clock took, in percent of n samples besides."""
        rows = self.us.paths(self.report, nowhere=False)
        reads = sum(count for _, count in rows) - n
        return 100 * reads / max(1, n + reads)

    def shares(self, t, label):
        """Every function's share of the busy time against the guest's truth."""
        rows = self.us.paths(self.report, nowhere=False,
                             without=MEASURES if self.args.exits_apart else ())
        n = sum(count for _, count in rows)
        measured = self.measured(n) if self.args.exits_apart else 0
        waited = 1 - n / max(1, sum(count for _, count in self.us.paths(self.report)))
        if self.args.exits_apart:
            rows = [(path, count) for path, count in rows if WAITS not in path]
            n = sum(count for _, count in rows)
        got, shares = {}, t.shares()
        for path, count in rows:
            who = owner(path, t.fn)
            got[who] = got.get(who, 0) + count
        if self.args.exits_apart or waited > 0.2:
            note(f"{label}: without {PRINTS}; waited {100 * waited:.0f} % of the time")
            n -= got.pop(PRINTS, 0)
            rest = 1 - shares.pop(PRINTS, 0)
            shares = {name: share / rest for name, share in shares.items()}
        if n < 100:
            raise FewSamples(n, waited)
        worst = 0
        for name, share in shares.items():
            centre, half = wilson(got.get(name, 0), n)
            half = max(half, self.stated_half(name) * Z / 1.96)
            diff = 100 * got.get(name, 0) / n - 100 * share
            worst = max(worst, abs(diff))
            line = (f"{label} {name}: {100 * got.get(name, 0) / n:.2f} %, truth "
                    f"{100 * share:.2f} %, +-{half:.2f}")
            if share > 0.02:
                note(line)
            bound = half + CLOCK_POINTS + measured + self.points_off
            if abs(centre - 100 * share) > bound:
                raise Differs("outside: " + line, waited)
        note(f"{label}: {n} samples, largest difference {worst:.2f} points"
             + (f", {measured:.2f} by the guest's clock" if measured else ""))

    def not_busy(self, stats, label):
        note(label + ": " + ", ".join(f"{what} {stats[what]}" for what in
                                      ("due", "running", "idle", "off", "late",
                                       "backed_off", "failed")))

    def stated_half(self, name):
        for f in self.report["functions"]:
            if f["name"] == name:
                return 50 * (f["self_long_run"][1] - f["self_long_run"][0])
        return 0

    def interrupt_entries(self):
        """What QEMU's plugin has below [interrupts], without what was interrupted."""
        name = {f["id"]: f["name"] for f in self.report["functions"]}
        of = {n["id"]: name[n["function"]] for n in self.report["tree"]}
        return {of[n["id"]] for n in self.report["tree"]
                if of.get(n["parent"]) == "[interrupts]"}

    def in_guest(self, path):
        """Without OpenSBI's functions, which have no names, that do what the guest's last
        function has called it for."""
        firmware = len(path)
        while (self.processor == "riscv64" and firmware and
               re.match("0x800[01][0-9a-f]{4}-", path[firmware - 1])):
            firmware -= 1
        return tuple(path[:firmware])

    def stacks(self, stats, label, whole=True):
        """Every stack frame by frame against the guest's call tree."""
        wrong, n, cut, firmware = {}, 0, 0, 0
        entries = self.interrupt_entries() if self.args.backend == "plugin" else ()
        for path, count in self.us.paths(self.report):
            n += count
            names = self.in_guest(path)
            # Of the firmware's first instructions nothing tells who has called it.
            firmware += count if path and not names else 0
            # Nothing but "[vm exit]": the VMM was at work, no registers to be had.
            if not names or names in self.tree:
                continue
            if any(t[-len(names):] == names for t in self.tree):
                # All that is there is right: the outer frames are missing.
                cut += 0 if names[0] in entries else count
            else:
                wrong[names] = wrong.get(names, 0) + count
        note(f"{label}: {n} stacks, {sum(wrong.values())} wrong, "
             f"{stats['truncated']} truncated")
        for names, count in sorted(wrong.items(), key=lambda w: -w[1])[:5]:
            note(f"wrong {count}: {';'.join(names)}")
        if wrong or cut > stats["truncated"]:
            raise WrongStack(f"{label}: {sum(wrong.values())} of {n} stacks are wrong, "
                             f"{cut} end early, and {stats['truncated']} say so")
        if whole:
            check(stats["truncated"] - firmware <= n / 1000 + 1,
                  f"{stats['truncated']} of {n} stacks are cut")

    def compare(self, guest, label, look, *options, seconds=None, figures=True):
        """Record and compare; look() raises what is wrong.  Longer each time: a busy host
        gives fewer samples.  figures: with those of the guest's, which look() is given."""
        seconds = seconds or self.args.seconds
        for left in (2, 1, 0):
            if figures:
                t, stats = self.record(guest, *options, seconds=seconds)
            else:
                t, stats = None, self.record_stacks(guest, *options, seconds=seconds)
            self.sums_match(stats)
            try:
                with guest.standing():
                    self.report = self.us.report()
                    look(t, stats)
                return
            except AssertionError as err:
                if not left and getattr(err, "waited", 0) > MOST_WAITED:
                    raise Skip(f"{label}: the vCPUs waited for a host CPU for "
                               f"{100 * err.waited:.0f} % of the time") from err
                if not left:
                    raise
                note(f"{label}: once more after: {err}")
                lack = 150 / max(err.n, 1) if isinstance(err, FewSamples) else 2
                most = 240 if self.args.exits_apart else 40  # an emulated host is slow
                seconds = longer(seconds, lack, left, most)

    def whole_guest(self, name, smp, shares=True, **more):
        label = f"{name} x{smp}"

        def look(t, stats):
            self.not_busy(stats, label)
            self.stacks(stats, label)
            if shares:
                self.shares(t, label)

        with self.guest(name, smp, **more) as g:
            g.wait("READY")
            self.compare(g, label, look, seconds=None if shares else self.for_stacks,
                         figures=shares)
            check(g.goes_on(), "the guest does not go on")

    def idle(self):
        """Idle share within 1 point of the truth, and no idle stack among the hot."""
        with self.guest("idle") as g:
            g.wait("READY")
            # In a rig dom0 and the domain share one CPU: what uniscope takes of it while
            # the domain works, that takes for busy time of its own.
            few = ("-F", "100") if self.args.backend == "xen" else ()
            self.compare(g, "idle", self.idle_share, *few,
                         seconds=max(12, self.args.seconds))

    def idle_share(self, t, stats):
        total = stats["idle"] + stats["running"]
        share, idle = stats["idle"] / total, t.idle_share()
        # A thread that waits for a host CPU as a look is due, if only to find that it has
        # nothing to do, and has halted by the time it stands: perhaps it was idle.
        unsure = (sum(n for path, n in self.us.paths() if not path)
                  + self.report["summary"]["late"]) / total
        if self.args.accel != "tcg":
            # The TSC goes on while the guest is held: it takes the time that was taken
            # from it for busy time of its own.  (TCG's stands with it.)
            idle /= 1 - stats["stolen_percent"] / 100
        self.not_busy(stats, "idle")
        note(f"{stats['stolen_percent']:.2f} % of the guest's time taken")
        note(f"idle {100 * share:.2f} %, perhaps {100 * unsure:.2f} % more, truth "
             f"{100 * idle:.2f} %, waited {100 * self.waited:.2f} %")
        # gdb and qmp on KVM: a thread that has halted polls for a while, and is taken
        # for one that was busy when the look was due.
        polls = 0.02 if not self.tcg and self.args.backend != "kvm" else 0
        bound = 0.01 + polls + self.idle_noise(stats, share)
        # One that was woken and waits for a host CPU is idle by its own clock.
        waits = unsure if self.tcg or self.args.backend == "bpf" else self.waited
        # By bpf, looks are late only while a vCPU is busy.  On the arm64 hosts, which are
        # emulated, they are many.
        slow = self.args.backend == "bpf" and self.processor == "aarch64"
        late = stats["late"] / (total + stats["late"]) if slow else 0
        check(share * (1 - late) - bound <= idle <= share + waits + bound,
              f"idle {share:.3f}, perhaps {unsure:.3f} more, truth {idle:.3f}, "
              f"late {late:.3f}, waited {self.waited:.3f}")
        for path, count in self.us.paths()[:5]:
            check(not path or "idle" not in path[-1], f"hot and idle: {path}")

    def idle_noise(self, stats, share):
        """Bursts of work last for several looks: fewer are independent than taken."""
        n = (stats["idle"] + stats["running"]) / 3
        return 1.96 * math.sqrt(share * (1 - share) / n)

    def hostile(self, name):
        """A guest whose frames or tables lie: recorded, counted, undisturbed."""
        with self.guest(name) as g:
            g.wait("READY")
            stats = self.us.record(g, self.args.backend, *self.budget(),
                                   seconds=1.5 if self.args.short else 3)
            self.sums_match(stats)
            note(f"{name}: {stats['running']} samples, {stats['truncated']} truncated")
            check(stats["running"] > 0, "no samples")
            check(g.goes_on(), "the guest does not go on")

    def no_frame_pointers(self):
        """As with them: one stack in a thousand may be cut."""
        self.whole_guest("shares-nofp", 1)

    def odd_stacks(self):
        """On stacks that begin 1, 2 or 4 bytes off a word, too, or are so after pushes."""
        for name in ("shares-skew", "shares-nofp-skew", "recurse-skew", "switch-skew",
                     "halves", "halves-nofp"):
            self.whole_guest(name, 1, shares=False)

    def odd_shares(self):
        for name in ("shares-skew", "shares-nofp-skew", "demo-skew"):
            self.whole_guest(name, 1)

    def ends(self, name, *options):
        """Threads that nobody called: every stack is whole."""
        def look(t, stats):
            self.not_busy(stats, name)
            self.stacks(stats, name)
            check(stats["truncated"] == 0, f"{stats['truncated']} stacks are cut")
            if stats["running"] < 100:
                raise FewSamples(stats["running"])

        with self.guest(name, 1, **({"extra": options} if options else {})) as g:
            g.wait("READY")
            self.compare(g, name, look, seconds=self.for_stacks, figures=False)
            check(g.goes_on(), "the guest does not go on")

    def spaces(self):
        """A host in EL2 (VHE) has old roots: then most stacks are cut, none is wrong."""
        host = subprocess.run(["dmesg"], capture_output=True, text=True).stdout
        old = self.args.backend == "bpf" and "VHE mode initialized" in host

        def look(t, stats):
            self.not_busy(stats, "spaces")
            self.stacks(stats, "spaces", whole=not old)
            if stats["running"] < 100:
                raise FewSamples(stats["running"])

        with self.guest("spaces") as g:
            g.wait("READY")
            self.compare(g, "spaces", look, seconds=self.for_stacks, figures=False)
            check(g.goes_on(), "the guest does not go on")

    def needs_system_calls(self, g):
        """A KVM that emulates its guests may have none: the entry faults for ever."""
        if self.args.accel != "kvm":
            return
        if os.path.exists("/sys/module/kvm_pvm"):
            raise Skip("no system calls in ring 3 of kernels that PVM has to emulate")
        try:
            if not self.no_system_calls:
                g.wait_truth(20)
        except RuntimeError as e:
            self.no_system_calls = str(e)
        if self.no_system_calls:
            raise Skip(f"no system calls in ring 3 on this KVM: {self.no_system_calls}")

    def enough(self, g, *options, below=()):
        """(paths, figures) of a hundred samples, some of them below each of these
        functions; a busy host takes longer for them."""
        seconds = self.for_stacks
        for left in (2, 1, 0):
            stats = self.record_stacks(g, *options, seconds=seconds)
            self.sums_match(stats)
            with g.standing():
                self.report = self.us.report()
            rows = self.us.paths(self.report)
            n = sum(count for _, count in rows)
            seen = all(any(name in path for path, _ in rows) for name in below)
            if (n >= 100 and seen) or not left:
                return rows, stats
            note(f"{n} samples in {seconds:.0f} s")
            # Few see little of what is rare; if a hundred do not, it takes many more.
            seconds = longer(seconds, (1000 if n >= 100 else 150) / max(n, 1), left)

    def ring3(self, name, smp):
        """Stacks go on from the kernel into the program below it, to its start."""
        label = f"{name} x{smp}"
        with self.guest(name, smp) as g:
            g.wait("READY")
            self.needs_system_calls(g)
            program = g.elf.replace(".elf", "-user.elf")
            entries = ("timer_entry", "gate_entry", "fault_entry", "syscall_entry")
            rows, stats = self.enough(g, "-e", program, below=entries)
            self.stacks(stats, label)
            n = sum(c for _, c in rows)
            for entry in entries:
                count = sum(c for p, c in rows if entry in p)
                note(f"{label}: {count} of {n} samples below {entry}")
                check(count, f"no sample below {entry}")
            others = sum(c for p, c in rows if p and p[0] != "user_start")
            check(others <= stats["truncated"],
                  f"{others} stacks do not begin where the program does")
            check(g.goes_on(), "the guest does not go on")

    def trampoline(self, *options, name="trampoline"):
        """The page by which programs enter is not where its symbols are; it has its names,
        and stacks go on below it, in the program's own address space: all are whole.  With
        one instruction a block, a sample may fall on any of those that enter and leave."""
        def look(_, stats):
            rows = self.us.paths(self.report)
            n = sum(c for _, c in rows)
            self.stacks(stats, "trampoline", whole=False)
            below = sum(c for p, c in rows if "user_trap" in p and p[0] == "user_start")
            note(f"trampoline: {below} through the kernel's entry")
            if n < 100:
                raise FewSamples(n)
            check(below > n / 8, "no program below the kernel")
            check(stats["truncated"] == 0, f"{stats['truncated']} of {n} are cut")

        with self.guest(name, 1, extra=options) as g:
            g.wait("READY")
            if self.processor == "x86_64":
                self.needs_system_calls(g)
            self.compare(g, "trampoline", look, "-e",
                         g.elf.replace(name, "trampoline-user"),
                         seconds=self.for_stacks, figures=False)
            check(g.goes_on(), "the guest does not go on")

    # What may leave the guest for these, by the guest's source; all else may be
    # interrupted by the host, and a page or a clock be brought, anywhere.
    DEVICE = {"x86_64": "port I/O", "aarch64": "memory or device"}
    LEAVES_FOR = {"port I/O": {"ask_device", PRINTS}, "halt": {"nap"}}

    def exit_rows(self):
        """[(reason, function, samples)]: what the reports say of exits."""
        functions = {f["id"]: f for f in self.report["functions"]}
        nodes = {n["id"]: n for n in self.report["tree"]}
        rows = []
        for node in nodes.values():
            name = functions[node["function"]]["name"]
            if not name.startswith("[vm exit: "):
                continue
            up = nodes.get(node["parent"])
            while up and functions[up["function"]]["inlined"]:
                up = nodes.get(up["parent"])
            rows.append((name[len("[vm exit: "):-1].split(",")[0],
                         up and functions[up["function"]]["name"], node["total"]))
        return rows

    def exits(self):
        """Where the time went is where it can have gone, and all of it."""
        def look(t, stats):
            time = self.report["time"]
            parts = {k: 100 * v / time["observed_ns"] for k, v in time.items()
                     if k.endswith("_ns") and k not in ("sample_ns", "observed_ns")}
            note(", ".join(f"{k[:-3]} {v:.2f} %" for k, v in parts.items() if v))
            check(abs(parts["sum_ns"] - 100) <= 1, "the parts are not the whole")
            rows = self.exit_rows()
            for reason, name, n in sorted(rows, key=lambda r: -r[2])[:5]:
                note(f"{n} samples: {reason} in {name}")
            for reason, name, n in rows:
                where = self.LEAVES_FOR.get(reason)
                check(not where or not name or name in where,
                      f"{n} samples: {reason} in {name}")
            check(any(r == (self.DEVICE[self.processor], "ask_device") for r in
                      ((reason, name) for reason, name, _ in rows)),
                  "no exit in ask_device")
            # What it waited for a host CPU, by the guest's clock it did something.
            idle, waits = 100 * t.idle_share(), parts["ready_ns"]
            note(f"idle {parts['idle_ns']:.1f} %, truth {idle:.1f} %")
            noise = 100 * self.idle_noise(stats, idle / 100)
            check(abs(parts["idle_ns"] - idle) <= 3 + waits + noise, "idle differs")

        with self.guest("exits") as g:
            g.wait("READY")
            self.compare(g, "exits", look, seconds=max(6, self.args.seconds))

    def host_stacks(self):
        """[(where, frames of the host, samples)]"""
        folded = self.us.run("report", "--host", "--format", "folded",
                             self.us.data()).stdout
        stacks = []
        for line in folded.splitlines():
            path, _, n = line.rpartition(" ")
            guest, exit_, host = path.partition("[vm exit:")
            where, _, frames = host.partition("]")
            check(not exit_ or not guest or guest.startswith("start_vcpu;"), line)
            if frames:
                stacks.append((where.strip().rsplit(", ", 1)[-1], frames[1:].split(";"), int(n)))
        return stacks

    def host(self):
        """Above the guest's functions, if asked: what the VMM did for them, from the
        start of its thread on; and else nothing of it."""
        def look(t, stats):
            stacks, outermost = self.host_stacks(), {}
            for where, frames, n in stacks:
                if where == "in the VMM":
                    outermost[frames[0]] = outermost.get(frames[0], 0) + n
            for place in sorted({where for where, _, _ in stacks}):
                frames, n = max(((f, n) for w, f, n in stacks if w == place),
                                key=lambda row: row[1])
                note(f"{place}, {n} samples: {';'.join(frames)}")
            # A thread begins in one place only.
            whole, n = max(outermost.values(), default=0), sum(outermost.values())
            note(f"host: {n} stacks of the VMM, {n - whole} cut")
            check(whole > 20 and whole >= 0.9 * n, "stacks of the VMM are cut")
            check(any("ioctl" in f for _, frames, _ in stacks for f in frames),
                  "no ioctl()")
            plain = self.us.run("report", "--format", "folded", self.us.data()).stdout
            check("ioctl" not in plain, "not asked for")

        with self.guest("exits") as g:
            g.wait("READY")
            self.compare(g, "host", look, "--host", "-F", "2000",
                         seconds=max(6, self.args.seconds))

    def budget_holds(self):
        """The default, 2 %, or 20 % where TCG emulates the guest: no more than that and
        one look, and it is said.  On a busy host the cost of looks may change faster than
        it is learnt: three tries."""
        percent = 20 if self.args.accel == "tcg" else 2
        with self.guest("shares") as g:
            g.wait("READY")
            for left in (2, 1, 0):
                stats = self.us.record(g, self.args.backend, seconds=4)
                note(f"default budget: {stats['hz_reached']:.0f} Hz, "
                     f"{stats['stolen_percent']:.2f} % taken")
                check(stats["budget_percent"] == percent, f"not {percent} %: {stats}")
                self.sums_match(stats)
                allowed = percent / 100 * stats["vcpu_ns"] + 1.05 * stats["held_max_ns"]
                if stats["stolen_ns"] <= allowed:
                    break
                check(left, f"took {stats['stolen_percent']} %")

    def gathers(self):
        """Where stops do not fall where the time goes, the report says so: in leaf by
        TCG's blocks, in polls by a lock, as the host's timing has it; not in shares."""
        said, seconds, many = {}, *((1, 500) if self.args.short else (2, 1000))
        # Of polls, nothing is asked for.
        for name, enough in (("leaf", many), ("polls", 1), ("shares", many)):
            with self.guest(name) as g:
                g.wait("READY")
                self.us.record_enough(g, self.args.backend, *self.budget(), seconds=seconds,
                                      enough=enough)
            said[name] = [w for w in self.us.report()["warnings"] if "do not fall" in w]
            note(f"{name}: {said[name]}")
        check(said["leaf"] and "leaf_" in said["leaf"][0], "nothing is said of leaf")
        check(not said["shares"], f"of shares, too: {said['shares']}")

    def two_at_once(self):
        with self.guest("shares") as a, self.guest("demo") as b:
            a.wait("READY")
            b.wait("READY")
            self.us.record_enough(a, self.args.backend, *self.budget(), seconds=2,
                                  enough=20)
            rows = self.us.paths()
            check(any("f60" in p[-1] for p, _ in rows if p),
                  f"the wrong guest was sampled: {rows}")

    def plugin_points(self):
        """It tells functions and nothing else: neither is there anything to unwind, nor
        a budget."""
        yield "shares x1", lambda: self.whole_guest("shares", 1), False, True
        yield "shares x2", lambda: self.whole_guest("shares", 2), True, True
        yield "demo x1", lambda: self.whole_guest("demo", 1), False, True
        yield "demo x2", lambda: self.whole_guest("demo", 2), False, True
        yield "four in one thread", self.in_turns, True
        for name in ("leaf", "recurse", "switch"):
            yield (name, lambda n=name: self.whole_guest(n, 1, shares=False),
                   name == "switch")
        yield "no frame pointers", self.no_frame_pointers, False, True
        yield "odd stacks", self.odd_stacks, False
        yield "where stacks end", lambda: self.ends("ends"), True
        yield "idle", self.idle, False, True
        yield "garbage frame pointers", lambda: self.hostile("badfp"), False
        yield "cyclic page tables", lambda: self.hostile("cyclic"), False
        yield "two guests", self.two_at_once, False

    def in_turns(self):
        """At any time one of them runs, and the others would if they could."""
        with start(self.args.build, "shares", "tcg,thread=single", 4, plugin=True) as g:
            g.wait("READY")
            try:
                self.us.record_enough(g, "plugin", seconds=self.for_stacks)
            except RuntimeError as err:
                if "this QEMU does not say" in str(err):
                    raise Skip("QEMU mixes the vCPUs of one thread up") from err
                raise
            report = self.us.report()
            time = report["time"]
            running, waits = (time[k] / time["observed_ns"]
                              for k in ("guest_ns", "ready_ns"))
            note(f"ran {100 * running:.1f} %, waited {100 * waits:.1f} %")
            check(0.01 < running < 0.3 and running + waits > 0.95, f"{time}")

    def points(self):
        """(name, function, is it in the short run, does it compare figures)"""
        if self.args.backend == "plugin":
            yield from self.plugin_points()
            return
        # In the short run one backend has them all.
        first = (self.args.backend, self.args.accel, self.processor) == \
            ("gdb", "tcg", "x86_64")
        # Unwinding is the same in all: qmp and kvm only read registers and memory in
        # another way, which fewer stacks show.
        every = self.args.backend not in ("qmp", "kvm")
        # So it is in both processors with a link register: by night, all of the second one.
        own = every and self.processor != "riscv64"
        yield "shares x1", lambda: self.whole_guest("shares", 1), first, True
        yield "shares x2", lambda: self.whole_guest("shares", 2), True, True
        yield "demo x1", lambda: self.whole_guest("demo", 1), first, True
        yield "demo x2", lambda: self.whole_guest("demo", 2), first, True
        for name in ("leaf", "recurse", "switch"):
            yield (name, lambda n=name: self.whole_guest(n, 1, shares=False),
                   own or name == "recurse")
        yield "no frame pointers", self.no_frame_pointers, every, True
        if self.args.backend != "xen" or self.processor == "x86_64":
            yield "where stacks end", lambda: self.ends("ends"), every
            yield "where stacks end, no tables", lambda: self.ends("ends-nofp"), every
        # By an exception return from what is below the kernel.
        below = {"riscv64": ("mret", "-mret", ("-bios", "none")),
                 "aarch64": ("eret from EL2", "", ("-M", "virt,virtualization=on"))}
        if self.args.accel == "tcg" and self.processor in below:
            word, suffix, options = below[self.processor]
            for name in ("ends", "ends-nofp"):
                yield (f"where stacks end, {name} by {word}",
                       lambda n=name: self.ends(n + suffix, *options), True)
        if self.processor == "x86_64":
            yield "ring 3", lambda: self.ring3("ring3", 1), True
            yield ("ring 3 without tables", lambda: self.ring3("ring3-nofp", 1),
                   self.args.backend != "qmp")
            yield "odd stacks", self.odd_stacks, every
            yield "odd stacks, shares", self.odd_shares, False, True
            if self.args.accel == "kvm":
                yield "trampoline", self.trampoline, every
        # In TCG alone: the program is found by what gdb tells of the processor.
        if self.args.accel == "tcg":
            yield "trampoline", self.trampoline, every
            yield ("trampoline, each instruction", lambda: self.trampoline("-singlestep"),
                   every)
        if self.args.accel == "tcg" and self.processor == "riscv64":
            for options in ((), ("-singlestep",)):
                yield ("trampoline that jumps" + ", each instruction" * len(options),
                       lambda o=options: self.trampoline(*o, name="trampoline-jumps"), True)
        if self.processor == "aarch64":
            yield "two address spaces", self.spaces, True
        yield "idle", self.idle, True, True
        if self.args.backend == "bpf":
            yield "exits", self.exits, True, True
            yield "host", self.host, True
        yield "garbage frame pointers", lambda: self.hostile("badfp"), own
        yield "cyclic page tables", lambda: self.hostile("cyclic"), True
        yield "budget", self.budget_holds, self.processor == "x86_64", True
        yield "two guests", self.two_at_once, first
        if first:
            yield "stops gather", self.gathers, True, True
        for mode in MODES.get(self.processor, ()):
            yield mode, lambda m=mode: self.whole_guest("shares-" + m, 1), False, True


if __name__ == "__main__":
    points.main(Suite)
