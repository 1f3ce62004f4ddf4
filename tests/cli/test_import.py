#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope import: what it reads, and what it says of what it does not.

usage: test_import.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import gzip
import os
import sys

from cli import SOURCE, Cli, main, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "exports"))
import make_perf_data as form  # noqa: E402


class Import(Cli):
    def test_folded_stacks(self):
        long_ = "f" + "o" * 1000
        lines = ("main;a b c 3.4", "main;d 2.5", f"main;{long_} 7.", "main;e 0.2", "main;e 0.9")
        with open(self.path("in.folded"), "w") as f:
            f.write("\n".join(lines) + "\n")
        out = self.path("out.folded")
        done = run("import", "-o", out, self.path("in.folded"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out) as f:
            self.assertEqual(sorted(f.read().splitlines()), sorted(
                ["main;a b c 34", "main;d 25", f"main;{long_} 70", "main;e 11"]))
        for count in (".5", "1.5.2", "1e3", "-1", "x.5"):
            with open(self.path("bad.folded"), "w") as f:
                f.write(f"main;a {count}\n")
            self.fails(1, "line 1: has no count", "import", "-o", out, self.path("bad.folded"))

    def test_large_counts_cost_no_more_than_small_ones(self):
        """Microseconds: what there is to store are the lines."""
        made, out = self.path("in.folded"), self.path("out.data")
        with open(made, "w") as f:
            f.writelines(f"main;f{i} {160000 + i}\n" for i in range(100))
        done = run("import", "-o", out, made)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("16004950 samples", done.stdout + done.stderr)
        self.assertLess(os.path.getsize(out), 100000)
        done = run("report", "-f", "folded", "-o", "-", out)
        self.assertIn("main;f7 160007", done.stdout.splitlines())

    def test_what_import_does_not_read_is_told_apart(self):
        made = self.path("in")
        script = ("# cmdline : perf record\nCPU 0/KVM 7 [001] 5.491118: 2000000 cycles: \n"
                  "\t7fb9 f+0x4 (/bin/a)\n\n", "a 7/7 5.49: 1 cycles: 7fb9 f+0x4 (/bin/a)\n")
        for text in script:
            with open(made, "w") as f:
                f.write(text)
            self.fails(1, "text of perf script\n.*perf.data itself", "import", made)
        with open(made, "w") as f:
            f.write("main;at 5.49 x\n")
        self.fails(1, "line 1: has no count", "import", made)
        data = self.fake()
        self.assertEqual(run("report", "-o", self.path("x.pb.gz"), data).returncode, 0)
        self.fails(1, "compressed\n.*gunzip it; .*pprof", "import", self.path("x.pb.gz"))
        with gzip.open(self.path("x.pb.gz")) as packed, open(made, "wb") as f:
            f.write(packed.read())
        self.fails(1, "profile of pprof, which is not read", "import", made)
        self.assertEqual(run("report", "-o", self.path("x.perf.data"), data).returncode, 0)
        self.fails(1, "no samples of a guest\n.*report -f perf.*--all", "import",
                   self.path("x.perf.data"))


PC, SECOND = 0x401010, 10 ** 9


class Processes(Cli):
    """perf.data of several processes, whose files are at the same addresses."""

    def setUp(self):
        super().setUp()
        self.t, self.records = SECOND, []
        for name in ("one", "two", "three"):
            with open(self.path(name), "w") as f:
                f.write(f"{0x1000:016x} T in_{name}\n{0x1fff:016x} T end_{name}\n")

    def add(self, *records):
        self.t += 10 ** 6
        self.records += [form.at(self.t, r) for r in records]

    def maps(self, pid, name, start=0x401000):
        return form.mapping(pid, start, 0x1000, 0x1000, self.path(name), form.USER)

    def runs(self, pid, n, pc=PC):
        for _ in range(n):
            self.t += 10 ** 6
            body = form.pack("QIIQIIQ", pc, pid, pid, self.t, 0, 0, 1)
            chain = form.pack("QQQ", 2, form.CONTEXT_USER, pc)
            self.records.append(form.record(form.SAMPLE, form.USER, body + chain))

    def imported(self, by_perf=True):
        made, out = self.path("perf.data"), self.path("out.data")
        host = form.FEATURE_HOST, form.pack("I", 8) + b"builder\0"
        with open(made, "wb") as f:
            f.write(form.as_file(self.records, True, host if by_perf else None,
                                 form.SAMPLE_ID_ALL))
        done = run("import", "--all", "-o", out, made)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def folded(self, out, *options):
        done = run("report", "-f", "folded", "-o", "-", *options, out)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = (line.rsplit(" ", 1) for line in done.stdout.splitlines())
        return {stack: int(n) for stack, n in rows}

    def test_each_has_its_own_names(self):
        for by_perf in True, False:
            self.records = []
            for pid, name in ((101, "one"), (102, "two")):
                self.add(form.comm(pid, pid, name), self.maps(pid, name))
            for n in range(5):
                self.runs(101, 2)
                self.runs(102, 1)
            out = self.imported(by_perf)
            self.assertEqual(self.folded(out), {"in_one": 10, "in_two": 5})
            self.assertEqual(self.folded(out, "--by", "process"),
                             {"one (101);in_one": 10, "two (102);in_two": 5})
            self.assertEqual(self.folded(out, "--filter", "process=two"), {"in_two": 5})

    def test_a_child_has_its_parents_until_it_execs(self):
        self.add(form.comm(101, 101, "one"), self.maps(101, "one"))
        self.add(form.fork(102, 101, self.t), form.fork(103, 101, self.t))
        self.runs(102, 3)
        self.add(form.comm(102, 102, "two", form.EXEC))
        self.add(self.maps(102, "two"))
        self.runs(102, 4)
        self.runs(103, 2)
        # Made up by perf: no child's mappings are known by its parent's.
        self.add(form.fork(104, 101, self.t, form.EXEC))
        self.runs(104, 1)
        self.assertEqual(self.folded(self.imported(), "--by", "process"), {
            "one (102);in_one": 3, "two (102);in_two": 4, "one (103);in_one": 2,
            "[not known];0x401000-0x40103f": 1})

    def test_what_is_mapped_over_another_replaces_it(self):
        self.add(form.comm(101, 101, "one"), self.maps(101, "one"),
                 self.maps(101, "three", 0x501000))
        self.runs(101, 3)
        self.add(self.maps(101, "two"))
        self.runs(101, 4)
        self.runs(101, 2, 0x501010)
        self.assertEqual(self.folded(self.imported()),
                         {"in_one": 3, "in_two": 4, "in_three": 2})

    def test_order_is_that_of_times_not_of_the_file(self):
        self.add(form.comm(101, 101, "one"), self.maps(101, "one"))
        self.runs(101, 3)
        self.add(form.comm(101, 101, "two", form.EXEC))
        self.add(self.maps(101, "two"))
        self.runs(101, 4)
        self.records.reverse()
        self.assertEqual(self.folded(self.imported()), {"in_one": 3, "in_two": 4})

    def test_no_mapping_of_very_many_is_lost(self):
        for pid in range(1000, 7000):
            name = ("one", "two")[pid % 2]
            self.add(form.comm(pid, pid, name), self.maps(pid, name))
            self.runs(pid, 1)
        self.assertEqual(self.folded(self.imported()), {"in_one": 3000, "in_two": 3000})

    def test_what_is_too_much_is_told(self):
        self.add(form.comm(101, 101, "one"), self.maps(101, "one"))
        self.add(*(self.maps(101, "two", 0x10000000 + n * 0x2000) for n in range(65540)))
        self.runs(101, 3)
        self.runs(101, 2, 0x10000010)
        self.runs(101, 4, 0x10000010 + 65539 * 0x2000)
        out = self.imported()
        told = run("import", "--all", "-o", out, self.path("perf.data")).stdout
        words = "a process of the perf.data has more than 65,536 mappings of code"
        self.assertIn(f"limit: {words}", told)
        self.assertIn(words, " ".join(run("report", out).stdout.replace("#", "").split()))
        self.assertEqual(self.folded(out), {"in_one": 3, "in_two": 2,
                                            "0x30006000-0x3000603f": 4})


if __name__ == "__main__":
    main()
