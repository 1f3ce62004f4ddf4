#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope dump: the files that it is given, and the kernel that it finds.

usage: test_dump.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import os
import shutil
import subprocess
import unittest

from cli import PROGRAM, GuestCli, main, run


class Dump(GuestCli):
    def test_files_of_a_dump(self):
        self.fails(2, "no folder of that name", "dump", "--tasks", "--root", self.path("none"),
                   "fake:")
        self.fails(2, "must be a URL", "dump", "--tasks", "--debuginfod", "none", "fake:")

    def test_bad_symbol_files(self):
        text = self.path("text")
        open(text, "w").write("this is no ELF\n")
        for command in ("record", "dump"):
            self.fails(1, "text", command, "-e", text, "fake:")
            self.fails(1, "none", command, "-e", self.path("none"), "fake:")
        self.fails(1, "bias", "dump", "-e", PROGRAM + "@zzz", "fake:")
        elf = open("/bin/true", "rb").read(64)
        short = self.path("short.elf")
        open(short, "wb").write(elf)
        self.fails(1, "short.elf", "dump", "-e", short, "fake:")
        # Not as a file without symbols, for which one beside it would be taken.
        big = self.path("kernel.bin")
        shutil.copy(PROGRAM, self.path("kernel.elf"))
        open(big, "wb").write(elf[:5] + b"\2" + elf[6:])
        self.fails(1, "big-endian", "dump", "-e", big, "fake:")

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("unshare") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no unshare, or no QEMU")
    def test_kernel_of_a_container(self):
        """The kernel's path is the VMM's, in whose mount namespace alone it is."""
        own, stub = self.path("own"), self.path("stub")
        os.mkdir(own)
        if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "own", own],
                          capture_output=True).returncode:
            self.skipTest("SKIP: no mount namespaces here")
        script = (f"mount -t tmpfs own {own} && echo raw >{own}/kernel.bin && exec "
                  "qemu-system-x86_64 -accel tcg -S -display none -nodefaults "
                  f"-gdb unix:{stub},server=on,wait=off "
                  f"-device loader,file={own}/kernel.bin,addr=0x100000")
        vm = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(stub))
        done = run("dump", str(vm.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernel.bin is no ELF file", done.stdout + done.stderr)


if __name__ == "__main__":
    main()
