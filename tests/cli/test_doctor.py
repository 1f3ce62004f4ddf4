#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope doctor.

usage: test_doctor.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import shutil
import subprocess

from cli import PROGRAM, Cli, is_sanitized, main, run


class Doctor(Cli):
    def test_doctor(self):
        self.assertIn("ways into guests", run("doctor").stdout)
        found = {f["name"]: f for f in json.loads(run("doctor", "--json").stdout)}
        self.assertLessEqual({"kvm", "gdb", "qmp", "xen"},
                             {n for n, f in found.items() if f["backend"]})
        self.assertLessEqual({"host", "kvm host", "qemu"}, set(found))
        for f in found.values():
            self.assertIn(f["answer"], ("yes", "partly", "no"))
            self.assertTrue(f["details"])
        self.assertEqual(found["gdb"]["answer"], "yes")
        self.assertEqual(found["kvm host"]["answer"] == "no",
                         not os.path.exists("/dev/kvm"))
        self.fails(2, "argument", "doctor", "more")
        self.fails(2, "not qmp", "doctor", "--check", "qmp")
        self.fails(2, "no --json", "doctor", "--bpf", "--json")

    def test_answers_fit_a_narrow_terminal(self):
        lines = self.on_terminal(60, "doctor")
        self.assertLessEqual(max(map(len, lines)), 60, lines)
        # A path longer than a line is cut in two.
        whole = "".join(run("doctor").stdout.split())
        self.assertEqual("".join(" ".join(lines).split()), whole)

    def test_doctor_looks_for_the_plugin(self):
        """A program without its plugin, as `ninja uniscope` builds it."""
        alone = self.path("uniscope")
        shutil.copy(PROGRAM, alone)
        for program in (alone, PROGRAM):
            done = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True)
            plugin, = (f for f in json.loads(done.stdout) if f["name"] == "plugin")
            beside = os.path.join(os.path.dirname(program), "uniscope-plugin.so")
            if os.path.exists(beside):
                self.assertEqual(plugin["answer"], "yes", plugin)
            elif plugin["answer"] == "yes":
                self.skipTest("a plugin is installed")
            else:
                self.assertIn("find the plugin", plugin["details"])
                self.assertIn("make install", plugin["hint"])

    def test_an_install_that_was_moved(self):
        """bin and lib are elsewhere, but together."""
        built = os.path.join(os.path.dirname(PROGRAM), "uniscope-plugin.so")
        if not os.path.exists(built):
            self.skipTest("no plugin was built")
        options = json.loads(subprocess.run(
            ["meson", "introspect", os.path.dirname(PROGRAM), "--buildoptions"],
            capture_output=True, text=True, check=True).stdout)
        libdir, = (o["value"] for o in options if o["name"] == "libdir")
        moved = self.path("moved")
        os.makedirs(os.path.join(moved, "bin"))
        os.makedirs(os.path.join(moved, libdir, "uniscope"))
        program = shutil.copy(PROGRAM, os.path.join(moved, "bin"))
        shutil.copy(built, os.path.join(moved, libdir, "uniscope"))
        done = subprocess.run([program, "doctor", "--json"], capture_output=True, text=True)
        plugin, = (f for f in json.loads(done.stdout) if f["name"] == "plugin")
        self.assertEqual(plugin["answer"], "yes", plugin)

    def test_doctor_checks_itself(self):
        found = {f["name"]: f for f in json.loads(run("doctor", "--json").stdout)}
        for backend in ("bpf", "kvm"):
            if backend == "kvm" and is_sanitized():
                continue  # its map has much that looks like memory of a guest
            done = run("doctor", "--check", backend)
            if found[backend]["answer"] == "no":
                self.assertIn(done.returncode, (1, 3))
                self.assertNotIn("pass", done.stdout)
                continue
            if "demo guest" in done.stderr:
                self.skipTest(done.stderr)
            # Figures may miss on a busy machine; what was seen must be true.
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertEqual(done.stdout.count(" 0 wrong"), 2, done.stdout)
            self.assertIn(backend + ": ", done.stdout)


if __name__ == "__main__":
    main()
