#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope import: what it reads, and what it says of what it does not.

usage: test_import.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import gzip
import os

from cli import Cli, main, run


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


if __name__ == "__main__":
    main()
