#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A variant that is compared with itself: uniscope boot must find no difference.

usage: boot_twins.py BUILD

Each comparison may be wrong once in twenty times, in anything that it compares.  Of 20 more
than 4 are wrong by chance in 3 of 1000 runs of this test; more is an error.
"""
import json
import os
import sys
import tempfile

from harness import Skip, Tap, Uniscope, check, note
from tcg import Qemu

TRIES, WRONG, RUNS = 20, 4, 8


def differences(told):
    """What the second variant is said to differ in."""
    twin = told["variants"][1]
    said = {"all": twin["verdict"]}
    said.update((name, phase["verdict"]) for name, phase in twin["phases_later"].items())
    check("too few runs" not in said.values(), f"{said}")
    return {name: verdict for name, verdict in said.items() if verdict != "no difference"}


def compare_twins(build):
    with tempfile.TemporaryDirectory(prefix="uniscope-boot-") as folder:
        us, qemu = Uniscope(build), Qemu(build, None, folder)
        elf = os.path.join(build, "tests/guests/demo.elf")
        if not os.path.exists(elf):
            raise Skip(f"{elf} is not built")
        command = [qemu.program, "-M", "microvm", "-m", "64", "-net", "none", "-display",
                   "none", "-kernel", elf]
        path = os.path.join(folder, "twins.json")
        with open(path, "w") as f:
            json.dump({"variants": [{"name": name, "command": command, "until": ["boot_main"]}
                                    for name in ("one", "other")]}, f)
        whole = some = 0
        for i in range(TRIES):
            found = differences(json.loads(us.run("boot", "--compare", path, "--json", "-n",
                                                  str(RUNS)).stdout))
            whole += "all" in found
            some += bool(found)
            if found:
                note(f"comparison {i + 1}: {found}")
        note(f"of {TRIES} comparisons {TRIES - whole} find no difference in all, "
             f"{TRIES - some} none in any phase")
        check(some <= WRONG, f"{some} of {TRIES} find a difference")


def main():
    tap = Tap()
    tap.point("twins do not differ", lambda: compare_twins(sys.argv[1]))
    tap.end()


if __name__ == "__main__":
    main()
