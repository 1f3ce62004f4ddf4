#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count and trace: the QEMU that they start with the plugin.

usage: test_plugin.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import os
import shutil
import signal
import subprocess
import time
import unittest

from cli import PLUGIN, PROGRAM, GuestCli, main, run


class Plugin(GuestCli):
    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_that_refuses_its_command(self):
        """It has loaded the plugin by then: that makes no recording."""
        out = self.path("p.data")
        with open(out, "w") as f:
            f.write("precious")
        for options in (["-kernel", "/nonexistent"], ["-device", "nosuchdevice"]):
            for verb in (["count"], ["count", "--functions", "-e", PROGRAM], ["trace"]):
                self.fails(1, "QEMU ended with status 1 at its start", *verb, "-o", out, "--",
                           "qemu-system-x86_64", "-display", "none", *options)
        with open(out) as f:
            self.assertEqual(f.read(), "precious")

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_that_is_killed(self):
        """What there is until then is kept, and the exit code tells."""
        for verb in "count", "trace":
            out, pidfile = self.path(verb), self.path(verb + ".pid")
            vm = subprocess.Popen([PROGRAM, verb, "-o", out, "--", "qemu-system-x86_64", "-display",
                                   "none", "-pidfile", pidfile], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(vm.kill)
            self.wait_for(lambda: os.path.exists(pidfile) and os.path.getsize(pidfile))
            time.sleep(2)
            with open(pidfile) as f:
                os.kill(int(f.read()), signal.SIGSEGV)
            said = vm.communicate(timeout=60)[1]
            self.assertEqual(vm.returncode, 1, said)
            self.assertIn("QEMU was killed: Segmentation fault", said)
            self.assertIn("QEMU was killed: Segmentation fault", run("report", "--json", out).stdout)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_behind_prefixes(self):
        for verb in "count", "trace":
            done = run(verb, "-d", "2", "-o", self.path("x"), "--", "env", "A=b", "nice", "-n", "1",
                       "qemu-system-x86_64", "-display", "none")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.fails(1, "this is no QEMU\n.*the QEMU command itself", verb, "-o", self.path("x"), "--",
                       "sh", "-c", "exec qemu-system-x86_64")

    def test_qemu_that_leaves(self):
        """It would be in the background without its plugin's files."""
        for verb in "count", "trace":
            self.fails(1, f"{verb}: with -daemonize .*\n.*leave -daemonize out", verb, "-o",
                       self.path("x"), "--", "qemu-system-x86_64", "-display", "none", "-daemonize")
        self.assertFalse(os.path.exists(self.path("x")))


if __name__ == "__main__":
    main()
