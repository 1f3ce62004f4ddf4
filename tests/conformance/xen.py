#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Test guests as Xen domains; run by itself, in dom0: what only a domain can show.

usage: xen.py BUILD [PROCESSOR] [--only WORD] [--kills N]

A PVH domain of x86 has no serial port and writes to port 0xe9, which goes to Xen's log.
One of aarch64 has a serial port, a PV domain a ring, whose output xenconsoled writes to a
file.  The serial port of an HVM domain is QEMU's, which also boots it.
"""
import argparse
import contextlib
import glob
import json
import os
import random
import re
import signal
import subprocess
import time

from harness import Guest, Skip, Tap, Uniscope, check, note, patience

_PIECE = 199  # of a line: Xen breaks longer ones
# Looks one behind the other.
_BUSY = ("-F", "5000", "--budget", "100")
_FAST = ("-F", "10000", "--budget", "100")
_LINE = re.compile(r"\(d(\d+)\) (.*)")
# Guests that are no PV domains, and why.
_NO_PV = {
    "ends": "its gates are the processor's",
    "cyclic": "Xen lets no PV domain build such tables",
    "ring3": "its gates are the processor's; of PV Linux has some: test_domain.py",
}
_CONSOLE = "/var/log/xen/console/guest-{name}{port}.log"


def written():
    """What the domains have written, by their numbers."""
    got = subprocess.run(["xl", "dmesg"], capture_output=True, text=True,
                         errors="replace", check=True)
    text = {}
    for line in got.stdout.splitlines():
        if piece := _LINE.search(line):
            end = "" if len(piece[2]) >= _PIECE else "\n"
            domain = int(piece[1])
            text[domain] = text.get(domain, "") + piece[2] + end
    return text


def threads(pid):
    """CPU time in ns and waits so far, by thread."""
    got = {}
    for task in glob.glob(f"/proc/{pid}/task/*"):
        with open(task + "/schedstat") as f:
            ns = int(f.read().split()[0])
        with open(task + "/status") as f:
            waits = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", f.read(), re.M)[1])
        got[task] = (ns, waits)
    return got


class Vm:
    """A domain, with those of Popen's methods that the tests use."""
    returncode = None

    def __init__(self, config):
        done = subprocess.run(["xl", "create", config], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"xl create: {done.stdout}{done.stderr}")
        name = os.path.basename(config)
        self.id = int(subprocess.run(["xl", "domid", name], capture_output=True,
                                     text=True, check=True).stdout)

    def poll(self):
        there = subprocess.run(["xl", "list", str(self.id)], capture_output=True)
        return None if there.returncode == 0 else 0

    def kill(self):
        subprocess.run(["xl", "destroy", str(self.id)], capture_output=True)

    def wait(self):
        pass


@contextlib.contextmanager
def unlimited():
    """Xen's scheduler leaves a domain the CPU for a millisecond (credit2's ratelimit): now
    it does not."""
    def limit(us):
        subprocess.run(["xl", "sched-credit2", "-s", "-r", us], check=True,
                       stdout=subprocess.DEVNULL)
    limit("0")
    try:
        yield
    finally:
        limit("1000")


class Domain(Guest):
    """A guest that runs; its accelerator is pv, pvh or hvm."""
    poll_seconds = 1  # xl takes the CPU that the domain runs on
    made = 0

    def __init__(self, build, name, accel, smp=1, kernel=None, memory=64,
                 processor="x86_64", config=(), disk=None, **_):
        self.name, self.accel, self.smp = name, accel, smp
        self.processor = processor
        arm = processor == "aarch64"
        variant = "-xen-pv" if accel == "pv" else "-xen" if arm else ""
        self.elf = kernel or self.built(build, name + variant, processor)
        # arm64's toolstack loads no ELF.
        image = re.sub(r"\.elf$", ".img", self.elf) if arm else self.elf
        if not os.path.exists(image):
            why = _NO_PV.get(name.split("-")[0]) if accel == "pv" else None
            raise Skip(why or f"{image} is not built")
        Domain.made += 1
        self.config = f"/tmp/{name}-{Domain.made}"
        with open(self.config, "w") as f:
            boots = f'kernel = "{image}"' if not disk else \
                f'disk = ["format=raw,vdev=hda,access=rw,backendtype=qdisk,target={disk}"]'
            f.write(f'name = "{os.path.basename(self.config)}"\ntype = "{accel}"\n'
                    f'{boots}\nmemory = {memory}\nvcpus = {smp}\n')
            # Else Xen emulates RDTSC where the processor is an emulated one, and takes
            # longer for it than a guest for a packet; and RDTSCP it cannot, as QEMU's
            # SVM does not say where the next instruction is.
            f.write('vuart = "sbsa_uart"\n' if arm else 'tsc_mode = "native"\n')
            if accel == "hvm":
                f.write(f'serial = "file:{self.serial_file()}"\nvga = "none"\nvnc = 0\n')
            f.writelines(line + "\n" for line in config)
        self.vm = Vm(self.config)

    def __exit__(self, *_):
        self.vm.kill()

    def standing(self):
        return contextlib.nullcontext()  # xl would take longer than it saves

    def serial_file(self):
        port = "-vuart0" if self.accel == "pvh" else ""
        return _CONSOLE.format(name=os.path.basename(self.config), port=port)

    def serial(self):
        if self.processor == "x86_64" and self.accel == "pvh":
            return written().get(self.vm.id, "")
        path = self.serial_file()
        if not os.path.exists(path):
            return ""
        with open(path, errors="replace") as f:
            return f.read()

    def target(self, backend):
        return f"xen:{self.vm.id}"


class Tests:
    def __init__(self, args):
        self.build, self.us, self.args = args.build, Uniscope(args.build), args

    def domain(self, name, smp=1, **more):
        """The one kind of domain that all processors have."""
        return Domain(self.build, name, "pvh", smp, processor=self.args.processor, **more)

    def memory(self):
        """RAM on both sides of the hole below 4 GiB is as good as little of it."""
        with self.domain("shares", memory=self.large()) as g:
            g.wait("READY")
            self.us.record(g, "xen", "--budget", "50", seconds=2)
            rows = self.us.paths(nowhere=False)
            check(any(p[-1] == "f60" for p, _ in rows if p), f"no f60: {rows}")

    @staticmethod
    def large():
        info = subprocess.run(["xl", "info", "free_memory"], capture_output=True,
                              text=True, check=True)
        if int(info.stdout) < 3200:
            raise Skip(f"3 GiB are wanted and {info.stdout.strip()} MiB are free")
        return 3072

    def begin(self, g, name, *more):
        """A recording that has begun."""
        out = self.us.data(name)
        if os.path.exists(out):
            os.unlink(out)  # of the time before
        p = subprocess.Popen([self.us.program, "record", "--json", "-e", g.elf, "-o", out,
                              *more, g.target("xen")], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        g.wait_for(lambda: os.path.exists(out) and os.path.getsize(out),
                   what="recording")
        return p

    def interrupt(self):
        """^C while it is paused: the domain goes on, and the recording ends well."""
        with self.domain("shares") as g:
            g.wait("READY")
            for i in range(5):
                p = self.begin(g, f"interrupted{i}.data", *_BUSY)
                time.sleep(1 + i / 7)
                p.send_signal(signal.SIGINT)
                text, _ = patience.communicate(p, 30)
                check(p.returncode == 0, f"exit {p.returncode}")
                check("stopped by the user" in json.loads(text)["end"] or
                      "interrupted" in json.loads(text)["end"], text)
                check(g.goes_on(), "the domain stands still")

    def destroyed(self):
        """The domain is destroyed while attached: it goes at once, and we say so."""
        with self.domain("shares") as g:
            g.wait("READY")
            p = self.begin(g, "destroyed.data")
            time.sleep(1)
            g.vm.kill()
            text, _ = patience.communicate(p, 30)
            check(p.returncode == 0, f"exit {p.returncode}")
            check("gone" in json.loads(text)["end"], text)
            check(g.vm.poll() is not None, "what we map keeps the domain from going")

    def destroyed_often(self):
        """At any moment, looks as close as can be: dom0 goes on, nothing is left."""
        rng = random.Random(1)
        slowest = 0
        for i in range(self.args.destroys):
            with self.domain("shares", 1 + i % 2) as g:
                p = self.begin(g, "destroyed.data", *rng.choice([(), _BUSY]))
                time.sleep(rng.uniform(0, 1))
                begin = time.monotonic()
                g.vm.kill()
                text, err = patience.communicate(p, 60)
                slowest = max(slowest, time.monotonic() - begin)
                check(p.returncode == 0, f"{i}: exit {p.returncode}: {err}")
                end = json.loads(text)["end"]
                check("gone" in end or "destroyed" in end, f"{i}: the end is {end!r}")
                check(g.vm.poll() is not None, f"{i}: the domain is still there")
        listed = subprocess.run(["xl", "list"], capture_output=True, text=True,
                                check=True).stdout.splitlines()[1:]
        check(len(listed) == 1 and "Domain-0" in listed[0], f"left behind: {listed}")
        note(f"destroyed {self.args.destroys} times while sampled; gone, and the "
             f"recording at its end, within {slowest:.1f} s")

    def kill(self):
        """In mid pause, by the backend itself: see xen-kill.c."""
        with self.domain("shares", 2) as g:
            g.wait("READY")
            self.helper("tests/rigs/xen-kill", str(g.vm.id), str(self.args.kills))
            check(g.goes_on(), "the domain stands still")

    def cost(self):
        """Of short and of deep stacks; and how many there are at most."""
        x86 = self.args.processor == "x86_64"
        for name in ("leaf", "recurse") if x86 else ("shares",):
            with (Domain(self.build, name, "pv", config=self.args.config) if x86
                  else self.domain(name)) as g:
                g.wait("READY")
                note(f"bench: {name}:")
                if x86:
                    self.helper("tests/bench/bench-xen", str(g.vm.id), "xenctx")
                self.rate(g)
                if name == "leaf" and not self.args.config:
                    with unlimited():
                        self.rate(g, "with xl sched-credit2 -s -r 0, ", 2)

    def rate(self, g, how="", lasts=5):
        """How many samples there are at most, and what each costs all in all: what the
        threads of a recording took meanwhile, its start and its end left out."""
        p = self.begin(g, "fast.data", *_FAST)
        time.sleep(2)
        begin, before = time.monotonic(), threads(p.pid)
        time.sleep(lasts)
        seconds, after = time.monotonic() - begin, threads(p.pid)
        p.send_signal(signal.SIGINT)
        stats = json.loads(patience.communicate(p, 60)[0])
        n = stats["hz_reached"] * seconds
        cpu, waits = (sum(after[t][k] - before[t][k] for t in before) for k in (0, 1))
        note(f"bench: {how}record {' '.join(_FAST)}: {stats['hz_reached']:.0f} samples a "
             f"second, held {stats['held_p50_ns'] / 1e3:.1f} us, {stats['truncated']} of "
             f"{stats['running']} truncated; CPU {cpu / n / 1e3:.1f} us a sample, with "
             f"{waits / n:.2f} waits; first after {stats['attach_ns'] / 1e6:.0f} ms")
        check(stats["running"] > 100, f"{stats['running']} samples")

    def helper(self, name, *args):
        done = subprocess.run([os.path.join(self.build, name), *args],
                              capture_output=True, text=True, timeout=500)
        for line in done.stdout.splitlines():
            note("bench: " + line)
        check(done.returncode == 0, done.stderr)

    def hvm(self):
        """With firmware and a disk that QEMU emulates; in 16-bit code."""
        if not glob.glob("/usr/libexec/xen-qemu-system-*"):
            raise Skip("nothing emulates the devices of HVM domains here")
        disk = os.path.join(self.build, "tests", "guests", "sector-protected.bin")
        with Domain(self.build, "sector-protected", "hvm", disk=disk) as g:
            g.wait("BEAT")
            stats = self.us.record(g, "xen", "--budget", "50", seconds=10)
            rows = self.us.paths()
            n = sum(count for _, count in rows)
            note(f"{n} samples, {stats['held_p50_ns'] / 1000:.0f} us each: {rows[:4]}")
            check(n > 20, f"{n} samples")
            legal = (["work"], ["print"], ["_start"])
            wrong = sum(count for path, count in rows if path and path not in legal)
            check(not wrong, f"more than addresses: {rows}")
            check(any(path == ["work"] for path, _ in rows), "never at work")
            check(g.goes_on(), "the domain stands still")

    def ps(self):
        x86 = self.args.processor == "x86_64"
        with self.domain("idle", 2) as a, \
                (Domain(self.build, "idle", "pv") if x86 else self.domain("idle")) as b:
            got = {d["domain"]: d for d in
                   json.loads(self.us.run("ps", "--json").stdout) if "domain" in d}
            note(str(got))
            check(got[a.vm.id]["kind"] == "PVH" and got[a.vm.id]["n_vcpu"] == 2, got)
            check(got[b.vm.id]["kind"] == ("PV" if x86 else "PVH"), got)
            check(b.name in got[b.vm.id]["name"], got)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("processor", nargs="?", default="x86_64")
    p.add_argument("--only", action="append", help="of these words; may be repeated")
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--destroys", type=int, default=10)
    p.add_argument("--config", action="append", default=[],
                   help="a line of the configuration of the domain that is measured")
    args = p.parse_args()
    tests, tap = Tests(args), Tap()
    for name, function in (("the list of domains", tests.ps),
                           ("3 GiB of memory", tests.memory),
                           ("interrupted in mid pause", tests.interrupt),
                           ("destroyed in the middle", tests.destroyed),
                           ("destroyed at any moment", tests.destroyed_often),
                           ("an HVM domain", tests.hvm),
                           ("killed in mid pause", tests.kill),
                           ("what a look costs", tests.cost)):
        if any(words in name for words in args.only or [""]):
            tap.point(f"xen: {name}", function)
    tap.end()


if __name__ == "__main__":
    main()
