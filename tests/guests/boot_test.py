#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Boot one test guest and hold it to what it states: boot_test.py NAME ELF [tcg|kvm].

Under TCG on pc with one vCPU and on q35 with two; its stacks are walked by QEMU's gdb
stub.  Under KVM on microvm with one and two vCPUs.
"""

import os
import shutil
import struct
import sys
import tempfile
import time
import unittest

from machine import QEMU, Elf, Guest, Stub

NAME, ELF, ACCEL = (sys.argv[1:] + ["tcg"])[:3]
STACK_AREA = range(0xffff800000000000, 0xffff800000000000 + (4 << 30))
MACHINES = {"tcg": [["-M", "pc", "-smp", "1"], ["-M", "q35", "-smp", "2"]],
            "kvm": [["-M", "microvm", "-smp", "1"], ["-M", "microvm", "-smp", "2"]]}
# In these, rbp does not lead from frame to frame.
NO_CHAIN = ("shares-nofp", "badfp", "cyclic")
# In these, every function that takes time has a frame.
FRAMES = ("shares", "shares-o0", "switch", "recurse", "idle")
DIVES = 100
MAX_SNAPSHOTS = 80  # two a second


def stack(elf, stub, thread):
    """Walk a vCPU's frame pointers: function names, root first; and the last rbp."""
    pc, rsp, rbp = stub.registers(thread)
    name, start = elf.function_at(pc)
    path = [name]
    # Where no frame is up yet, or any more, the return address is on top.
    opcode = stub.word(pc) & 255
    if pc == start or opcode == 0xc3:
        path.append(elf.function_at(stub.word(rsp) - 1)[0])
    elif pc == start + 1:
        path.append(elf.function_at(stub.word(rsp + 8) - 1)[0])
    while rbp and len(path) < 2 * DIVES:
        if rbp not in STACK_AREA:
            break
        path.append(elf.function_at(stub.word(rbp + 8) - 1)[0])
        rbp = stub.word(rbp)
    return tuple(reversed(path)), rbp


def lacks_caller(path, tree):
    """An interrupted function, or a leaf's caller, has no frame of its own."""
    return any(legal[:-2] + legal[-1:] == path for legal in tree if len(legal) > 2)


class Boot(unittest.TestCase):
    """Every guest."""

    @classmethod
    def setUpClass(cls):
        cls.elf = Elf(ELF)

    def test_truth(self):
        for machine in MACHINES[ACCEL]:
            n = int(machine[-1])
            with self.subTest(machine=machine), \
                    Guest(ELF, ["-accel", ACCEL, *machine], stub=ACCEL == "tcg") as guest:
                boot = self.settle(guest, n)
                self.check_log(boot, n)
                if ACCEL == "tcg" and NAME not in NO_CHAIN:
                    self.check_stacks(guest, boot, n)

    def settle(self, guest, n_vcpus):
        """What the host takes away falls on some function, and only evens out with
        time: shares have to become right, and a loaded host needs longer for it."""
        check = SPECIAL.get(NAME, lambda *_: None)
        n = 2
        while True:
            boot = guest.wait_snapshots(n_vcpus, n)
            try:
                check(self, boot)
                return boot
            except AssertionError:
                n += 2
                if n > MAX_SNAPSHOTS:
                    raise

    def check_log(self, boot, n_vcpus):
        self.assertEqual(boot.n_vcpus, n_vcpus)
        self.assertEqual(boot.beats, sorted(set(boot.beats)))
        self.assertGreater(len(boot.beats), 1)
        for path in boot.tree:
            self.assertTrue(len(path) == 1 or path[:-1] in boot.tree, path)
        self.assertLessEqual(boot.functions(), set(self.elf.symbols))
        for snapshots in boot.snapshots.values():
            self.check_snapshots(boot, snapshots)

    def check_snapshots(self, boot, snapshots):
        self.assertEqual([s.seq for s in snapshots], list(range(len(snapshots))))
        for s in snapshots:
            self.assertGreater(s.tsc_hz, 10**8)
            self.assertAlmostEqual(s.accounted() / s.total, 1, delta=0.02)
            named = {name for name, f in s.fn.items() if f.self}
            self.assertLessEqual(named, boot.functions())
        for old, new in zip(snapshots, snapshots[1:]):
            self.assertGreater(new.tsc, old.tsc)
            self.assertGreaterEqual(new.idle, old.idle)
            for name, f in new.fn.items():
                self.assertGreaterEqual(f.calls, old.fn[name].calls)
                self.assertGreaterEqual(f.self, old.fn[name].self)

    def check_stacks(self, guest, boot, n_vcpus):
        """Every chain of frame pointers is in the tree, and ends with rbp = 0."""
        whole, rounds = 0, 6
        with Stub(guest.stub_path) as stub:
            stub.packet()  # it stops as we connect
            for _ in range(rounds):
                threads = stub.threads()
                self.assertEqual(len(threads), n_vcpus)
                for thread in threads:
                    path, last_rbp = stack(self.elf, stub, thread)
                    legal = boot.is_legal(path)
                    self.assertTrue(legal or lacks_caller(path, boot.tree), path)
                    self.assertEqual(last_rbp, 0, path)
                    whole += legal
                stub.send("c")
                time.sleep(0.02)
                stub.stop()
        if NAME in FRAMES:
            self.assertGreater(whole, rounds * n_vcpus / 2)


class Image(unittest.TestCase):
    """The file: what a loader and a profiler look for is there."""

    def test_layout(self):
        elf = Elf(ELF)
        loads = [h for h in elf.program_headers() if h[0] == 1]
        for (_, offset, _, paddr, filesz, memsz), after in zip(loads, loads[1:]):
            self.assertEqual(filesz, memsz)
            self.assertEqual(offset + filesz, after[1])
            self.assertEqual(paddr + filesz, after[3])
        at = elf.data.index(struct.pack("<III", 0x1badb002, 0x10000, 0xe4514ffe))
        header, load, load_end, bss_end, entry = struct.unpack_from(
            "<5I", elf.data, at + 12)
        self.assertLess(at, 8192)
        self.assertEqual(header - load, at - loads[0][1])
        self.assertEqual(load, loads[0][3])
        self.assertEqual(load_end, loads[-1][3] + loads[-1][4])
        self.assertEqual(bss_end, loads[-1][3] + loads[-1][5])
        self.assertEqual(entry, struct.unpack_from("<Q", elf.data, 24)[0])

    def test_sections(self):
        for name in (".note", ".eh_frame", ".debug_info", ".debug_line", ".symtab"):
            self.assertGreater(Elf(ELF).sections[name][5], 0, name)

    def test_build_id(self):
        elf = Elf(ELF)
        at, size = elf.sections[".note"][4:6]
        self.assertIn(struct.pack("<III4s", 4, 20, 3, b"GNU\0"), elf.data[at:at + size])


class OtherMachines(unittest.TestCase):
    """One guest shows how all boot: four vCPUs, microvm, and PVH."""

    def boots(self, elf, *args):
        with Guest(elf, ["-accel", ACCEL, *args]) as guest:
            self.assertTrue(guest.wait_snapshots(int(args[-1]), 1))

    def setUp(self):
        if NAME != "shares" or ACCEL != "tcg":
            self.skipTest("shares under TCG is enough")

    def test_four_vcpus(self):
        self.boots(ELF, "-M", "microvm", "-smp", "4")

    def test_pvh(self):
        """Without a multiboot header QEMU takes the note."""
        elf = Elf(ELF)
        with tempfile.TemporaryDirectory(prefix="uniscope-guest-") as folder:
            path = os.path.join(folder, "pvh.elf")
            with open(path, "wb") as file:
                file.write(elf.data.replace(struct.pack("<I", 0x1badb002), b"none", 1))
            self.boots(path, "-M", "pc", "-smp", "2")
            self.boots(path, "-M", "microvm", "-smp", "2")


def check_parts(test, last, names, parts):
    """What the host takes away falls on one or the other.  The shortest stretches are
    free of it, but not where KVM emulates: there each takes longer than a time slice."""
    steady = last.steady_shares(names)
    for name, part in zip(names, parts):
        test.assertAlmostEqual(last.shares()[name], part, delta=0.2)
        if ACCEL == "tcg":
            test.assertAlmostEqual(steady[name], part, delta=0.01)


def check_shares(test, boot):
    for snapshots in boot.snapshots.values():
        last = snapshots[-1]
        names = ["f60", "f30", "f10"]
        calls = [last.fn[name].calls for name in names]
        test.assertLessEqual(max(calls) - min(calls), 1)
        check_parts(test, last, names, (0.6, 0.3, 0.1))


def check_switch(test, boot):
    for snapshots in boot.snapshots.values():
        names = ["red_work", "green_work", "blue_work"]
        check_parts(test, snapshots[-1], names, (3 / 6, 2 / 6, 1 / 6))


def check_demo(copy, least, most):
    def check(test, boot):
        for snapshots in boot.snapshots.values():
            last = snapshots[-1]
            share = last.shares()[copy]
            test.assertGreater(share, least)
            test.assertLess(share, most)
            calls = last.fn[copy].calls
            test.assertGreater(calls, 0)
            test.assertLessEqual(abs(last.fn["checksum"].calls - 2 * calls), 32)
    return check


def check_recurse(test, boot):
    deepest = max(boot.tree, key=len)
    test.assertEqual(deepest[-1], "bottom")
    test.assertEqual(deepest.count("dive"), DIVES)
    for snapshots in boot.snapshots.values():
        test.assertGreater(snapshots[-1].shares()["bottom"], 0.8)
        test.assertGreaterEqual(snapshots[-1].fn["dive"].calls, DIVES)


def check_idle(test, boot):
    for snapshots in boot.snapshots.values():
        last = snapshots[-1]
        test.assertGreater(last.idle_share(), 0.6)
        test.assertGreater(last.fn["tick_work"].calls, 10)
        test.assertGreater(last.fn["tick_work"].self, 0)


def check_leaf(test, boot):
    for snapshots in boot.snapshots.values():
        for name in ("stage_tiny", "stage_pushing", "stage_long"):
            test.assertTrue(snapshots[-1].fn[name].with_callees)
            test.assertGreater(snapshots[-1].fn[name].self, 0)


SPECIAL = {
    "shares": check_shares,
    "shares-nofp": check_shares,
    "shares-o0": check_shares,
    "switch": check_switch,
    "demo": check_demo("copy_bytes_naive", 0.45, 0.85),
    "demo-fixed": check_demo("copy_words", 0.02, 0.25),
    "recurse": check_recurse,
    "idle": check_idle,
    "leaf": check_leaf,
}


def self_mapped(entry):
    """Where the top-level page table is, if it is that entry of itself."""
    return 0xffff << 48 | sum(entry << shift for shift in (39, 30, 21, 12))


class Phases(unittest.TestCase):
    """badfp and cyclic: rbp is what the phase says."""

    def setUp(self):
        if NAME not in ("badfp", "cyclic") or ACCEL != "tcg":
            self.skipTest("only badfp and cyclic")

    def test_rbp(self):
        elf = Elf(ELF)
        expected = {"badfp": elf.symbols.get("itself", (0,))[0],
                    "cyclic": self_mapped(300)}[NAME]
        with Guest(ELF, ["-accel", "tcg", "-smp", "2"], stub=True) as guest:
            boot = guest.wait(lambda log: len(log[-1].phases) > 1, "second phase")[-1]
            self.assertEqual(boot.phases[0], "sane")
            seen = set()
            with Stub(guest.stub_path) as stub:
                stub.packet()
                for _ in range(10):
                    pc, _, rbp = stub.registers("01")
                    seen.add((elf.function_at(pc)[0], rbp))
                    word = stub.word(expected)
                    stub.send("c")
                    time.sleep(0.01)
                    stub.stop()
            self.assertIn(("spin_with_rbp", expected), seen)
            # The frame's own address; the table's own entries.
            self.assertIsNotNone(word)
            if NAME == "badfp":
                self.assertEqual(word, expected)


class Reset(unittest.TestCase):
    """reboot: starts again, from nothing."""

    def setUp(self):
        if NAME != "reboot":
            self.skipTest("only reboot")

    def test_starts_again(self):
        for machine in ("pc", "microvm"):
            with self.subTest(machine=machine), \
                    Guest(ELF, ["-accel", ACCEL, "-M", machine, "-smp", "2"]) as guest:
                log = guest.wait(lambda log: len(log) > 1 and log[-1].beats, "reboot")
                self.assertEqual([boot.n_vcpus for boot in log], [2] * len(log))
                self.assertEqual([boot.beats[0] for boot in log], [1] * len(log))


def main():
    if not shutil.which(QEMU):
        print(f"SKIP: {QEMU} is not installed")
        sys.exit(77)
    if ACCEL == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
        print("SKIP: /dev/kvm cannot be opened")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
