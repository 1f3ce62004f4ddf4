#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs ask of Debian's Linux on aarch64, emulated by trixie's QEMU.

usage: test_syscalls_arm64.py BUILD

There is no such host to compare with: what has to be there is known of the programs.
"""
import glob
import os
import sys
import tempfile

import guest  # noqa: F401  where the others are
from harness import Tap, Uniscope, check, note
from initramfs import Initramfs
from strace_text import calls, summary
from tcg import Qemu
from test_syscalls import processes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs"))
from debs import Suite  # noqa: E402

INIT = """#!/bin/busybox sh
exec >/dev/console 2>&1
cd /
/bin/cat /etc/motd >/tmp/out
/bin/sh -c 'trap "echo hi" USR1; kill -USR1 $$; echo done' >/tmp/out
/bin/cat /nowhere
echo END
/bin/busybox poweroff -f
"""
TEXT = "Hello\n"


def make_initrd(path, busybox):
    fs = Initramfs()
    fs.add_file("/bin/busybox", busybox)
    for name in ("cat", "sh"):
        fs.link("/bin/" + name, "busybox")
    for name in ("tmp", "dev"):
        fs.folder(name)
    fs.add("/etc/motd", TEXT, 0o644)
    fs.add("/init", INIT)
    fs.write(path)


def trace(build, us, folder):
    suite = Suite(build, "bookworm", "aarch64")
    image, = glob.glob(os.path.join(suite.kernel("linux-image-cloud-arm64"), "boot", "vmlinuz-*"))
    initrd, log = os.path.join(folder, "initrd"), os.path.join(folder, "serial")
    make_initrd(initrd, os.path.join(suite.closure(("busybox-static",)), "bin", "busybox"))
    qemu = Qemu(build, "trixie", folder, "aarch64")
    note(f"QEMU {qemu.version}")
    us.run("trace", "--syscalls", "-o", us.data(), "--", qemu.program, "-M", "virt", "-smp", "2",
           "-cpu", "cortex-a72", "-m", "512", "-nodefaults", "-no-reboot", "-display", "none",
           "-serial", "file:" + log, "-kernel", image, "-initrd", initrd,
           "-append", "console=ttyAMA0 quiet panic=-1", timeout=400)
    check("END" in open(log, errors="replace").read(), "the guest did not end")
    return calls(us.run("replay", us.data()).stdout)


def is_known(found, us):
    left = {c.name for c in found if "unfinished" in c.result}
    check(left <= {"wait4", "reboot"}, f"unfinished: {left}")
    odd = [c for c in found if c.name.startswith("syscall_") or "gone" in c.result
           or (c.value is None and c.name not in left and not c.name.startswith("exit"))]
    check(not odd, f"{odd}")
    table = summary(us.run("replay", "-c", us.data()).stdout)
    check(table["execve"] == (sum(c.name == "execve" for c in found), 0), f"{table}")
    note(f"{len(found)} calls")


def is_cat(found):
    """What it does is read the file."""
    cat, = processes(found, ["/bin/cat"])
    at = next(i for i, c in enumerate(cat) if c.name == "openat" and c.path() == "/etc/motd")
    rest = [(c.name, c.value) for c in cat[at:]]
    check(rest == [("openat", 3), ("sendfile", len(TEXT)), ("sendfile", 0), ("close", 0),
                   ("exit_group", None)], f"{rest}")
    bad, = processes(found, ["/bin/cat"], 1)
    check([c.error for c in bad if c.path() == "/nowhere"] == ["ENOENT"], "/nowhere")


def is_signalled(found):
    """The handler's return is that of the call that the signal came upon."""
    shell, = processes(found, ["/bin/sh"])
    names = [c.name for c in shell]
    at = names.index("kill")
    check(names[at:at + 4] == ["kill", "rt_sigreturn", "write", "write"], f"{names[at:]}")
    check([c.value for c in shell[at:at + 4]] == [0, 0, 3, 5], f"{shell[at:at + 4]}")


def main():
    build, tap, us, found = sys.argv[1], Tap(), Uniscope(sys.argv[1]), None
    with tempfile.TemporaryDirectory(prefix="uniscope-linux-") as folder:
        def start():
            nonlocal found
            found = trace(build, us, folder)
        tap.point("a guest is traced", start)
        if found:
            tap.point("all is known of each call", lambda: is_known(found, us))
            tap.point("cat", lambda: is_cat(found))
            tap.point("a signal's handler", lambda: is_signalled(found))
    tap.end()


if __name__ == "__main__":
    main()
