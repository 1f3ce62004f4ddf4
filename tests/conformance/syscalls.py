#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope trace --syscalls on a guest that states what system calls were made of it.

usage: syscalls.py BUILD [--qemu SUITE]

Of each, the kernel says how many; what it returns is a sum of its number and argument.
"""
import argparse
import collections
import csv
import json
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Tap, check, note  # noqa: E402
from strace_text import calls, summary  # noqa: E402
from tcg import Counting, Qemu  # noqa: E402
from trace import Perfetto  # noqa: E402

# tests/guests/x86/ring3.h; by their numbers' names in the ABIs.
GATE, STATE, N_CALL, VALUE, ROUNDS = 20, 31, 32, 1000, 400
GATE_NAME = "getpid"  # 20 of i386
NAMES = {0: "read", 2: "open", 10: "mprotect", 11: "munmap", 12: "brk", 13: "rt_sigaction",
         14: "rt_sigprocmask", STATE: "shmctl"}


class Calls(Counting):
    command = "trace"

    def __init__(self, args, qemu, smp=1, before=(), name="ring3-calls"):
        super().__init__(args, qemu, name=name, smp=smp,
                         before=["--syscalls", *before])

    def states(self, smp):
        """What each vCPU's kernel says: {number: calls}, N_CALL: of no known number."""
        found = {}
        for i in range(smp):
            told = json.loads(self.wait(r'CALLS (\{"vcpu":%d,.*\})' % i)[1])
            found[i] = {int(k): n for k, n in told.items() if k != "vcpu" and n}
        return found

    def replay(self, *args):
        return self.us.run("replay", *args, self.out).stdout


def number(n):
    return int(n, 0) if n != "NULL" else 0


def expected(state):
    """{name: calls} of one vCPU."""
    return {**{NAMES[n]: count for n, count in state.items() if n in NAMES},
            GATE_NAME: state[GATE]}


def check_values(found):
    """What each returned, by its name."""
    numbers = {name: n for n, name in NAMES.items()}
    for c in found:
        if c.error or c.name in ("shmctl", "read", "open"):
            continue
        arg = c.args.split(",")[0].strip() if c.name != GATE_NAME else None
        if c.name == "rt_sigaction":
            continue  # the argument is shown as a signal
        if c.name == GATE_NAME:
            check(GATE * VALUE <= c.value < GATE * VALUE + ROUNDS, f"{c}")
            continue
        check(c.value == numbers[c.name] * VALUE + number(arg), f"{c}")


def is_traced(args, qemu, smp, name="ring3-calls"):
    with Calls(args, qemu, smp, name=name) as t:
        states = t.states(smp)
        t.end()
        found = calls(t.replay())
        want = sum((collections.Counter(expected(s)) for s in states.values()),
                   collections.Counter())
        have = collections.Counter(c.name for c in found if not c.error)
        check(have == want, f"{have} of {want}")
        wrong = [c for c in found if c.error]
        check(all(c.name.startswith("syscall_0x") for c in wrong), f"{wrong[:2]}")
        check(len(wrong) == sum(s[N_CALL] for s in states.values()), "calls that fail")
        check(all(c.error == "ENOSYS" for c in wrong), f"{wrong[:2]}")
        check_values(found)
        # The table, too.  The call that states all has perhaps not returned.
        table = summary(t.replay("-c"))
        ended = {n: c for n, (c, failed) in table.items() if not failed}
        ended[NAMES[STATE]] = want[NAMES[STATE]]
        check(ended == want, f"{table}")
        check(sum(f for _, f in table.values()) == len(wrong), f"{table}")
        note(f"{len(found)} calls, {sum(want.values())} and {len(wrong)} that fail")


class Functions(Calls):
    """The kernel's functions, not its calls as such."""

    def __init__(self, args, qemu, smp, command, name):
        self.command = command
        Counting.__init__(self, args, qemu, name=name, smp=smp)


def functions_are_counted(args, qemu, command, smp=2, name="ring3-frame-nofp"):
    """Each call of a program is one of the function that the entry goes to, and that never
    returns, and of the one that leaves the kernel; those by the gate are of neither."""
    with Functions(args, qemu, smp, command, name) as t:
        states = t.states(smp).values()
        time.sleep(0.3)  # the last one returns, and the programs only wait
        t.end()
        report = t.report()
        counted = {f["name"]: f["calls"] for f in report["functions"]}
        all_ = sum(n for s in states for n in s.values())
        by_syscall = all_ - sum(s[GATE] for s in states)
        want = {"system_call": all_, "run_call": by_syscall, "frame_return": by_syscall}
        have = {n: counted.get(n) for n in want}
        check(have == want, f"{have}, not {want}")
        total = sum(f["self"] for f in report["functions"])
        check(total == report["summary"]["running"], f"{total}: {report['summary']}")
        if command == "trace":
            rows = csv.reader(t.us.run("replay", "--format", "csv", t.out).stdout.splitlines())
            ended = collections.Counter(r[0] for r in rows)
            check(all(n - smp <= ended[f] <= n for f, n in want.items()), f"{ended}, {want}")
        note(f"{want}")


def is_filtered(args, qemu):
    with Calls(args, qemu, before=["--syscalls=read,brk"]) as t:
        state = t.states(1)[0]
        t.end()
        have = collections.Counter(c.name for c in calls(t.replay()))
        check(have == {"read": state[0], "brk": state[12]}, f"{have}")
        have = collections.Counter(c.name for c in calls(t.replay("-f", "^br")))
        check(have == {"brk": state[12]}, f"{have}")


def is_converted(args, qemu):
    """With functions, too; JSON has slices, csv has lines, text has comments."""
    with Calls(args, qemu, before=["-f", "^(system_call|timer_tick)$"]) as t:
        state = t.states(1)[0]
        t.end()
        n = sum(state.values())
        events = json.loads(t.replay("--format", "chrome"))["traceEvents"]
        slices = [e for e in events if e["ph"] == "X"]
        check(len(slices) == n and all(e["dur"] >= 0 for e in slices), f"{len(slices)} of {n}")
        check(any(e["ph"] == "B" and e["name"] == "system_call" for e in events), "functions")
        check(all(" = " in e["args"]["call"] for e in slices), f"{slices[0]}")
        path = t.us.data("trace.pftrace")
        t.us.run("replay", "-o", path, t.out)
        with open(path, "rb") as f:
            slices = [x for x in Perfetto(f.read()).slices if x[4] == ["syscall"]]
        check(len(slices) == n, f"{len(slices)} of {n} for Perfetto")
        check(sum(x[1] == "brk" for x in slices) == state[12], "brk for Perfetto")
        rows = t.replay("--format", "csv").splitlines()
        in_csv = sum(r.startswith("system_call,") for r in rows)
        check(n - 1 <= in_csv <= n, f"{in_csv} of {n} in csv")
        check(sum(r.startswith("brk,") for r in rows) == state[12], "calls in csv")
        text = t.replay("--format", "graph")
        check(text.count("/* brk(") == text.count("/* brk = ") == state[12], "comments")
        check(len(calls(t.replay("--format", "strace"))) == n, "as strace")


def refusals_say_why(args, qemu):
    with Calls(args, qemu, before=["-f", "^system_call$"]) as t:
        t.states(1)
        t.end()
        said = t.us.run("trace", "--syscalls=raed", "--", "qemu-system-x86_64",
                        good=(1, 2, 3)).stderr
        check("read" in said and "no such system call" in said, said)
        said = t.us.run("trace", "--syscalls", "-s", "-3", "--", "qemu-system-x86_64",
                        good=(1, 2, 3)).stderr
        check("-s" in said, said)
    with Counting(args, qemu, out="none.data") as t:
        t.counts()
        t.end()
        said = t.us.run("replay", "-c", t.out, good=(1, 2, 3)).stderr
        check("no trace" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-qemu-") as folder:
        qemu = None

        def find():
            nonlocal qemu
            qemu = Qemu(args.build, args.qemu, folder)
            note(f"QEMU {qemu.version}")
        tap.point("QEMU is there", find)
        for smp in (1, 2) if qemu else ():
            tap.point(f"every call is traced: {smp} vCPU", lambda n=smp: is_traced(args, qemu, n))
        if qemu:
            tap.point("every call is traced: a kernel whose functions do not return",
                      lambda: is_traced(args, qemu, 2, "ring3-frame"))
        for command in () if not qemu else ("count",) if args.short else ("count", "trace"):
            tap.point(f"functions that do not return are all there: {command}",
                      lambda c=command: functions_are_counted(args, qemu, c))
        if qemu and not args.qemu:
            tap.point("calls are chosen", lambda: is_filtered(args, qemu))
            tap.point("other formats", lambda: is_converted(args, qemu))
            tap.point("refusals say why", lambda: refusals_say_why(args, qemu))
    tap.end()


if __name__ == "__main__":
    main()
