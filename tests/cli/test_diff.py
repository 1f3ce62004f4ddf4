#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope diff.

usage: test_diff.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import re

from cli import Cli, main, run


class Diff(Cli):
    def test_diff(self):
        a, b = self.path("a.data"), self.path("b.data")
        for out in a, b:
            os.rename(self.fake(), out)
        self.fails(2, "two recordings", "diff", a)
        self.fails(2, "two recordings", "diff", a, b, a)
        self.fails(2, "go together", "diff", "--before", a)
        self.fails(2, "exclude each other", "diff", "--kernel-only", "--user-only", a, b)
        self.fails(2, "must be share or time", "diff", "--by", "day", a, b)
        self.fails(2, "--fail-above", "diff", "--fail-above", "-1", a, b)
        self.fails(1, "none", "diff", a, self.path("none"))
        self.fails(1, "no such|has such a function", "diff", "--per", "nothing", a, b)
        done = run("diff", "--json", a, b)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(told["changed"], sum(f["changed"] for f in told["functions"]))
        both = "([ab]).data and .*\\1.data are the same recording"
        self.fails(1, both, "diff", "--before", a, b, "--after", b, a)
        self.fails(1, both, "diff", "--before", a, a, "--after", b)
        self.assertEqual(run("diff", a, a).returncode, 0)
        self.assertEqual(json.loads(run("diff", "--json", "--kernel-only", a, b).stdout)["filters"],
                         "only what ran in the kernel")
        self.fails(1, "nothing passes the filters", "diff", "--user-only", a, b)
        c, d = self.path("c.data"), self.path("d.data")
        for out in c, d:
            os.rename(self.fake(), out)
        done = run("diff", "--json", "--before", a, b, "--after", c, d)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual([len(told[k]) for k in ("before", "after")], [2, 2])
        for f in told["functions"]:
            low, high = f["interval"]
            self.assertTrue(-1 <= low <= high <= 1, f)
        out = self.path("diff.json")
        self.assertEqual(run("diff", "-o", out, a, b).returncode, 0)
        with open(out) as f:
            json.load(f)
        self.fails(2, "must be text, json or html", "diff", "--format", "pdf", a, b)
        for words in ("-f", "html", "-o", self.path("diff.txt")), ("-o", self.path("diff.html")):
            self.assertEqual(run("diff", *words, a, b).returncode, 0)
            with open(words[-1]) as f:
                page = f.read()
            told = json.loads(re.search(r'id="data">(.*)</script>', page).group(1))
            self.assertEqual(told["unit"], "%")
            self.assertEqual(len(told["node"]["name"]), len(told["node"]["before"]))
        self.fails(1, "none|No such", "diff", "-o", self.path("none/diff.html"), a, b)

    def folded(self, name, **paths):
        text, out = self.path(name + ".folded"), self.path(name + ".data")
        with open(text, "w") as f:
            f.writelines(f"main;{path.replace('_', ';')} {n}\n" for path, n in paths.items())
        self.assertEqual(run("import", "-o", out, text).returncode, 0)
        return out

    def test_what_moves_within_a_helper(self):
        """It takes the same time in all, by other callers: no function has another self."""
        a = self.folded("before", checksum_spin=6000, route_spin=2500, tx_spin=1500)
        b = self.folded("after", checksum_spin=3500, route_spin=5000, tx_spin=1500)
        done = run("diff", "--json", "--fail-above", "5", a, b)
        told = json.loads(done.stdout)
        self.assertEqual(told["changed"], 0)
        self.assertEqual({f["name"] for f in told["changed_with_callees"]},
                         {"checksum", "route"})
        self.assertRegex(told["says"], "with callees 2 of 5 changed, most of all (checksum|route)")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, "route has grown, with its callees, by more than")
        self.assertEqual(run("diff", "--fail-above", "26", a, b).returncode, 0)
        told = json.loads(run("diff", "--json", "--children", a, b).stdout)
        self.assertEqual([told["changed"], told["changed_with_callees"]], [2, []])
        c = self.folded("other", checksum_spin=6000, route_spin=2500, tx_copy=1500)
        told = json.loads(run("diff", "--json", a, c).stdout)
        self.assertEqual([told["changed"], told["changed_with_callees"]], [2, []])


if __name__ == "__main__":
    main()
