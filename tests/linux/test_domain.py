#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""In dom0: Debian's Linux in a domain, against the /proc/kallsyms that it prints.

usage: test_domain.py BUILD [PROCESSOR] [--kinds pvh,pv,hvm] [--seconds S]

Named from the domain's memory alone, which in a PV domain is scattered over the machine's.
"""
import glob
import os
import tempfile

from begin import options, or_skip
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
    # wait: seconds until it works; budget: percent of the guest's time, for the kernel is
    # read meanwhile, by the one CPU that dom0 has; enough: stacks.
    p = options(kinds="pvh", seconds=60.0, wait=300.0, budget="20", enough=200)
    p.add_argument("processor", nargs="?", default="x86_64")
    args = p.parse_args()
    with or_skip():
        require("pvh", args.processor)
    tap = Tap()
    for kind in args.kinds.split(","):
        tap.point(f"Linux in a {kind} domain", lambda k=kind: whole_domain(args, k))
    tap.end()


if __name__ == "__main__":
    main()
