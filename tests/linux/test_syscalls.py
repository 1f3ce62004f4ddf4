#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs ask of Debian's Linux under TCG, beside what strace says of the same on
this host.

usage: test_syscalls.py BUILD [--qemu SUITE] [--smp N] [--cpu MODEL] [--narrow]

The programs are busybox's, in a folder that is the guest's first file system, and this
host's chroot.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter

from guest import static_busybox
from harness import Skip, Tap, Uniscope, check, note
from initramfs import Initramfs
from releases import release
from strace_text import calls, summary
from tcg import Qemu

FILES = {"/etc/motd": "Hello, \"world\"\nline two\n\t\x01\n", "/etc/group": "root:x:0:\n",
         "/etc/passwd": "root:x:0:0:root:/:/bin/sh\n"}
PROGRAMS = ["cat", "ls", "wc", "sh", "sleep", "head", "dd", "sort"]
# By their first words they are found again.
COMMANDS = [
    ["/bin/cat", "/etc/motd"], ["/bin/head", "-n1", "/etc/motd"], ["/bin/wc", "/etc/passwd"],
    ["/bin/cat", "/nowhere", "/etc/group"], ["/bin/ls", "-l", "/etc"], ["/bin/sleep", "0.05"],
    ["/bin/dd", "if=/etc/motd", "of=/tmp/copy", "bs=7"], ["/bin/sort", "-r", "/etc/motd"],
    ["/bin/sh", "-c", 'trap "echo hi" USR1; kill -USR1 $$; echo done'],
    ["/bin/sh", "-c", "cat /etc/motd | wc -l"],
]
INIT = """#!/bin/busybox sh
exec >/dev/console 2>&1
/bin/busybox mkdir -p /dev
/bin/busybox mount -t devtmpfs dev /dev
cd /
{commands}
[ ! -e /bin/gates ] || /bin/gates </dev/null >/tmp/out 2>&1
echo END
/bin/busybox poweroff -f
"""
# 32-bit: by the vDSO, where the model of the processor decides on syscall or sysenter,
# and by int 0x80.
GATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "gates.c")
NARROW = ["-m32", "-O2", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fomit-frame-pointer",
          "-fno-stack-protector", "-fcf-protection=none", "-Wl,-z,noexecstack"]
# When a parent hears of its children's end is a matter of time.
TIMELY = ("wait4", "rt_sigreturn")
# Addresses, identities, and what the vDSO may answer.
LOOSE = ("brk", "mmap", "clone", "fork", "vfork", "getpid", "getppid", "set_tid_address", "gettid",
         "clock_gettime", "gettimeofday", "time", "mprotect", "kill", "uname", "getdents64")


# What strace shows as a text and uniscope does not, and what is random.
TEXTLESS = ("prctl", "getrandom")
# As the guest's first shell has it.
ENVIRONMENT = {"PATH": "/sbin:/usr/sbin:/bin:/usr/bin", "PWD": "/", "HOME": "/"}


def make_root(folder, busybox):
    """The same files for both."""
    fs = Initramfs()
    for path, text in FILES.items():
        fs.add(path, text, 0o644)
        os.makedirs(folder + os.path.dirname(path), exist_ok=True)
        with open(folder + path, "w") as f:
            f.write(text)
    fs.add_file("/bin/busybox", busybox)
    for name in ("bin", "tmp", "dev"):
        os.makedirs(os.path.join(folder, name))
        fs.folder(name)
    shutil.copy(busybox, os.path.join(folder, "bin"))
    for name in PROGRAMS:
        fs.link("/bin/" + name, "busybox")
        os.symlink("busybox", os.path.join(folder, "bin", name))
    gates = os.path.join(folder, "gates")
    if not subprocess.run(["gcc", *NARROW, GATES, "-o", gates], stderr=subprocess.DEVNULL).returncode:
        fs.add_file("/bin/gates", gates)
    quoted = [" ".join("'" + w + "'" for w in c) for c in COMMANDS]
    fs.add("/init", INIT.format(commands="\n".join(f"{c} </dev/null >/tmp/out 2>&1" for c in quoted)))
    return fs


class Host:
    """strace of a command in the folder."""

    def __init__(self, folder):
        if not shutil.which("strace"):
            raise Skip("strace is not installed")
        if os.geteuid():
            raise Skip("only root can chroot")
        self.folder = folder

    def calls(self, command):
        out = self.folder + ".strace"
        with open(os.path.join(self.folder, "tmp/out"), "w") as f:
            done = subprocess.run(
                [shutil.which("strace"), "-f", "-s", "32", "-o", out,
                 shutil.which("chroot", path=os.defpath + ":/usr/sbin:/sbin"), self.folder,
                 *command], env=ENVIRONMENT,
                stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.STDOUT,
                preexec_fn=as_the_guest_has_them)
        text = open(out).read()
        if "ptrace" in text[:200] or not text:
            raise Skip(f"strace: exit {done.returncode}")
        return processes(calls(text), command)


def as_the_guest_has_them():
    """Signals that who started this test ignores are asked for by shells, too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def processes(found, command, skip=0):
    """The calls of a command from its execution on: a list for each of its processes."""
    begun = [c for c in found if c.name == "execve" and c.path() == command[0] and not c.error]
    first = begun[skip]
    mine = {first.thread: []}
    for c in (c for c in found if c.order > first.order):
        if c.thread not in mine:
            # Its children: they begin before it ends.
            if any(x.name.startswith("exit") for x in mine[first.thread]):
                break
            if not any(x.name in ("clone", "fork", "vfork") for x in mine[first.thread]):
                continue
            if c.name == "wait4":
                continue  # the one that started it
            mine[c.thread] = []
        if not any(x.name.startswith("exit") for x in mine[c.thread]):
            mine[c.thread].append(c)
    return list(mine.values())


def fact(c):
    """What has to be the same."""
    loose = c.name in LOOSE
    text = None if loose or c.name in TEXTLESS else c.path()
    return (c.name, c.error, None if loose else c.value, text)


def names(process):
    return tuple(c.name for c in process if c.name not in (*TIMELY, "clock_gettime"))


class Linux:
    """A recording of the guest, from its start to its end."""

    def __init__(self, args, qemu, kernel, fs, folder):
        self.us = Uniscope(args.build)
        self.out = self.us.data("linux.data")
        initrd, log = os.path.join(folder, "initrd"), os.path.join(folder, "serial")
        fs.write(initrd)
        self.us.run("trace", "--syscalls", "-o", self.out, "--", qemu.program, "-M", "q35",
                    "-m", "256", "-smp", str(args.smp), "-cpu", args.cpu, "-nodefaults", "-no-reboot",
                    "-display", "none", "-serial", "file:" + log,
                    "-kernel", kernel, "-initrd", initrd, "-append",
                    "console=ttyS0 quiet panic=-1 clocksource=tsc tsc=reliable "
                    "random.trust_cpu=on", timeout=400)
        serial = open(log, errors="replace").read()
        check("END" in serial, serial[-500:])
        self.text = self.us.run("replay", self.out).stdout
        self.calls = calls(self.text)

    def lacks_a_path(self):
        """Where its page was not in memory at the call, it was at the return."""
        return [c for c in self.calls if c.name in ("readlink", "execve", "openat")
                and not c.path()]

    def processes(self, command):
        same = [c for c in COMMANDS if c[0] == command[0]]
        return processes(self.calls, command, same.index(command))


def is_same(linux, host, command):
    guest, here = linux.processes(command), host.calls(command)
    note(f"{sum(map(len, guest))} calls in {len(guest)} processes")
    check(sorted(map(names, guest)) == sorted(map(names, here)),
          f"\n guest {sorted(map(names, guest))}\n  host {sorted(map(names, here))}")
    here, guest = (Counter(fact(c) for p in ps for c in p
                           if c.name not in (*TIMELY, "clock_gettime")) for ps in (here, guest))
    check(guest == here, f"\n guest {guest - here}\n  host {here - guest}")


def is_without_value(c):
    """A signal came while the program computed: there it goes on, and nothing returns."""
    return c.name == "rt_sigreturn" and c.result == "?"


def are_narrow(linux):
    """Each of them twice: by the vDSO, and by int 0x80."""
    first = next((c for c in linux.calls if c.path() == "/bin/gates" and c.name == "execve"), None)
    if not first:
        raise Skip("gcc -m32 does not work here")
    told = [c for c in linux.calls if c.order > first.order]
    line = Counter(f"{c.name}({c.args}) = {c.result}" for c in told)
    for want in ('write(1, "gate\\n", 5) = 5',
                 'pwrite64(%d, "x", 1, 4294967297) = -1 EFBIG (File too large)',
                 "lseek(%d, -10, SEEK_CUR) = -1 EINVAL (Invalid argument)"):
        found = sum(line[want % fd] for fd in (3, 4)) if "%" in want else line[want]
        check(found == 2, f"{want}: {found} in {line}")
    maps = [c for c in told if c.name == "mmap2"]
    check(len(maps) == 2 and all(c.args == "NULL, 4096, PROT_READ|PROT_WRITE, "
                                 "MAP_PRIVATE|MAP_ANONYMOUS, -1, 0" and
                                 re.fullmatch("0x[bf]7[0-9a-f]{6}", c.result) for c in maps), f"{maps}")
    # Two processes, with a kernel stack each; where it is was learned from the first gate.
    rounds = Counter(c.thread for c in told if c.name == "sched_yield")
    check(sorted(rounds.values()) == [40, 40], f"{rounds}")
    pids = [{c.value for c in told if c.thread == t and c.name == "getpid"} for t in rounds]
    check(all(len(p) == 1 for p in pids) and pids[0] != pids[1], f"{pids}")


def is_summed_up(linux):
    """The table has what the lines have; a call that has not returned is not in it."""
    done = [c for c in linux.calls if c.value is not None or "ERESTART" in c.result
            or is_without_value(c)]
    want = {n: (k, sum(c.name == n and (c.error != "" or "ERESTART" in c.result)
                       for c in done))
            for n, k in Counter(c.name for c in done).items()}
    have = summary(linux.us.run("replay", "-c", linux.out).stdout)
    check(have == want, f"{set(have.items()) ^ set(want.items())}")
    note(f"{sum(n for n, _ in have.values())} calls, {sum(f for _, f in have.values())} errors")


def all_has_ended(linux):
    """But for the first process, which waits, and the one that ends the machine."""
    left = [c for c in linux.calls if "unfinished" in c.result]
    check({c.name for c in left} <= {"wait4", "reboot"}, f"{left}")
    check(not re.search("gone", linux.text), "a thread is gone")
    unknown = [c for c in linux.calls if c.value is None and "unfinished" not in c.result
               and not c.name.startswith("exit") and not is_without_value(c)]
    check(not unknown, f"{unknown}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    parser.add_argument("--smp", type=int, default=2)
    parser.add_argument("--cpu", default="max", help="such as max,vendor=GenuineIntel")
    parser.add_argument("--narrow", action="store_true", help="a kernel of 32 bits")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-linux-") as folder:
        linux = None

        def start():
            nonlocal linux
            qemu = Qemu(args.build, args.qemu, folder)
            note(f"QEMU {qemu.version}")
            guest = release(args.build, "bookworm", "i386", "linux-image-686-pae") \
                if args.narrow else release(args.build, "")
            fs = make_root(os.path.join(folder, "root"), guest.busybox or static_busybox())
            linux = Linux(args, qemu, guest.image, fs, folder)
            check(not linux.lacks_a_path(), f"of {linux.lacks_a_path()} the path is not known")
        tap.point("a guest is traced", start)
        for command in COMMANDS if linux and not args.narrow else ():
            tap.point(" ".join(command), lambda c=command: is_same(
                linux, Host(os.path.join(folder, "root")), c))
        if linux:
            tap.point("32-bit calls", lambda: are_narrow(linux))
            tap.point("the table", lambda: is_summed_up(linux))
            tap.point("all calls have ended", lambda: all_has_ended(linux))
    tap.end()


if __name__ == "__main__":
    main()
