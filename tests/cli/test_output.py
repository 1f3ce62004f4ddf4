#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that commands write: where they go, whose they are, and what a failure leaves.

usage: test_output.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import os
import shutil
import subprocess

from cli import PROGRAM, Cli, grows, main, run


class Output(Cli):
    def meddled(self, out, wait_for, meddle):
        """A recording to this file, with which somebody meddles meanwhile."""
        vm = subprocess.Popen([PROGRAM, "record", "-d", "2", "-o", out, "fake:"], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        grows(wait_for)
        meddle()
        said, errors = vm.communicate(timeout=300)
        return vm.returncode, said, errors

    def test_a_file_that_is_removed(self):
        """What was written is there, or it is an error."""
        out = self.path("r.data")
        code, said, errors = self.meddled(out, out, lambda: os.unlink(out))
        self.assertEqual(code, 0, errors)
        self.assertIn(f"wrote {out}", said)
        self.assertEqual(run("report", out).returncode, 0)
        os.unlink(out)
        moved = self.path("moved.data")
        code, said, errors = self.meddled(out, out, lambda: os.rename(out, moved))
        if code:
            self.assertIn("it was moved or replaced meanwhile", errors)
        self.assertIn(f"wrote {moved}" if not code else "0 lost", said)
        self.assertEqual(run("report", moved).returncode, 0)
        page = self.path("p.html")
        code, said, errors = self.meddled(page, page + ".data", lambda: os.unlink(page))
        self.assertEqual(code, 0, errors)
        self.assertGreater(os.path.getsize(page), 1000)
        self.assertFalse(os.path.exists(page + ".data"))

    def test_a_folder_that_is_removed(self):
        for name in ("r.data", "r.folded"):
            folder = self.path("gone")
            os.mkdir(folder)
            out = os.path.join(folder, name)
            data = out if name.endswith(".data") else out + ".data"
            code, said, errors = self.meddled(out, data, lambda: shutil.rmtree(folder))
            self.assertEqual(code, 1, errors)
            self.assertNotIn("wrote", said)
            self.assertIn("it was removed meanwhile, and now: No such file", errors)

    def test_standard_output_by_name(self):
        out = self.path("named.data")
        for mode in ("wb", "ab"):
            with open(out, mode) as f:
                done = subprocess.run([PROGRAM, "record", "-d", "0.3", "-o", "/dev/stdout",
                                       "fake:"], stdin=subprocess.DEVNULL, stdout=f,
                                      stderr=subprocess.PIPE, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("0 lost", done.stderr)
            self.assertEqual(run("report", out).returncode, 0)
            os.unlink(out)
        recording = self.fake()
        with open(self.path("text"), "wb") as f:
            subprocess.run([PROGRAM, "report", "-f", "folded", "-o", "/dev/stdout", recording],
                           stdout=f, check=True, timeout=300)
        with open(self.path("text"), encoding="utf-8") as f:
            self.assertEqual(f.read(), run("report", "-f", "folded", recording).stdout)

    def test_the_earlier_one_is_kept(self):
        for _ in range(2):
            done = run("record", "-d", "0.1", "fake:", cwd=self.dir.name)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.dir.name)),
                         ["uniscope.data", "uniscope.data.old"])

    def test_a_failure_leaves_the_earlier_file(self):
        for name in ("uniscope.data", "x.data", "x.html", "x.folded"):
            with open(self.path(name), "w") as f:
                f.write("precious")
        bad = self.path("bad.txt")
        with open(bad, "w") as f:
            f.write("main;work x\n")
        before = sorted(os.listdir(self.dir.name))
        guest = ("no-such-guest",)
        for out in ((), ("-o", "x.data"), ("-o", "x.html")):
            self.fails(3, "no-such-guest", "record", *out, *guest, cwd=self.dir.name)
            self.fails(3, "none: No such.*\\n.*-plugin .*counts=", "count", *out, "--attach", "/none", cwd=self.dir.name)
            self.fails(1, "line 1: has no count", "import", *out, bad, cwd=self.dir.name)
            self.fails(1, "bad.txt: read .* no recording.*\\n.*uniscope import .*bad.txt makes", "report", *out, "-f", "folded", bad, cwd=self.dir.name)
        self.fails(1, "no QEMU", "trace", "-o", "x.data", "--", "/none", cwd=self.dir.name)
        self.assertEqual(sorted(os.listdir(self.dir.name)), before)
        for name in before[1:]:
            with open(self.path(name)) as f:
                self.assertEqual(f.read(), "precious")

    def test_a_vcpu_that_is_not_there(self):
        """--vcpu without such a vCPU leaves the earlier file."""
        out = self.fake()
        before = open(out, "rb").read()
        self.fails(1, "has [0-9]+ vCPUs?, and none of them is chosen", "record", "--vcpu", "60", "-d", "0.2",
                   "-o", out, "fake:")
        self.assertEqual(open(out, "rb").read(), before)

    def test_what_is_read_is_not_overwritten(self):
        data, text = self.fake(), self.path("x.folded")
        with open(text, "w") as f:
            f.write("main;work 3\n")
        os.link(text, self.path("y.html.data"))
        shutil.copy(data, self.path("x.folded.data"))
        is_read = "it is the file that is read\n.*-o"
        self.fails(1, is_read, "import", "-o", text, text)
        self.fails(1, is_read, "import", "-o", self.path("y.html"), text)
        self.fails(1, is_read, "report", "-f", "folded", "-o", data, data)
        self.fails(1, is_read, "diff", "-f", "text", "-o", data, data, self.path("x.folded.data"))
        self.fails(1, is_read, "replay", "--format", "csv", "-o", data, data)
        with open(data) as f:
            self.fails(1, is_read, "report", "-f", "folded", "-o", data, "-", stdin=f)
        with open(text) as f:
            self.assertEqual(f.read(), "main;work 3\n")
        self.assertEqual(run("report", data).returncode, 0)

    def test_a_result_goes_through_a_link(self):
        data, link = self.fake(), self.path("link.folded")
        with open(self.path("real"), "w") as f:
            f.write("old")
        os.chmod(self.path("real"), 0o640)
        os.symlink("real", link)
        done = run("report", "-o", link, data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.islink(link))
        self.assertGreater(os.path.getsize(self.path("real")), 50)
        self.assertEqual(os.stat(link).st_mode & 0o777, 0o640)

    def test_sudo_users_own_their_files(self):
        if os.geteuid():
            self.skipTest("only root can give files away")
        home = self.path("home")
        os.mkdir(home)
        os.chown(home, 12, 34)
        with open(os.path.join(home, "f.folded"), "w") as f:
            f.write("main;work 3\n")
        env = dict(os.environ, SUDO_UID="12", SUDO_GID="34")
        for args in (("record", "-d", "0.2", "fake:"), ("record", "-d", "0.2", "fake:"),
                     ("record", "-d", "0.2", "-o", "x.html", "fake:"), ("report", "-o", "x.json"),
                     ("import", "-o", "y.data", "f.folded"), ("import", "-o", "y.html", "f.folded"),
                     ("record", "--all", "-d", "0.2", "-o", "all", "--backend", "fake")):
            subprocess.run([PROGRAM, *args], env=env, cwd=home, capture_output=True, timeout=300)
        for name in ("uniscope.data", "uniscope.data.old", "x.html", "x.json", "y.data", "y.html",
                     "all"):
            st = os.lstat(os.path.join(home, name))
            self.assertEqual((st.st_uid, st.st_gid), (12, 34), name)
        self.assertEqual(os.lstat(os.path.join(home, "f.folded")).st_uid, 0)

    def test_output_that_cannot_be_written(self):
        self.fails(1, "create .*no/such", "record", "-o", self.path("no/such"), "fake:")
        self.fails(1, "No space left", "record", "-d", "1", "-o", "/dev/full", "fake:")
        done = run("report", "-o", "/dev/full", "--format", "text", self.fake())
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    main()
