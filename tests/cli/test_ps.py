#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope ps: its rows, and what each user may see.

usage: test_ps.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import unittest

from cli import PROGRAM, GuestCli, is_sanitized, main, run


class Ps(GuestCli):
    def test_ps(self):
        self.assertEqual(run("ps").returncode, 0)
        self.fails(2, "one TARGET", "ps", "a", "b")
        self.fails(3, "no-such-guest", "ps", "--inside", "no-such-guest")
        self.assertIsInstance(json.loads(run("ps", "--json").stdout), list)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_ps_fits(self):
        """A deep kernel and 40 vCPUs: rows of 100 columns, and the whole in --json."""
        deep = self.path("/".join(["a" * 60] * 4))
        os.makedirs(deep)
        kernel = os.path.join(deep, "kernel.bin")
        open(kernel, "wb").write(b"raw")
        sock = self.path("monitor")
        vm = self.guest_with_monitor(sock, "-smp", "40", "-name", "deep,debug-threads=on",
                                     "-device", f"loader,file={kernel},addr=0x100000")
        row, _ = self.ps_row(PROGRAM, vm)
        lines = [x for x in row.splitlines() if " no: " not in x and "try: " not in x]
        self.assertRegex(lines[0], "…/kernel.bin$")
        self.assertRegex(row, "39:[0-9?]+\n")
        self.assertLessEqual(max(map(len, lines)), 100, row)
        found = [g for g in json.loads(run("ps", "--json").stdout) if g["pid"] == vm.pid]
        self.assertEqual(found[0]["kernel"], kernel)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_ps_renamed(self):
        """QEMU by its program's file, whatever its name; not one that has its options."""
        qemu = os.path.realpath(shutil.which("qemu-system-x86_64"))
        vmm, other, sock = self.path("my vmm (x) 1"), self.path("other"), self.path("monitor")
        shutil.copy(qemu, vmm)
        shutil.copy(shutil.which("sh"), other)
        modules = glob.glob("/usr/lib/*/qemu/accel-tcg-x86_64.so")
        env = dict(os.environ)
        if modules:
            env["QEMU_MODULE_DIR"] = os.path.dirname(modules[0])
        args = ["-accel", "tcg", "-S", "-display", "none", "-nodefaults", "-L",
                "/usr/share/qemu", "-L", "/usr/share/seabios", "-name", "renamed",
                "-qmp", f"unix:{sock},server=on,wait=off"]
        vm = subprocess.Popen([vmm, *args], stdin=subprocess.DEVNULL, env=env)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        shell = subprocess.Popen([other, "-c", "read x", *args], stdin=subprocess.PIPE)
        self.addCleanup(shell.communicate)
        self.wait_for(lambda: os.path.exists(sock) or vm.poll() is not None)
        if vm.poll() is not None:
            self.skipTest("a QEMU under another name does not start here")
        found = {g["pid"]: g for g in json.loads(run("ps", "--json").stdout)}
        self.assertEqual((found[vm.pid]["vmm"], found[vm.pid]["name"]), ("qemu", "renamed"))
        self.assertNotIn(shell.pid, found)
        self.fails(3, "no guest that uniscope knows", "dump", str(shell.pid))
        self.assertIn("vCPU 0", run("dump", str(vm.pid)).stdout)

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("setpriv"), "SKIP: no setpriv")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_ps_hidden(self):
        """/proc may hide others' guests: that is not the same as none."""
        os.chmod(self.dir.name, 0o755)
        program = self.path("uniscope")
        shutil.copy(PROGRAM, program)
        os.chmod(program, 0o755)
        script = ("mount -t proc -o hidepid=2 proc /proc || exit 77\n"
                  "exec setpriv --reuid=65534 --regid=65534 --clear-groups "
                  "\"$0\" ps")
        r = subprocess.run(["unshare", "-m", "sh", "-c", script, program], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if r.returncode in (1, 77) and "uniscope" not in r.stderr:
            self.skipTest("cannot mount a /proc: " + r.stderr)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("hides the processes of other users", r.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("setpriv") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no setpriv, or no QEMU")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_ps_as_another_user(self):
        os.chmod(self.dir.name, 0o755)
        program, sock = self.path("uniscope"), self.path("monitor")
        shutil.copy(PROGRAM, program)
        os.chmod(program, 0o755)
        vm = self.guest_with_monitor(sock)
        nobody = "setpriv", "--reuid=65534", "--clear-groups"
        os.chmod(sock, 0o700)
        row, qmp = self.ps_row(program, vm)
        self.assertRegex(row, rf"^ *{vm.pid} qemu +qemu ")
        if "Operation not permitted" not in row:
            self.assertRegex(qmp, "yes$")
        # The socket is root's: what would work is said.
        row, qmp = self.ps_row(program, vm, *nobody)
        self.assertRegex(row, rf"^ *{vm.pid} qemu ")
        self.assertIn("another user's", row)
        self.assertRegex(qmp, r"qmp +no: .*monitor.*\n +try: .*(root|sudo|owner)")
        # The socket is for all, but the VMM's memory is not.
        os.chmod(sock, 0o777)
        row, qmp = self.ps_row(program, vm, *nobody)
        self.assertRegex(qmp, r"qmp +yes, but memory will be read by the monitor, slowly: "
                              r".*not permitted\n +try: run as root")
        # What ps promises holds.
        dump = subprocess.run([*nobody, program, "dump", "--backend", "qmp", str(vm.pid)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        os.chmod(sock, 0o700)
        dump = subprocess.run([*nobody, program, "dump", "--backend", "qmp", str(vm.pid)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 3)
        self.assertIn("no right to inspect it", dump.stderr)
        os.chmod(sock, 0o777)
        found = [g for g in json.loads(subprocess.run(
            [*nobody, program, "ps", "--json"], capture_output=True, timeout=300, cwd="/").stdout)
            if g["pid"] == vm.pid][0]
        by = {b["name"]: b for b in found["backends"]}
        self.assertIn("by the monitor", by["qmp"]["caution"])
        self.assertIsNone(by["qmp"]["why_not"])
        self.assertFalse(by["kvm"]["serves"])
        self.assertIsNone(by["kvm"]["caution"])
        # What is said to work does, in the way that is said.
        os.chmod(self.dir.name, 0o777)
        data = self.path("as-nobody.data")
        done = subprocess.run([*nobody, program, "record", "--backend", "qmp", "-d", "0.5", "-o",
                               data, f"qmp:{sock}"], capture_output=True, text=True, timeout=300,
                              cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = json.loads(run("report", "--json", data).stdout)["facts"]
        self.assertIn("memory: by the monitor", facts["how"])

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_where_processes_are_not_seen(self):
        for how, why in ((["unshare", "-p", "-f"], "another pid namespace .*\n.*--pid=host"),
                         (["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "-"],
                          "/proc does not list .*\n.*mount -t proc")):
            if subprocess.run([*how, "true"], capture_output=True).returncode:
                self.skipTest("SKIP: no namespaces here")
            done = subprocess.run([*how, PROGRAM, "ps"], capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stderr, why)

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("setpriv") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no setpriv, or no QEMU")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_root_without_rights(self):
        """As in a container: "sudo" would be no help.  (A monitor that lets us in would.)"""
        vm = self.guest_with_monitor(self.path("monitor"))
        os.chmod(self.path("monitor"), 0)
        os.chown(self.path("monitor"), 65534, 65534)
        seen = 0
        for how, why in ((["setpriv", "--bounding-set", "-all"],
                          "without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH\n.*--cap-add"),
                         (["unshare", "-U", "-r"], "a user namespace of its own")):
            if subprocess.run([*how, "true"], capture_output=True).returncode == 0:
                done = subprocess.run([*how, PROGRAM, "ps", str(vm.pid)], capture_output=True,
                                      text=True, timeout=300)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(done.stderr, why)
                seen += 1
        if not seen:
            self.skipTest("SKIP: rights cannot be given up here")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_sockets_of_a_daemon(self):
        """It has left the folder to which they are relative."""
        pidfile = self.path("pid")
        subprocess.run(["qemu-system-x86_64", "-accel", "tcg", "-S", "-display", "none",
                        "-nodefaults", "-gdb", "unix:dm.gdb,server=on,wait=off", "-pidfile",
                        pidfile, "-daemonize"], cwd=self.dir.name, check=True, timeout=60)
        pid = int(open(pidfile).read())
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        said = run("ps", str(pid)).stdout
        self.assertRegex(said, "gdb +no: its socket dm.gdb is relative")
        self.assertIn("try: name it with its path: gdb:/PATH/dm.gdb", said)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_stub_that_is_started_later(self):
        """By the monitor, so that no command line names it: whose it is, is found."""
        sock, stub = self.path("monitor"), self.path("stub")
        vm = self.guest_with_monitor(sock, "-name", "later")
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rw") as f:
            s.connect(sock)
            for what, how in (("qmp_capabilities", {}), ("human-monitor-command", {
                    "command-line": f"gdbserver unix:{stub},server=on,wait=off"})):
                f.write(json.dumps({"execute": what, "arguments": how}) + "\n")
                f.flush()
            self.wait_for(lambda: os.path.exists(stub))
        done = run("ps", f"gdb:{stub}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^ *{vm.pid} later ")
        self.assertRegex(done.stdout, r"gdb +yes\n")


if __name__ == "__main__":
    main()
