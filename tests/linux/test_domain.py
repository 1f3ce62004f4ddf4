#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In dom0: Debian's Linux in a domain, against the /proc/kallsyms that it prints.

usage: test_domain.py BUILD [PROCESSOR] [--kinds pvh,pv,hvm] [--seconds S]

Named from the domain's memory alone, which in a PV domain is scattered over the machine's.
"""
import argparse
import glob
import os
import tempfile

from guest import kernel, static_busybox
from harness import Skip, Tap, require
from stated import Tests, write_initramfs
from xen import Domain

LOG = "/var/log/xen/console/guest-{name}.log"


def kernel_file(build, processor):
    if processor == "x86_64":
        return kernel(build)[0]
    for path in glob.glob(os.path.join(build, "rigs", "*", "linux-image-*", "boot",
                                       "vmlinuz-*")):
        return path
    raise Skip(f"no kernel in {build}/rigs")


class LinuxDomain(Domain):
    def __init__(self, args, kind):
        self.files = tempfile.TemporaryDirectory(prefix="uniscope-")
        initrd = os.path.join(self.files.name, "initrd")
        write_initramfs(initrd, static_busybox())
        console = "ttyS0" if kind == "hvm" else "hvc0"
        config = [f'ramdisk = "{initrd}"', f'extra = "console={console} quiet panic=-1"']
        super().__init__(args.build, "linux", kind, memory=256,
                         kernel=kernel_file(args.build, args.processor),
                         processor=args.processor, config=config)
        self.elf = None

    def __exit__(self, *args):
        super().__exit__(*args)
        self.files.cleanup()

    def serial(self):
        path = LOG.format(name=os.path.basename(self.config))
        if not os.path.exists(path):
            return ""
        with open(path, errors="replace") as f:
            return f.read()


def whole_domain(args, kind):
    with LinuxDomain(args, kind) as domain:
        domain.wait("READY", seconds=args.wait)
        tests = Tests(args, domain, "xen", args.processor)
        tests.names()
        tests.stacks()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("processor", nargs="?", default="x86_64")
    p.add_argument("--kinds", default="pvh")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--wait", type=float, default=300, help="seconds until it works")
    # The kernel is read meanwhile, by the one CPU that dom0 has.
    p.add_argument("--budget", default="20", help="percent of the guest's time")
    p.add_argument("--enough", type=int, default=200, help="stacks")
    args = p.parse_args()
    try:
        require("pvh", args.processor)
    except Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    tap = Tap()
    for kind in args.kinds.split(","):
        tap.point(f"Linux in a {kind} domain", lambda k=kind: whole_domain(args, k))
    tap.end()


if __name__ == "__main__":
    main()
