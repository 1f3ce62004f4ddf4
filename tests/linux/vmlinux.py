#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Take the ELF file out of an x86 Linux kernel image (bzImage).

usage: vmlinux.py VMLINUZ VMLINUX

The setup header says where the packed kernel is (Documentation/arch/x86/boot.rst,
payload_offset and payload_length); its first bytes say how it is packed.
"""
import lzma
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "conformance"))
from once import alone  # noqa: E402


class Error(Exception):
    pass


def payload(image):
    """The packed kernel, with the four bytes of its unpacked size at the end."""
    if image[0x202:0x206] != b"HdrS":
        raise Error("this is no bzImage")
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    return image[start:start + length]


def lz4_block(block, out):
    """Unpack one block after what out holds already (its matches may reach there)."""
    def length(n, at):
        if n == 15:
            while True:
                n += block[at]
                at += 1
                if block[at - 1] != 255:
                    break
        return n, at

    at = 0
    while at < len(block):
        token = block[at]
        literals, at = length(token >> 4, at + 1)
        out += block[at:at + literals]
        at += literals
        if at >= len(block):
            break
        distance = block[at] | block[at + 1] << 8
        match, at = length(token & 15, at + 2)
        match += 4
        start = len(out) - distance
        if distance == 0 or start < 0:
            raise Error("a match from before the start")
        piece = out[start:start + match]
        while len(piece) < match:
            piece += piece[:match - len(piece)]
        out += piece


def lz4(packed):
    """The legacy frame that the kernel uses: blocks of 8 MiB with their packed sizes."""
    try:
        return subprocess.run(["lz4", "-dc"], input=packed, capture_output=True,
                              check=True).stdout
    except FileNotFoundError:
        pass
    out, at = bytearray(), 4
    while at + 4 <= len(packed):
        size, = struct.unpack_from("<I", packed, at)
        lz4_block(packed[at + 4:at + 4 + size], out)
        at += 4 + size
    return bytes(out)


def zstd(packed):
    return subprocess.run(["zstd", "-dcq"], input=packed, capture_output=True).stdout


FORMATS = {
    b"\x02\x21\x4c\x18": lz4,
    b"\x28\xb5\x2f\xfd": zstd,
    b"\xfd7zXZ": lambda packed: lzma.LZMADecompressor().decompress(packed),
    b"\x1f\x8b": lambda packed: zlib.decompressobj(31).decompress(packed),
}


def extract(image):
    packed = payload(image)
    unpack = next((f for magic, f in FORMATS.items() if packed.startswith(magic)), None)
    if not unpack:
        raise Error(f"unknown compression: {packed[:6].hex()}")
    size, = struct.unpack("<I", packed[-4:])
    elf = unpack(packed[:-4])
    if len(elf) != size or elf[:4] != b"\x7fELF":
        raise Error(f"unpacked to {len(elf)} bytes of {size}, "
                    f"which begin with {elf[:4].hex()}")
    return elf


def extract_file(vmlinuz, vmlinux):
    """Once: a file that is there is kept."""
    with alone(os.path.dirname(os.path.abspath(vmlinux))):
        if os.path.exists(vmlinux):
            return vmlinux
        with open(vmlinuz, "rb") as f:
            elf = extract(f.read())
        with open(vmlinux + ".new", "wb") as f:
            f.write(elf)
        os.rename(vmlinux + ".new", vmlinux)
    return vmlinux


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    extract_file(sys.argv[1], sys.argv[2])
