# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that runs wherever its loader puts it (PIE), and that loader, which goes by the
time: 32-bit code without paging, for QEMU's -kernel."""
import os
import shutil
import subprocess

from harness import Skip

# It puts the kernel somewhere from 4 to 5 MiB.
LOADER = r"""
	.section .text
	.long 0x1badb002, 0, -0x1badb002
	.globl _start
_start:	cld
	mov $0x180000, %esp
	rdtsc
	and $0xff, %eax
	shl $12, %eax
	lea 0x400000(%eax), %edi
	mov %edi, %ebx
	mov $blob, %esi
	mov $(blob_end - blob) / 4, %ecx
1:	mov (%esi), %eax
	mov %eax, (%edi)
	add $4, %esi
	add $4, %edi
	dec %ecx
	jnz 1b
	jmp *%ebx
	.balign 4
blob:	.incbin "kernel.bin"
	.balign 4
blob_end:
"""


def function(name, *code):
    return "\n".join([f"\t.balign 64\n\t.globl {name}\n\t.type {name}, @function\n{name}:", *code,
                      f"\t.size {name}, . - {name}\n"])


# It writes a byte for ever.  Its twins are on pages of their own, and neither is its own.
TWINS = ("\t.text\n\t.globl _start\n_start:\tcall kernel_main\n" + function(
    "kernel_main", "call twin", "mov $0x3f8, %edx", "mov $'K', %eax", "1: outb %al, %dx",
    "jmp 1b") + "".join("\t.balign 4096\n" + function(
        name, "mov $1, %eax", "mov $2, %ecx", "mov $3, %ebx", "mov $4, %esi", "ret")
        for name in ("twin", "other")))

# So often each is called: by arithmetic.  No frame pointers, and no tables.
ROUNDS, TEXT = 1000, "DONE\n"
CALLS = {"kernel_main": 1, "outer": ROUNDS, "inner": 2 * ROUNDS, "tail": ROUNDS,
         "recurse": 5 * ROUNDS, "write_text": 1, "write_char": len(TEXT)}
COUNTS = ("\t.text\n\t.globl _start\n_start:\tcall kernel_main\n1:\thlt\n\tjmp 1b\n" + function(
    "kernel_main", f"mov ${ROUNDS}, %ebx", "1: push %ebx", "call outer", "mov $4, %ecx",
    "call recurse", "pop %ebx", "dec %ebx", "jnz 1b", "call write_text", "ret") + function(
    "outer", "call inner", "xor %eax, %eax", "call inner", "jmp tail") + function(
    "inner", "add $3, %eax", "imul %eax, %eax", "add $5, %eax", "ret") + function(
    "tail", "sub $7, %eax", "xor $0x55, %eax", "add $9, %eax", "ret") + function(
    "recurse", "test %ecx, %ecx", "jz 1f", "dec %ecx", "call recurse", "1: nop", "ret") + function(
    "write_text", *(line for c in TEXT for line in (f"mov ${ord(c)}, %eax",
                                                    "call write_char")), "ret") + function(
    "write_char", "mov $0x3f8, %edx", "outb %al, %dx", "mov $0, %edx", "ret"))


def build(folder, kernel):
    """(the loader's ELF file, the kernel's)"""
    if missing := [p for p in ("gcc", "objcopy") if not shutil.which(p)]:
        raise Skip(f"{missing[0]} is not installed")
    os.makedirs(folder, exist_ok=True)
    path = {n: os.path.join(folder, n) for n in ("kernel.S", "kernel.elf", "kernel.bin",
                                                 "loader.S", "loader.elf")}
    for name, text in (("kernel.S", kernel), ("loader.S", LOADER)):
        with open(path[name], "w") as f:
            f.write(text)
    gcc = ("gcc", "-m32", "-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noexecstack")
    for command in ((*gcc, "-pie", "-Wl,--no-dynamic-linker", "-o", path["kernel.elf"],
                     path["kernel.S"]),
                    ("objcopy", "-O", "binary", "-j", ".text", path["kernel.elf"],
                     path["kernel.bin"]),
                    (*gcc, "-static", "-no-pie", "-Wl,-Ttext=0x100000", f"-Wa,-I,{folder}",
                     "-o", path["loader.elf"], path["loader.S"])):
        subprocess.run(command, check=True)
    return path["loader.elf"], path["kernel.elf"]
