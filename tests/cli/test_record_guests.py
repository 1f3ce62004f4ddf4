#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope record of real guests: how a guest is found, and what it leaves alone.

usage: test_record_guests.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

from cli import PROGRAM, GuestCli, main, run


class RecordGuests(GuestCli):
    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_all_guests_leave_sockets_alone(self):
        stub = self.path("vm.gdb")
        vm = self.guest_with_monitor(self.path("vm.qmp"), "-name", "spared", "-gdb",
                                     f"unix:{stub},server=on,wait=off")
        self.wait_for(lambda: os.path.exists(stub))
        done = run("record", "--all", "-d", "1", "-o", self.path("all"))
        said = [s for s in done.stderr.split("not recorded") if f"{vm.pid} (spared)" in s]
        self.assertEqual(len(said), 1, done.stderr)
        if "for the same reason" in said[0]: # as another guest's, before it
            said[0] = done.stderr
        self.assertIn("left to debuggers", said[0])
        self.assertIn("left to managers", said[0])
        self.assertIn("--backend gdb", said[0])

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_all_guests_reason_once(self):
        for name in "twin-a", "twin-b":
            self.guest_with_monitor(self.path(f"{name}.qmp"), "-name", name)
        done = run("record", "--all", "-d", "1", "-o", self.path("all"))
        lines = [s for s in done.stderr.splitlines() if "not recorded: " in s]
        self.assertEqual(len([s for s in lines if "(twin-" in s]), 2, done.stderr)
        whole = [re.sub("[0-9]+", "N", s.split("): ", 1)[1]) for s in lines]
        for before, after in zip(whole, whole[1:]):
            self.assertFalse(before == after != "for the same reason", done.stderr)
        self.assertTrue(any("left to managers" in s for s in whole), done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-riscv64"), "SKIP: no QEMU for riscv64")
    def test_clusters(self):
        """A stub that shows some of the vCPUs: how many there are more is said."""
        stub = self.path("stub")
        vm = subprocess.Popen(["qemu-system-riscv64", "-M", "sifive_u", "-smp", "5", "-S", "-display",
                               "none", "-nodefaults", "-gdb", f"unix:{stub},server=on,wait=off"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(stub))
        done = run("record", "-d", "0.2", "-o", self.path("x"), f"gdb:{stub}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 more vCPUs are in other clusters", done.stderr)
        self.assertIn("4 more vCPUs are in other clusters", run("report", self.path("x")).stdout)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_waits_for_a_script_to_start_its_guest(self):
        """For longer than a VMM takes, and until the command ends."""
        out, stub = self.path("x.data"), self.path("stub")
        late = (f"sleep 12; exec qemu-system-x86_64 -accel tcg -display none -nodefaults "
                f"-gdb unix:{stub},server=on,wait=off")
        done = run("record", "-d", "0.3", "-o", out, "--", "sh", "-c", late)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: waiting for sh to start a guest, until it ends", done.stderr)
        self.fails(1, "sh: it ended with status 7 before it had a guest",
                   "record", "-o", out, "--", "sh", "-c", "sleep 1; exit 7")

    def late_vcpu(self, backend, names, by_stub=False):
        """Record a guest into which a vCPU is plugged meanwhile."""
        sock, other, stub, out = map(self.path, ("monitor", "other", "stub", "out.data"))
        vm = self.guest_with_monitor(
            sock, "-machine", "pc", "-cpu", "qemu64", "-smp", "1,sockets=2,maxcpus=2", "-name",
            f"late,debug-threads={names}", "-gdb", f"unix:{stub},server=on,wait=off",
            "-qmp", f"unix:{other},server=on,wait=off")
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rw") as f:
            def ask(what, **how):
                f.write(json.dumps({"execute": what, "arguments": how, "id": what}) + "\n")
                f.flush()
                while (answer := json.loads(f.readline())).get("id") != what:
                    pass
                self.assertIn("return", answer)
                return answer["return"]

            s.connect(sock)
            ask("qmp_capabilities")
            ask("cont")
            self.wait_for(lambda: os.path.exists(stub))
            uniscope = subprocess.Popen(
                [PROGRAM, "record", "--backend", backend, "-o", out,
                 f"gdb:{stub}" if by_stub else str(vm.pid)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.wait_for(lambda: os.path.exists(out) and os.path.getsize(out) > 1000)
            ask("device_add", **{"driver": "qemu64-x86_64-cpu", "socket-id": 1, "core-id": 0,
                                 "thread-id": 0})
            uniscope.send_signal(signal.SIGINT)
            said = uniscope.communicate(timeout=60)[0]
            self.assertTrue(ask("query-status")["running"])
        why = "further vCPUs while it was recorded: only the first 1 "
        self.assertIn(why, said)
        done = run("report", out)
        self.assertIn(why, done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_late_vcpu(self):
        """A vCPU that is plugged in while gdb's way samples is missing, and that is told."""
        self.late_vcpu("gdb", "on")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_late_vcpu_without_a_name(self):
        """Also if QEMU does not name its threads."""
        self.late_vcpu("gdb", "off")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_late_vcpu_behind_a_stub(self):
        """And if only the stub is known."""
        self.late_vcpu("gdb", "off", by_stub=True)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_late_vcpu_by_the_monitor(self):
        self.late_vcpu("qmp", "off")


if __name__ == "__main__":
    main()
