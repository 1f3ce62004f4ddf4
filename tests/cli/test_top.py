#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope top, without a terminal.

usage: test_top.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import subprocess

from cli import PROGRAM, Cli, main, run


class Top(Cli):
    def test_top_without_a_terminal(self):
        out = self.path("top.data")
        done = run("top", "--json", "-d", "2", "-i", "0.5", "-o", out, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertGreaterEqual(len(seen), 3)
        self.assertTrue(all(s["ended"] is None for s in seen[:-1]))
        self.assertIsNotNone(seen[-1]["ended"])
        self.assertEqual(len(seen[-1]["vcpus"]), 2)
        # It was recorded meanwhile, as record does: the last window is the whole.
        report = json.loads(run("report", "--json", out).stdout)
        self.assertEqual(seen[-1]["running"], report["summary"]["running"])
        self.assertEqual([(f["name"], f["self"], f["total"]) for f in seen[-1]["functions"]],
                         [(f["name"], f["self"], f["total"]) for f in report["functions"]])
        # No Linux: nobody's, and that is said.
        done = run("top", "--json", "-d", "1", "--sort", "process", "fake:")
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual([g["process"] for g in last["groups"]], [None])
        self.assertEqual(last["groups"][0]["samples"], last["running"])
        self.assertIn("knows no processes", " ".join(last["warnings"]))
        # As no task waits: why, in both.
        done = run("top", "--json", "-d", "1", "--tasks", "10", "fake:")
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((last["waits"]["looks"], last["waits"]["functions"]), (0, []))
        self.assertIn("no 64-bit Linux kernel was found", " ".join(last["waits"]["warnings"]))
        self.assertNotIn("Linux", " ".join(last["warnings"]))
        done = run("top", "-d", "1", "--tasks", "10", "fake:")
        self.assertIn("; at tasks: 0 looks, 0.00 % of a host CPU", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^# what tasks wait for: no task was looked at\n# warning: no task was looked at: no 64-bit")
        done = run("top", "-d", "1", "--pid", "7", "fake:")
        self.assertIn("# only samples of process 7", done.stdout)
        done = run("top", "-d", "1", "--limit", "2", "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^# vCPU 1: guest +[0-9.]+ %")
        # Nobody reads on: it ends.
        p = subprocess.Popen([PROGRAM, "top", "-i", "0.2", "fake:"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        p.stdout.readline()
        p.stdout.close()
        self.assertIn(p.wait(60), (0, 1))


if __name__ == "__main__":
    main()
