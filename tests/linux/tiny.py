# SPDX-License-Identifier: GPL-2.0-or-later
"""Small kernels without types (BTF), as those of microVMs and of people who build their
own, made from Debian's linux-source: tinyconfig and what a shell needs.

A build takes minutes, and is kept in BUILD/tiny/NAME.
"""
import glob
import os
import shutil
import subprocess

from guest import MODULES, Release
from harness import Skip

SOURCES = "/usr/src/linux-source-*.tar.xz"
TOOLS = ["gcc", "make", "flex", "bison", "bc", "ld"]
ON = ["64BIT", "PRINTK", "TTY", "SERIAL_8250", "SERIAL_8250_CONSOLE", "BLK_DEV_INITRD",
      "BINFMT_ELF", "BINFMT_SCRIPT", "PROC_FS", "SYSFS", "DEVTMPFS", "MULTIUSER", "FUTEX",
      "EPOLL", "POSIX_TIMERS", "DEBUG_KERNEL", "DEBUG_INFO_DWARF5", "STACKTRACE", "TMPFS",
      "SHMEM", "FILE_LOCKING", "CC_OPTIMIZE_FOR_PERFORMANCE"]
OFF = ["DEBUG_INFO_NONE", "CC_OPTIMIZE_FOR_SIZE"]
SHUFFLED = ["KALLSYMS", "KALLSYMS_ALL", "UNWINDER_FRAME_POINTER", "RANDSTRUCT_FULL"]
NO_GUESS = ["UNWINDER_GUESS", "RANDSTRUCT_NONE"]
# What they differ in: (on, off).
KERNELS = {
    "pointers": (["KALLSYMS", "KALLSYMS_ALL", "UNWINDER_FRAME_POINTER"], []),
    "functions": (["KALLSYMS", "UNWINDER_GUESS"], ["KALLSYMS_ALL"]),
    "nameless": (["UNWINDER_FRAME_POINTER"], ["KALLSYMS"]),
    # Its structs have an order that clang drew by lot; its types tell it.
    "shuffled": ([*SHUFFLED, "BPF_SYSCALL", "DEBUG_INFO_BTF"], NO_GUESS),
}
CLANGS = [f"clang-{n}" for n in range(19, 15, -1)]  # -frandomize-layout-seed
# Those whose own stacks are guesses.
GUESSES = {"functions"}


def source(folder):
    """Unpacked beside the kernels, once."""
    archives = sorted(glob.glob(SOURCES))
    if not archives:
        raise Skip("no linux-source package is installed")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        raise Skip(f"to build a kernel, {' '.join(missing)} is missing")
    for header in ("libelf.h", "openssl/opensslv.h"):
        found = subprocess.run(["gcc", "-E", "-include", header, "-x", "c", "/dev/null"],
                               capture_output=True).returncode == 0
        if not found:
            raise Skip(f"to build a kernel, {header} is missing")
    name = os.path.basename(archives[-1]).removesuffix(".tar.xz")
    if not os.path.exists(os.path.join(folder, name, ".unpacked")):
        subprocess.run(["tar", "xf", archives[-1], "-C", folder], check=True)
        open(os.path.join(folder, name, ".unpacked"), "w").close()
    return os.path.join(folder, name)


def compiler(name):
    """For make, and what else that kernel needs is there."""
    if name != "shuffled":
        return "gcc"
    found = next((c for c in CLANGS if shutil.which(c)), None)
    if not found or not shutil.which("pahole"):
        raise Skip(f"{'pahole' if found else 'clang-16 or later'} is not installed")
    return found


def make(folder, name):
    on, off = KERNELS[name]
    cc, top, out = compiler(name), source(folder), os.path.join(folder, "build-" + name)
    os.makedirs(out, exist_ok=True)
    config = os.path.join(out, ".config")
    run = ["make", "-s", "-C", top, "O=" + out, "CC=" + cc, f"-j{os.cpu_count()}"]
    subprocess.run([*run, "tinyconfig"], check=True, capture_output=True)
    subprocess.run([os.path.join(top, "scripts/config"), "--file", config,
                    *(w for o in [*ON, *on] for w in ("-e", o)),
                    *(w for o in [*OFF, *off] for w in ("-d", o))], check=True)
    subprocess.run([*run, "olddefconfig"], check=True, capture_output=True)
    done = subprocess.run([*run, "vmlinux", "bzImage"], capture_output=True, text=True)
    if done.returncode:
        raise Skip(f"{name}: the kernel does not build: {done.stderr[-300:]}")
    return os.path.join(out, "vmlinux"), os.path.join(out, "arch/x86/boot/bzImage")


def kernel(build, name):
    """(bzImage with nothing beside it, vmlinux), as files."""
    folder = os.path.join(build, "tiny")
    image, elf = (os.path.join(folder, name, what, file) for what, file in
                  (("image", "bzImage"), ("elf", "vmlinux")))
    if not (os.path.exists(image) and os.path.exists(elf)):
        os.makedirs(folder, exist_ok=True)
        made_elf, made_image = make(folder, name)
        for made, path in ((made_elf, elf), (made_image, image)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copyfile(made, path + ".new")
            os.rename(path + ".new", path)
    return image, elf


def release(image, folder):
    """As a guest of Debian's: without modules, for it has no buses to need them."""
    with open(os.path.join(folder, "modules.builtin"), "w") as f:
        f.writelines(f"kernel/{name}.ko\n" for name in MODULES)
    return Release(image, folder)
