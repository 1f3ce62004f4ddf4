# SPDX-License-Identifier: GPL-2.0-or-later
"""Why a guest in QEMU says nothing: is it held, does it stand, or is it only slow?"""
import glob
import os
import re
import subprocess
import time

from moved import is_running

# Of a vCPU's thread, as /proc says it: stopped by a signal or by a tracer.
HELD = "Tt"


def _vcpus(pid):
    """{thread's name: (state, tracer, ticks that it ran)}"""
    found = {}
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            with open(os.path.join(task, "stat")) as f:
                name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)", f.read().strip()).groups()
            with open(os.path.join(task, "status")) as f:
                tracer = int(re.search(r"^TracerPid:\s*(\d+)", f.read(), re.M)[1])
        except OSError:
            continue  # it has ended
        if re.match(r"CPU \d+/", name):
            words = rest.split()
            found[name] = (words[0], tracer, int(words[11]) + int(words[12]))
    return found


def held(guest):
    """What still holds it, though nobody looks at it: "" if nothing does."""
    now = _vcpus(guest.vm.pid)
    wrong = [f"{name} is in state {state}, traced by {tracer}"
             for name, (state, tracer, _) in sorted(now.items()) if state in HELD or tracer]
    if not now:
        wrong.append("no vCPU's thread is there")
    if not wrong and not is_running(guest):
        wrong.append("QEMU says that it does not run")
    return "; ".join(wrong)


def _stacks(guest):
    """What its vCPUs do: a kernel that hangs by itself says in what.  docs/rigs.md has what
    an emulated host can do to it."""
    way = "gdb" if guest.accel == "tcg" else "kvm" if os.uname().machine == "x86_64" else "bpf"
    command = [guest.uniscope, "dump", "--backend", way, guest.target(way)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired) as err:
        return str(err)
    return done.stdout


def why(guest, seconds=5):
    """For a message."""
    before = _vcpus(guest.vm.pid)
    time.sleep(seconds)
    ran = {name: now[2] - before[name][2] for name, now in _vcpus(guest.vm.pid).items()
           if name in before}
    return (f"{held(guest) or 'nothing holds it'}; ticks that its vCPUs ran in {seconds} s: "
            f"{dict(sorted(ran.items()))}\n{_stacks(guest)}")
