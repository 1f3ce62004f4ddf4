#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""truth.py reads whole, cut, mixed and repeated logs."""

import unittest

import truth


def line(vcpu, seq, f60, f40, idle=0, best=(6, 4)):
    total = f60 + f40 + idle
    return (f'TRUTH {{"vcpu":{vcpu},"seq":{seq},"tsc":{1000 + total},"tsc_hz":100,"fn":'
            f'{{"f60":{{"calls":{seq + 1},"self":{f60},"best":{best[0]}}},'
            f'"f40":{{"calls":{seq + 1},"self":{f40},"best":{best[1]},'
            f'"with_callees":true}}}},"idle":{idle},"total":{total}}}\n')


TREE = "TREE start\nTREE start;f60\nTREE start;f40\n"


class Parse(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(truth.parse(""), [])

    def test_tree_ready_beats_phases(self):
        boot, = truth.parse("SeaBIOS (version 1)\r\n" + TREE +
                            "READY vcpus=2\r\nBEAT 1\nBEAT 7\nPHASE itself\n")
        self.assertEqual(boot.tree, {("start",), ("start", "f60"), ("start", "f40")})
        self.assertEqual(boot.functions(), {"start", "f60", "f40"})
        self.assertTrue(boot.is_legal(["start", "f60"]))
        self.assertFalse(boot.is_legal(["f60"]))
        self.assertEqual(boot.n_vcpus, 2)
        self.assertEqual(boot.beats, [1, 7])
        self.assertEqual(boot.phases, ["itself"])
        self.assertIsNone(boot.last())

    def test_cut_line_is_left_out(self):
        whole = TREE + "READY vcpus=1\n" + line(0, 0, 60, 40)
        for cut in range(len(line(0, 1, 120, 80))):
            boot, = truth.parse(whole + line(0, 1, 120, 80)[:cut])
            self.assertEqual(len(boot.snapshots[0]), 1)

    def test_line_cut_by_a_reset(self):
        first, second = truth.parse(TREE + "READY vcpus=1\nBEAT 5\n" +
                                    line(0, 0, 60, 40)[:50] + "\n" + TREE +
                                    "READY vcpus=1\nBEAT 1\n")
        self.assertEqual(first.snapshots, {})
        self.assertEqual(first.beats, [5])
        self.assertEqual(second.beats, [1])
        self.assertEqual(second.tree, first.tree)

    def test_fault(self):
        boot, = truth.parse("FAULT 13 cr2 0x0\n")
        self.assertEqual(boot.faults, ["FAULT 13 cr2 0x0"])


class Shares(unittest.TestCase):
    def setUp(self):
        self.boot, = truth.parse(TREE + "READY vcpus=2\n" + line(0, 0, 70, 30, 100) +
                                 line(1, 0, 50, 50) + line(0, 1, 130, 70, 200) +
                                 line(0, 2, 190, 110, 300))

    def test_whole_run(self):
        s = self.boot.snapshots[0][0]
        self.assertEqual(s.shares(), {"f60": 0.7, "f40": 0.3})
        self.assertEqual(s.shares(of_total=True), {"f60": 0.35, "f40": 0.15})
        self.assertEqual(s.idle_share(), 0.5)
        self.assertEqual(s.seconds(), 2.0)
        self.assertEqual(s.accounted(), s.total)
        self.assertTrue(s.fn["f40"].with_callees)
        self.assertFalse(s.fn["f60"].with_callees)

    def test_difference(self):
        first, last = self.boot.snapshots[0][0], self.boot.last()
        d = truth.difference(first, last)
        self.assertEqual(d.shares(), {"f60": 0.6, "f40": 0.4})
        self.assertEqual(d.fn["f60"].calls, 2)
        self.assertEqual(d.accounted(), d.total)
        with self.assertRaises(ValueError):
            truth.difference(first, self.boot.last(1))

    def test_between(self):
        self.assertEqual(self.boot.between(1300, 1350).total, 200)
        self.assertIsNone(self.boot.between(0, 1350))
        self.assertIsNone(self.boot.between(1300, 9999))

    def test_steady_and_merge(self):
        s = self.boot.snapshots[0][0]
        self.assertEqual(s.steady_shares(["f60", "f40"]), {"f60": 0.6, "f40": 0.4})
        m = truth.merge([s, self.boot.last(1)])
        self.assertEqual(m.shares(), {"f60": 0.6, "f40": 0.4})
        self.assertEqual(m.total, 300)


if __name__ == "__main__":
    unittest.main()
