# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of a Linux kernel named a second time, by the guest's own /proc/kallsyms,
and compared with what the report says, path by path."""
import re
from collections import Counter

from recording import EXIT, GUEST, READY

KERNEL_HALF = 1 << 63


class Classes:
    """Names of one address are one: any of them is right."""

    def __init__(self, kallsyms):
        self.up, self.kallsyms = {}, kallsyms
        before = None
        for s in kallsyms.symbols:
            if before and before.address == s.address:
                self.up[self.of(s.name)] = self.of(before.name)
            before = s

    def of(self, name):
        while name in self.up and self.up[name] != name:
            name = self.up[name]
        return name

    def at(self, address):
        names = self.kallsyms.names(address)
        return self.of(min(names)) if names else hex(address)


def is_user_range(name):
    """An address without a name, of a program."""
    return name.startswith("0x") and int(name.split("-")[0], 16) < KERNEL_HALF


def is_program(module):
    """Not the kernel, nor a module of it: a program's file, or what the kernel maps into it,
    whose functions have names: the first clock_gettime() of one faults in [vdso]."""
    return module is not None and module[:1] in ("/", "[")


def expected_paths(recording, classes):
    """{names of the kernel's frames, outermost first: samples}."""
    paths = Counter()
    for sample in recording.samples:
        if sample.state not in (GUEST, EXIT, READY):
            continue
        path = tuple(classes.at(f.call()) for f in reversed(sample.frames)
                     if f.is_kernel())
        if path:
            paths[path] += sample.weight
    return paths


def reported_paths(report, classes):
    functions = {f["id"]: f for f in report["functions"]}
    paths, by_node = Counter(), {0: ()}
    for node in report["tree"]:
        f, path = functions[node["function"]], by_node[node["parent"]]
        if not (is_user_range(f["name"]) or is_program(f["module"]) or f["inlined"] or
                f["name"][0] == "["):
            path += (classes.of(f["raw"] or f["name"]),)
        by_node[node["id"]] = path
        if node["self"] and path:
            paths[path] += node["self"]
    return paths


# Where the kernel is entered from a program, by the hardware, or where a thread of it
# begins: that of a CPU's idle task among them.
_ROOTS = re.compile("entry_|asm_|ret_from_fork|error_|paranoid_|syscall_return|swapgs_|"
                    "native_i|common_interrupt_return|secondary_startup|start_kernel|"
                    "rest_init|arch_call_rest_init|x86_64_start|start_secondary|xen_")


def kernel_parts(recording, kallsyms, from_s):
    """(stacks that begin in the kernel, those whose kernel part is whole, Counter of
    where the others end): down to an entry or to where a thread begins, and said so.
    from_s: those from then on, when the kernel's tables have been read."""
    n = whole = 0
    cut = Counter()
    for sample in recording.samples:
        if sample.state != GUEST or sample.t < from_s or not sample.frames or \
                not sample.frames[0].is_kernel():
            continue
        n += sample.weight
        last = [f for f in sample.frames if f.is_kernel()][-1]
        joined = last is not sample.frames[-1]
        names = kallsyms.names(last.call())
        if (joined or sample.whole()) and any(_ROOTS.match(name) for name in names):
            whole += sample.weight
        else:
            cut[min(names, default=hex(last.pc))] += sample.weight
    return n, whole, cut
