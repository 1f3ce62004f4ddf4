#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which function can call which: what was counted, against the instructions of the image.

usage: edges.py UNISCOPE.DATA ELF [BIAS] [--uniscope PROGRAM]

There has to be an instruction that leads from each caller in the tree to what it calls: a
call; a call of a function that jumps there, or goes on into it; an indirect call or a trap,
if the callee's address is in the image.  Below [interrupts] is what has its address in the
image, or what such code goes on to.  What has no symbols is not judged.
"""
import argparse
import bisect
import collections
import json
import re
import struct
import subprocess
import sys

OBJDUMP = {62: "objdump", 3: "objdump", 183: "aarch64-linux-gnu-objdump",
           243: "riscv64-linux-gnu-objdump"}
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+)\s*(.*)$")
TARGET = re.compile(r"\b(?:0x)?([0-9a-f]+)(?: <([^>]*)>)?$")

CALL, JUMP, MAYBE, INDIRECT_CALL, INDIRECT, TRAP, RETURN, SWITCH = range(8)
ENDS = (JUMP, INDIRECT, RETURN)  # the next instruction is not reached by it


def kind_x86(name, rest):
    prefixes = ("bnd", "notrack", "rep", "repz", "data16", "addr32", "cs", "ds")
    if name in prefixes and rest:
        return kind_x86(*(rest.split(None, 1) + [""])[:2])
    if name.startswith(("call", "lcall")):
        return INDIRECT_CALL if "*" in rest or name[0] == "l" else CALL
    if name.startswith(("jmp", "ljmp")):
        return INDIRECT if "*" in rest or name[0] == "l" else JUMP
    if re.match(r"(iret|sysret|lret|sysexit)", name):
        return SWITCH
    if name.startswith("ret"):
        return RETURN
    if name in ("int", "int3", "syscall", "sysenter", "vmcall"):
        return TRAP
    if name[0] == "j" or name.startswith("loop"):
        return MAYBE
    return None


def kind_aarch64(name, rest):
    if name in ("bl", "b"):
        return CALL if name == "bl" else JUMP
    if re.match(r"(bl?r)(aa|ab)?z?$", name):
        return INDIRECT_CALL if name.startswith("bl") else INDIRECT
    if name.startswith("ret"):
        return RETURN
    if name.startswith("eret"):
        return SWITCH
    if name in ("svc", "hvc", "smc", "brk"):
        return TRAP
    return MAYBE if re.match(r"(b\.|cbn?z|tbn?z)", name) else None


def kind_riscv(name, rest):
    known = re.search(r"[#<]", rest) is not None  # objdump has found out where to
    if name in ("jal", "c.jal", "call"):
        return JUMP if rest.startswith("zero") else CALL
    if name in ("j", "c.j", "tail"):
        return JUMP
    if name in ("jr", "c.jr"):
        return JUMP if known else INDIRECT
    if name in ("jalr", "c.jalr"):
        return CALL if known else INDIRECT_CALL
    if name in ("ret", "mret", "sret"):
        return RETURN if name == "ret" else SWITCH
    if name in ("ecall", "ebreak", "c.ebreak"):
        return TRAP
    return MAYBE if re.match(r"(c\.)?b(eq|ne|lt|ge|gt|le)", name) else None


KINDS = {62: kind_x86, 3: kind_x86, 183: kind_aarch64, 243: kind_riscv}


class Elf:
    """What of the file the check needs: headers, sections, function symbols."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.wide = self.data[4] == 2
        self.machine, = struct.unpack_from("<H", self.data, 18)
        self.sections = self._sections()
        self.symbols = collections.defaultdict(set)  # address: names
        self._symbols()

    def _sections(self):
        at, = struct.unpack_from("<Q" if self.wide else "<I", self.data,
                                 40 if self.wide else 32)
        size, n = struct.unpack_from("<HH", self.data, 58 if self.wide else 46)
        form = "<IIQQQQIIQQ" if self.wide else "<IIIIIIIIII"
        return [struct.unpack_from(form, self.data, at + i * size) for i in range(n)]

    def _symbols(self):
        code = [i for i, s in enumerate(self.sections) if s[2] & 4 and s[2] & 2]
        for s in self.sections:
            if s[1] != 2:  # SHT_SYMTAB
                continue
            names = self.sections[s[6]][4]
            for at in range(s[4], s[4] + s[5], 24 if self.wide else 16):
                if self.wide:
                    name, info, _, where, value = struct.unpack_from("<IBBHQ", self.data, at)
                else:
                    name, value, _, info, _, where = struct.unpack_from("<IIIBBH", self.data,
                                                                        at)
                end = self.data.index(b"\0", names + name)
                text = self.data[names + name:end].decode(errors="replace")
                if where in code and info & 15 in (0, 2, 10) and text and text[0] not in "$":
                    self.symbols[value].add(text)

    def words(self):
        """What may be an address in sections that are not code."""
        size = 8 if self.wide else 4
        for s in self.sections:
            if s[1] == 8 or not s[2] & 2:
                continue
            body = self.data[s[4]:s[4] + s[5]]
            for off in range(0, 4 if s[2] & 4 else size, 4):
                n = (len(body) - off) // size
                for w in struct.unpack_from(f"<{n}{'Q' if self.wide else 'I'}", body, off):
                    yield w
            for w in struct.unpack_from(f"<{len(body) // 4}I", body):
                yield w if w < 1 << 31 or not self.wide else w | 0xffffffff << 32


class Code:
    """The functions of an image, and what leads out of each."""

    def __init__(self, path):
        self.elf = Elf(path)
        self.starts = sorted(self.elf.symbols)
        self.calls = collections.defaultdict(set)  # start: of functions
        self.jumps = collections.defaultdict(set)
        self.kinds = collections.defaultdict(set)
        self.last, self.pages = {}, {}
        self.taken = {w for w in self.elf.words() if w in self.elf.symbols}
        for line in self._disassembly(path):
            self._take(line)
        for start, next_ in zip(self.starts, self.starts[1:]):
            if self.last.get(start) not in ENDS:
                self.jumps[start].add(next_)
        self.reached = {}

    def _take_page(self, name, rest):
        """aarch64: adrp and add make an address."""
        page = re.match(r"(x\d+), ([0-9a-f]+)", rest) if name == "adrp" else None
        if page:
            self.pages[page[1]] = int(page[2], 16)
        add = re.match(r"x\d+, (x\d+), #0x([0-9a-f]+)$", rest) if name == "add" else None
        if add and add[1] in self.pages:
            value = self.pages[add[1]] + int(add[2], 16)
            if value in self.elf.symbols:
                self.taken.add(value)

    def _disassembly(self, path):
        tool = OBJDUMP.get(self.elf.machine)
        done = subprocess.run([tool, "-d", "-z", "--no-show-raw-insn", path],
                              capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def function(self, address):
        i = bisect.bisect_right(self.starts, address)
        return self.starts[i - 1] if i else None

    def _take(self, line):
        m = INSTRUCTION.match(line)
        if not m:
            return
        here, rest = self.function(int(m[1], 16)), m[3].strip()
        self._take_page(m[2], rest)
        kind = KINDS[self.elf.machine](m[2], rest)
        self.last[here] = kind
        self.kinds[here].add(kind)
        for word in re.findall(r"(?:\b0x|\b)([0-9a-f]{3,16})\b", rest):
            value = int(word, 16)
            if kind in (CALL, JUMP, MAYBE):
                continue
            if value in self.elf.symbols:
                self.taken.add(value)
        to = TARGET.search(rest)
        if kind not in (CALL, JUMP, MAYBE) or not to:
            return
        target = int(to[1], 16)
        # Into the midst of another function is being in that, but no call of it.
        if target in self.elf.symbols or kind != CALL:
            (self.calls if kind == CALL else self.jumps)[here].add(self.function(target))

    def goes_on(self, start):
        """Functions that one may have become when it returns: by jumps, or by its end."""
        if start in self.reached:
            return self.reached[start]
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += self.jumps[at]
                if INDIRECT in self.kinds[at]:
                    todo += self.taken
        self.reached[start] = seen
        return seen

    def how(self, caller, callee):
        """By what the one can have come to the other; None: by nothing."""
        if callee in self.calls[caller]:
            return "call"
        indirect = {INDIRECT_CALL, SWITCH} & self.kinds[caller]
        if indirect and callee in self.taken:
            return "indirect"
        # A call of what jumps there, or falls into it.
        for first in self.calls[caller]:
            if callee in self.goes_on(first):
                return "tail"
        if indirect and any(callee in self.goes_on(f) for f in self.taken):
            return "indirect tail"
        if TRAP in self.kinds[caller] and any(callee in self.goes_on(f) for f in self.taken):
            return "trap"
        return None

    def enters(self, callee):
        return callee in self.taken or any(callee in self.goes_on(f) for f in self.taken)


class Edges:
    """Of a report (JSON) and its image."""

    def __init__(self, report, elf, bias=0):
        self.code, self.bias = Code(elf), bias
        self.how = collections.Counter()  # {way: calls}
        self.pairs = collections.Counter()  # {way: different pairs}
        self.wrong = {}  # {(caller, callee): calls}
        self.roots, self.interrupts = collections.Counter(), collections.Counter()
        functions = {f["id"]: f for f in report["functions"]}
        at = {n["id"]: functions[n["function"]] for n in report["tree"]}
        pairs = collections.Counter()
        ids = {}
        for n in report["tree"]:
            if n["parent"] in at:
                pair = at[n["parent"]]["id"], at[n["id"]]["id"]
                pairs[pair] += n["calls"]
                ids[pair] = at[n["parent"]], at[n["id"]]
            else:
                self.roots[at[n["id"]]["name"]] += n["calls"]
        for pair, calls in pairs.items():
            self._judge(*ids[pair], calls)

    def _start(self, f):
        return int(f["start"], 16) - self.bias if f.get("start") and f["known"] else None

    def _judge(self, caller, callee, calls):
        a, b = self._start(caller), self._start(callee)
        if caller["name"] == "[interrupts]":
            self.interrupts[callee["name"]] += calls
            way = "interrupt" if b is None or self.code.enters(b) else None
        elif a is None or b is None or a not in self.code.elf.symbols:
            way = "no symbols"
        else:
            way = self.code.how(a, b)
        if not way:
            self.wrong[caller["name"], callee["name"]] = calls
            return
        self.how[way] += calls
        self.pairs[way] += 1

    def __str__(self):
        ways = ", ".join(f"{n} {way} ({self.how[way]})" for way, n in self.pairs.most_common())
        return f"pairs (calls): {ways}; wrong: {len(self.wrong)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("elf")
    parser.add_argument("bias", nargs="?", default="0")
    parser.add_argument("--uniscope", default="uniscope")
    args = parser.parse_args()
    told = subprocess.run([args.uniscope, "report", "--json", args.data],
                          capture_output=True, text=True, check=True).stdout
    edges = Edges(json.loads(told), args.elf, int(args.bias, 16))
    print(edges)
    print("roots:", dict(edges.roots.most_common(20)))
    print("interrupts:", dict(edges.interrupts.most_common(20)))
    for (caller, callee), calls in sorted(edges.wrong.items(), key=lambda w: -w[1])[:60]:
        print(f"WRONG {calls}: {caller} -> {callee}")
    sys.exit(1 if edges.wrong else 0)


if __name__ == "__main__":
    main()
