#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux with KASLR, profiled under TCG, against what the guest says of itself.

usage: test_linux.py BUILD [--only WORD] [--backend B] [--accel A] [--seconds S]
       [--short]

The oracle of kernel names is the guest's own /proc/kallsyms.
"""
import contextlib
import json
import re
import sys
from collections import Counter

from begin import options, or_skip
from guest import IDLE_WORK, KERNEL_WORK, LinuxGuest, kernel, vmlinux_elf
from harness import Skip, Tap, Uniscope, check, note, require
from naming import Classes, expected_paths, kernel_parts, reported_paths
from recording import Recording
import waiting

LINKED_STEXT = 0xFFFFFFFF81000000
WHOLE = 0.99
POLLS = "idle=poll"  # for a kernel that is not to halt
# Work that begins when the test says so: one boot does for all that is asked of a kind.
WORKS = f"""
idle_work() {{
{IDLE_WORK}
}}
kernel_work() {{
{KERNEL_WORK}
}}
"""
# name: (cpu model, vCPUs, are there five levels of page tables?)
KINDS = {"5-level x1": ("max", 1, True), "4-level x2": ("qemu64", 2, False)}


def alike(path, other):
    """How many frames, from outside or inside, are the same."""
    ends = [zip(path, other), zip(reversed(path), reversed(other))]
    return max(next((i for i, (a, b) in enumerate(e) if a != b), len(path)) for e in
               (list(end) for end in ends))


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        self.slides = set()
        self.guest = self.kallsyms = None
        self.at_work, self.pid = None, 0
        # What is asked of names and slides shows in fewer samples; shares need them.
        self.part = 0.5 if args.short else 1

    def start(self, kind, append=""):
        cpu, smp, _ = KINDS[kind]
        if self.args.accel == "kvm":
            cpu = "host"
        if self.args.short and smp == 1:  # what polls is asked of it, too
            append = POLLS
        self.guest = LinuxGuest(self.args.build, cpu=cpu, smp=smp, work=WORKS,
                                accel=self.args.accel, append=append,
                                programs=self.programs())
        self.guest.wait("READY")
        check("FATAL" not in self.guest.serial(), self.guest.serial())
        self.kallsyms = self.guest.kallsyms()
        self.slides.add(self.kallsyms.address("_stext") - LINKED_STEXT)

    def programs(self):
        """Without a compiler, as in a rig, there is none, and one point less."""
        with contextlib.suppress(Skip):
            return {"waits": waiting.program(self.args.build)}
        return {}

    def end(self):
        if self.guest:
            self.guest.__exit__()
        self.guest = self.at_work = None

    def working(self, kind, work, **more):
        """The guest of this kind, at that work, without a symbol file; it is booted where
        none runs."""
        if not self.guest:
            self.start(kind, **more)
        if self.at_work != work:
            if self.at_work:
                self.guest.stop(self.pid)
            self.at_work = work
            self.pid = int(self.guest.do(work + " >/dev/null 2>&1; echo $!"))
        self.guest.elf = None
        return self.guest

    def as_stated(self, kind):
        """The rig itself: page tables, KASLR, the oracle."""
        _, smp, five = KINDS[kind]
        oracle, names = self.working(kind, "idle_work").oracle(), self.kallsyms
        check(oracle["cpuinfo"].count("processor\t") == smp, "vCPUs")
        check(("la57" in oracle["cpuinfo"]) == five, "levels of page tables")
        check(names.in_kernel_text(names.address("schedule")), "no names")
        check(any(s.module == "virtio_blk" for s in names.symbols), "no modules")
        note(f"{kind}: _stext at {names.address('_stext'):#x}, "
             f"{len(names.symbols)} symbols")

    def kernel(self, kind):
        """Without a symbol file: every name, the slide, and how whole the stacks are."""
        g = self.working(kind, "kernel_work")
        self.us.record_enough(g, self.args.backend, "--budget", "50",
                              seconds=self.args.seconds, enough=200)
        check(g.do("echo still here").strip() == "still here", "the guest is gone")
        with g.standing():
            recording, report = Recording(self.us.data()), self.us.report()
            self.names(kind, recording, report, Classes(self.kallsyms))
            self.slide(kind, report, self.kallsyms)
            self.whole(kind, recording, self.kallsyms)

    def names(self, kind, recording, report, classes):
        want, got = expected_paths(recording, classes), reported_paths(report, classes)
        n, frames = sum(want.values()), sum(len(p) * k for p, k in want.items())
        # Those of the idle task in a loop that waits are told apart.
        idle = {p: k for p, k in (want - got).items() if "do_idle" in p}
        told = report["summary"].get("idle_by_stack", 0)
        # Samples that came late count for the stack that their vCPU had next.
        late = report["summary"]["late"]
        if sum(idle.values()) <= told <= sum(idle.values()) + late:
            want, n = want - Counter(idle), n - sum(idle.values())
        wrong = want - got
        # The report counts as idle, not as busy, what the idle task's own stack tells.
        idle = {path: k for path, k in wrong.items() if classes.of("do_idle") in path}
        if sum(idle.values()) <= told <= sum(idle.values()) + late:
            wrong -= Counter(idle)
            n -= sum(idle.values())
        note(f"{kind}: {n} stacks in the kernel, {frames} frames, "
             f"{sum(wrong.values())} stacks with a wrong name")
        other = got - want
        for path, count in wrong.most_common(5):
            note(f"{count}: should be {';'.join(path)}")
            for like in sorted(other, key=lambda p: -alike(p, path))[:2]:
                note(f"{other[like]}: reported  {';'.join(like)}")
        check(n >= 100, f"only {n} samples in the kernel")
        check(not wrong and n <= sum(got.values()) <= n + late, "not the same names")

    def slide(self, kind, report, kallsyms):
        said = report["facts"].get("linux", "nothing")
        note(f"{kind}: {said}")
        check(f"slide {kallsyms.address('_stext') - LINKED_STEXT:#x}" in said,
              f"_stext is at {kallsyms.address('_stext'):#x}")

    def whole(self, kind, recording, kallsyms):
        n, whole, cut = kernel_parts(recording, kallsyms, 3)
        note(f"{kind}: {whole} of {n} stacks are whole down to an entry or a thread; "
             f"others end in {', '.join(f'{f} {k}' for f, k in cut.most_common(8))}")
        check(n and whole >= WHOLE * n, "too many stacks are cut, or none was looked at")

    def proc_stacks(self, g):
        """pid: (name, state, [(function, offset)], times that it left its CPU) by the
        guest's own /proc."""
        # Few programs, for to start one a task takes seconds; and the switches last: where
        # they are as before, the stack was this one from that time to this.
        said = g.do("grep -Hs '' /proc/[0-9]*/stat; grep -Hs '' /proc/[0-9]*/stack; "
                    "grep -Hs ctxt_switches: /proc/[0-9]*/status; true")
        stacks = {}
        for pid, file, text in re.findall(r"^/proc/(\d+)/(\w+):(.*)", said, re.M):
            if file == "stat":
                name, state = re.match(r"\d+ \((.*)\) (\S) ", text).groups()
                stacks[int(pid)] = name, state, [], []
            elif int(pid) not in stacks:
                continue  # it came meanwhile
            elif frame := re.match(r"\[<0>\] ([^+]+)\+0x([0-9a-f]+)/", text):
                stacks[int(pid)][2].append((frame[1], int(frame[2], 16)))
            elif file == "status":
                stacks[int(pid)][3].append(text)
        return stacks

    def same_stack(self, frames, said):
        """The kernel leaves out what belongs to the scheduler."""
        names = self.kallsyms
        outside = [f for f in frames if not f["user"] and not any(
            names.address(begin) <= int(f["pc"], 16) < names.address(end)
            for begin, end in (("__sched_text_start", "__sched_text_end"),
                               ("__lock_text_start", "__lock_text_end")))]
        return len(outside) == len(said) and all(
            f["function"] == name and int(f["pc"], 16) - offset in
            {s.address for s in names.symbols if s.name == name}
            for f, (name, offset) in zip(outside, said))

    @staticmethod
    def same_name(name, said):
        """/proc says of the kernel's workers what they work at, too, but cuts the names of
        their rescuers."""
        return (name == said or name.startswith("kworker/") and said.startswith(name)
                or len(said) == 15 and name.startswith(said))

    @staticmethod
    def is_whole(task):
        """Its part in the kernel: Debian's busybox has no rules for its own code."""
        return task.get("end") == "root" or task["frames"][-1]["user"]

    def tasks(self, kind):
        """Every task, and what it waits for, as the guest's own /proc says."""
        g = self.working(kind, "idle_work")
        pids = [int(g.do(f"{command} >/dev/null 2>&1 & echo $!"))
                for command in ("sleep 1000", f"cat /dev/{g.board.console}", "dd if=/dev/zero of=/dev/null")]
        before = self.proc_stacks(g)
        got = waiting.dump_tasks(self.us, g.target(self.args.backend), self.args.backend)
        after = self.proc_stacks(g)
        for pid in pids:
            g.do(f"kill {pid}")
        tasks = {t["pid"]: t for t in got["tasks"]}
        # What ran meanwhile may have been in another place; 1 runs what is asked here.
        still = {pid: stack for pid, stack in after.items()
                 if stack == before.get(pid) and stack[1] in "SDI" and stack[2] and pid > 1}
        wrong = [f"{pid} {stack}: {tasks.get(pid)}" for pid, stack in still.items()
                 if pid not in tasks or not self.same_name(tasks[pid]["name"], stack[0])
                 or tasks[pid]["state"] != stack[1] or not self.is_whole(tasks[pid])
                 or not self.same_stack(tasks[pid]["frames"], stack[2])]
        note(f"{kind}: {len(tasks)} tasks, {len(still)} that waited all the time, "
             f"{len(wrong)} with another stack than in /proc")
        check(not got["tasks_missing"] and not wrong, "; ".join(w[:1500] for w in wrong[:3]))
        check(len(still) > 30 and set(pids[:2]) <= set(still), f"only {sorted(still)}")
        missing = [pid for pid in after if pid in before and pid not in tasks]
        check(not missing, f"not listed: {missing}")
        check(tasks[pids[2]]["on_cpu"] or tasks[pids[2]]["state"] == "R", tasks[pids[2]])
        check(all(tasks[pid]["process"] == pid for pid in pids), "another process")

    def cpu_times(self, g):
        """pid: ticks, by the guest's own count."""
        said = g.do("cat /proc/[0-9]*/stat 2>/dev/null; true")
        found = re.findall(r"^(\d+) \(.*\) \S (?:\S+ ){10}(\d+) (\d+) ", said, re.M)
        return {int(pid): int(user) + int(system) for pid, user, system in found}

    def processes(self, kind):
        """Whose the CPU time is, as the guest itself counts it, which knows nothing of the
        time that a vCPU waits for a CPU of the host.  At a low rate: what comes due while
        a sample is taken falls on those who are slow to stop."""
        g = self.working(kind, "idle_work")
        work = {"one": "taskset 1 sh -c 'while :; do :; done'",
                "dd": "taskset 2 dd if=/dev/zero of=/dev/null bs=64k",
                "two": "taskset 2 sh -c 'while :; do :; done'"}
        pids = {name: int(g.do(f"{command} >/dev/null 2>&1 & echo $!"))
                for name, command in work.items()}
        before = self.cpu_times(g)
        self.us.record_enough(g, self.args.backend, "--budget", "50", "-F", "97", seconds=6,
                              enough=300)
        after = self.cpu_times(g)
        for pid in pids.values():
            g.do(f"kill {pid}")
        report = self.us.report("--group-by", "process")
        groups = {group["name"]: group for group in report["groups"]}
        ticks = {pid: after[pid] - before[pid] for pid in after if pid in before}
        all_ticks, running = sum(ticks.values()), report["summary"]["running"]
        ran = running - self.us.waited()
        note(f"{kind}: " + ", ".join(f"{name}: {group['samples']}" for name, group in
                                     list(groups.items())[:6]) + f" of {running}, {ran} ran")
        wrong = []
        for name, pid in pids.items():
            group = next((x for n, x in groups.items() if n.endswith(f" ({pid})")), None)
            share, got = ticks[pid] / all_ticks, group["samples"] / ran if group else 0
            note(f"{kind}: process {pid} {name}: {100 * got:.1f} %, by its own count "
                 f"{100 * share:.1f} %")
            low, high = (x * running / ran for x in group["interval"]) if group else (0, 0)
            widen = (3.29 / 1.96 - 1) * (high - low) / 2 + 0.05
            if not low - widen <= share <= high + widen:
                wrong.append(name)
        check(not wrong, f"other shares: {wrong}")
        note(f"{kind}: whose it is, of {running}: {report['owners']}")
        unknown = groups.get("[not known]", {}).get("samples", 0) - (running - ran)
        unknown = max(0, unknown) / ran
        note(f"{kind}: {100 * unknown:.1f} % of processes that are not known")
        check(unknown < 0.1, "not known")

    def waits(self, kind):
        """What tasks wait for, as the guest's own /proc says."""
        waiting.program(self.args.build)
        g = self.working(kind, "idle_work")
        # A host in emulation takes some 50 times as long for a look, after which it has
        # to rest accordingly.
        seconds, looks = (90, 4) if self.args.accel == "kvm" else (4, 10)
        waiting.test(self.us, g, self.args.backend, seconds, looks)

    def running(self, kind):
        waiting.program(self.args.build)
        waiting.test_running(self.us, self.working(kind, "idle_work"), self.args.backend)

    def waits_live(self, kind):
        waiting.program(self.args.build)
        g = self.working(kind, "idle_work")
        waiting.test_live(self.us, g, self.args.backend, 6)

    def idle(self, kind):
        """Asleep, but for a blink: counted as idle, and each vCPU is in the idle task."""
        g = self.working(kind, "idle_work")
        stats = self.us.record(g, "gdb", "--budget", "50", seconds=4)
        share = stats["idle"] / max(1, stats["idle"] + stats["running"])
        note(f"{kind}: {100 * share:.1f} % idle")
        check(share > 0.5, f"idle for {100 * share:.1f} % only")
        for _ in range(20):
            vcpus = json.loads(self.us.run("dump", "--json", g.target("gdb")).stdout)
            stacks = [[f["function"] for f in v["frames"]] for v in vcpus["vcpus"]]
            if all("do_idle" in names for names in stacks):
                note(f"{kind}: {' < '.join(stacks[0])}")
                return
        raise AssertionError(f"not in the idle task: {stacks}")

    def slides_differ(self):
        """Two boots have the same one once in some hundred times; without KASLR it is none."""
        check(len(self.slides) > 1 or self.slides != {0}, "KASLR is off: no boot had a slide")

    def slide_of_vmlinux(self, kind):
        """vmlinux has neither symbols nor the slide: found by the text that runs."""
        g = self.working(kind, "kernel_work")
        slide = self.kallsyms.address("_stext") - LINKED_STEXT
        g.elf = vmlinux_elf(self.args.build)
        for times in (1, 2, 4):  # until it was found, the guess is that there is no slide
            self.us.record(g, "gdb", "--budget", "50", seconds=self.part * 5 * times)
            module = self.us.report()["modules"][0]
            note(f"{kind}: slide {slide:#x}, found {module['bias']}, {module['match']}")
            if module["match"] == "yes":
                break
        check(module["match"] == "yes" and int(module["bias"], 16) == slide,
              f"not found: {module}")

    def record_whole(self, guest, seconds):
        """Without any symbol file.  A busy host can lose the stub: try again."""
        for backend in ("gdb", "qmp", "gdb", "qmp"):
            figures = self.us.record(guest, backend, "--budget", "50", seconds=seconds)
            r = Recording(self.us.data())
            if "linux" in r.facts and len(r.samples) > 200:
                return figures, r
        raise Skip(f"the host is too busy: {len(r.samples)} samples, {r.facts}")

    def own_names(self, kind):
        """Of a guest without a symbol file: each sampled address of the kernel has the
        name that the guest's /proc/kallsyms gives it, and so has each caller."""
        g = self.working(kind, "kernel_work")
        truth = self.kallsyms
        _, r = self.record_whole(g, self.part * 8)
        note(r.facts["linux"])
        slide = int(re.search(r"slide (0x[0-9a-f]+)", r.facts["linux"])[1], 16)
        check(slide == truth.address("_stext") - LINKED_STEXT, f"slide {slide:#x}")
        with g.standing():
            seen = self.check_names(r, truth)
        modules = {m for _, m in seen.values()}
        note(f"{kind}: {len(seen)} addresses, all named as in /proc/kallsyms; "
             f"modules {sorted(modules)}; {len(r.names)} names in the recording")
        check(len(seen) > 100 and "linux" in modules, "too few addresses")
        self.check_stacks(kind, r)
        check(g.do("echo still here").strip() == "still here", "the guest is gone")

    def check_names(self, r, truth):
        seen = {f.call() for s in r.samples for f in s.frames if f.is_kernel()}
        seen = {at: r.name(at) for at in seen}
        wrong = [(hex(at), name, truth.names(at)) for at, name in seen.items()
                 if not name or name[0] not in truth.names(at)]
        check(not wrong, f"{len(wrong)} of {len(seen)} addresses: {wrong[:5]}")
        return seen

    def check_stacks(self, kind, r):
        """Stacks end where the kernel is entered, or where a task begins; once ORC is
        in use."""
        entry = re.compile(r"(entry_|asm_|ret_from_fork|secondary_startup|xen_|common_"
                           r"interrupt_return|swapgs_restore|syscall_return|"
                           r"restore_regs|native_i?ret|irqentry_exit_to_user|error_)")
        whole = total = 0
        cut, ready = {}, float(r.facts["linux_ready_s"])
        for s in r.samples:
            kernel = [f for f in s.frames if f.is_kernel()]
            if not kernel or s.t <= ready:
                continue
            name = (r.name(kernel[-1].call()) or ("?",))[0]
            # What jumps through the stack was called by somebody.
            ok = bool(entry.match(name)) or (s.whole() and
                                             not name.startswith("__x86_"))
            total += s.weight
            whole += s.weight * ok
            if not ok:
                cut[name, s.end] = cut.get((name, s.end), 0) + s.weight
        worst = sorted(cut.items(), key=lambda c: -c[1])[:6]
        note(f"{kind}: {100 * whole / max(total, 1):.2f} % of {total} kernel stacks end "
             f"at an entry; else {worst}")
        check(total and whole >= WHOLE * total, "stacks are cut")

    def idle_without_halt(self, kind):
        """A kernel that polls while it has nothing to do is idle, not busy."""
        g = self.working(kind, "idle_work", append=POLLS)
        self.record_whole(g, self.part * 5)
        s = self.us.report()["summary"]
        total = s["running"] + s["idle"]
        note(f"{kind}: idle {s['idle']} of {total}, {s.get('idle_by_stack', 0)} of "
             f"them by their stack")
        check(s.get("idle_by_stack", 0) > 0.5 * total, "polling counts as work")

    def point(self, name, function, *args):
        if self.args.only in name:
            self.tap.point(name, lambda: function(*args))

    def run(self):
        for kind, (_, smp, _) in KINDS.items():
            self.point(f"the guest is as stated: {kind}", self.as_stated, kind)
            if smp == 1 and self.args.short:
                self.point("idle without HLT", self.idle_without_halt, kind)
            if smp > 1:
                self.point("idle vCPUs", self.idle, kind)
                self.point("tasks", self.tasks, kind)
                self.point("processes", self.processes, kind)
                self.point("what tasks wait for", self.waits, kind)
                self.point("names of what runs, in a dump", self.running, kind)
            if smp > 1 and not self.args.short:
                self.point("what tasks wait for, in top and serve", self.waits_live, kind)
            # Of one kind each, in the short run.
            if smp > 1 or not self.args.short:
                self.point(f"names and stacks from guest memory alone: {kind}",
                           self.kernel, kind)
            if smp == 1 or not self.args.short:
                self.point(f"slide of vmlinux: {kind}", self.slide_of_vmlinux, kind)
                self.point(f"names and stacks without a file: {kind}", self.own_names, kind)
            self.end()
        # Each vCPU polls, and takes a CPU of the host for it.
        if not self.args.short:
            self.point("idle without HLT", self.idle_without_halt, "4-level x2")
            self.end()
        self.point("KASLR is on", self.slides_differ)
        self.tap.end()


def main():
    # backend: of names, slide and stacks; short: each of one kind.
    args = options(only="", backend="gdb", accel="tcg", seconds=6.0, short=False).parse_args()
    with or_skip():
        require(args.accel)
        kernel(args.build)
    Suite(args).run()


if __name__ == "__main__":
    sys.exit(main())
