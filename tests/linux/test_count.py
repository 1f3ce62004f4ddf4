#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count of Debian's Linux, with an image that has symbols: where it was linked, and
where KASLR has moved it.

usage: test_count.py BUILD [--qemu SUITE]

Debian's image has no symbols; it gets those that a guest of it has in /proc/kallsyms.  The
kernel has written over the first instructions of most functions (calls of __fentry__).
"""
import argparse
import os
import re
import struct
import tempfile

from guest import LinuxGuest, kernel, vmlinux_elf
from harness import Tap, check, note
from tcg import Counting, Qemu
import waiting

LINKED = 0xffffffff81000000
ONCE = ("start_kernel", "mount_root", "rest_init")
BOOTED = "Unable to mount root|Kernel panic"


def symbols_of(build):
    """[(linked address, name)] of the kernel's functions, and where they end."""
    with LinuxGuest(build) as g:
        g.wait("READY")
        table = g.kallsyms()
    slide = table.address("_text") - LINKED
    end = table.address("_einittext") - slide
    found = {}
    for s in table.symbols:
        at = s.address - slide
        if s.kind in "tT" and not s.module and LINKED <= at < end:
            found.setdefault(at, s.name)
    note(f"{len(found)} functions")
    return sorted(found.items()), end


def with_symbols(elf, symbols, end, path):
    """The image with a table of symbols, behind all that it has."""
    with open(elf, "rb") as f:
        image = bytearray(f.read())
    at, = struct.unpack_from("<Q", image, 40)
    size, n = struct.unpack_from("<HH", image, 58)
    heads = image[at:at + n * size]
    ranges = [struct.unpack_from("<IIQQQQ", heads, i * size) for i in range(n)]
    names, table = b"\0", bytearray(24)
    ends = [a for a, _ in symbols[1:]] + [end]
    for (address, name), behind in zip(symbols, ends):
        section = next((i for i, s in enumerate(ranges) if s[2] & 4
                        and s[3] <= address < s[3] + s[5]), None)
        if section is None:
            continue
        behind = min(behind, ranges[section][3] + ranges[section][5])
        table += struct.pack("<IBBHQQ", len(names), 0x12, 0, section, address, behind - address)
        names += name.encode() + b"\0"
    for body, kind, link, entry in ((table, 2, n + 1, 24), (names, 3, 0, 0)):
        image += bytes(-len(image) % 8)
        heads += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, len(image), len(body), link, 1, 8,
                             entry)
        image += body
    image += bytes(-len(image) % 8)
    struct.pack_into("<Q", image, 40, len(image))
    struct.pack_into("<H", image, 60, n + 2)
    with open(path, "wb") as f:
        f.write(image + heads)


class Linux:
    def __init__(self, args, folder):
        self.args = args
        self.qemu = Qemu(args.build, args.qemu, folder)
        self.elf = os.path.join(folder, "vmlinux")
        note(f"QEMU {self.qemu.version}")
        with_symbols(vmlinux_elf(args.build), *symbols_of(args.build), self.elf)

    def boot(self, command, *before):
        """The report of a boot to where it finds no root."""
        vmlinuz, _ = kernel(self.args.build)
        with Counting(self.args, self.qemu, "-append", f"console=ttyS0 {command}",
                      kernel=vmlinuz, before=before) as c:
            c.wait(BOOTED, 300)
            c.end()
            return c.report()

    def has_names(self, report):
        functions = {f["name"]: f for f in report["functions"]}
        check(not report["warnings"], f"{report['warnings']}")
        wrong = {n: functions.get(n, {}).get("calls") for n in ONCE
                 if functions.get(n, {}).get("calls") != 1}
        check(not wrong, f"called once: {wrong}")
        unknown = functions["[no symbols]"]["self"] / report["summary"]["running"]
        check(unknown < 0.2, f"{unknown:.2f} without names")
        note(f"{len(functions)} functions, {100 * unknown:.0f} % without names")

    def where_it_was_linked(self):
        self.has_names(self.boot("nokaslr", "-e", self.elf))

    def elsewhere(self):
        """What the report advises has all names."""
        first = self.boot("", "--deterministic", "-e", self.elf)
        told = re.search(r"-e ELF@(0x[0-9a-f]+) -e ELF", " ".join(first["warnings"]))
        check(told, f"{first['warnings']}")
        note(f"slide {told[1]}")
        self.has_names(self.boot("", "--deterministic", "-e", f"{self.elf}@{told[1]}",
                                 "-e", self.elf))

    def program(self):
        """Others may be at the same addresses: that is said."""
        report = self.boot("nokaslr", "-e", waiting.program(self.args.build))
        said = [w for w in report["warnings"] if "counts as this program's" in w]
        check(len(said) == 1, f"{report['warnings']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--qemu", default="")
    args = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="uniscope-linux-") as folder:
        linux = None

        def start():
            nonlocal linux
            linux = Linux(args, folder)
        tap.point("an image with symbols", start)
        if linux:
            tap.point("where it was linked", linux.where_it_was_linked)
            tap.point("a program's addresses", linux.program)
            tap.point("where KASLR has moved it", linux.elsewhere)
    tap.end()


if __name__ == "__main__":
    main()
