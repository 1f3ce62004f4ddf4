#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope report and annotate: views, formats, and recordings that are cut or several.

usage: test_report.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import re
import shutil
import subprocess

from cli import PROGRAM, Cli, main, run


class Report(Cli):
    def test_trees(self):
        a = self.fake()
        self.fails(2, "--tee: no such option; did you mean --tree", "report", a, "--tee")
        self.fails(1, "no function called nothing", "report", "--callers", "nothing", a)
        self.fails(2, "--percent-limit", "report", "--tree", "--percent-limit", "101", a)
        for option in "--tree", "--bottom-up":
            done = run("report", option, "--percent-limit", "0", a)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("total %", done.stdout)

    def test_views_and_formats(self):
        """A view is written, refused, or in a format that shows the same: whatever comes first."""
        a = self.fake()
        formats = {"html": ".html", "json": ".json", "folded": ".folded", "callgrind": ".callgrind",
                   "pprof": ".pb.gz", "speedscope": ".speedscope.json", "firefox": ".json.gz",
                   "chrome": ".trace.json", "perf": ".perf.data", "text": ".txt", None: ".out"}
        views = {("--tree",): ("json", "html"), ("--bottom-up",): (), ("--exits",): ("json",),
                 ("--callers", "0xffff800000100000-0xffff80000010003f"): ()}
        begins = {"json": "{", "html": "<!"}
        for view, also in views.items():
            for name, suffix in formats.items():
                out = self.path("view" + suffix)
                ways = [view + ("-o", out), ("-o", out) + view]
                if name:
                    ways += [view + ("-f", name), ("-f", name) + view]
                for words in ways:
                    with self.subTest(words=words):
                        if name not in (None, "text") + also:
                            refusal = f"{view[0]} is a (tree|table): not with --format {name}"
                            self.fails(2, refusal, "report", *words, a)
                            self.assertFalse(os.path.exists(out))
                            continue
                        done = run("report", *words, a)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        text = done.stdout
                        if "-o" in words:
                            with open(out) as f:
                                text = f.read()
                            os.unlink(out)
                        self.assertTrue(text.startswith(begins.get(name, "# ")), text[:80])
                        if name in (None, "text"):
                            own = {"--tree": "and what it calls below", "--bottom-up": "its callers below it",
                                   "--exits": "outside of the guest"}
                            self.assertIn(own.get(view[0], "total %"), text)
        for words in (("--tree", "--exits"), ("--exits", "--callers", "f"), ("-f", "tree", "--exits"),
                      ("--bottom-up", "-f", "exits"), ("--bottom-up", "--tree", "--json"),
                      ("--json", "--tree", "--bottom-up")):
            self.fails(2, " is a t(ree|able)", "report", *words, a)

    def test_callgrind_names(self):
        """A name like "(1) x" is no reference to a compressed name."""
        names = {"(1)", "(1) x", "(2) two", "(3", "main", "(anonymous)"}
        folded, data, out = self.path("in.folded"), self.path("in.data"), self.path("out.callgrind")
        with open(folded, "w") as f:
            f.write("(1);main 3\n(1) x;(2) two;main 5\nmain;(3 4\n(anonymous) 1\n")
        self.assertEqual(run("import", "-o", data, folded).returncode, 0)
        self.assertEqual(run("report", "-o", out, data).returncode, 0)
        seen, numbers = set(), {}
        with open(out) as f:
            for name in re.findall("^c?fn=(.*)$", f.read(), re.M):
                m = re.match(r"\((\d+)\)\s*(.*)", name)  # as callgrind_annotate does
                seen.add(m[2] if m else name)
                if m:
                    self.assertEqual(numbers.setdefault(m[1], m[2]), m[2])
        self.assertEqual(seen, names)
        self.assertEqual(len(set(numbers.values())), 4)

    def test_sources_of_a_page(self):
        data = self.fake()
        self.fails(2, "must be OLD=NEW", "report", "--source-prefix", "nothing", data)
        out = self.path("page.html")
        for words, has in ((), True), (("--source", "/", "--source-prefix", "/a=/b"), True), (("--no-code",), False):
            self.assertEqual(run("report", *words, "-o", out, data).returncode, 0)
            with open(out) as f:
                told = json.loads(re.search(r'id="data">(.*)</script>', f.read()).group(1))
            self.assertEqual("code" in told, has)

    def test_standard_input_without_a_recording(self):
        silent = "standard input: read a recording: nothing came in\n.*before the pipe"
        self.fails(1, silent, "report", "-")
        self.fails(1, silent, "annotate", "-", "main")
        self.fails(1, "nothing came in\n.*before the pipe", "replay", "-")
        self.fails(1, "it is empty\n.*before the pipe", "import", "-")
        empty, text = self.path("empty.data"), self.path("text")
        for name, content in (empty, ""), (text, "main;work 3\n"):
            with open(name, "w") as f:
                f.write(content)
        self.fails(1, "the file is empty\n.*disk is full", "report", empty)
        with open(text) as f:
            self.fails(1, "no recording of uniscope\n.*uniscope import - makes", "report", "-", stdin=f)
        ours, theirs = os.openpty()
        for command in "report", "diff", "replay":
            more = [text] if command == "diff" else []
            done = self.fails(1, "it is a terminal\n.*report -", command, "-", *more, stdin=theirs)
            self.assertEqual(done.stdout, "")
        os.close(ours)
        os.close(theirs)

    def test_cut_anywhere(self):
        data = open(self.fake(), "rb").read()
        cut = self.path("cut.data")
        # At every byte: tests/unit/test-store-hostile.c.
        step = max(1, len(data) // 50)
        for length in [*range(0, 16), *range(16, 64, 8), *range(64, len(data), step)]:
            open(cut, "wb").write(data[:length])
            done = run("report", cut)
            self.assertIn(done.returncode, (0, 1))
            if done.returncode:
                self.assertTrue(done.stderr.startswith("uniscope: "), done.stderr)

    def test_a_function_that_is_not_there(self):
        self.fails(1, "in a stack\n +try: one of ", "report", "--callers", "qqqqqqqq", self.fake())
        self.fails(2, "x86_64, i386 or aarch64", "trace", "--syscalls=qqqqqqqq", "--", "qemu-system-x86_64")

    def test_tables_fit_a_narrow_terminal(self):
        data = self.fake()
        for width in (40, 50, 60, 72, 80):
            for args in (["report", "--tree"], ["report", "--bottom-up"], ["report", "--exits"],
                         ["report", "--group-by", "vcpu"], ["report", "--group-by", "image"],
                         ["report", "--sort", "image"], ["diff", data]):
                lines = self.on_terminal(width, *args, data)
                self.assertGreater(len(lines), 5, args)
                self.assertEqual([x for x in lines if len(x) > width and "next:" not in x], [],
                                 (width, args))

    def test_colours(self):
        data = self.fake()
        for change, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True),
                                 ({"TERM": "dumb"}, False)):
            env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            env.update({"TERM": "xterm", **change})
            primary, secondary = os.openpty()
            done = subprocess.run([PROGRAM, "report", "--limit", "1", data], stdout=secondary,
                                  stderr=subprocess.PIPE, env=env, timeout=300)
            os.close(secondary)
            told = os.read(primary, 65536)
            os.close(primary)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(b"\x1b[" in told, coloured, (change, told))

    def test_what_follows_is_not_read(self):
        data = self.fake()
        for more in (open(data, "rb").read(), b"x"):
            with open(self.path("two"), "wb") as f:
                f.write(open(data, "rb").read() + more)
            report = json.loads(run("report", "--json", self.path("two")).stdout)
            self.assertIn("what follows was not read", json.dumps(report["warnings"]))
        self.assertNotIn("what follows", run("report", data).stdout)

    def test_no_trace(self):
        """No header of a table of nothing."""
        recording = self.fake()
        for words in ([], ["-c"], ["--format", "csv"], ["--format", "strace"]):
            done = self.fails(1, "no trace", "replay", *words, recording)
            self.assertEqual(done.stdout, "")

    def test_no_recording_at_all(self):
        self.fails(1, "No such file", "report", self.path("none"))
        self.fails(1, "uniscope: ", "report", PROGRAM)
        self.fails(1, "uniscope: ", "report", "/dev/null")
        self.fails(1, "uniscope: ", "report", self.dir.name)

    def test_report_parts(self):
        data = self.fake()
        for args in (["--vcpu", "1"], ["--time", "0.1,0.3"], ["--children"],
                     ["--sort", "name"], ["--focus", "0x"], ["--limit", "1"]):
            done = run("report", *args, data)
            self.assertEqual(done.returncode, 0, (args, done.stderr))


class Several(Cli):
    """Several recordings as one."""

    def setUp(self):
        super().setUp()
        self.files = [self.path(name) for name in ("a.data", "b.data")]
        made = self.fake()
        for file in self.files:
            shutil.copy(made, file)

    def test_merged(self):
        one, both = (json.loads(run("report", "--json", *files).stdout)
                     for files in (self.files[:1], self.files))
        self.assertEqual(2 * one["summary"]["running"], both["summary"]["running"])
        self.assertEqual([r["name"] for r in both["recordings"]], self.files)
        self.assertEqual([(f["name"], 2 * f["self"]) for f in one["functions"]],
                         [(f["name"], f["self"]) for f in both["functions"]])

    def test_facts_that_differ(self):
        """The header does not show the first one's rate as that of all."""
        os.rename(self.fake(), self.files[1])
        self.assertIn("997 Hz asked", run("report", *self.files).stdout)
        done = run("record", "-F", "200", "-d", "0.3", "-o", self.files[1], "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        head = run("report", *self.files).stdout
        self.assertIn("several rates asked", head)
        self.assertNotIn("Hz asked", head)

    def test_groups(self):
        for key in ("guest", "recording", "vcpu", "state", "image", "file"):
            report = json.loads(run("report", "--json", "--group-by", key, *self.files).stdout)
            self.assertEqual(sum(g["samples"] for g in report["groups"]),
                             report["summary"]["running"])
            text = run("report", "--group-by", key, *self.files)
            self.assertEqual(text.returncode, 0, text.stderr)
            self.assertIn(report["groups"][0]["name"][:20], text.stdout)

    def test_processes(self):
        """Of Linux guests: another recording says that it has none."""
        for how in (("--group-by", "process"), ("--filter", "process=sh"), ("--sort", "thread"),
                    ("--by", "comm"), ("--pid", "7"), ("--comm", "sh"), ("--container", "x")):
            self.fails(2, "in one recording only", "report", *how, *self.files)
            self.assertIn("knows no processes", run("report", *how, self.files[0]).stdout)
        for bad in (("--pid", "x"), ("--pid", "-1"), ("--pid", "99999999999"), ("--comm", "("),
                    ("--container", "["), ("--by", "vcpu"), ("--sort", "vcpu"),
                    ("--sort", "process", "--group-by", "thread"),
                    ("--sort", "process", "--format", "folded")):
            self.fails(2, bad[0], "report", *bad, self.files[0])
        for how in (("diff", *self.files[:1] * 2), ("annotate", self.files[0], "main")):
            for bad in (("--pid", "x"), ("--comm", "("), ("--container", "[")):
                self.fails(2, bad[0], how[0], *bad, *how[1:])
        # Nobody asked: a format that would say so does without.
        self.assertNotIn("knows no processes",
                         run("report", "--format", "chrome", self.files[0]).stdout)

    def test_annotate_of_many(self):
        """Of the functions that match, the only one with samples is meant."""
        report = json.loads(run("report", "--json", self.files[0]).stdout)
        leaf = max(report["functions"], key=lambda f: f["self"])
        first = int(leaf["name"].split("-")[0], 16)

        names = self.path("names")
        with open(names, "w", encoding="ascii") as f:
            for i in range(40):
                f.write(f"{first - 4096 + 16 * i:016x} t f_{i}\n")
            f.write(f"{first:016x} t f_hot\n{first + 64:016x} t end\n")
        done = run("annotate", "-e", names, self.files[0], "f_.*")
        self.assertIn(f"41 functions match; the only one with samples is at {first:#x}",
                      done.stderr)
        done = self.fails(1, "40 functions match:", "annotate", "-e", names, self.files[0],
                          "f_[0-9]+")
        rows = re.findall(r"^  0x[0-9a-f]+  (f_\d+)  \(0 samples\)$", done.stderr, re.M)
        self.assertEqual(rows, [f"f_{i}" for i in range(20)])

    def test_bad_ones(self):
        self.fails(1, "are the same recording", "report", self.files[0], self.files[0])
        self.fails(1, "open .*none: No such file", "report", self.files[0], self.path("none"))
        with open(self.path("bad"), "w") as f:
            f.write("this is no recording")
        done = self.fails(1, "bad: ", "report", *self.files, self.path("bad"))
        self.assertEqual(done.stdout, "")
        self.fails(1, "bad: ", "annotate", self.path("bad"), *self.files, "main")


if __name__ == "__main__":
    main()
