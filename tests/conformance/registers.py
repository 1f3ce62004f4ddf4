#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin reads of a guest's registers and memory is what QEMU says otherwise.

usage: registers.py BUILD PLUGIN [--qemu SUITE]
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import Skip, Tap, check, note, patience  # noqa: E402
from tcg import Qemu  # noqa: E402


def read(args, qemu, folder, smp):
    """Its counts, after the guest has done all of its work once."""
    elf = os.path.join(args.build, "tests/guests/counted.elf")
    log = os.path.join(folder, f"serial-{smp}")
    if not os.path.exists(elf):
        raise Skip(f"{elf} is not built")
    vm = subprocess.Popen(
        [qemu.program, "-M", "q35", "-m", "256", "-smp", str(smp), "-net", "none", "-vga", "none",
         "-display", "none", "-serial", "file:" + log, "-kernel", elf,
         "-plugin", os.path.abspath(args.plugin)], stderr=subprocess.PIPE, text=True)
    try:
        end = patience.clock() + 120
        while vm.poll() is None and patience.clock() < end:
            if os.path.exists(log) and "COUNTS" in open(log, errors="replace").read():
                break
            time.sleep(0.05)
        vm.send_signal(signal.SIGTERM)
        said = patience.communicate(vm, 120)[1]
    finally:
        vm.kill()
        vm.wait()
    told = re.search(r"^\{.*\}$", said, re.M)
    check(told, said)
    return json.loads(told[0])


def is_right(args, qemu, folder, smp):
    n = read(args, qemu, folder, smp)
    note(" ".join(f"{k} {v}" for k, v in n.items()))
    wrong = {k: v for k, v in n.items() if k.endswith("_wrong") and v}
    check(not wrong, f"{wrong}")
    if n["api"] < 2:
        check(not n["registers"] and n["sp"] == 0 and n["found"] < 0, "there are none")
        return
    check(n["registers"] and n["found"] == 0 and n["sp"] > 10000, "registers")
    check(n["memory"] == (n["api"] >= 4), "memory")
    if n["memory"]:
        check(n["code"] > 10000 and n["no_code"] == 0, "code")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("plugin")
    parser.add_argument("--qemu", default="")
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
            tap.point(f"registers and memory are right: {smp} vCPU",
                      lambda n=smp: is_right(args, qemu, folder, n))
    tap.end()


if __name__ == "__main__":
    main()
