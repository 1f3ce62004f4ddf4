# SPDX-License-Identifier: GPL-2.0-or-later
"""A Linux guest that prints the functions of its own /proc/kallsyms and then works,
without end; what is recorded of it, compared with that."""
import base64
import gzip
import re
import zlib
from dataclasses import dataclass

from guest import Kallsyms
from harness import Uniscope, check, note
from initramfs import Initramfs
from recording import Recording

WHOLE = 0.99
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /tmp
grep -i " [tw] " /proc/kallsyms >/tmp/symbols
awk '{ print >("/tmp/part." int(1000000 + NR / 500)) }' /tmp/symbols
gzip /tmp/part.*
for copy in 1 2 3; do
	echo "SYMBOLS $(ls /tmp/part.* | wc -l)"
	for part in /tmp/part.*; do
		echo "PART $part"
		base64 $part
	done
done
echo READY
while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=300 2>/dev/null
	cat /proc/self/maps /proc/meminfo /proc/stat /proc/interrupts >/dev/null
	dd if=/dev/urandom bs=4k count=100 2>/dev/null | cat | cat >/dev/null
	ls -lR /sys/devices >/dev/null
done
"""
_PACKED = re.compile(r"^([A-Za-z0-9+/]{2,76}=*)\r?$", re.M)


@dataclass(frozen=True)
class Processor:
    roots: re.Pattern  # where an exception from a program comes in, or a thread begins
    where: re.Pattern  # of a recording's "linux": where the kernel is
    linked: int = 0  # what to add to that, for _stext
    # Behind the first instruction of an exception's entry, and until it has saved them,
    # the registers are neither here nor there.
    vectors: tuple = ()


PROCESSORS = {
    "x86_64": Processor(
        re.compile("entry_|asm_|ret_from_fork|error_|paranoid_|syscall_return|"
                   "swapgs_|native_i|common_interrupt_return|secondary_startup|"
                   "start_kernel|rest_init|arch_call_rest_init|x86_64_start|"
                   "start_secondary|xen_|cpu_bringup"),
        re.compile(r"slide (0x[0-9a-f]+)"), 0xFFFFFFFF81000000),
    # The trampoline's page lies above all symbols.
    "aarch64": Processor(
        re.compile("el0t_|ret_from_fork|__primary_switched|__secondary_switched|"
                   "ret_to_user"),
        re.compile(r" at (0x[0-9a-f]+)"), vectors=("vectors", "_einittext")),
    # What has come from a program goes on in it.
    "riscv64": Processor(re.compile("$"), re.compile(r"slide (0x[0-9a-f]+)"),
                         0xFFFFFFFF80002000),
}


def write_initramfs(path, busybox):
    fs = Initramfs()
    fs.add_file("/bin/busybox", busybox)
    fs.add("/init", INIT)
    fs.write(path)


def kallsyms(text):
    """Of what the guest has printed; what others printed in between is left out.  On a busy
    host a serial line loses bytes, so all is said in parts, and each of them three times."""
    text = text[:text.index("\nREADY")]
    parts, damaged, n = {}, 0, max(int(m) for m in re.findall(r"SYMBOLS (\d+)\r?$", text, re.M))
    for m in re.finditer(r"^PART /tmp/part\.(\d+)\.gz\r?\n(.*?)(?=^PART|^SYMBOLS|\Z)", text,
                         re.M | re.S):
        packed = "".join(line[1] for line in _PACKED.finditer(m[2]))
        try:
            parts[m[1]] = gzip.decompress(base64.b64decode(packed)).decode()
        except (ValueError, EOFError, OSError, zlib.error):
            damaged += 1
    if damaged:
        note(f"of the guest's symbols {damaged} of {3 * n} parts came damaged")
    if len(parts) != n or not n:
        raise RuntimeError(f"{len(parts)} of {n} parts of the guest's symbols came whole")
    return Kallsyms("".join(parts[k] for k in sorted(parts)))


class Tests:
    """A guest has printed READY."""

    def __init__(self, args, guest, backend, processor):
        self.us, self.guest, self.args = Uniscope(args.build), guest, args
        self.backend, self.processor = backend, PROCESSORS[processor]
        self.truth = kallsyms(guest.serial())
        self.recording = None

    def record(self):
        self.us.record(self.guest, self.backend, "--budget", self.args.budget,
                       seconds=self.args.seconds)
        self.recording = Recording(self.us.data())
        return self.recording

    def names(self):
        """Every sampled address of the kernel, and each caller."""
        truth, r = self.truth, self.record()
        check("linux" in r.facts, f"the kernel was not found: {r.facts}")
        note(r.facts["linux"])
        at = int(self.processor.where.search(r.facts["linux"])[1], 16)
        check(truth.address("_stext") == at + self.processor.linked,
              f"_stext is at {truth.address('_stext'):#x}")
        seen = {f.call() for s in r.samples for f in s.frames if f.is_kernel()}
        wrong = {hex(at): (r.name(at), truth.names(at)) for at in seen
                 if at < truth.symbols[-1].address
                 and (not r.name(at) or r.name(at)[0] not in truth.names(at))}
        note(f"{len(seen)} addresses, {len(wrong)} not named as in /proc/kallsyms")
        check(len(seen) > 100 and not wrong, f"{list(wrong.items())[:5]}")

    def stacks(self):
        """Down to where a program was left, or a thread begins."""
        r, truth = self.recording or self.record(), self.truth
        n = whole = entering = 0
        cut = {}
        for s in r.samples:
            kernel = [f for f in s.frames if f.is_kernel()]
            if not kernel or s.t <= float(r.facts.get("linux_ready_s", 0)):
                continue
            names = truth.names(kernel[-1].call())
            if names & set(self.processor.vectors) and len(s.frames) == 1:
                entering += s.weight
                continue
            n += s.weight
            joined = len(kernel) < len(s.frames)
            if any(self.processor.roots.match(name) for name in names) or s.whole() or \
                    joined:
                whole += s.weight
            else:
                key = min(names, default="?"), s.end
                cut[key] = cut.get(key, 0) + s.weight
        worst = sorted(cut.items(), key=lambda c: -c[1])[:8]
        note(f"{whole} of {n} stacks in the kernel are whole, {entering} more are at its "
             f"vectors; else {worst}")
        check(n > self.args.enough, f"only {n} stacks since the kernel's memory was read")
        check(whole >= WHOLE * n, "stacks are cut")
