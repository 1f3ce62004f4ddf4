#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is what Linux counts for its tasks what they have of the CPUs?  The table in
docs/linux-guests.md.

usage: current_task.py BUILD [KERNEL] [--seconds S] [--hz HZ] [--features WORD]

Debian's kernel under TCG with the programs of tests/linux/test_owners.py: what each vCPU's
current_task says at random times, read in QEMU's memory while the guest runs, beside the
guest's own count.  Nothing is stopped, and uniscope has no part in it.  --features: a word
for /sys/kernel/debug/sched/features, such as NO_WAKEUP_PREEMPTION.
"""
import os
import random
import re
import struct
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("linux", "conformance")]
import releases  # noqa: E402
from begin import asked_kernel, options, or_skip  # noqa: E402
from callers import Monitor  # noqa: E402
from harness import note, require  # noqa: E402
from test_owners import Suite  # noqa: E402

TASK_BYTES = 8192  # of a task_struct: its number and name are in them


class Memory:
    """Of a guest that runs, in QEMU's process."""

    def __init__(self, guest):
        self.monitor = Monitor(guest.qmp)
        self.fd = os.open(f"/proc/{guest.vm.pid}/mem", os.O_RDONLY)

    def ask(self, command):
        return self.monitor.command("human-monitor-command", **{"command-line": command})

    def hva(self, gva):
        """By what a vCPU has mapped: in a program it may not be there."""
        for _ in range(100):
            if at := re.search("gpa: (0x[0-9a-f]+)", self.ask(f"gva2gpa {gva:#x}")):
                return int(re.search("is (0x[0-9a-f]+)", self.ask(f"gpa2hva {at[1]}"))[1], 16)
        raise RuntimeError(f"{gva:#x} is not mapped")

    def word(self, hva):
        return struct.unpack("<Q", os.pread(self.fd, 8, hva))[0]


def symbol(guest, name):
    return int(re.search(rf"^([0-9a-f]+) . {name}$", guest.oracle()["kallsyms"], re.M)[1], 16)


def current_tasks(guest, memory):
    """Where it lies for each vCPU, in QEMU's memory."""
    offsets, current = symbol(guest, "__per_cpu_offset"), symbol(guest, "current_task")
    return [memory.hva((current + memory.word(memory.hva(offsets + 8 * vcpu))) % 2**64)
            for vcpu in range(guest.smp)]


def watch(memory, where, args):
    """{task: how often it was there}"""
    seen, due = Counter(), time.monotonic()
    end = due + args.seconds
    while due < end:
        due += (0.5 + random.random()) / args.hz
        time.sleep(max(0, due - time.monotonic()))
        seen.update(memory.word(at) for at in where)
    return seen


def by_tid(memory, seen, names):
    """The same by the tasks' numbers; 0: those that have ended.  Where the number lies in a
    task_struct is where most have that of a task with their name, which follows it.  names:
    {number: name}."""
    structs = {}
    for task in seen:
        try:
            structs[task] = os.pread(memory.fd, TASK_BYTES, memory.hva(task))
        except (RuntimeError, OSError):
            pass
    # The kernel's idle tasks all have number 0.
    at, = (n for n, _ in Counter(
        4 * i for s in structs.values()
        for i, tid in enumerate(struct.unpack(f"<{len(s) // 4}I", s))
        if tid in names and names[tid].encode() + b"\0" in s).most_common(1))
    tids = Counter()
    for task, n in seen.items():
        tid = struct.unpack_from("<I", structs.get(task, bytes(TASK_BYTES)), at)[0]
        tids[tid if tid in names else 0] += n
    return tids


def measure(suite, args):
    guest = suite.start()
    memory = Memory(guest)
    where = current_tasks(guest, memory)
    suite.busy("sh -c 'while :; do :; done'", "sh -c 'dd if=/dev/zero bs=16k | gzip -1 | wc -c'",
               *("/bin/" + name for name in ("threads", "rust", "fpc-gw2")
                 if name in suite.programs))
    if args.features:
        guest.do("mkdir -p /sys/kernel/debug; mount -t debugfs debug /sys/kernel/debug; "
                 f"echo {args.features} >/sys/kernel/debug/sched/features")
    suite.look("before")
    seen = watch(memory, where, args)
    suite.look("after")
    before, after = suite.truth("before"), suite.truth("after")
    of, total = sum(seen.values()), 100 * guest.smp * (suite.up[1] - suite.up[0])
    for tid, n in by_tid(memory, seen, {t: a[0] for t, a in after.items()}).most_common(14):
        name, _, ticks, *_ = after.get(tid, ("idle, and ended", 0, 0))
        ticks -= before.get(tid, (0, 0, 0))[2]
        print(f"| {name} ({tid}) | {100 * n / of:.2f} % (± {100 * n ** 0.5 / of:.2f}) | "
              f"{100 * ticks / total:.2f} % |")
    suite.stop()


def main():
    args = options(kernel="", seconds=60.0, hz=500.0, features="").parse_args()
    args.backend, args.accel, args.only = "gdb", "tcg", ""
    name, args.processor = asked_kernel(args)
    with or_skip():
        require("tcg")
        release = releases.release(args.build, name, args.processor)
    suite = Suite(args, release)
    try:
        measure(suite, args)
    finally:
        suite.end()
    note(f"{args.seconds:g} s, {args.hz:g} Hz{', ' + args.features if args.features else ''}")


if __name__ == "__main__":
    main()
