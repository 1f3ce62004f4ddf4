# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a test guest in QEMU, read its serial port, look into it by QEMU's gdb stub."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from bisect import bisect_right
from dataclasses import dataclass

import patience
import truth


@dataclass(frozen=True)
class Processor:
    """What differs from one to the other, for who looks in from outside."""
    qemu: str
    g_words: tuple  # where pc, sp, frame pointer and return address are in a g packet
    above: int = 0  # a frame pointer points so far above the pair that it means
    arguments: tuple = ()
    kvm_arguments: tuple = ("-M", "microvm")


PROCESSORS = {
    "x86_64": Processor("qemu-system-x86_64", (16, 7, 6, None)),
    "aarch64": Processor("qemu-system-aarch64", (32, 31, 29, 30),
                         0, ("-M", "virt", "-cpu", "max", "-nic", "none"),
                         ("-M", "virt,gic-version=host", "-cpu", "host", "-nic", "none")),
    "riscv64": Processor("qemu-system-riscv64", (32, 2, 8, 1), 16,
                         ("-M", "virt", "-nic", "none")),
}
PATIENCE = 45  # seconds until a guest must have said something, on a busy machine


class Elf:
    """Program headers and function symbols of an ELF64."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path}: not an ELF64")
        self.sections = self._sections()
        self.symbols = dict(self._symbols())
        self._starts = sorted((s[0], s[1], name) for name, s in self.symbols.items()
                              if s[2] == 2)

    def program_headers(self):
        """(type, offset, vaddr, paddr, filesz, memsz) of each."""
        at, = struct.unpack_from("<Q", self.data, 32)
        size, n = struct.unpack_from("<HH", self.data, 54)
        for i in range(n):
            kind, _, *rest = struct.unpack_from("<IIQQQQQ", self.data, at + i * size)
            yield kind, *rest

    def _sections(self):
        at, = struct.unpack_from("<Q", self.data, 40)
        size, n, names = struct.unpack_from("<HHH", self.data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, at + i * size)
                   for i in range(n)]
        return {self._string(headers[names][4] + h[0]): h for h in headers}

    def _string(self, at):
        return self.data[at:self.data.index(b"\0", at)].decode()

    def _symbols(self):
        _, _, _, _, at, size, _, _, _, _ = self.sections[".symtab"]
        strings = self.sections[".strtab"][4]
        for i in range(at, at + size, 24):
            name, info, _, _, value, length = struct.unpack_from("<IBBHQQ", self.data, i)
            if name:
                yield self._string(strings + name), (value, length, info & 15)

    def function_at(self, address):
        """(name, start) of the function that an address is in, or None."""
        i = bisect_right(self._starts, (address, 1 << 64, "")) - 1
        if i < 0:
            return None
        start, size, name = self._starts[i]
        return (name, start) if address < start + size else None


class Stub:
    """As much of the GDB remote protocol as it takes to look at a stopped guest."""

    def __init__(self, path, processor=PROCESSORS["x86_64"]):
        self.processor = processor
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.pending = b""
        self.socket.sendall(b"+")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _byte(self):
        if not self.pending:
            self.pending = self.socket.recv(65536)
            if not self.pending:
                raise ConnectionError("the gdb stub has closed")
        byte, self.pending = self.pending[:1], self.pending[1:]
        return byte

    def packet(self):
        while self._byte() != b"$":
            pass
        body = b""
        while (byte := self._byte()) != b"#":
            body += byte
        self._byte()
        self._byte()
        self.socket.sendall(b"+")
        return body.decode()

    def ask(self, text):
        self.send(text)
        return self.packet()

    def send(self, text):
        self.socket.sendall(f"${text}#{sum(text.encode()) & 255:02x}".encode())

    def stop(self):
        """Stop the running guest; a guest also stops as a client connects."""
        self.socket.sendall(b"\x03")
        return self.packet()

    def threads(self):
        found, reply = [], self.ask("qfThreadInfo")
        while reply[:1] == "m":
            found += reply[1:].split(",")
            reply = self.ask("qsThreadInfo")
        return found

    def registers(self, thread):
        """pc, sp, frame pointer and, where there is such a register, return address of
        a stopped vCPU."""
        self.ask(f"Hg{thread}")
        packet = self.ask("g")
        return [None if at is None else
                struct.unpack("<Q", bytes.fromhex(packet[16 * at:16 * (at + 1)]))[0]
                for at in self.processor.g_words]

    def word(self, address):
        """8 bytes of the memory of the vCPU chosen last, or None if not readable."""
        reply = self.ask(f"m{address & (1 << 64) - 1:x},8")
        return None if reply[:1] == "E" else struct.unpack("<Q", bytes.fromhex(reply))[0]


class Guest:
    """A QEMU with one test guest; to be used in a with statement."""

    def __init__(self, elf, args, stub=False, processor=PROCESSORS["x86_64"]):
        self.dir = tempfile.mkdtemp(prefix="uniscope-guest-")
        self.serial = os.path.join(self.dir, "serial")
        self.stub_path = os.path.join(self.dir, "gdb")
        command = [processor.qemu, *processor.arguments, *args, "-m", "64",
                   "-nodefaults", "-display", "none",
                   "-serial", f"file:{self.serial}", "-kernel", elf]
        if stub:
            command += ["-gdb", f"unix:{self.stub_path},server=on,wait=off"]
        self.messages = open(os.path.join(self.dir, "messages"), "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=self.messages, stderr=self.messages)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.messages.close()
        shutil.rmtree(self.dir)

    def log(self):
        try:
            with open(self.serial, encoding="ascii", errors="replace") as file:
                return truth.parse(file.read())
        except FileNotFoundError:
            return []

    def wait(self, condition, what):
        """Until condition(list of Boot) holds; returns that list."""
        end = patience.clock() + PATIENCE
        while patience.clock() < end:
            log = self.log()
            faults = [f for boot in log for f in boot.faults]
            if faults:
                raise AssertionError(f"the guest failed: {faults[0]}")
            if log and condition(log):
                return log
            if self.process.poll() is not None:
                self.messages.seek(0)
                raise AssertionError(f"QEMU has ended: {self.messages.read()}")
            time.sleep(0.05)
        raise AssertionError(f"no {what} within {PATIENCE} s")

    def wait_snapshots(self, n_vcpus, n):
        """Until every vCPU has stated its truth n times; returns the last boot."""
        def enough(log):
            snapshots = log[-1].snapshots
            return len(snapshots) == n_vcpus and all(
                len(s) >= n for s in snapshots.values())
        return self.wait(enough, f"{n} TRUTH lines of each vCPU")[-1]
