# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that was started under TCG goes on under KVM.

On hosts whose KVM interprets each instruction (a host that is a guest itself, by PVM) a
kernel takes hours to start, and what KVM does not know ends it: CMPXCHG16B, FNCLEX (for
AMD), VERW, FWAIT, to which a task comes that has ended, and what programs compute by SSE.
A guest whose programs sleep, or count, goes on there, if it was started with CPU and APPEND:
without these instructions, and by a clock that does not jump.
"""
import contextlib
import json
import os
import socket
import subprocess
import time

from harness import Skip, patience, require

CPU = "qemu64,-cx16,vendor=GenuineIntel"
APPEND = "clocksource=acpi_pm no_timer_check mitigations=off"
SETTLES = 3  # seconds, until no program of the last command is left


@contextlib.contextmanager
def monitor(guest):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60 * patience.SLOWER)
        s.connect(guest.qmp)
        with s.makefile("rw") as f:
            f.readline()

            def ask(command, **arguments):
                f.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
                f.flush()
                while "return" not in (said := json.loads(f.readline())):
                    if "error" in said:
                        raise RuntimeError(f"{command}: {said['error']}")
                return said["return"]
            ask("qmp_capabilities")
            yield ask


def moved(ask, seconds=120):
    for _ in range(10 * seconds):
        said = ask("query-migrate").get("status")
        if said == "completed":
            return
        if said in ("failed", "cancelled"):
            break
        time.sleep(0.1)
    raise Skip(f"the guest cannot be taken to KVM: {said}")


def is_running(guest):
    try:
        with monitor(guest) as ask:
            return ask("query-status")["running"]
    except OSError:  # QEMU has ended, or does not answer
        return False


def to_kvm(guest):
    """The same object, with another QEMU.  It answers no commands from then on."""
    require("kvm", "x86_64")
    time.sleep(SETTLES)
    state = os.path.join(guest.dir.name, "state")
    with monitor(guest) as ask:
        ask("stop")
        ask("migrate", uri=f"exec:cat >{state}")
        moved(ask)
    guest.vm.kill()
    guest.vm.wait()
    command = list(guest.vm.args)
    # Its interrupt controller was QEMU's.
    command[command.index("-accel") + 1] = "kvm,kernel-irqchip=off"
    os.unlink(guest.qmp)
    guest.accel = "kvm"
    guest.vm = subprocess.Popen([*command, "-incoming", f"exec:cat {state}"],
                                stdin=subprocess.DEVNULL)
    guest.wait_for(lambda: os.path.exists(guest.qmp), 60, "monitor")
    with monitor(guest) as ask:
        moved(ask)
        ask("cont")
    time.sleep(SETTLES)
    if not is_running(guest):
        raise Skip("this host's KVM does not run the guest")
