# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the stacks of a recording (docs/format.md), without uniscope: what is named and
counted there can so be named and counted independently."""
import bisect
import struct
from dataclasses import dataclass

USER, EXACT, SPACE, EXIT_REASON, TASK = 1, 2, 4, 8, 32
NO_FRAME = SPACE | EXIT_REASON | TASK
ROOT, NO_RULE = 1, 5
GUEST, EXIT, READY = 0, 1, 3


@dataclass
class Frame:
    pc: int
    user: bool
    exact: bool  # the address of an instruction; else what a CALL returns to

    def call(self):
        """An address inside the instruction that the frame is at."""
        return self.pc - (not self.exact)

    def is_kernel(self):
        return self.pc >> 63 == 1


@dataclass
class Sample:
    frames: list  # innermost first
    end: int
    state: int
    vcpu: int
    weight: int
    t: float  # seconds since the start
    root: int = 0  # of the page tables that the program had; 0: none is told
    task: int = 0  # what tells the thread: see Recording.tasks

    def whole(self):
        return self.end == ROOT


@dataclass(frozen=True)
class Task:
    pid: int
    tgid: int
    name: str
    process: str


@dataclass
class Mapped:
    """Code of a file in a program."""
    file: int
    pid: int
    root: int
    start: int
    end: int
    offset: int
    bias: int
    begin: int  # microseconds; 0: from the start
    until: int  # 0: to the end


class _Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def more(self):
        return self.at < len(self.data)

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def u32(self):
        self.at += 4
        return struct.unpack_from("<I", self.data, self.at - 4)[0]

    def u64(self):
        return self.u32() | self.u32() << 32

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value

    def string(self):
        end = self.data.index(0, self.at)
        text = self.data[self.at:end].decode(errors="replace")
        self.at = end + 1
        return text

    def svarint(self):
        v = self.varint()
        return v >> 1 if v % 2 == 0 else -(v >> 1) - 1


class Recording:
    def __init__(self, path):
        self.nodes, self.flags, self.samples = [(0, 0)], {}, []
        self.facts = {}
        self.names = {}  # start: (size, name, module)
        self.tasks = {}  # id: Task
        self.files, self.mapped = {}, []  # number: (path, build-id); [Mapped]
        with open(path, "rb") as f:
            data = f.read()
        if data[:8] != b"UNISCOPE":
            raise ValueError(f"{path} is no recording")
        readers = {b"STAK": self._stacks, b"FLAG": self._flags, b"SAMP": self._samples,
                   b"FACT": self._fact, b"SYMB": self._symbols, b"TASK": self._task,
                   b"PFIL": self._program_file, b"PMAP": self._mapping}
        at = 16
        while at + 12 <= len(data):
            size, = struct.unpack_from("<I", data, at + 4)
            read = readers.get(data[at:at + 4])
            if read:
                read(_Bytes(data[at + 12:at + 12 + size]))
            at += 12 + size

    def mapped_as(self, maps):
        """(mappings of processes in maps, those of them that are not as /proc/PID/maps says);
        maps: see LinuxGuest.all_maps()."""
        own, wrong = [m for m in self.mapped if m.pid in maps], []
        for m in own:
            path, _ = self.files[m.file]
            same = [row for row in maps[m.pid] if row.start == m.start]
            if not (len(same) == 1 and "x" in same[0].flags and same[0].end == m.end
                    and (same[0].offset, same[0].path) == (m.offset, path)):
                wrong.append(f"{path} {m}, in the guest {same}")
        return own, wrong

    def name(self, address):
        """(name, module) by the names in the recording, or None."""
        starts = sorted(self.names)
        at = bisect.bisect_right(starts, address) - 1
        if at < 0:
            return None
        size, name, module = self.names[starts[at]]
        return (name, module) if address - starts[at] < size else None

    def _fact(self, b):
        key = b.string()
        self.facts[key] = b.string()

    def _task(self, b):
        key, = struct.unpack_from("<Q", b.data)
        pid, tgid = struct.unpack_from("<II", b.data, 44)
        b.at = 57
        if key:  # else it is known by its stack
            self.tasks[key] = Task(pid, tgid, b.string(), b.string())

    def _symbols(self, b):
        module, start = b.string(), 0
        while b.more():
            start = (start + b.svarint()) % (1 << 64)
            size = b.varint()
            self.names[start] = (size, b.string(), module)

    def _program_file(self, b):
        number, _, length = b.u32(), b.byte(), b.byte()
        build_id = bytes(b.byte() for _ in range(length)).hex()
        self.files[number] = (b.string(), build_id)

    def _mapping(self, b):
        self.mapped.append(Mapped(b.u32(), b.u32(), *(b.u64() for _ in range(7))))

    def _stacks(self, b):
        number, pc = b.u32(), 0
        while b.more():
            up = b.varint()
            pc = (pc + b.svarint()) % (1 << 64)
            self.nodes.append((number - up if up else 0, pc))
            number += 1

    def _flags(self, b):
        number = b.u32()
        while b.more():
            number += b.varint()
            self.flags[number] = b.byte()

    def _frames(self, node):
        frames = []
        while node:
            up, pc = self.nodes[node]
            flags = self.flags.get(node, 0)
            if flags & NO_FRAME:
                break
            frames.append(Frame(pc, bool(flags & USER), bool(flags & EXACT) or not frames))
            node = up
        return frames

    def _marks(self, node):
        """(root, task)"""
        found = {}
        while node:
            up, pc = self.nodes[node]
            found[self.flags.get(node, 0) & NO_FRAME] = pc
            node = up
        return found.get(SPACE, 0), found.get(TASK, 0)

    def _samples(self, b):
        t = 0
        while b.more():
            t += b.svarint()
            tag, stack = b.varint(), b.varint()
            weight = b.varint() if stack & 1 else 1
            self.samples.append(Sample(self._frames(stack >> 1), tag & 15, tag >> 4 & 7,
                                       tag >> 7, weight, t / 1e6,
                                       *self._marks(stack >> 1)))
