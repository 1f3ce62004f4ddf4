#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A TARGET that is not there, is held, or does not speak as it should.

usage: test_targets.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

from cli import PROGRAM, Cli, GuestCli, Peer, main, run
import patience


class Targets(GuestCli):
    def test_no_such_guest(self):
        self.fails(3, "no-such-guest", "record", "no-such-guest")
        self.fails(3, "999999999", "record", "999999999")
        self.fails(3, "no guest", "dump", str(os.getpid()))
        self.assertEqual(os.listdir(self.dir.name), [])

    def test_nothing_listens(self):
        gone = self.path("gone.sock")
        self.fails(3, "gone.sock", "record", "-o", self.path("x"), "gdb:" + gone)
        # Of a stub that is not there, not how to start a monitor.
        self.fails(3, "try: see that it listens there", "record", "-o", self.path("x"),
                   "gdb:no-such-host.invalid:1")
        self.fails(3, "gone.sock", "record", "-o", self.path("x"), "qmp:" + gone)
        self.assertEqual(os.listdir(self.dir.name), [])

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_relative_sockets(self):
        """As the shell completes them; the guest behind one is found all the same."""
        stub = self.path("vm.gdb")
        vm = self.guest_with_monitor(self.path("vm.qmp"), "-name", "near", "-gdb",
                                     f"unix:{stub},server=on,wait=off")
        self.wait_for(lambda: os.path.exists(stub))
        for target in ("gdb:vm.gdb", "qmp:./vm.qmp", f"gdb:../{os.path.basename(self.dir.name)}/vm.gdb"):
            done = run("ps", target, cwd=self.dir.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"(?m)^ *{vm.pid} near ")
        done = run("dump", "gdb:vm.gdb", cwd=self.dir.name)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_held_monitor(self):
        """Its holder is named, and the queue of the monitor stays empty."""
        sock = self.path("vm.qmp")
        vm = self.guest_with_monitor(sock, "-name", "held")
        holder = subprocess.Popen(["python3", "-c", "import socket, sys, time\n"
                                   "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                                   "print(s.recv(1), flush=True); time.sleep(100)", sock],
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        self.assertRegex(run("ps", str(vm.pid)).stdout,
                         rf"qmp +no: python3\S* \(pid {holder.pid}\) has the monitor\n")
        for _ in range(2):
            done = run("dump", f"qmp:{sock}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"(pid {holder.pid}) has the monitor", done.stderr)
            self.assertIn("one more -qmp", done.stderr)
        holder.kill()
        holder.wait()
        self.assertRegex(run("ps", str(vm.pid)).stdout, "qmp +yes")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_stopped_vmm(self):
        """It is not a monitor that another client has, and not a missing stub."""
        sock = self.path("vm.qmp")
        vm = self.guest_with_monitor(sock)
        vm.send_signal(signal.SIGSTOP)
        self.addCleanup(vm.send_signal, signal.SIGCONT)
        words = rf"qmp: pid {vm.pid} is stopped by a signal.*\n.*kill -CONT {vm.pid}"
        self.fails(1, words, "record", "-d", "1", "-o", self.path("x"), str(vm.pid))
        self.fails(1, words, "dump", f"qmp:{sock}")
        self.assertRegex(run("ps", str(vm.pid)).stdout, f"qmp +no: pid {vm.pid} is stopped")

    def test_protected_guests(self):
        """What no host can read is refused with one reason, by each way in."""
        qemu = self.path("qemu-system-x86_64")
        shutil.copy(shutil.which("bash"), qemu)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            stub = f"127.0.0.1:{s.getsockname()[1]}"
        vm = subprocess.Popen([qemu, "-c", "read", "-accel", "tcg", "-gdb", f"tcp:{stub}",
                               "-M", "q35,confidential-guest-support=s", "-object",
                               "sev-guest,id=s,policy=5"], stdin=subprocess.PIPE)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.stdin.close)
        self.addCleanup(vm.kill)
        why = (r"protected from its host \(SEV-ES\): its registers and memory are encrypted")
        row, _ = self.ps_row(PROGRAM, vm)
        self.assertNotIn(" yes", row)
        self.assertRegex(row, "gdb +no: .*" + why)
        for args in (["dump", str(vm.pid)], ["dump", f"gdb:{stub}"],
                     *(["record", "--backend", by, "-o", self.path("x"), str(vm.pid)]
                       for by in ("auto", "bpf", "kvm", "gdb", "qmp"))):
            self.fails(1, why, *args)

    def test_other_processors(self):
        """A guest that no way can look into says so, in ps and wherever it is asked for."""
        qemu = self.path("qemu-system-mips")
        shutil.copy(shutil.which("sleep"), qemu)
        vm = subprocess.Popen([qemu, "600"])
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        why = "the guest's processor is mips; .*aarch64"
        row, _ = self.ps_row(PROGRAM, vm)
        self.assertNotIn(" yes", row)
        self.assertRegex(row, "gdb +no: " + why)
        for args in (["record", "-o", self.path("x")], ["dump"],
                     ["record", "--backend", "gdb", "-o", self.path("x")]):
            self.fails(1, why, *args, str(vm.pid))
        for verb in "count", "trace":
            done = self.fails(1, f"{verb}: {why}", verb, "-d", "1", "--", qemu, "600")
            self.assertNotIn("plugin", done.stderr)


class Peers(Cli):
    """Sockets on which a peer misbehaves."""

    def bad_peer(self, scheme, talk):
        sock = self.path("peer.sock")
        peer = Peer(sock, talk)
        begun = patience.clock()
        done = run("record", "-d", "1", "-o", self.path("x"), f"{scheme}:{sock}")
        peer.close()
        os.unlink(sock)
        self.assertIn(done.returncode, (1, 3), done.stderr)
        self.assertIn("uniscope: ", done.stderr)
        self.assertLess(patience.clock() - begun, 30)
        return done

    def test_monitor_speaks_nonsense(self):
        self.bad_peer("qmp", lambda c: c.sendall(b"\x00\xff{{{ hello\n" * 100))
        self.bad_peer("qmp", lambda c: c.sendall(b'{"QMP": {}}\n') or time.sleep(0.2))
        self.bad_peer("qmp", lambda c: c.sendall(b"[" * 100000))

    def test_monitor_is_busy(self):
        done = self.bad_peer("qmp", lambda c: time.sleep(20))
        self.assertRegex(done.stderr, "try:")

    def test_stub_closes_in_mid_packet(self):
        self.bad_peer("gdb", lambda c: c.sendall(b"$T05thr"))

    def test_stub_speaks_nonsense(self):
        self.bad_peer("gdb", lambda c: c.sendall(b"\x00$#00$$$}}}}*~~#zz" * 1000))

    def test_stub_is_silent(self):
        self.bad_peer("gdb", lambda c: time.sleep(20))


if __name__ == "__main__":
    main()
