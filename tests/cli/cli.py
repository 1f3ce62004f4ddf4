# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the program as users call it share: how it is run, peers, guests.

A test file is called with PROGRAM and SOURCE-DIR, and the names of tests if not all.
"""
import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guests"))
import patience  # noqa: E402

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PLUGIN = os.path.exists(os.path.join(os.path.dirname(PROGRAM), "uniscope-plugin.so"))


def is_sanitized():
    with open(PROGRAM, "rb") as f:
        return b"__asan_init" in f.read()


def run(*args, stdin=None, timeout=300, cwd=None, binary=False):
    """Run uniscope; a crash or a hang fails here, whatever the test looks at."""
    done = subprocess.run([PROGRAM, *args], stdin=stdin or subprocess.DEVNULL, cwd=cwd,
                          capture_output=True, timeout=timeout)
    assert done.returncode >= 0, f"{args}: killed by signal {-done.returncode}\n{done.stderr}"
    assert b"Sanitizer" not in done.stderr, done.stderr.decode(errors="replace")
    if not binary:
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
    return done


def grows(path):
    """Until there is more in a recording than it begins with: it is made."""
    first, end = 0, patience.clock() + 60
    while patience.clock() < end:
        size = os.path.getsize(path) if os.path.exists(path) else 0
        first = first or size
        if size > first:
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing is written to {path}")


def on_silent_disk(folder, *args):
    """run(), where folder is on a file system whose server never says a word."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_mounts, recursive, private = 0x10000000, 0x20000, 0x4000, 1 << 18
    uid, gid = os.getuid(), os.getgid()
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR)
    except OSError as e:
        raise unittest.SkipTest(f"/dev/fuse: {e.strerror}")

    def mount():
        if libc.unshare(new_mounts | (new_user if uid else 0)):
            os._exit(77)
        if uid:
            with open("/proc/self/uid_map", "w") as f:
                f.write(f"0 {uid} 1")
        options = f"fd={fuse},rootmode=40000,user_id={0 if uid else uid},group_id={0 if uid else gid}"
        if libc.mount(b"none", b"/", None, recursive | private, None) or \
                libc.mount(b"silent", os.fsencode(folder), b"fuse", 0, options.encode()):
            os._exit(77)
    try:
        done = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, preexec_fn=mount, pass_fds=[fuse])
    finally:
        os.close(fuse)
    if done.returncode == 77:
        raise unittest.SkipTest("no file system can be mounted here")
    return done


class Peer:
    """A unix socket whose first client meets the given function."""

    def __init__(self, path, talk):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        self.talk = talk
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.one, args=(client,), daemon=True).start()
        except OSError:
            pass

    def one(self, client):
        try:
            self.talk(client)
        except OSError:
            pass
        client.close()

    def close(self):
        self.listener.close()


class Cli(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def fake(self, *args):
        """A recording of the invented guest."""
        out = self.path("fake.data")
        done = run("record", "-d", "0.5", "-o", out, *args, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def fails(self, code, pattern, *args, **more):
        done = run(*args, **more)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}{done.stderr}")
        self.assertRegex(done.stderr, pattern)
        return done

    def on_terminal(self, width, *args):
        primary, secondary = os.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        p = subprocess.Popen([PROGRAM, *args], stdout=secondary, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, NO_COLOR="1"))
        os.close(secondary)
        told = b""
        try:
            while part := os.read(primary, 65536):
                told += part
        except OSError:
            pass  # the end of a terminal
        os.close(primary)
        self.assertEqual(p.wait(60), 0)
        return told.decode().replace("\r", "").splitlines()


class GuestCli(Cli):
    """With a QEMU that a test starts."""

    def guest_with_monitor(self, sock, *more):
        """A QEMU in its first instruction, without a name or kernel unless given."""
        vm = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-S", "-display", "none", "-nodefaults",
             "-qmp", f"unix:{sock},server=on,wait=off", *more], stdin=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(sock))
        return vm

    def wait_for(self, what):
        for _ in range(600):
            if what():
                return
            time.sleep(0.05)
        self.fail("not after 30 s")

    def ps_row(self, program, vm, *before):
        """What ps says of one guest: its row, and of it the line of the monitor."""
        out = subprocess.run([*before, program, "ps"], capture_output=True, text=True,
                             timeout=300, cwd="/")
        self.assertEqual(out.returncode, 0, out.stderr)
        row = re.search(rf"^ *{vm.pid} .*(?:\n {{8}}.*)*", out.stdout, re.M)
        self.assertTrue(row, out.stdout)
        return row[0], re.search(r"^ *qmp .*(\n +try: .*)?", row[0], re.M)[0]


def main():
    """Run the tests of the file that was called: those named, or all."""
    loader, module = unittest.defaultTestLoader, sys.modules["__main__"]
    suite = (loader.loadTestsFromNames(sys.argv[3:], module) if sys.argv[3:]
             else loader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
