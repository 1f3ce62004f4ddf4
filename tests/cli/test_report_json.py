#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/report-json.md has each member that JSON has, and no others.

usage: test_report_json.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import glob
import json
import os
import re
import shutil
import unittest

from cli import SOURCE, GuestCli, main, run

EXPECTED = os.path.join(SOURCE, "tests", "golden", "expected")
# Of guests that a test has not: those with a kernel's tasks, images that come and go, loops
# that wait, exits.  The program writes them all the same.
RARE = {"modules": {"root", "from_ns", "until_ns"}, "summary": {"idle_by_stack"},
        "exits": {"reason", "place", "samples"}, "cost": {"host_cpu"},
        "top of all guests": {"own_cpu"}, "guests": {"host_cpu", "idle", "hottest_self"},
        "groups of top": {"process", "pid", "tid"}}
WRITERS = ("src/report/json.c", "src/cmd/top/print.c")


def documented():
    """{heading: the members in the first column of its tables}, and its whole text."""
    with open(os.path.join(SOURCE, "docs", "report-json.md")) as f:
        parts = re.split(r"^##+ (.*)\n", f.read(), flags=re.M)
    texts = dict(zip(parts[1::2], parts[2::2]))
    return {heading: {word for row in re.findall(r"^\| (`.*?) \|", text, re.M)
                      for word in re.findall("`([^`]*)`", row)}
            for heading, text in texts.items()}, texts


def members(objects):
    """Of all of them; None: one is not there."""
    return {key for o in objects if o for key in o}


def each(objects, key):
    return [row for o in objects for row in o.get(key) or []]


class ReportJson(GuestCli):
    def outputs(self, *words):
        done = run(*words)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()] if words[0] == "top" \
            else [json.loads(done.stdout)]

    def is_documented(self, heading, objects):
        found = members(objects)
        have = self.documented.get(heading, set())
        self.assertEqual(found - have, set(), f"{heading}: not in docs/report-json.md")
        self.assertEqual(have - found - RARE.get(heading, set()), set(), f"{heading}: in no output")

    def test_what_is_rare_is_written(self):
        writes = ""
        for path in WRITERS:
            with open(os.path.join(SOURCE, path)) as f:
                writes += f.read()
        for heading, keys in RARE.items():
            for key in keys:
                self.assertIn(f'"{key}"', writes, heading)
                self.assertIn(key, self.documented[heading])

    def setUp(self):
        super().setUp()
        self.documented, self.texts = documented()
        self.one, two = self.path("one.data"), self.path("two.data")
        for out in self.one, two:
            os.rename(self.fake(), out)
        self.two = two

    def test_report(self):
        reports = [o for key in ("process", "vcpu") for o in
                   self.outputs("report", "--json", "--group-by", key, self.one)]
        reports += self.outputs("report", "--json", self.one, self.two)
        for path in glob.glob(os.path.join(EXPECTED, "*.json")):
            with open(path) as f:
                o = json.load(f)
            if isinstance(o, dict) and o.get("format") == "uniscope-report":
                reports.append(o)
        self.assertGreater(len(reports), 4)
        self.is_documented("Members", reports)
        for key in "summary", "recording", "waits", "time", "owners":
            self.is_documented(key, [o.get(key) for o in reports])
        for key in "modules", "recordings", "functions", "tree", "lines", "groups":
            self.is_documented(key, each(reports, key))
        self.is_documented("functions of a group", each(each(reports, "groups"), "functions"))
        self.is_documented("exits", each([o["time"] for o in reports], "exits"))
        for end in members(o["summary"]["stack_ends"] for o in reports):
            self.assertIn(f"`{end}`", self.texts["summary"])

    def test_annotate(self):
        with open(os.path.join(EXPECTED, "annotate.json")) as f:
            a = json.load(f)
        self.is_documented("annotate", [a])
        for key in "lines", "instructions":
            self.is_documented(f"{key} of annotate", a[key])

    def test_diff(self):
        diffs = self.outputs("diff", "--json", self.one, self.two)
        self.is_documented("diff", diffs)
        self.is_documented("before, after", each(diffs, "before") + each(diffs, "after"))
        self.is_documented("functions of diff", each(diffs, "functions"))

    def test_top(self):
        tops = self.outputs("top", "--json", "-d", "1", "--tasks", "10", "fake:")
        by = self.outputs("top", "--json", "-d", "1", "--sort", "thread", "fake:")
        by += self.outputs("top", "--json", "-d", "1", "--sort", "thread", "--tasks", "10", "fake:")
        self.is_documented("top", tops + by)
        self.is_documented("vcpus", each(tops, "vcpus"))
        self.is_documented("functions of top", each(tops, "functions"))
        self.is_documented("groups of top", each(by, "groups"))
        common = members(o["waits"] for o in by + tops if "waits" in o) - self.documented["waits"]
        self.is_documented("waits of top", [dict.fromkeys(common)])
        self.is_documented("cost", [o["cost"] for o in tops])

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_top_of_all_guests(self):
        self.guest_with_monitor(self.path("vm.qmp"), "-name", "listed")
        tops = self.outputs("top", "--json", "-d", "2", "--all")
        self.is_documented("top of all guests", tops)
        self.is_documented("guests", each(tops, "guests"))


if __name__ == "__main__":
    main()
