# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux on other processors than x86-64, under TCG: its kernel and a busybox.

    with PortGuest(build, "riscv64", init=INIT, files={"/bin/x": path}) as g:
        g.wait("READY")
"""
import glob
import os
import sys
import tempfile
from dataclasses import dataclass

import guest  # noqa: F401  where the others are
from harness import Guest, Skip
from initramfs import Initramfs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs"))
from debs import Suite  # noqa: E402


@dataclass(frozen=True)
class Port:
    suite: str
    kernel: str
    cpu: str
    console: str
    compiler: str


PORTS = {
    # "max" signs return addresses, and to emulate that takes most of its time.
    "aarch64": Port("bookworm", "linux-image-cloud-arm64", "cortex-a72", "ttyAMA0",
                    "aarch64-linux-gnu-gcc"),
    "riscv64": Port("trixie", "linux-image-riscv64", "rv64", "ttyS0",
                    "riscv64-linux-gnu-gcc"),
}


class PortGuest(Guest):
    """init: of busybox' shell; files: {name in the guest: file}."""

    def __init__(self, build, processor, init, smp=2, files=None):
        port = PORTS[processor]
        suite = Suite(build, port.suite, processor)
        image, = glob.glob(os.path.join(suite.kernel(port.kernel), "boot", "vmlinu[xz]-*"))
        busybox = glob.glob(os.path.join(suite.closure(("busybox-static",)), "**/bin/busybox"),
                            recursive=True)
        if not busybox:
            raise Skip(f"busybox-static of {port.suite} has no busybox")
        self.files = tempfile.TemporaryDirectory(prefix="uniscope-")
        initrd, fs = os.path.join(self.files.name, "initrd"), Initramfs()
        self.busybox = busybox[0]
        fs.add_file("/bin/busybox", self.busybox)
        for name, path in (files or {}).items():
            fs.add_file(name, path)
        fs.add("/init", init)
        fs.write(initrd)
        super().__init__(build, "linux", "tcg", smp, kernel=image, memory=512,
                         processor=processor,
                         extra=("-cpu", port.cpu, "-nodefaults", "-initrd", initrd,
                                "-append", f"console={port.console} loglevel=1 panic=-1"))
        self.elf = None

    def __exit__(self, *args):
        super().__exit__(*args)
        self.files.cleanup()
