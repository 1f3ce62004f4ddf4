# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels of other Debian suites and processors than this machine's: fetched by apt with
a state of its own, as what the rigs need."""
import glob
import os
import sys

from guest import Release, kernel, static_busybox
from harness import Skip

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rigs"))
from debs import DEBIAN_ARCH, Suite  # noqa: E402
import vmlinux  # noqa: E402

# How the kernel's own types (BTF) begin: magic, version, flags, bytes of this head.
BTF = bytes.fromhex("9feb010018000000")


def release(build, suite, processor="x86_64", meta=""):
    """suite: "" is this machine's."""
    if not suite:
        return Release(*kernel(build))
    packages = Suite(build, suite, processor)
    where = packages.kernel(meta or "linux-image-cloud-" + DEBIAN_ARCH[processor])
    image, = glob.glob(os.path.join(where, "boot", "vmlinuz-*")) + glob.glob(
        os.path.join(where, "usr/lib/modules/*/vmlinuz"))
    modules = glob.glob(os.path.join(where, "lib/modules/*")) + glob.glob(
        os.path.join(where, "usr/lib/modules/*"))
    return Release(image, modules[0], processor, busybox(build, packages, processor))


def busybox(build, packages, processor):
    if processor == "x86_64":
        return static_busybox()
    base = packages.name.removesuffix("-backports")
    if base != packages.name:
        packages = Suite(build, base, processor)
    where = packages.closure(("busybox-static",))
    for path in ("bin/busybox", "usr/bin/busybox"):
        if os.path.exists(os.path.join(where, path)):
            return os.path.join(where, path)
    raise Skip(f"no busybox in {where}")


def without_types(build, folder):
    """This machine's kernel with nothing where its types were: as if it had been built
    without CONFIG_DEBUG_INFO_BTF."""
    image, modules = kernel(build)
    elf = vmlinux.extract_file(image, os.path.join(folder, "vmlinux"))
    with open(elf, "rb") as f:
        data = bytearray(f.read())
    at = data.find(BTF)
    if at < 0:
        raise Skip(f"{image} has no types to take away")
    while at >= 0:
        data[at:at + len(BTF)] = bytes(len(BTF))
        at = data.find(BTF)
    with open(elf, "wb") as f:
        f.write(data)
    return Release(elf, modules)
