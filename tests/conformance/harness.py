# SPDX-License-Identifier: GPL-2.0-or-later
"""Start test guests under QEMU, run uniscope on them, print TAP.

Nothing here knows what a guest should show: see conformance.py.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guests"))
import patience  # noqa: E402
import truth  # noqa: E402
from machine import PROCESSORS  # noqa: E402


# Frames that say where a sample was not: it counts as busy, but for no function.
NOWHERE = ("[waiting for host CPU]", "[no stack]")


class Skip(Exception):
    """The reason why something cannot be tested here."""


def kvm_works():
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR))
        return True
    except OSError:
        return False


def require(accel, processor="x86_64"):
    if accel == "kvm" and not kvm_works():
        raise Skip("/dev/kvm cannot be opened")
    if accel in ("pv", "pvh", "hvm"):
        if not os.path.exists("/proc/xen/privcmd"):
            raise Skip("this is no dom0")
        return
    qemu = PROCESSORS[processor].qemu
    if not shutil.which(qemu):
        raise Skip(f"{qemu} is not installed")


def require_way(args):
    """A guest of this kind, and a host on which the backend can look at it."""
    require(args.accel, processor_of(args))
    if args.backend != "bpf":
        return
    program = os.path.join(args.build, "uniscope")
    told = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True,
                          check=True).stdout
    bpf, = (row for row in json.loads(told) if row["name"] == "bpf")
    if bpf["answer"] == "no":
        raise Skip(f"backend bpf: {bpf['details']}")


def processor_of(args):
    """Most suites are for x86."""
    return getattr(args, "processor", "x86_64")


def way(args):
    """What is tested, as the names of points say it."""
    other = [] if processor_of(args) == "x86_64" else [args.processor]
    return " ".join([args.backend, args.accel, *other])


def longer(seconds, lack, left, most=40):
    """How long to record once more, where there was too little by so many times.  Others
    may have had the host's CPUs for that moment: not all of it at once, if more is left."""
    most = max(2 * seconds, most)
    if left > 1:
        most = min(most, 8 * seconds)
    return min(max(2, lack) * seconds, most)


def waited(pid):
    """{thread: seconds that it has waited for a CPU} of a process."""
    got = {}
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path) as f:
            got[path] = int(f.read().split()[1]) / 1e9
    return got


def one_insn_per_block(qemu, accel, extra):
    """The options of accel, and the others: -singlestep has had another name since QEMU 8.1,
    and none but that one since 10."""
    if "-singlestep" not in extra:
        return accel, extra
    told = subprocess.run([qemu, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"version (\d+)\.(\d+)", told)
    if version and (int(version[1]), int(version[2])) < (8, 1):
        return accel, extra
    return accel + ",one-insn-per-tb=on", [o for o in extra if o != "-singlestep"]


class Guest:
    """A guest that runs; use as a context manager."""
    poll_seconds = 0.05  # between two looks at what it has written

    def __init__(self, build, name, accel, smp=1, extra=(), kernel=None, memory=64,
                 disk=None, cdrom=None, bios=None, qemu=None, machine=None,
                 processor="x86_64", plugin=False):
        self.name, self.accel, self.smp = name, accel, smp
        self.dir = tempfile.TemporaryDirectory(prefix="uniscope-")
        self.log, self.qmp, self.gdb = (os.path.join(self.dir.name, n)
                                        for n in ("serial", "qmp", "gdb"))
        self.elf = kernel or bios or self.built(build, name, processor)
        if not os.path.exists(self.elf):
            raise Skip(f"{self.elf} is not built")
        open(self.log, "w").close()
        where = PROCESSORS[processor]
        arguments = where.arguments
        # On a host where KVM emulates, a PC's firmware takes longer than all tests.
        if accel == "kvm" and not kernel:
            arguments = where.kvm_arguments
        if machine:
            arguments = ("-M", machine)
        boot = (["-drive", f"file={disk},format=raw"] if disk else
                ["-cdrom", cdrom] if cdrom else
                ["-bios", bios] if bios else ["-kernel", self.elf])
        if plugin:
            extra = [*extra, *self.plugin_option(build)]
        qemu = qemu or where.qemu
        with_, extra = one_insn_per_block(qemu, accel, extra)
        self.vm = subprocess.Popen(
            [qemu, "-name", f"{name},debug-threads=on", "-accel", with_,
             *arguments, "-smp", str(smp), "-m", str(memory), *boot,
             "-display", "none", "-serial", "file:" + self.log,
             "-qmp", f"unix:{self.qmp},server=on,wait=off",
             "-gdb", f"unix:{self.gdb},server=on,wait=off", *extra],
            stdin=subprocess.DEVNULL)

    def plugin_option(self, build):
        told = subprocess.run([os.path.join(build, "uniscope"), "record", "--prepare",
                               self.dir.name, "-e", self.elf], stdout=subprocess.PIPE,
                              text=True, check=True).stdout
        return told.split()

    @staticmethod
    def built(build, name, processor):
        guests = os.path.join(build, "tests", "guests")
        if processor == "x86_64":
            return os.path.join(guests, name + ".elf")
        return os.path.join(guests, "ports", f"{name}-{processor}.elf")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.vm.kill()
        self.vm.wait()
        self.dir.cleanup()

    def serial(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def wait_for(self, happened, seconds=120, what="sign of life"):
        """Until happened() is true."""
        end = patience.clock() + seconds
        while patience.clock() < end:
            if happened():
                return
            if self.vm.poll() is not None:
                raise RuntimeError(f"{self.name}: QEMU ended with {self.vm.returncode}:\n"
                                   f"{self.serial()[-500:]}")
            time.sleep(self.poll_seconds)
        raise RuntimeError(f"{self.name}: no {what} in {seconds} s:\n{self.serial()[-500:]}")

    def wait(self, what, seconds=120):
        """Until the serial log holds this text."""
        self.wait_for(lambda: what in self.serial() or "UNSUPPORTED" in self.serial(),
                      seconds, repr(what))
        if what not in self.serial():
            raise Skip(f"{self.name}: this processor has no such pages")

    def truths(self):
        """The last stated truth of each vCPU since the last start, or None."""
        boots = truth.parse(self.serial())
        return [boots[-1].last(v) if boots else None for v in range(self.smp)]

    def wait_truth(self, seconds=120):
        """Until each vCPU has stated its truth once more; these."""
        before, end = self.truths(), patience.clock() + seconds
        while patience.clock() < end:
            now = self.truths()
            if all(n and (not b or n.seq > b.seq) for b, n in zip(before, now)):
                return now
            time.sleep(self.poll_seconds)
        raise RuntimeError(f"{self.name}: no TRUTH line in {seconds} s")

    def beats(self):
        """The last BEAT and where it stands, to see that the guest goes on."""
        return self.serial().count("BEAT ")

    def goes_on(self, seconds=60):
        """Has the guest beaten after this moment?"""
        before, end = self.beats(), patience.clock() + seconds
        while patience.clock() < end:
            if self.beats() > before + 1:
                return True
            time.sleep(self.poll_seconds)
        return False

    @contextlib.contextmanager
    def standing(self):
        """While what was recorded is read it need not take this machine's CPUs.  Not before
        it has shown that it goes on: SIGCONT would hide that it did not."""
        self.vm.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.vm.send_signal(signal.SIGCONT)

    def target(self, backend):
        return {"gdb": "gdb:" + self.gdb, "qmp": "qmp:" + self.qmp}.get(
            backend, str(self.vm.pid))


def start(build, name, accel, smp=1, **more):
    """A guest in QEMU or, with accel pv or pvh, as a domain of this Xen host."""
    if accel in ("pv", "pvh", "hvm"):
        import xen  # of this folder: it needs us
        return xen.Domain(build, name, accel, smp, **more)
    return Guest(build, name, accel, smp, **more)


class Uniscope:
    """The program under test, run with its files in a folder of its own."""

    def __init__(self, build):
        self.program = os.path.join(build, "uniscope")
        self.dir = tempfile.TemporaryDirectory(prefix="uniscope-")

    def run(self, *args, timeout=120, good=(0,)):
        done = patience.run([self.program, *args], timeout)
        if done.returncode not in good:
            raise RuntimeError(f"uniscope {' '.join(args)}: exit {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return done

    def data(self, name="uniscope.data"):
        return os.path.join(self.dir.name, name)

    def record(self, guest, backend, *args, seconds=5.0):
        """Record and return the figures; the recording is self.data()."""
        elf = ["-e", guest.elf] if guest.elf else []
        done = self.run("record", "--json", "--backend", backend, "-d", str(seconds),
                        *elf, "-o", self.data(), *args,
                        guest.target(backend), timeout=seconds + 60)
        return json.loads(done.stdout)

    def record_enough(self, guest, backend, *args, seconds, enough=100):
        """As record(), until a vCPU ran at so many samples.  On a busy host it waits for a
        CPU at most of them: longer each time then, three times."""
        for left in (3, 2, 1, 0):
            stats = self.record(guest, backend, *args, seconds=seconds)
            n = stats["running"] - self.waited()
            if n >= enough:
                return stats
            note(f"only {n} samples in {seconds:.0f} s")
            if left:
                seconds = longer(seconds, 1.5 * enough / max(n, 1), left)
        raise AssertionError(f"fewer than {enough} samples in {seconds:.0f} s")

    def waited(self):
        """At how many samples a vCPU had no host CPU."""
        return sum(f["self"] for f in self.report()["functions"] if f["name"] == NOWHERE[0])

    def report(self, *args):
        return json.loads(self.run("report", "--json", *args, self.data()).stdout)

    def wait_for_kernel(self, seconds=120):
        """Until the recording that grows knows its Linux guest's tables."""
        end = patience.clock() + seconds
        while not (os.path.exists(self.data()) and os.path.getsize(self.data()) and
                   "linux" in self.report()["facts"]):
            check(patience.clock() < end, f"no Linux is known of in {seconds} s")
            time.sleep(0.5)

    def wait_for_process(self, name, samples, seconds=300):
        """Until so many samples of the recording that grows are of a process called so."""
        end = patience.clock() + seconds
        while (n := self.of_process(self.report("--group-by", "process"), name)) < samples:
            check(patience.clock() < end, f"{n} samples of {name} in {seconds} s")
            time.sleep(1)

    @staticmethod
    def of_process(report, name):
        return sum(g["samples"] for g in report["groups"] if g["name"].startswith(name + " ("))

    def paths(self, report=None, nowhere=True, without=()):
        """[(path, samples)]: each path the functions that were really called, the root
        first; what was inlined, and a "[vm exit]", counts for the one around it.
        nowhere: also samples that were in no function; without: not those in these, which
        may be inlined."""
        report = report or self.report()
        functions = {f["id"]: f for f in report["functions"]}
        node_path, left_out, rows = {0: []}, set(), []
        for node in report["tree"]:
            f = functions[node["function"]]
            if f["name"] in without or node["parent"] in left_out:
                left_out.add(node["id"])
            up = node_path[node["parent"]]
            called = not f["inlined"] and not f["name"].startswith("[")
            node_path[node["id"]] = up + [f["name"]] if called else up
            if (node["self"] and (nowhere or f["name"] not in NOWHERE)
                    and node["id"] not in left_out):
                rows.append((node_path[node["id"]], node["self"]))
        return rows


class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def point(self, name, function):
        self.n += 1
        try:
            function()
            print(f"ok {self.n} - {name}", flush=True)
        except Skip as why:
            print(f"ok {self.n} - {name} # SKIP {' '.join(str(why).split())}",
                  flush=True)
        except Exception as err:  # a failed check, or a program that misbehaves
            self.bad += 1
            for line in f"{type(err).__name__}: {err}".splitlines():
                print(f"# {line}")
            print(f"not ok {self.n} - {name}", flush=True)

    def end(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.bad else 0)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def note(text):
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)
