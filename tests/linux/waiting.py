# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tasks of a guest wait for, against what the guest says of them: the program
programs/waits.c waits in known places, /proc/PID/wchan and /proc/PID/stat tell which."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import Skip, check, note

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "serve"))
from served import Serve, until  # noqa: E402

PLACES = ["sleep", "pipe", "vfork", "futex", "deep"]
DIVES = 10
# Where a program enters the kernel, and where a new task begins.
ENTRY = re.compile(r"entry_|asm_|el0t_|ret_from_fork|__switch_to_asm")
SHELL = r"^(init|sh)( |$)"
# Of "turns": the system call that each of its three waits is in.
TURNS = ["nanosleep", "poll", "futex"]
HZ = 20
POINTS = 0.05
# What a dump of tasks says where it is the host that had too much to do.
BUSY = ("no 64-bit Linux kernel was found", "the host is busy: try again")


def program(build):
    """The program's file, built if it is not there or older than its source."""
    source = os.path.join(HERE, "programs", "waits.c")
    path = os.path.join(build, "tests", "linux", "waits")
    if os.path.exists(path) and not os.path.exists(source):
        return path  # a rig has what was made before
    if os.path.exists(path) and os.path.getmtime(source) < os.path.getmtime(path):
        return path
    if not shutil.which("gcc"):
        raise Skip("gcc is not installed")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done = subprocess.run(["gcc", "-O2", "-static", "-pthread", source, "-o", path],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"gcc: {done.stderr.strip()[-200:]}")
    return path


def dump_tasks(us, target, backend, *options):
    """On a busy host a dump may find no kernel in its five seconds, or not come to the end of
    its tables: three tries.  Any other complaint is an error."""
    for left in (2, 1, 0):
        try:
            return json.loads(us.run("dump", "--tasks", "--json", *options, "--backend",
                                     backend, target).stdout)
        except RuntimeError as err:
            if not left or not any(words in str(err) for words in BUSY):
                raise
            note(f"once more after: {err}")


class Waits:
    """guest: has the program as /bin/waits."""

    def __init__(self, us, guest):
        self.us, self.guest, self.pids, self.dumped = us, guest, {}, {}
        self.said = len(guest.serial())  # by those that ran before

    def start(self, how):
        self.pids[how] = int(self.guest.do(f"waits {how} >/dev/console 2>&1 & echo $!"))

    def stop(self):
        # The child of vfork() waits for a signal; its parent, for the child.
        self.guest.do("killall -9 waits child sleep one two futex pipe deep turns 2>/dev/null; true")
        for pid in self.pids.values():
            self.guest.do(f"kill -9 {pid} 2>/dev/null; true")

    def tasks(self):
        """{number: (process, name, state, wchan, times that it left its CPU)} of tasks of
        programs, by /proc."""
        # One program for all of them: to start one a task takes an emulated guest seconds.
        # How often each left its CPU comes last: where that is as before, all else was
        # the same from that time to this.
        said = self.guest.do("grep -Hs '' /proc/[0-9]*/task/[0-9]*/wchan; "
                             "grep -Hs '' /proc/[0-9]*/task/[0-9]*/stat; "
                             "grep -Hs switches: /proc/[0-9]*/task/[0-9]*/status; true")
        wchan, stat, left = {}, {}, {}
        for tgid, pid, file, text in re.findall(r"^/proc/(\d+)/task/(\d+)/(\w+):(.*)", said, re.M):
            if file == "wchan":
                wchan[int(pid)] = text
            elif file == "stat":
                stat[int(pid)] = int(tgid), *re.match(
                    r"\d+ \((.*)\) (\S) (?:\S+ ){5}(\d+) ", text).groups()
            else:
                left[int(pid)] = (*left.get(int(pid), ()), text.split()[-1])
        return {pid: (tgid, name, state, wchan[pid], left[pid])
                for pid, (tgid, name, state, flags) in stat.items()
                if pid in wchan and pid in left and not int(flags) & 0x00200000}

    def turns(self):
        """ns in each of the three, as "turns" said last."""
        said = re.findall(r"TURNS (\d+) (\d+) (\d+)\s", self.guest.serial()[self.said:])
        return [int(n) for n in said[-1]] if said else [0, 0, 0]

    def record(self, backend, seconds):
        """(figures, tasks that waited and did not run, shares of the turns)"""
        for how in [*PLACES, "turns"]:
            self.start(how)
        self.guest.wait_for(lambda: self.turns()[0])
        self.guest.wait_for(lambda: {s[3] for p, s in self.tasks().items()
                                     if s[0] == self.pids["vfork"]} - {"0"})
        before, turned = self.tasks(), self.turns()
        figures = self.us.record(self.guest, backend, "--budget", "50", "-F", "49",
                                 "--tasks", str(HZ), seconds=seconds)
        after, now = self.tasks(), self.turns()
        still = {pid: s for pid, s in after.items() if before.get(pid) == s
                 and s[2] in "SD" and s[3] != "0"}
        spent = [b - a for a, b in zip(turned, now)]
        self.dumped = self.dump(backend)
        return figures["tasks"], still, [n / max(1, sum(spent)) for n in spent]

    def dump(self, backend):
        """{number: frames} of programs, without -e."""
        with guest_files(self.us) as root:
            told = dump_tasks(self.us, self.guest.target(backend), backend, "--root", root)
        return {t["pid"]: [f for f in t.get("frames", ()) if f["user"]] for t in told["tasks"]}


def test_running(us, guest, backend):
    """A program that runs on a vCPU, of which no other task has the file: its functions."""
    guest.do("killall -9 waits deep 2>/dev/null; true")
    pid = int(guest.do("waits spin >/dev/null 2>&1 & echo $!"))
    try:
        with guest_files(us) as root:
            for options in (["--tasks"], []):
                frames = running(us, guest, backend, pid, *options, "--root", root)
                names = [f["function"] for f in reversed(frames)]
                note(f"dump {' '.join(options)}: {' > '.join(map(str, names))}")
                check(names[:1] == ["_start"] and names[-1] == "spin"
                      and names.count("dive") == DIVES, names)
                check({f["mapped"] for f in frames} == {"/bin/waits"}, frames)
    finally:
        guest.do(f"kill -9 {pid}; true")


def running(us, guest, backend, pid, *options):
    """The frames of the vCPU that runs the task; it may be away for a moment."""
    for _ in range(10):
        told = json.loads(us.run("dump", "--json", *options, "--backend", backend,
                                 guest.target(backend)).stdout)
        for v in told["vcpus"]:
            if v.get("task", {}).get("pid") == pid and v["frames"][0]["user"]:
                return v["frames"]
    raise AssertionError(f"{pid} runs on no vCPU: {told}")


@contextlib.contextmanager
def guest_files(us):
    file = os.path.join(os.path.dirname(us.program), "tests", "linux", "waits")
    with tempfile.TemporaryDirectory(prefix="uniscope-") as root:
        os.mkdir(f"{root}/bin")
        shutil.copy(file, f"{root}/bin/waits")
        yield root


def sums_match(t):
    check(t["tasks"] == t["running"] + t["idle"] + t["other"] + t["due"], f"sums: {t}")
    check(t["due"] == t["taken"] + t["moved"] + t["failed"] + t["skipped"] + t["lost"],
          f"sums: {t}")


class Report:
    """Whose waits are where: of report --waits."""

    def __init__(self, us, *args):
        report = us.report("--waits", *args)
        names = {f["id"]: f["name"] for f in report["functions"]}
        self.looks = report["waits"]["looks_shown"]
        self.rows, path = [], {0: []}
        for node in report["tree"]:
            path[node["id"]] = path[node["parent"]] + [names[node["function"]]]
            if node["self"]:
                self.rows.append((path[node["id"]], node["self"]))

    def stacks(self, process, pid):
        """[(functions, outermost first, looks)] of a task: by its own frame, of a leader
        its process's."""
        found = []
        for path, n in self.rows:
            own = 2 if len(path) > 1 and re.search(r"^[^\[].* \(\d+\)$", path[1]) else 1
            if path[0].endswith(f" ({process})") and path[own - 1].endswith(f" ({pid})"):
                found.append((path[own:], n))
        return found

    def of(self, process, pid):
        """{place: looks}"""
        places = {}
        for path, n in self.stacks(process, pid):
            places[path[-1]] = places.get(path[-1], 0) + n
        return places


def test(us, guest, backend, seconds, looks=10):
    """So many looks at least.  Longer each time: on a busy host what the guest's clock was last
    read at, and what was recorded, are not the same time."""
    for left in (2, 1, 0):
        try:
            return test_once(us, guest, backend, seconds, looks)
        except AssertionError as err:
            if not left:
                raise
            note(f"once more after: {err}")
            seconds *= 2


def test_once(us, guest, backend, seconds, looks):
    w = Waits(us, guest)
    try:
        figures, still, turned = w.record(backend, seconds)
    finally:
        w.stop()
    sums_match(figures)
    cost = 100 * figures["cost_ns"] / (seconds * 1e9)
    note(f"{figures['looks']} looks, {figures['taken']} of {figures['due']} tasks that "
         f"waited taken, {figures['moved']} ran meanwhile; {cost:.2f} % of a host CPU, "
         f"{figures['cost_max_ns'] / 1e6:.1f} ms the longest look")
    check(figures["looks"] >= looks, f"only {figures['looks']} looks")
    check(figures["taken"] >= 0.9 * figures["due"], "too few were taken")
    report = Report(us)
    cut_in_kernel(us, figures)
    places(w, report, still)
    shares(w, report, turned)
    states(w, us)
    programs(w, us)
    dumped(w)


class Page(Report):
    """The same of what a page of serve is made of."""

    def __init__(self, waits):
        func, node = waits["func"]["name"], waits["node"]
        self.rows, path = [], [[]]
        for k in range(1, len(node["func"])):
            path.append(path[node["parent"][k]] + [func[node["func"][k]]])
            if node["self"][k]:
                self.rows.append((path[k], node["self"][k]))


def test_live(us, guest, backend, seconds):
    """While it is recorded: of tasks that did not run meanwhile, top and serve say where."""
    w = Waits(us, guest)
    try:
        for how in PLACES:
            w.start(how)
        guest.wait_for(lambda: {s[3] for p, s in w.tasks().items()
                                if s[0] == w.pids["vfork"]} - {"0"})
        before = w.tasks()
        top = top_of(w, backend, seconds)
        page = page_of(w, backend, seconds)
        after = w.tasks()
    finally:
        w.stop()
    still = {pid: s for pid, s in after.items() if before.get(pid) == s
             and s[2] in "SD" and s[3] != "0"}
    check({w.pids[how] for how in PLACES} <= {s[0] for s in still.values()},
          f"the guest says only {still}")
    looks = top["waits"]["looks_shown"]
    check(looks >= 10, f"only {looks} looks: {top['waits']['warnings']}")
    threads = {g.get("tid"): {f["name"]: f["self"] for f in g["functions"] if f["self"]}
               for g in top["waits"]["groups"]}
    most = max(sum(page.of(s[0], pid).values()) for pid, s in still.items())
    wrong = []
    for pid, (process, name, state, wchan, _) in still.items():
        got = threads.get(pid, {})
        if set(got) != {wchan} or not 0.95 * looks <= got[wchan] <= looks:
            wrong.append(f"top: {pid} {name} {state} in {wchan}: {got} of {looks}")
        got = page.of(process, pid)
        if set(got) != {wchan} or got[wchan] < 0.95 * most:
            wrong.append(f"serve: {pid} {name} {state} in {wchan}: {got} of {most}")
    note(f"{len(still)} tasks waited and did not run: {looks} looks of top, {most} of serve, "
         f"{len(wrong)} were seen elsewhere")
    check(not wrong, "; ".join(wrong[:5]))


def top_of(w, backend, seconds):
    said = w.us.run("top", "--json", "--tasks", str(HZ), "-w", "all", "-d", str(seconds),
                    "--sort", "thread", "--backend", backend, "--budget", "50", "-F", "49",
                    w.guest.target(backend)).stdout
    return json.loads(said.splitlines()[-1])


def page_of(w, backend, seconds):
    def asked(s, path, **query):
        status, text = s.get(path, **query)
        return json.loads(text) if status == 200 else {}
    with Serve(os.path.dirname(w.us.program), "--tasks", str(HZ), "--backend", backend,
               "--budget", "50", "-F", "49", w.guest.target(backend)) as s:
        until(lambda: asked(s, "/history").get("waits"), "a look at tasks")
        begun = asked(s, "/history")["now"]
        until(lambda: asked(s, "/history")["now"] > begun + 1000 * seconds, f"{seconds} s of it")
        data = asked(s, "/data", last=0, waits=1)
        check("waits" not in asked(s, "/data", last=0), "only who asks for it has it")
        note("serve: " + "; ".join(line for line in data["waits"]["facts"]
                                   if line.startswith("what tasks wait for")))
        s.end()
    return Page(data["waits"])


def cut(report):
    ends = report["summary"]["stack_ends"]
    return sum(ends.values()) - ends["root"]


def cut_in_kernel(us, figures):
    """Busybox's own code has no rules, so that the shell's stacks are cut in it: below the
    kernel's."""
    shell = ("--waits", "--filter", f"process={SHELL}")
    in_shell = cut(us.report(*shell))
    note(f"{figures['truncated']} of {figures['taken']} stacks are cut, {in_shell} of the shell's")
    check(figures["truncated"] - in_shell <= 0.01 * figures["taken"], "stacks are cut")
    if in_shell:
        rows = [(path, n) for path, n in Report(us, *shell[1:]).rows
                if not any(ENTRY.match(f) for f in path)]
        check(not rows, f"cut in the kernel: {rows[:3]}")


def places(w, report, still):
    """Tasks that did not run: in each look, and where the guest says."""
    known = {w.pids[how] for how in PLACES}
    check(known <= {s[0] for s in still.values()}, f"the guest says only {still}")
    check(sum(s[0] == w.pids["futex"] for s in still.values()) == 3, f"threads: {still}")
    wrong = []
    for pid, (process, name, state, wchan, _) in still.items():
        got = report.of(process, pid)
        if set(got) != {wchan} or not 0.95 * report.looks <= got[wchan] <= report.looks:
            wrong.append(f"{pid} {name} {state} in {wchan}: {got} of {report.looks}")
    note(f"{len(still)} tasks waited and did not run, {len(wrong)} were seen elsewhere")
    check(not wrong, "; ".join(wrong[:5]))


def programs(w, us):
    """Without -e: below the system call, the program's own functions."""
    with guest_files(us) as root:
        report = Report(us, "--root", root)
    for how in PLACES:
        pid = w.pids[how]
        stacks = report.stacks(pid, pid)
        # Until its rules were read it is the kernel's part alone.
        whole = sum(n for path, n in stacks if path[0] == "_start")
        wrong = [path for path, _ in stacks if "_start" in path[1:]
                 or (path[0] == "_start") != ("main" in path)
                 or path.count("dive") != DIVES * (how == "deep" and path[0] == "_start")]
        line = f"{how}: {whole} of {sum(n for _, n in stacks)} from _start on"
        note(line + ", such as " + " > ".join(max(stacks, key=lambda s: len(s[0]))[0]))
        check(not wrong, f"{how}: {wrong[:3]}")
        check(2 * whole >= sum(n for _, n in stacks), line)


def dumped(w):
    """The same in the one look of dump --tasks."""
    for how in PLACES:
        frames = w.dumped[w.pids[how]]
        names = [f["function"] for f in reversed(frames)]
        line = f"{how}: {' > '.join(map(str, names))}"
        note("dump: " + line)
        check(names[:1] == ["_start"] and "main" in names, line)
        check(names.count("dive") == DIVES * (how == "deep"), line)
        check({f["mapped"] for f in frames} == {"/bin/waits"}, f"{how}: {frames}")


def shares(w, report, turned):
    """Of the one that waits in three places by turns."""
    pid = w.pids["turns"]
    mine = [(path, n) for path, n in report.rows if path[0].endswith(f" ({pid})")]
    n = sum(count for _, count in mine)
    for call, truth in zip(TURNS, turned):
        got = sum(count for path, count in mine
                  if any(call in f and "sys_" in f for f in path)) / max(1, n)
        bound = 3.29 * (truth * (1 - truth) / max(1, n)) ** 0.5 + POINTS
        line = f"turns: {call} {100 * got:.1f} %, by its own clock {100 * truth:.1f} %"
        note(line)
        check(abs(got - truth) <= bound, "outside: " + line)


def states(w, us):
    """The one that no signal ends is the only one that is blocked all the time."""
    blocked = Report(us, "--filter", "state=blocked")
    mine = sum(n for path, n in blocked.rows if path[0].endswith(f" ({w.pids['vfork']})"))
    check(mine >= 0.95 * blocked.looks, f"blocked: {blocked.rows}")
    asleep = Report(us, "--filter", "state=sleeps")
    check(not any(path[0].endswith(f" ({w.pids['vfork']})") for path, _ in asleep.rows),
          "it does not sleep")
