# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that boot the demo unikernel: with GRUB of Debian's packages, and with a loader of
our own in the first sector."""
import os
import shutil
import struct
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
GRUB = "/usr/lib/grub/i386-pc"
MODULES = ("biosdisk", "part_msdos", "tar", "multiboot", "boot")
SECTOR = 512
PARTITION = 2048         # the sector in which it begins
TABLE = slice(446, 510)  # of partitions, in the first sector
SIGNATURE = b"\x55\xaa"
CONFIG = "set root=(hd0,msdos1)\nmultiboot /demo.elf\nboot\n"


def symbols(elf):
    """{name: address}"""
    said = subprocess.run(["nm", elf], check=True, capture_output=True, text=True).stdout
    return {name: int(at, 16) for at, _, name in (line.split() for line in said.splitlines())}


def flat(elf):
    """The kernel's bytes as they lie in memory, from image_load on (guest.lds)."""
    out = elf + ".flat"
    subprocess.run(["objcopy", "-O", "binary", elf, out], check=True)
    with open(out, "rb") as f:
        data = f.read()
    os.unlink(out)
    at = symbols(elf)
    assert len(data) <= at["image_load_end"] - at["image_load"]
    return data


def own_loader(elf, path, size=0):
    """size: bytes that are loaded at least."""
    at, data = symbols(elf), flat(elf)
    data += bytes(max(0, size - len(data)))
    data += bytes(-len(data) % SECTOR)
    subprocess.run(["gcc", "-c", "-o", path + ".o", os.path.join(HERE, "sector.S")], check=True)
    given = {"load_address": at["image_load"], "load_sectors": len(data) // SECTOR,
             "zero_until": at["image_end"], "kernel_entry": at["start32"]}
    subprocess.run(["ld", "-m", "elf_x86_64", "-Ttext=0x7c00", "--oformat=binary",
                    *(f"--defsym={k}={v}" for k, v in given.items()), "-o", path + ".bin",
                    path + ".o"], check=True)
    with open(path + ".bin", "rb") as f:
        sector = f.read()
    assert len(sector) == SECTOR and sector.endswith(SIGNATURE)
    with open(path, "wb") as f:
        f.write(sector + data)
    for suffix in (".o", ".bin"):
        os.unlink(path + suffix)


def grub_core(folder):
    """GRUB's own image, with all the modules that it needs and what it is to do."""
    config, core = os.path.join(folder, "grub.cfg"), os.path.join(folder, "core.img")
    with open(config, "w") as f:
        f.write(CONFIG)
    subprocess.run(["grub-mkimage", "-O", "i386-pc", "-d", GRUB, "-p", "(hd0,msdos1)/", "-c",
                    config, "-o", core, *MODULES], check=True)
    with open(core, "rb") as f:
        return f.read()


def grub(elf, path):
    """A partition that is a tar file, with GRUB in front of it."""
    archive = path + ".tar"
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(elf, "demo.elf")
    with open(archive, "rb") as f:
        files = f.read()
    os.unlink(archive)
    with open(os.path.join(GRUB, "boot.img"), "rb") as f:
        first = bytearray(f.read())
    # Where the code for floppy disks was.  An entry: active, CHS, Linux, CHS, LBA, sectors.
    first[TABLE] = struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", 0x83, b"\xfe\xff\xff",
                               PARTITION, len(files) // SECTOR) + bytes(48)
    first[510:512] = SIGNATURE
    core = grub_core(os.path.dirname(path))
    assert SECTOR + len(core) <= PARTITION * SECTOR
    with open(path, "wb") as f:
        f.write(first + core)
        f.seek(PARTITION * SECTOR)
        f.write(files)


def make(elf, folder):
    """Into the folder: demo.elf, grub.img, sector.img, sector-4m.img."""
    os.makedirs(folder, exist_ok=True)
    copy = os.path.join(folder, "demo.elf")
    shutil.copy(elf, copy)
    own_loader(copy, os.path.join(folder, "sector.img"))
    own_loader(copy, os.path.join(folder, "sector-4m.img"), 4 << 20)
    grub(copy, os.path.join(folder, "grub.img"))
