#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope record: what it says, how it ends, and what is left when it is killed.

usage: test_record.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import resource
import signal
import subprocess
import time

from cli import PROGRAM, Cli, grows, main, on_silent_disk, run
import patience


class Record(Cli):
    def test_no_tasks(self):
        out = self.path("t.data")
        done = run("record", "fake:", "-d", "0.3", "--tasks", "10", "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tasks: none was looked at: no 64-bit Linux kernel was found", done.stdout)
        done = run("report", "--waits", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no task was looked at: no 64-bit Linux kernel", done.stdout.replace("\n#  ", ""))
        done = run("report", "--waits", "-o", self.path("x.html"), out)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_folders_that_do_not_answer(self):
        folder = self.path("silent")
        os.mkdir(folder)
        done = on_silent_disk(folder, "record", "--root", folder, "--symbols", folder, "-d", "0.3",
                              "-o", self.path("s.data"), "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"note: --root {folder} did not answer in 2 s", done.stderr)
        self.assertIn(f"note: --symbols {folder} did not answer in 2 s", done.stderr)
        self.assertIn("0 lost", done.stdout)

    def test_the_sums_match(self):
        out = self.path("f.data")
        done = run("record", "-d", "0.5", "--json", "-o", out, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        s = json.loads(done.stdout)
        parts = ("running", "idle", "off", "late", "backed_off", "failed", "lost")
        self.assertEqual(s["due"], sum(s[p] for p in parts))
        self.assertGreater(s["running"], 100)
        self.assertEqual(s["end"], "done")
        self.assertEqual(os.stat(out).st_mode & 0o777, 0o600)

    def test_converts_at_once(self):
        for suffix in (".html", ".folded", ".json"):
            out = self.path("f" + suffix)
            done = run("record", "-d", "0.2", "-o", out, "fake:")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(os.path.getsize(out), 50)
            self.assertFalse(os.path.exists(out + ".data"))

    def test_a_pipe_carries_it(self):
        data = run("record", "-d", "0.2", "-o", "-", "fake:", binary=True).stdout
        self.assertEqual(data[:8], open(self.fake(), "rb").read(8))
        piped = self.path("piped")
        open(piped, "wb").write(data)
        done = run("report", "-", stdin=open(piped, "rb"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_all_guests_want_a_folder(self):
        there = self.path("file")
        open(there, "w").close()
        self.fails(1, "file: Not a directory", "record", "--all", "-d", "0.1", "-o", there)
        self.fails(1, "create the folder", "record", "--all", "-o", self.path("no/such"))

    def test_all_guests_of_a_host(self):
        """Whatever runs here: no backend of that kind looks at a process."""
        out = self.path("guests")
        done = run("record", "--all", "--json", "--backend", "xen", "-d", "0.5", "-o", out)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, "no guest was (recorded|seen)")
        figures = json.loads(done.stdout)
        self.assertEqual(figures["recordings"], [])
        self.assertTrue(all(f["why"] for f in figures["not_recorded"]))
        self.assertEqual(os.listdir(out), [])

    def test_values_as_people_type_them(self):
        out = self.path("v.data")
        done = run("record", "-F", "1kHz", "-d", "0s300ms", "--budget", "100%", "-o", out, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("report", "--percent-limit", "0.5%", "--limit", "1k", "--time", "0,1m1s", out)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_file_that_may_not_grow(self):
        """RLIMIT_FSIZE sends a signal, which would end us without a word."""
        done = subprocess.run(
            [PROGRAM, "record", "-d", "0.5", "-o", self.path("small"), "fake:"],
            capture_output=True, text=True, timeout=300, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (512, 512)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "File too large")

    def test_ctrl_c_and_sigterm_end_it_well(self):
        for number in (2, 15):
            out = self.path(f"sig{number}.data")
            p = subprocess.Popen([PROGRAM, "record", "-o", out, "--json", "fake:"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            grows(out)
            p.send_signal(number)
            text, err = patience.communicate(p, 60)
            self.assertEqual(p.returncode, 0, err)
            self.assertEqual(json.loads(text)["end"], "interrupted")
            self.assertEqual(run("report", out).returncode, 0)

    def test_under_nohup_they_outlive_the_terminal(self):
        """nohup ignores SIGHUP; without it the end of a terminal ends them."""
        of = {"record": ["-o", self.path("hup.data"), "fake:"],
              "record --serve": ["-d", "0.2", "-o", self.path("page.data"), "fake:"],
              "serve": ["fake:"], "serve FILE": [self.fake()], "top": ["fake:"]}
        for how, args in of.items():
            words = [w for w in how.split() if w != "FILE"]
            words += ["--no-open"] if words[0] == "serve" else []
            for ignored in (True, False):
                with self.subTest(how, ignored=ignored):
                    self.hang_up(how, [*words, *args], ignored)

    def hang_up(self, how, args, ignored):
        does = signal.SIG_IGN if ignored else signal.SIG_DFL
        with subprocess.Popen([PROGRAM, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, does)) as p:
            self.addCleanup(p.kill)
            begun = {"record": "note: ", "record --serve": "until Ctrl-C"}.get(how, "")
            while begun not in (line := p.stdout.readline()):
                self.assertTrue(line, "it has ended")
            time.sleep(0.3)
            p.send_signal(signal.SIGHUP)
            if ignored:
                time.sleep(0.5)
                self.assertIsNone(p.poll(), "it has ended")
                p.send_signal(signal.SIGTERM)
            said = patience.communicate(p, 60)[0]
            self.assertEqual(p.returncode, 0, said)

    def test_sigkill_leaves_a_readable_file(self):
        out = self.path("killed.data")
        p = subprocess.Popen([PROGRAM, "record", "-o", out, "fake:"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        grows(out)
        end = patience.clock() + 60
        while run("diff", out, out).returncode != 0:  # nothing ran yet
            self.assertLess(patience.clock(), end, "no samples are written")
        p.kill()
        p.wait()
        report = json.loads(run("report", "--json", out).stdout)
        self.assertIn("cut", json.dumps(report))
        cut = "warning: .*(cut|end)"
        for form in ("folded", "callgrind", "speedscope", "firefox", "chrome", "qprofiler"):
            done = run("report", "-f", form, "-o", self.path("converted"), out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, cut)
        for args in (("report", "--tree", out), ("report", "--exits", out), ("diff", out, out)):
            self.assertRegex(run(*args).stdout, "# " + cut)
        told = json.loads(run("diff", "--json", out, out).stdout)
        self.assertRegex("\n".join(told["warnings"]), "before 1: .*(cut|end)")
        self.assertRegex(run("diff", "-o", self.path("x.html"), out, out).stderr, "killed.data: " + cut)

    def test_names_are_words_for_a_shell(self):
        odd = self.path("it's \x1b[2J $(x).data")
        done = run("record", "-d", "0.2", "-o", odd, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertIn(r"it'\''s ?[2J $(x).data'; next: uniscope report '", done.stdout)
        done = run("report", odd)
        self.assertNotIn("\x1b", done.stdout)
        done = run("record", "-d", "0.2", "-o", "-x y.data", "fake:", cwd=self.dir.name)
        self.assertIn("next: uniscope report './-x y.data'", done.stdout)
        done = run("report", "./-x y.data", cwd=self.dir.name)
        self.assertIn("next: uniscope report -o flame.html './-x y.data'", done.stdout)
        self.fails(1, "Is a directory\n.*name a recording in it", "report", self.dir.name)


if __name__ == "__main__":
    main()
