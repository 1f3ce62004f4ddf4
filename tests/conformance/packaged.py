#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that are not ours, from Debian packages, profiled under TCG.

usage: packaged.py BUILD [--short]

GNU Mach without a bootstrap task panics into its own debugger and polls the serial
port for ever: one stack, with an inlined function and with assembly in its middle.
memtest86+, for both widths, has no ELF file and no symbols at all, and is always busy.
U-Boot and SeaBIOS go through the modes of the processor, from 16 bits on.
"""
import argparse
import gzip
import json
import os
import re
import subprocess
import time

from harness import Guest, Skip, Tap, Uniscope, check, note, require
from packages import unpack

MACH = "gnumach-image-1.8-486-dbg"
# Innermost first.  Debugger broke off with an int3, in SoftDebugger which is inlined
# there; trap_from_kernel is assembly.
MACH_CHAIN = ["comcngetc", "cngetc", "db_readline", "db_read_line", "db_command_loop",
              "db_task_trap", "kdb_trap", "kernel_trap", "trap_from_kernel",
              "SoftDebugger", "Debugger", "Panic",
              "bootstrap_create", "start_kernel_threads", "thread_continue",
              "Thread_continue"]


def mach(build):
    """(ELF with symbols, the same as QEMU's multiboot loader takes it)."""
    where = unpack(build, MACH)
    elf, bare = os.path.join(where, "gnumach"), os.path.join(where, "gnumach.bare")
    if not os.path.exists(bare):
        with gzip.open(os.path.join(where, "boot/gnumach-1.8-486-dbg.gz")) as packed:
            open(elf, "wb").write(packed.read())
        subprocess.run(["objcopy", "-S", "-O", "elf32-i386", elf, bare], check=True)
    return elf, bare


def mach_guest(build, accel="tcg", extra=()):
    elf, bare = mach(build)
    return elf, Guest(build, "gnumach", accel, kernel=bare, memory=128,
                      extra=("-append", "console=com0", *extra))


def in_debugger(guest):
    guest.wait("db>", 60)
    time.sleep(0.3)


def own_backtrace(guest):
    """Return addresses that the guest printed itself when it panicked.  The first is
    that of the int3; the processor's frame holds the next instruction's."""
    lines = re.findall(r"^(0x[0-9a-f]+)\([0-9a-f,]*\)", guest.serial(), re.M)
    check(len(lines) >= 6, f"no backtrace: {guest.serial()[-500:]}")
    addresses = [int(a, 16) for a in lines]
    return [addresses[0] + 1] + addresses[1:]


def mach_dump(args_build, us, backend):
    elf, guest = mach_guest(args_build)
    with guest as g:
        in_debugger(g)
        text = us.run("dump", "--json", "--backend", backend, "-e", elf,
                      g.target(backend)).stdout
        frames = json.loads(text)["vcpus"][0]["frames"]
        names = [f["function"] for f in frames]
        note(" <- ".join(str(n) for n in names))
        # A stop may fall into a function that comcngetc calls to read the port.
        check(MACH_CHAIN[0] in names[:3], f"no comcngetc: {names}")
        at = names.index(MACH_CHAIN[0])
        check(names[at:] == MACH_CHAIN, "the chain is not whole")
        leaf = frames[at]
        note(f"comcngetc at {leaf['file']}:{leaf['line']}")
        check(leaf["file"].endswith("com.c") and 900 < leaf["line"] < 950,
              "comcngetc has not its line")
        check(frames[names.index("SoftDebugger")]["inlined"], "SoftDebugger is inlined")
        own = own_backtrace(g)
        ours = [int(f["pc"], 16) for f in frames if not f["inlined"]]
        note("the guest's own backtrace: " + " ".join(hex(a) for a in own))
        check(ours[-len(own):] == own, f"it is not in {[hex(a) for a in ours]}")


def mach_record(build, us, backend):
    elf, guest = mach_guest(build)
    with guest as g:
        in_debugger(g)
        g.elf = elf
        us.record_enough(g, backend, "--budget", "30", seconds=2)
        rows = us.paths()
        n = sum(c for _, c in rows)
        inside = sum(c for p, c in rows if any("comcngetc" in f for f in p))
        note(f"{inside} of {n} samples in comcngetc")
        check(n >= 100 and inside == n, "not all samples are in comcngetc")
        hot = us.report()["functions"][0]
        check(hot["file"] and hot["file"].endswith("com.c"), f"no file: {hot}")


def mach_symbols_mismatch(build, us):
    """Another build's ELF: addresses and a warning, no names."""
    _, guest = mach_guest(build)
    other = os.path.join(build, "tests/guests/demo.elf")
    with guest as g:
        in_debugger(g)
        done = us.run("dump", "--backend", "gdb", "-e", other, g.target("gdb"))
        check(re.search("warning.*(differs|could not be compared)", done.stdout), done.stdout)
        check("comcngetc" not in done.stdout and "copy" not in done.stdout, "wrong names")


def memtest(build, us, image="memtest86+x64.bin"):
    """No symbols: the hot addresses, by themselves and as functions found in the code."""
    where = unpack(build, "memtest86+")
    kernel = os.path.join(where, "boot", image)
    with Guest(build, "memtest", "tcg", kernel=kernel, memory=128) as g:
        time.sleep(4)
        g.elf = None
        us.record_enough(g, "gdb", "--budget", "30", seconds=1.5)
        functions = us.report()["functions"]
        note(", ".join(f"{f['name']} {f['self']}" for f in functions[:5]))
        check(functions and functions[0]["name"].startswith("0x"), "no addresses")
        check(sum(f["self"] for f in functions) >= 100, "few samples")
        text = us.run("report", us.data()).stdout
        check("0x" in text, text)


def firmware(us, guest, backend):
    """From reset on: whatever mode it is in, a look gives an address, and says why the
    stack ends; the guest goes on."""
    with guest as g:
        g.wait_for(lambda: os.path.exists(g.gdb) and os.path.exists(g.qmp), what="socket")
        us.run("record", "--backend", backend, "--budget", "30", "-d", "2", "-o", us.data(),
               g.target(backend))
        report = us.report()
        ends = report["summary"].get("ends")
        n = sum(f["self"] for f in report["functions"])
        note(f"{n} samples, ends {ends}; "
             + ", ".join(f"{f['name']} {f['self']}" for f in report["functions"][:4]))
        check(n > 0, "no samples")
        widths = set()
        for _ in range(3):
            text = us.run("dump", "--backend", backend, g.target(backend)).stdout
            widths |= set(re.findall(r"(\d\d)-bit", text))
            time.sleep(0.3)
        note(f"code of {sorted(widths)} bits")
        check(widths <= {"16", "32", "64"} and widths, "no width is told")
        check(g.vm.poll() is None, "QEMU has ended")


def u_boot(build, us, backend):
    rom = os.path.join(unpack(build, "u-boot-qemu"), "usr/lib/u-boot/qemu-x86/u-boot.rom")
    firmware(us, Guest(build, "u-boot", "tcg", bios=rom, memory=128), backend)


def seabios(build, us, backend):
    disk = os.path.join(build, "tests/guests/sector-real.elf")  # no boot sector
    firmware(us, Guest(build, "sector-real", "tcg", disk=disk, memory=64), backend)


def points(build, us, backend):
    """(name, function) of what a backend is asked."""
    return ((f"GNU Mach: dump by {backend}", lambda: mach_dump(build, us, backend)),
            (f"GNU Mach: record by {backend}", lambda: mach_record(build, us, backend)),
            (f"U-Boot by {backend}", lambda: u_boot(build, us, backend)),
            (f"SeaBIOS by {backend}", lambda: seabios(build, us, backend)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--short", action="store_true", help="qmp for one of them alone")
    args = parser.parse_args()
    try:
        require("tcg")
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    build, us, tap = args.build, Uniscope(args.build), Tap()
    for name, function in points(build, us, "gdb"):
        tap.point(name, function)
    for name, function in points(build, us, "qmp")[:1 if args.short else None]:
        tap.point(name, function)
    tap.point("GNU Mach: wrong ELF", lambda: mach_symbols_mismatch(build, us))
    tap.point("memtest86+: no symbols", lambda: memtest(build, us))
    tap.point("memtest86+, 32 bits: no symbols",
              lambda: memtest(build, us, "memtest86+ia32.bin"))
    tap.end()


if __name__ == "__main__":
    main()
