#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count on a guest that counts its own calls: every figure has to be the same.

usage: count.py BUILD [--processor NAME] [--qemu SUITE] [--short]

--qemu SUITE: by the QEMU of another suite of Debian's, unpacked into the build folder.
"""
import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Skip, Tap, Uniscope, check, note, patience  # noqa: E402
import stop_at  # noqa: E402
from packaged import MACH_CHAIN, mach  # noqa: E402
from tcg import PROCESSORS, Counting, Qemu, open_pids  # noqa: E402

ANNOTATED = re.compile(r"^ *([\d,]+) \([^)]*\)  \S*:(\w+) ", re.M)


def calls_of(functions, name):
    """A function that was never called has no row: on a quick host no timer interrupts."""
    return functions[name]["calls"] if name in functions else 0


def compare(truth, report, machine):
    """Every function that the guest counts."""
    functions = {f["name"]: f for f in report["functions"]}
    wrong = []
    for name, calls in truth.items():
        if name != "top_loop_rounds" and calls_of(functions, name) != calls:
            wrong.append(f"{name}: {calls_of(functions, name)} of {calls}")
    check(not wrong, "; ".join(wrong))
    check(functions["hot"]["self"] == machine.hot * truth["hot"],
          f"hot: {functions['hot']['self']} instructions")
    loop = machine.round * truth["top_loop_rounds"] + truth["top_loop"]
    check(functions["top_loop"]["self"] == loop,
          f"top_loop: {functions['top_loop']['self']} instructions of {loop}")
    total = sum(f["self"] for f in report["functions"])
    check(total == report["summary"]["running"],
          f"{total} instructions in functions, {report['summary']['running']} in all")
    check(truth["tick"] > 0, "no interrupt came")
    note(f"{len(truth) - 1} functions, {sum(truth.values())} calls, {truth['tick']} "
         f"interrupts, {total} instructions")


def parents(report):
    """{function: those that call it}"""
    name = {f["id"]: f["name"] for f in report["functions"]}
    at = {n["id"]: name[n["function"]] for n in report["tree"]}
    calls = {}
    for n in report["tree"]:
        calls.setdefault(name[n["function"]], set()).add(at.get(n["parent"], "(root)"))
    return calls


def is_counted(args, qemu, *options, smp=1, name="counted"):
    with Counting(args, qemu, *options, smp=smp, name=name) as c:
        truth = c.counts()
        c.end()
        report = c.report()
        compare(truth, report, qemu.machine)
        calls = parents(report)
        thrown = (("tries", {"work"}), ("throws", {"tries"}), ("raises", {"throws"}))
        for what, by in (*(thrown if "tries" in truth else ()),
                         ("ping", {"ping_thread"}), ("pong", {"pong_thread"}),
                         ("work", {"ping_thread"}), ("tick", {"common_entry"}),
                         ("by_1", {"work"}), ("ping_thread", {"thread_entry"}),
                         ("common_entry", {"[interrupts]"})):
            check(calls[what] == by, f"{what} is called by {calls[what]}")


def programs_are_apart(args, qemu):
    """Two, with the same code and stacks at the same addresses in spaces of their own."""
    program = os.path.join(args.build, "tests/guests/spaces-user.elf")
    with Counting(args, qemu, name="spaces", before=["-e", qemu.elf(args.build, "spaces"),
                                                     "-e", program]) as c:
        truth = json.loads(c.wait(r"COUNTS (\[.*\])")[1])
        c.end()
        report = c.report()
    name = {f["id"]: f["name"] for f in report["functions"]}
    rows = {n["id"]: n for n in report["tree"]}
    calls, callers = [Counter(), Counter()], {}
    for n in report["tree"]:
        path, at = [], n
        while at:
            path.append(name[at["function"]])
            at = rows.get(at["parent"])
        if path[0] not in truth[0] or not n["calls"]:
            continue
        of = {f.split("_")[0] for f in path} & {"first", "second"}
        check(len(of) == 1, f"{n['calls']} calls: {' < '.join(path)}")
        calls["second" in of][path[0]] += n["calls"]
        callers.setdefault(path[0], set()).add(path[1])
    for own, told in zip(truth, calls):
        wrong = [f"{f}: {told[f]} of {n}" for f, n in own.items() if told[f] != n]
        check(not wrong, "; ".join(wrong))
    for what, by in (("nest", {"nest", "first_work", "second_work", "first_turn"}),
                     ("leaf", {"nest", "second_turn"}), ("first_turn", {"first_thread"}),
                     ("second_turn", {"second_thread"}), ("first_work", {"first"}),
                     ("second_work", {"second"}), ("by_gate", {"nest", "second_turn", "first", "second"}),
                     ("swap", {"first", "second", "first_thread", "second_thread"})):
        check(callers[what] == by, f"{what} is called by {callers[what]}")
    note(f"{sum(truth[0].values())} and {sum(truth[1].values())} calls")


def other_program(elf, path):
    """Other names, and other code, at the addresses of this program."""
    subprocess.run(["objcopy", "--prefix-symbols=other_", elf, path], check=True)
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        table, size, n = (*struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
        for at in range(table, table + n * size, size):
            kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
            if kind == 1 and flags & 1:
                data[offset:offset + length] = bytes(255 - b for b in data[offset:offset + length])
        f.seek(0)
        f.write(data)
    return path


def names_go_by_code(args, qemu):
    """An image with other code at the program's addresses gives no names to the program."""
    program = os.path.join(args.build, "tests/guests/spaces-user.elf")
    with tempfile.TemporaryDirectory(prefix="uniscope-") as folder:
        other = other_program(program, os.path.join(folder, "other.elf"))
        for images in ((other, program), (program, other), (other,)):
            before = ["-e", qemu.elf(args.build, "spaces"), *sum((["-e", i] for i in images), [])]
            with Counting(args, qemu, name="spaces", before=before) as c:
                truth = json.loads(c.wait(r"COUNTS (\[.*\])")[1])
                c.end()
                report = c.report()
            functions = {f["name"]: f for f in report["functions"]}
            wrong = [f for f in functions if f.startswith("other_")]
            check(not wrong, f"{images}: {wrong}")
            total = sum((Counter(t) for t in truth), Counter())
            wrong = [f"{f}: {calls_of(functions, f)} of {n}" for f, n in total.items()
                     if calls_of(functions, f) != (n if program in images else 0)]
            check(not wrong, f"{images}: {'; '.join(wrong)}")
    note(f"{sum(total.values())} calls, three times")


def calls_are_counted(args, qemu, *options, smp=1):
    """Alone: each entry of a function, but no round of a loop that begins one."""
    with Counting(args, qemu, *options, smp=smp, before=["--functions"]) as c:
        truth = c.counts()
        c.end()
        report = c.report()
        functions = {f["name"]: f for f in report["functions"]}
        wrong = [f"{name}: {calls_of(functions, name)} of {n}" for name, n in truth.items()
                 if name != "top_loop_rounds" and calls_of(functions, name) != n]
        check(not wrong, "; ".join(wrong))
        check(report["summary"]["unit"] == "calls", report["summary"]["unit"])
        check(report["summary"]["running"] == sum(f["calls"] for f in report["functions"]),
              "the sum is another")
        text = c.us.run("report", c.out).stdout
        check(f"{truth['hot']}   hot " in text and "instr." not in text, text)
        note(f"{len(truth) - 1} functions, {report['summary']['running']} calls")


def flat_is_counted(args, qemu, *options, smp=1):
    """Calls and instructions, and no callers."""
    with Counting(args, qemu, *options, smp=smp, before=["--flat"]) as c:
        truth = c.counts()
        c.end()
        report = c.report()
        compare(truth, report, qemu.machine)
        check(report["summary"]["unit"] == "instructions", report["summary"]["unit"])
        check(not any(n["parent"] for n in report["tree"]), "there are callers")
        text = c.us.run("report", c.out).stdout
        check("instr." in text and "total %" not in text, text)


def chosen_are_counted(args, qemu):
    with Counting(args, qemu, before=["--functions=fib,t.*_loop,by_[12]"]) as c:
        truth = c.counts()
        c.end()
        calls = {f["name"]: f["calls"] for f in c.report()["functions"]}
        check(calls == {n: truth[n] for n in ("fib", "top_loop", "by_1", "by_2")}, f"{calls}")


def program_is_no_reset(args, qemu):
    """It begins where the processor does after a reset, in a space of its own."""
    elf = qemu.elf(args.build, "trampoline")
    user = elf.replace("trampoline-", "trampoline-user-")
    with Counting(args, qemu, name="trampoline", before=["-e", elf, "-e", user]) as c:
        c.wait("(?s)TRUTH.*TRUTH")
        c.end()
        report = c.report()
    check(not re.search("was reset", " ".join(report["warnings"])), report["warnings"])
    calls = {f["name"]: f["calls"] for f in report["functions"]}
    for name in ("user_start", "user_main", "boot_main"):
        check(calls.get(name) == 1, f"{name}: {calls.get(name)} calls of 1")


def turns_are_counted(args, qemu):
    """Or refused, by a QEMU that cannot tell them apart."""
    options = ["-accel", "tcg,thread=single"]
    if not qemu.mixes:
        is_counted(args, qemu, *options, smp=4)
        return
    with Counting(args, qemu, *options, smp=4) as c:
        said = patience.communicate(c.run, 120)[1]
        check(c.run.returncode == 1 and "all vCPUs are in one thread" in said, said)


def is_repeated(args, qemu):
    """All of the second run as in the first, byte for byte."""
    told = []
    for _ in range(2):
        with Counting(args, qemu, before=["--deterministic"]) as c:
            truth = c.counts()
            time.sleep(0.5)  # it stands still
            c.end()
            compare(truth, c.report(), qemu.machine)
            told.append(c.us.run("report", "-f", "callgrind", c.out).stdout.split("\n", 4)[4])
    check(told[0] == told[1], "the second run counted otherwise")
    note(f"{len(told[0])} bytes, twice")


def table_is_entered(args, qemu):
    """Interrupts and traps enter stubs in the middle of one symbol."""
    for how in (Counting, Tracing):
        with how(args, qemu, name="counted-table") as c:
            truth = c.counts()
            c.end()
            report = c.report()
        compare(truth, report, qemu.machine)
        calls = parents(report)
        for what, by in (("trap", {"work"}), ("trapped", {"common_entry"}),
                         ("tick", {"common_entry"}), ("common_entry", {"[interrupts]", "trap"})):
            check(calls[what] == by, f"{what} is called by {calls[what]}")


def table_is_counted_alone(args, qemu):
    with Counting(args, qemu, name="counted-table", before=["--functions=tick_entry"]) as c:
        truth = c.counts()
        c.end()
        calls = {f["name"]: f["calls"] for f in c.report()["functions"]}
    check(calls == {"tick_entry": truth["tick_entry"]}, f"{calls}")


# What has not returned where GNU Mach asks for a command: what its debugger's own
# backtrace has, and what led to the first thread and to what is no function.  Interrupts
# enter code without a symbol, which jumps to one that has.
MACH_OPEN = {"iplt_done", "c_boot_entry", "setup_main", "cpu_launch_first_thread",
             "load_context", "return_to_iret"}


class Tracing(Counting):
    command = "trace"


def is_behind(args, qemu):
    """The first interrupts of two kinds, right behind a call and a jump by pointer; and a
    jump into the middle of a function."""
    for how in (Counting, Tracing):
        with how(args, qemu, "-d", "nochain", "-D", os.devnull, name="behind") as c:
            truth = json.loads(c.wait(r"BEHIND (\{.*\})")[1])
            c.end()
            report = c.report()
            events = how is Tracing and json.loads(
                c.us.run("replay", "--format", "chrome", c.out).stdout)["traceEvents"]
        check(truth == {"work_a": 1, "work_b": 1, "landing": 2}, f"the guest: {truth}")
        names = {f["id"]: f["name"] for f in report["functions"]}
        name = {n["id"]: names[n["function"]] for n in report["tree"]}
        calls = Counter()
        for n in report["tree"]:
            calls[name.get(n["parent"]), name[n["id"]]] += n["calls"]
        want = {("[interrupts]", "entry_a"): 1, ("entry_a", "work_a"): 1,
                ("[interrupts]", "entry_b"): 1, ("entry_b", "work_b"): 1,
                ("call_behind", "landing"): 1, ("kmain", "landing"): 1}
        mine = {n for pair in want for n in pair if n != "kmain"} - {"call_behind"}
        have = {pair: n for pair, n in calls.items() if n and pair[1] in mine}
        have.pop((None, "[interrupts]"), None)
        check(have == want, f"{how.command}: {have}")
        own = {names[f["id"]]: f["self"] for f in report["functions"]}
        check([own[n] for n in ("stray", "middle", "below_middle")] == [2002, 2, 1], f"{own}")
        kinds = {e["name"]: e["cat"] for e in events or () if e["ph"] == "B"}
        check(not events or kinds["entry_a"] == kinds["entry_b"] == "interrupt",
              f"{kinds}")


def mach_until_prompt(args, qemu, kind, folder):
    """A boot that is counted or traced until its debugger waits for the first line."""
    elf, bare = mach(args.build)
    path = os.path.join(folder, "gdb")
    with kind(args, qemu, "-append", "console=com0", *stop_at.options(path), kernel=bare,
              before=["--deterministic", "-e", elf]) as c:
        with stop_at.stop_at(path, stop_at.address_of(elf, "cngetc")):
            c.wait("db>")
            c.end()
        if kind is Counting:
            return c.report()
        ended = c.us.data("ended.csv")
        c.us.run("replay", "-o", ended, c.out)
        with open(ended) as f:
            return Counter(row.split(",")[0] for row in f.readlines()[1:])


def mach_is_counted(args, qemu):
    """GNU Mach boots into its debugger: all is the same each time, but how long it took
    and where QEMU's files are; and what was called has returned, or is open."""
    with tempfile.TemporaryDirectory(prefix="uniscope-mach-") as folder:
        told = [mach_until_prompt(args, qemu, Counting, folder) for _ in range(2)]
        ended = mach_until_prompt(args, qemu, Tracing, folder)
    check(not told[0]["warnings"], f"{told[0]['warnings']}")
    for t in told:
        del t["facts"], t["recording"]
    check(json.dumps(told[0]) == json.dumps(told[1]), "the second run counted otherwise")
    functions = {f["name"]: f for f in told[0]["functions"] if f["known"]}
    left = {n: f["calls"] - ended[n] for n, f in functions.items() if f["calls"] != ended[n]}
    check(set(left.values()) == {1} and not set(ended) - set(functions), f"open: {left}")
    chain = set(MACH_CHAIN[1:]) - {"SoftDebugger"}  # which is inlined
    check(set(left) == MACH_OPEN | chain, f"open: {sorted(set(left) ^ (MACH_OPEN | chain))}")
    boot = functions["c_boot_entry"]
    check(boot["calls"] == 1 and boot["total"] > 10000000, f"{boot}")
    note(f"{sum(f['calls'] for f in functions.values())} calls, {sum(ended.values())} returned, "
         f"{len(left)} open; c_boot_entry {boot['total']} instructions")


def is_read_by_callgrind(args, qemu):
    if not shutil.which("callgrind_annotate"):
        raise Skip("callgrind_annotate is not installed")
    with Counting(args, qemu) as c:
        c.counts()
        c.end()
        report = c.report()
        path = c.us.data("calls.callgrind")
        c.us.run("report", "-o", path, c.out)
        said = subprocess.run(["callgrind_annotate", "--threshold=100", path],
                              capture_output=True, text=True)
        check(not said.stderr and said.returncode == 0, said.stderr)
        inclusive = subprocess.run(["callgrind_annotate", "--inclusive=yes",
                                    "--threshold=100", path], capture_output=True, text=True)
    functions = {f["name"]: f for f in report["functions"]}
    for text, key in ((said.stdout, "self"), (inclusive.stdout, "total")):
        rows = {name: value for value, name in ANNOTATED.findall(text)}
        for name in ("fib", "hot", "work", "ping", "tick", "deep"):
            got = int(rows[name].replace(",", ""))
            check(got == functions[name][key],
                  f"{name}: callgrind_annotate has {got}, we have {functions[name][key]}")


def qemu_is_killed(args, qemu):
    """In the midst of it: what was counted until then is there."""
    with Counting(args, qemu) as c:
        c.wait("READY")
        os.kill(c.vm(), signal.SIGKILL)
        c.end(0, code=1)
        check("QEMU was killed: Killed" in c.said[1], c.said)
        report = c.report()
        total = sum(f["self"] for f in report["functions"])
        check(total == report["summary"]["running"] and total > 100000,
              f"{total} instructions")
        check(report["summary"]["end"] == "guest gone", report["summary"]["end"])
        note(f"{total} instructions until then")


def uniscope_is_killed(args, qemu):
    """The guest goes on, and what it counts can be read."""
    with Counting(args, qemu) as c:
        c.wait("READY")
        mine = c.files()
        vm = open_pids(os.path.join(mine, "counts"))
        c.run.kill()
        c.run.wait()
        try:
            truth = c.counts()
            time.sleep(0.3)
            c.us.run("count", "--attach", os.path.join(mine, "counts"), "-e", c.elf,
                     "-o", c.out)
            compare(truth, c.report(), qemu.machine)
        finally:
            for pid in vm:
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(mine)


def wrong_image_is_told(args, qemu):
    other = qemu.elf(args.build, "shares")
    with Counting(args, qemu, before=["-e", other]) as c:
        c.counts()
        c.end()
        warnings = " ".join(c.report()["warnings"])
        check("NOT what ran" in warnings, f"warnings: {warnings}")


def names_outlive_the_image(args, qemu):
    """A recording has the names of what was counted or traced, whatever becomes of the image."""
    for how in (Counting, Tracing):
        with tempfile.TemporaryDirectory(prefix="uniscope-image-") as folder:
            image = shutil.copy(qemu.elf(args.build, "counted"), folder)
            with how(args, qemu, kernel=image) as c:
                truth = c.counts()
                c.end()
                told = []
                for other in (None, qemu.elf(args.build, "shares"), ""):
                    if other is not None:
                        os.unlink(image)
                    if other:
                        shutil.copy(other, image)
                    report = c.report()
                    calls = Counter({f["name"]: f["calls"] for f in report["functions"]})
                    told.append((calls, " ".join(report["warnings"])))
                    if how is Tracing:
                        rows = c.us.run("replay", "--format", "csv", c.out).stdout
                        told[-1] += (rows,)
        check(all(told[0][0][n] for n in truth if n not in ("top_loop_rounds", "tick")),
              f"{how.command}: {told[0][0]}")
        for now in told[1:]:
            check(now[0] == told[0][0], f"{how.command}: {now[0] - told[0][0]}")
            check("names that the recording holds" in now[1], f"{how.command}: {now[1]}")
            check(now[2:] == told[0][2:], "replay names other functions")
        note(f"{how.command}: {len(told[0][0])} functions")


def refusals_say_why(args):
    us = Uniscope(args.build)
    vm = ["--", "qemu-system-x86_64", "-kernel",
          os.path.join(args.build, "tests/guests/counted.elf")]
    bare = us.data("bare.elf")
    subprocess.run(["objcopy", "-S", vm[-1], bare], check=True)
    for command, words in (
            (["--functions=vfs_read", *vm[:-1], bare], "kallsyms"),
            (["--", "true"], "no QEMU"),
            (["--", "qemu-system-x86_64", "-enable-kvm"], "KVM"),
            (["--", "qemu-system-x86_64", "-accel", "kvm"], "KVM"),
            (["--deterministic", "--", "qemu-system-x86_64", "-icount", "1"], "-icount"),
            (["--functions=(", *vm], "("),
            (["--functions=nothing_like_it", *vm], "no function of the images"),
            (["--functions", *vm[:-1], bare], "no symbols"),
            (["--attach", "/dev/null"], "no file of counts"),
            (["--attach", "/nowhere/counts"], "No such file"),
            ([], "--attach FILE")):
        said = us.run("count", "-o", us.data("x.data"), *command, good=(1, 2, 3)).stderr
        check(words in said, f"{command}: {said}")
    narrow = shutil.which("qemu-system-arm")
    if narrow:
        said = us.run("count", "-o", us.data("x.data"), "--", narrow, "-M", "virt",
                      "-display", "none", good=(1,)).stderr
        check("the guest's processor is arm" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    parser.add_argument("--processor", default="x86_64", choices=PROCESSORS)
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-qemu-") as folder:
        qemu = None

        def find():
            nonlocal qemu
            qemu = Qemu(args.build, args.qemu, folder, args.processor)
            note(f"QEMU {qemu.version}")
        tap.point("QEMU is there", find)
        if qemu:
            points(tap, args, qemu)
    tap.end()


def points(tap, args, qemu):
    if args.processor == "riscv64":
        tap.point("a program at the reset vector", lambda: program_is_no_reset(args, qemu))
    for name, options, smp in (
            ("one vCPU", [], 1), ("three vCPUs", [], 3), ("four vCPUs", [], 4),
            ("one instruction a block", qemu.one_insn_per_block(), 1),
            ("a small translation cache", ["-accel", "tcg,tb-size=1"], 1),
            ("instructions as clock", ["-icount", "shift=3"], 1)):
        tap.point(f"every call is counted: {name}",
                  lambda o=options, n=smp: is_counted(args, qemu, *o, smp=n))
        if args.short and smp > 1:
            return
    tap.point("every call is counted: four vCPUs in turns",
              lambda: turns_are_counted(args, qemu))
    for name, options, smp in (("one vCPU", [], 1), ("four vCPUs", [], 4),
                               ("one instruction a block", qemu.one_insn_per_block(), 1)):
        tap.point(f"calls alone are counted: {name}",
                  lambda o=options, n=smp: calls_are_counted(args, qemu, *o, smp=n))
        tap.point(f"calls and instructions alone: {name}",
                  lambda o=options, n=smp: flat_is_counted(args, qemu, *o, smp=n))
    if args.processor == "x86_64":
        tap.point("every call is counted: two address spaces",
                  lambda: programs_are_apart(args, qemu))
        tap.point("names go by the code, not by addresses alone",
                  lambda: names_go_by_code(args, qemu))
        tap.point("the first interrupt, behind a call by pointer",
                  lambda: is_behind(args, qemu))
        tap.point("every call is counted: blocks that are sections",
                  lambda: is_counted(args, qemu, name="counted-blocks"))
        tap.point("interrupt stubs that are one symbol", lambda: table_is_entered(args, qemu))
        tap.point("calls of interrupt stubs alone", lambda: table_is_counted_alone(args, qemu))
    tap.point("two deterministic runs are the same", lambda: is_repeated(args, qemu))
    if args.qemu:
        return
    if args.processor == "x86_64":
        tap.point("a boot of GNU Mach is counted the same twice",
                  lambda: mach_is_counted(args, qemu))
    tap.point("calls of some functions alone", lambda: chosen_are_counted(args, qemu))
    tap.point("callgrind_annotate agrees", lambda: is_read_by_callgrind(args, qemu))
    tap.point("QEMU is killed", lambda: qemu_is_killed(args, qemu))
    tap.point("uniscope is killed", lambda: uniscope_is_killed(args, qemu))
    tap.point("a wrong image is told", lambda: wrong_image_is_told(args, qemu))
    tap.point("names outlive the image", lambda: names_outlive_the_image(args, qemu))
    tap.point("refusals say why", lambda: refusals_say_why(args))


if __name__ == "__main__":
    main()
