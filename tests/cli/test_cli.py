#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The program as users call it: options, exit codes, messages for bad input.

usage: test_cli.py PROGRAM SOURCE-DIR [CLASS...]: those of these classes, or all
"""
import ctypes
import fcntl
import gzip
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guests"))
import patience  # noqa: E402

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PLUGIN = os.path.exists(os.path.join(os.path.dirname(PROGRAM), "uniscope-plugin.so"))
COMMANDS = ("ps", "top", "record", "boot", "count", "trace", "replay", "report", "annotate", "diff", "serve", "dump", "import", "doctor")


def is_sanitized():
    with open(PROGRAM, "rb") as f:
        return b"__asan_init" in f.read()


def run(*args, stdin=None, timeout=300, cwd=None, binary=False):
    """Run uniscope; a crash or a hang fails here, whatever the test looks at."""
    done = subprocess.run([PROGRAM, *args], stdin=stdin or subprocess.DEVNULL, cwd=cwd,
                          capture_output=True, timeout=timeout)
    assert done.returncode >= 0, f"{args}: killed by signal {-done.returncode}\n{done.stderr}"
    assert b"Sanitizer" not in done.stderr, done.stderr.decode(errors="replace")
    if not binary:
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
    return done


def grows(path):
    """Until there is more in a recording than it begins with: it is made."""
    first, end = 0, patience.clock() + 60
    while patience.clock() < end:
        size = os.path.getsize(path) if os.path.exists(path) else 0
        first = first or size
        if size > first:
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing is written to {path}")


def on_silent_disk(folder, *args):
    """run(), where folder is on a file system whose server never says a word."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_user, new_mounts, recursive, private = 0x10000000, 0x20000, 0x4000, 1 << 18
    uid, gid = os.getuid(), os.getgid()
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR)
    except OSError as e:
        raise unittest.SkipTest(f"/dev/fuse: {e.strerror}")

    def mount():
        if libc.unshare(new_mounts | (new_user if uid else 0)):
            os._exit(77)
        if uid:
            with open("/proc/self/uid_map", "w") as f:
                f.write(f"0 {uid} 1")
        options = f"fd={fuse},rootmode=40000,user_id={0 if uid else uid},group_id={0 if uid else gid}"
        if libc.mount(b"none", b"/", None, recursive | private, None) or \
                libc.mount(b"silent", os.fsencode(folder), b"fuse", 0, options.encode()):
            os._exit(77)
    try:
        done = subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, preexec_fn=mount, pass_fds=[fuse])
    finally:
        os.close(fuse)
    if done.returncode == 77:
        raise unittest.SkipTest("no file system can be mounted here")
    return done


class Peer:
    """A unix socket whose first client meets the given function."""

    def __init__(self, path, talk):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(8)
        self.talk = talk
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.one, args=(client,), daemon=True).start()
        except OSError:
            pass

    def one(self, client):
        try:
            self.talk(client)
        except OSError:
            pass
        client.close()

    def close(self):
        self.listener.close()


class Cli(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def fake(self, *args):
        """A recording of the invented guest."""
        out = self.path("fake.data")
        done = run("record", "-d", "0.5", "-o", out, *args, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def fails(self, code, pattern, *args, **more):
        done = run(*args, **more)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}{done.stderr}")
        self.assertRegex(done.stderr, pattern)
        return done


class Usage(Cli):
    def test_each_class_is_run(self):
        with open(os.path.join(SOURCE, "tests", "cli", "meson.build")) as f:
            listed = re.search(r"foreach of : \[(.*?)\]", f.read())[1]
        self.assertEqual(sorted(re.findall(r"\w+", listed)),
                         sorted(c.__name__ for c in Cli.__subclasses__()))

    def test_without_a_command(self):
        self.fails(2, "usage: uniscope COMMAND")
        self.fails(2, "nonsense: no such command", "nonsense")

    def test_what_was_meant(self):
        self.fails(2, "did you mean report[?]", "repot")
        self.fails(2, "did you mean --budget[?]", "record", "--budgt", "3")
        self.fails(2, "did you mean --frequency[?]; options are: --", "record", "--frequncy=3")
        self.fails(2, "options are: --format, --output, .*, [.][.][.]\n", "report", "--zebra")
        self.fails(2, "options are: --json, --inside\n", "ps", "--all")
        self.fails(2, "did you mean kvm. .one of auto, bpf, kvm,", "dump", "--backend", "kvn")
        self.fails(2, "one of auto, bpf, kvm,", "record", "--backend", "nope")
        self.fails(2, "did you mean html[?]", "report", "--format", "htlm")
        self.fails(2, "formats are: text, html", "report", "--format", "papyrus")
        self.fails(3, "did you mean qmp:/run/vm.sock[?]", "dump", "qpm:/run/vm.sock")
        self.fails(3, "try: (one of [0-9]+ [(]|no guest runs)", "dump", "no-such-guest")
        self.fails(3, "try: (one of [0-9]+ [(]|no guest runs)", "dump", str(os.getpid()))

    def test_help_of_each_command(self):
        self.assertIn("record", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^uniscope \d")
        for command in COMMANDS:
            text = run(command, "--help")
            self.assertEqual(text.returncode, 0)
            self.assertIn("examples:", text.stdout)
            for line in text.stdout.splitlines():
                self.assertEqual(line.count("["), line.count("]"), line)
        self.assertIn("--elf ELF[@BIAS] ", run("record", "--help").stdout)
        self.assertIn("--serve[=ADDRESS] ", run("record", "--help").stdout)

    def test_options_are_in_the_man_pages(self):
        for command in COMMANDS:
            page = open(f"{SOURCE}/man/uniscope-{command}.1.scd").read()
            options = re.findall(r"^  (?:-(\w),|   ) --([a-z-]+)",
                                 run(command, "--help").stdout, re.M)
            self.assertTrue(options)
            for letter, name in options:
                self.assertIn(f"*--{name}*", page, command)
                if letter:
                    self.assertIn(f"*-{letter}*", page, command)

    def test_bad_values(self):
        self.fails(2, "-F 0: must be a number", "record", "-F", "0", "fake:")
        self.fails(2, "-F x: must be", "record", "-F", "x", "fake:")
        self.fails(2, "-F nan", "record", "-F", "nan", "fake:")
        self.fails(2, "-d 5parsecs", "record", "-d", "5parsecs", "fake:")
        self.fails(2, "-d 1m30: must be a time such as .* or 1h30m", "record", "-d", "1m30", "fake:")
        self.fails(2, "-F 2M: must be a number from 0.01 to 1000000\n", "record", "-F", "2M", "fake:")
        self.fails(2, "--ring 3k: must be a size from 8K to 2G\n", "trace", "--ring", "3k", "fake:")
        self.fails(2, "-s 2k: must be a size from 0 to 1K\n", "trace", "-s", "2k", "fake:")
        self.fails(2, "--vcpu 3-1", "record", "--vcpu", "3-1", "fake:")
        self.fails(2, "--vcpu 99", "record", "--vcpu", "99", "fake:")
        self.fails(2, "--budget 0", "record", "--budget", "0", "fake:")
        self.fails(2, "no backend called magic", "record", "--backend", "magic", "fake:")
        self.fails(2, "-d needs a value", "record", "-d")
        self.fails(2, "no such option", "record", "--frobnicate")
        self.fails(2, "one TARGET", "record", "a", "b")
        self.fails(2, "-- needs a command", "record", "--")
        self.fails(2, "web, or -- and a command, not both", "record", "web", "--", "qemu", "-m", "1")
        self.fails(2, "web, or -- and a command, not both", "record", "web", "--")
        self.fails(2, "a VMM's own options go after --", "record", "qemu", "--kernel", "x")
        self.fails(2, "--all takes no target such as web", "record", "--all", "web")
        self.fails(2, "-o names a folder", "record", "--all", "-o", "x.html")
        self.fails(2, "-o names a folder", "record", "--all", "-o", "-")
        self.fails(2, "one TARGET, not b", "top", "a", "b")
        self.fails(2, "--all takes no target such as web", "top", "--all", "web")
        self.fails(2, "-o names a folder", "top", "--all", "-o", "x.html")
        self.fails(2, "-o names a recording", "top", "-o", "-", "fake:")
        self.fails(2, "--sort file: must be self, total or name", "top", "--sort", "file", "fake:")
        self.fails(2, "process, thread, comm or container", "top", "--sort", "pid", "fake:")
        self.fails(2, "--pid x: must be a number", "top", "--pid", "x", "fake:")
        self.fails(2, r"--comm \(: ", "top", "--comm", "(", "fake:")
        self.fails(2, "--pid is of one guest", "top", "--all", "--pid", "1")
        self.fails(2, "--comm is of one guest", "top", "--all", "--comm", "sh")
        self.fails(2, r"--filter '\(': no regular expression", "top", "--filter", "(", "fake:")
        self.fails(2, "--interval: at least", "top", "-i", "10ms", "fake:")
        self.fails(2, "--window x", "top", "-w", "x", "fake:")
        self.fails(2, "--window 0: must be more than 0", "top", "-w", "0", "fake:")
        self.fails(2, "in --listen :2", "serve", "--port", "1", "--listen", ":2", "fake:")
        self.fails(2, "in --listen :2", "serve", "--listen", ":2", "--port", "1", "fake:")
        self.fails(2, r"-f \(: ", "trace", "-f", "(", "--", "qemu-system-x86_64")
        self.fails(2, r"--notrace \(: ", "replay", "--notrace", "(", "x.data")
        self.fails(2, "--tasks 0: must be a number from 0.1 to 50", "top", "--tasks", "0", "fake:")
        self.fails(3, "none has this name", "top", "no-such-guest-as-this")
        self.fails(2, "which function", "annotate")
        self.fails(2, r"--ignore \(", "report", "--ignore", "(")
        self.fails(2, "must be KEY=REGEX", "report", "--filter", "exit")
        self.fails(2, "did you mean state[?]", "report", "--filter", "stat=exit")
        self.fails(2, "vCPUs", "report", "--filter", "vcpu=one")
        self.fails(2, "keys are: guest, recording", "report", "--group-by", "colour")
        self.fails(2, "text and json", "report", "--group-by", "vcpu", "-f", "folded", "/dev/null")
        self.fails(2, "must be OLD=NEW", "annotate", "--source-prefix", "x", "f")
        self.fails(2, "must be auto", "annotate", "--color", "red", "f")
        self.fails(1, "none", "annotate", self.path("none"), "f")
        self.fails(2, "--sort colour", "report", "--sort", "colour")
        self.fails(2, "--time 2", "report", "--time", "2")
        self.fails(2, "end is not after", "report", "--time", "2,1")
        self.fails(2, r"--focus \(", "report", "--focus", "(")
        for option in ("--focus", "--ignore"):
            self.fails(2, option + " b: give it once", "report", option, "a", option, "b")
        for words in (("--filter", "vcpu=0", "--filter", "vcpu=1"), ("--vcpu", "0", "--filter", "vcpu=1"),
                      ("--filter", "vcpu=0,2", "--vcpu", "1")):
            self.fails(2, "none of these is in the lists before", "report", *words)
        self.fails(2, "--tasks 0: must be a number from 0.1 to 50", "record", "--tasks", "0", "fake:")
        self.fails(2, "--tasks 51", "record", "--tasks", "51", "fake:")
        self.fails(2, "--tasks x", "record", "--tasks", "x", "fake:")
        self.fails(2, "--vcpu is of vCPUs", "report", "--waits", "--vcpu", "1", "/dev/null")
        self.fails(2, "--host is of vCPUs", "report", "--waits", "--host", "/dev/null")
        self.fails(2, "leave out --by", "report", "--waits", "--by", "process", "/dev/null")
        self.fails(2, "format firefox shows samples of vCPUs only", "report", "--waits", "-f", "firefox",
                   "-o", self.path("x"), "/dev/null")
        self.fails(2, "one recording only", "report", "--waits", "a", "b")
        self.fails(2, "no such format", "report", "--format", "papyrus")
        self.fails(2, "names no format: .txt, .html and .json", "diff", "-o", "x.svg", "a", "b")
        self.fails(2, "--limit: the tree has", "report", "--tree", "--limit", "3")
        self.fails(2, "--sort: the tree has", "report", "--tree", "--sort", "name")
        self.fails(2, "--callers is a tree: not with --format folded", "report", "--callers", "f",
                   "-f", "folded")
        self.fails(2, "--bottom-up is a tree", "report", "--bottom-up", "--json")
        primary, secondary = os.openpty()
        done = subprocess.run([PROGRAM, "replay", "--format", "perfetto", "x.data"], stdout=secondary,
                              stderr=subprocess.PIPE, text=True, timeout=300)
        os.close(primary)
        os.close(secondary)
        self.assertEqual(done.returncode, 2)
        self.assertIn("perfetto is binary and cannot go to a terminal", done.stderr)
        for words in (("-c", "-o", self.path("x.html")), ("-o", self.path("x.html"), "-c"),
                      ("-c", "--format", "html"), ("--format", "html", "-c")):
            self.fails(2, "-c is a table: not with --format html", "replay", *words, "x.data")
        for words in (("-o", self.path("x.txt"), "-c"), ("-o", self.path("x.calls"), "-c"),
                      ("-c", "-o", self.path("x.out")), ("-c", "--format", "calls"), ("-c",)):
            self.fails(1, "x.data: No such file", "replay", *words, "x.data")
        self.fails(2, "names no picture", "boot", "-o", "x.pdf", "--", "true")
        self.fails(1, "none.json: No such file", "boot", "--compare", "/none.json")
        for command in (("record", "-d"), ("top", "-d"), ("count", "-d"), ("trace", "-d"),
                        ("boot", "-t")):
            self.fails(2, "-[dt].* 0: must be more than 0", *command, "0", "--", "true")
        self.fails(2, "suffix names no format", "report", "-o", self.path("x.doc"))

    def test_recordings_by_option(self):
        """perf's habit: report -i FILE."""
        a, b = self.fake(), self.path("b.data")
        shutil.copy(a, b)
        for first, second in ([(a,), ("-i", a)], [(a,), ("--input", a)], [(a,), (f"-i{a}",)],
                              [(a, b), ("-i", a, b)], [(a, b), ("-i", a, "-i", b)],
                              [(a, b), (b, "--input=" + a)]):
            text, same = run("report", *first).stdout, run("report", *second).stdout
            self.assertEqual(text, same)
            self.assertIn(a, text)
        self.fails(2, "which function", "annotate", "-i", a)
        self.fails(1, "a.none", "annotate", "main", "-i", self.path("a.none"))
        self.fails(1, "a.none", "replay", "-i", self.path("a.none"))
        self.fails(2, "one recording, not", "replay", "-i", a, b)
        self.fails(2, "-i needs a value", "report", "-i")
        self.fails(2, "at most 64", "report", *65 * ("-i", a))

    def test_bash_completion(self):
        script = f"""source {SOURCE}/completion/uniscope.bash
            COMP_WORDS=({PROGRAM} record --b) COMP_CWORD=2; _uniscope; echo ${{COMPREPLY[*]}}
            COMP_WORDS=({PROGRAM} re) COMP_CWORD=1; _uniscope; echo ${{COMPREPLY[*]}}"""
        out = subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout
        self.assertEqual(out.splitlines(), ["--backend --budget", "record replay report"])


class Recording(Cli):
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

    def test_sources_of_a_page(self):
        data = self.fake()
        self.fails(2, "must be OLD=NEW", "report", "--source-prefix", "nothing", data)
        out = self.path("page.html")
        for words, has in ((), True), (("--source", "/", "--source-prefix", "/a=/b"), True), (("--no-code",), False):
            self.assertEqual(run("report", *words, "-o", out, data).returncode, 0)
            with open(out) as f:
                told = json.loads(re.search(r'id="data">(.*)</script>', f.read()).group(1))
            self.assertEqual("code" in told, has)

    def test_diff(self):
        a, b = self.path("a.data"), self.path("b.data")
        for out in a, b:
            os.rename(self.fake(), out)
        self.fails(2, "two recordings", "diff", a)
        self.fails(2, "two recordings", "diff", a, b, a)
        self.fails(2, "go together", "diff", "--before", a)
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
            self.fails(3, "none", "count", *out, "--attach", "/none", cwd=self.dir.name)
            self.fails(1, "line 1: has no count", "import", *out, bad, cwd=self.dir.name)
            self.fails(1, "bad.txt: read .* no recording.*\\n.*uniscope import .*bad.txt makes", "report", *out, "-f", "folded", bad, cwd=self.dir.name)
        self.fails(1, "no QEMU", "trace", "-o", "x.data", "--", "/none", cwd=self.dir.name)
        self.assertEqual(sorted(os.listdir(self.dir.name)), before)
        for name in before[1:]:
            with open(self.path(name)) as f:
                self.assertEqual(f.read(), "precious")

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

    def test_values_as_people_type_them(self):
        out = self.path("v.data")
        done = run("record", "-F", "1kHz", "-d", "0s300ms", "--budget", "100%", "-o", out, "fake:")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("report", "--percent-limit", "0.5%", "--limit", "1k", "--time", "0,1m1s", out)
        self.assertEqual(done.returncode, 0, done.stderr)

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

    def test_a_tree_fits_a_narrow_terminal(self):
        data = self.fake()
        for width in (50, 60, 80):
            primary, secondary = os.openpty()
            fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
            p = subprocess.Popen([PROGRAM, "report", "--tree", data], stdout=secondary,
                                 stderr=subprocess.DEVNULL, env=dict(os.environ, NO_COLOR="1"))
            os.close(secondary)
            told = b""
            try:
                while part := os.read(primary, 65536):
                    told += part
            except OSError:
                pass  # the end of a terminal
            os.close(primary)
            self.assertEqual(p.wait(60), 0)
            lines = told.decode().replace("\r", "").splitlines()
            self.assertGreater(len(lines), 20)
            self.assertEqual([x for x in lines if len(x) > width and "next:" not in x], [])

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

    def test_what_follows_is_not_read(self):
        data = self.fake()
        for more in (open(data, "rb").read(), b"x"):
            with open(self.path("two"), "wb") as f:
                f.write(open(data, "rb").read() + more)
            report = json.loads(run("report", "--json", self.path("two")).stdout)
            self.assertIn("what follows was not read", json.dumps(report["warnings"]))
        self.assertNotIn("what follows", run("report", data).stdout)

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


class Targets(Cli):
    def test_no_such_guest(self):
        self.fails(3, "no-such-guest", "record", "no-such-guest")
        self.fails(3, "999999999", "record", "999999999")
        self.fails(3, "no guest", "dump", str(os.getpid()))
        self.assertEqual(os.listdir(self.dir.name), [])

    def test_files_of_a_dump(self):
        self.fails(2, "no folder of that name", "dump", "--tasks", "--root", self.path("none"),
                   "fake:")
        self.fails(2, "must be a URL", "dump", "--tasks", "--debuginfod", "none", "fake:")

    def test_nothing_listens(self):
        gone = self.path("gone.sock")
        self.fails(3, "gone.sock", "record", "-o", self.path("x"), "gdb:" + gone)
        # Of a stub that is not there, not how to start a monitor.
        self.fails(3, "try: see that it listens there", "record", "-o", self.path("x"),
                   "gdb:no-such-host.invalid:1")
        self.fails(3, "gone.sock", "record", "-o", self.path("x"), "qmp:" + gone)
        self.assertEqual(os.listdir(self.dir.name), [])

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_relative_sockets(self):
        """As the shell completes them; the guest behind one is found all the same."""
        stub = self.path("vm.gdb")
        vm = self.guest_with_monitor(self.path("vm.qmp"), "-name", "near", "-gdb",
                                     f"unix:{stub},server=on,wait=off")
        self.wait_for(lambda: os.path.exists(stub))
        for target in ("gdb:vm.gdb", "qmp:./vm.qmp", f"gdb:../{os.path.basename(self.dir.name)}/vm.gdb"):
            done = run("ps", target, cwd=self.dir.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"(?m)^ *{vm.pid} near ")
        done = run("dump", "gdb:vm.gdb", cwd=self.dir.name)
        self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_held_monitor(self):
        """Its holder is named, and the queue of the monitor stays empty."""
        sock = self.path("vm.qmp")
        vm = self.guest_with_monitor(sock, "-name", "held")
        holder = subprocess.Popen(["python3", "-c", "import socket, sys, time\n"
                                   "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                                   "print(s.recv(1), flush=True); time.sleep(100)", sock],
                                  stdout=subprocess.PIPE)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        holder.stdout.readline()
        self.assertRegex(run("ps", str(vm.pid)).stdout,
                         rf"qmp +no: python3\S* \(pid {holder.pid}\) has the monitor\n")
        for _ in range(2):
            done = run("dump", f"qmp:{sock}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(f"(pid {holder.pid}) has the monitor", done.stderr)
            self.assertIn("one more -qmp", done.stderr)
        holder.kill()
        holder.wait()
        self.assertRegex(run("ps", str(vm.pid)).stdout, "qmp +yes")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_all_guests_leave_sockets_alone(self):
        stub = self.path("vm.gdb")
        vm = self.guest_with_monitor(self.path("vm.qmp"), "-name", "spared", "-gdb",
                                     f"unix:{stub},server=on,wait=off")
        self.wait_for(lambda: os.path.exists(stub))
        done = run("record", "--all", "-d", "1", "-o", self.path("all"))
        said = [s for s in done.stderr.split("not recorded") if f"{vm.pid} (spared)" in s]
        self.assertEqual(len(said), 1, done.stderr)
        if "for the same reason" in said[0]: # as another guest's, before it
            said[0] = done.stderr
        self.assertIn("left to debuggers", said[0])
        self.assertIn("left to managers", said[0])
        self.assertIn("--backend gdb", said[0])

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_stopped_vmm(self):
        """It is not a monitor that another client has, and not a missing stub."""
        sock = self.path("vm.qmp")
        vm = self.guest_with_monitor(sock)
        vm.send_signal(signal.SIGSTOP)
        self.addCleanup(vm.send_signal, signal.SIGCONT)
        words = rf"qmp: pid {vm.pid} is stopped by a signal.*\n.*kill -CONT {vm.pid}"
        self.fails(1, words, "record", "-d", "1", "-o", self.path("x"), str(vm.pid))
        self.fails(1, words, "dump", f"qmp:{sock}")
        self.assertRegex(run("ps", str(vm.pid)).stdout, f"qmp +no: pid {vm.pid} is stopped")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_all_guests_reason_once(self):
        for name in "twin-a", "twin-b":
            self.guest_with_monitor(self.path(f"{name}.qmp"), "-name", name)
        done = run("record", "--all", "-d", "1", "-o", self.path("all"))
        lines = [s for s in done.stderr.splitlines() if "not recorded: " in s]
        self.assertEqual(len([s for s in lines if "(twin-" in s]), 2, done.stderr)
        whole = [re.sub("[0-9]+", "N", s.split("): ", 1)[1]) for s in lines]
        for before, after in zip(whole, whole[1:]):
            self.assertFalse(before == after != "for the same reason", done.stderr)
        self.assertTrue(any("left to managers" in s for s in whole), done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_sockets_of_a_daemon(self):
        """It has left the folder to which they are relative."""
        pidfile = self.path("pid")
        subprocess.run(["qemu-system-x86_64", "-accel", "tcg", "-S", "-display", "none",
                        "-nodefaults", "-gdb", "unix:dm.gdb,server=on,wait=off", "-pidfile",
                        pidfile, "-daemonize"], cwd=self.dir.name, check=True, timeout=60)
        pid = int(open(pidfile).read())
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        said = run("ps", str(pid)).stdout
        self.assertRegex(said, "gdb +no: its socket dm.gdb is relative")
        self.assertIn("try: name it with its path: gdb:/PATH/dm.gdb", said)

    def bad_peer(self, scheme, talk):
        sock = self.path("peer.sock")
        peer = Peer(sock, talk)
        begun = patience.clock()
        done = run("record", "-d", "1", "-o", self.path("x"), f"{scheme}:{sock}")
        peer.close()
        os.unlink(sock)
        self.assertIn(done.returncode, (1, 3), done.stderr)
        self.assertIn("uniscope: ", done.stderr)
        self.assertLess(patience.clock() - begun, 30)
        return done

    def test_monitor_speaks_nonsense(self):
        self.bad_peer("qmp", lambda c: c.sendall(b"\x00\xff{{{ hello\n" * 100))
        self.bad_peer("qmp", lambda c: c.sendall(b'{"QMP": {}}\n') or time.sleep(0.2))
        self.bad_peer("qmp", lambda c: c.sendall(b"[" * 100000))

    def test_monitor_is_busy(self):
        done = self.bad_peer("qmp", lambda c: time.sleep(20))
        self.assertRegex(done.stderr, "try:")

    def test_stub_closes_in_mid_packet(self):
        self.bad_peer("gdb", lambda c: c.sendall(b"$T05thr"))

    def test_stub_speaks_nonsense(self):
        self.bad_peer("gdb", lambda c: c.sendall(b"\x00$#00$$$}}}}*~~#zz" * 1000))

    def test_stub_is_silent(self):
        self.bad_peer("gdb", lambda c: time.sleep(20))

    def test_bad_symbol_files(self):
        text = self.path("text")
        open(text, "w").write("this is no ELF\n")
        for command in ("record", "dump"):
            self.fails(1, "text", command, "-e", text, "fake:")
            self.fails(1, "none", command, "-e", self.path("none"), "fake:")
        self.fails(1, "bias", "dump", "-e", PROGRAM + "@zzz", "fake:")
        elf = open("/bin/true", "rb").read(64)
        short = self.path("short.elf")
        open(short, "wb").write(elf)
        self.fails(1, "short.elf", "dump", "-e", short, "fake:")
        # Not as a file without symbols, for which one beside it would be taken.
        big = self.path("kernel.bin")
        shutil.copy(PROGRAM, self.path("kernel.elf"))
        open(big, "wb").write(elf[:5] + b"\2" + elf[6:])
        self.fails(1, "big-endian", "dump", "-e", big, "fake:")

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

    def test_ps(self):
        self.assertEqual(run("ps").returncode, 0)
        self.fails(2, "one TARGET", "ps", "a", "b")
        self.fails(3, "no-such-guest", "ps", "--inside", "no-such-guest")
        self.assertIsInstance(json.loads(run("ps", "--json").stdout), list)

    def test_other_processors(self):
        """A guest that no way can look into says so, in ps and wherever it is asked for."""
        qemu = self.path("qemu-system-mips")
        shutil.copy(shutil.which("sleep"), qemu)
        vm = subprocess.Popen([qemu, "600"])
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        why = "the guest's processor is mips; .*aarch64"
        row, _ = self.ps_row(PROGRAM, vm)
        self.assertNotIn(" yes", row)
        self.assertRegex(row, "gdb +no: " + why)
        for args in (["record", "-o", self.path("x")], ["dump"],
                     ["record", "--backend", "gdb", "-o", self.path("x")]):
            self.fails(1, why, *args, str(vm.pid))
        for verb in "count", "trace":
            done = self.fails(1, f"{verb}: {why}", verb, "-d", "1", "--", qemu, "600")
            self.assertNotIn("plugin", done.stderr)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_that_refuses_its_command(self):
        """It has loaded the plugin by then: that makes no recording."""
        out = self.path("p.data")
        with open(out, "w") as f:
            f.write("precious")
        for options in (["-kernel", "/nonexistent"], ["-device", "nosuchdevice"]):
            for verb in (["count"], ["count", "--functions", "-e", PROGRAM], ["trace"]):
                self.fails(1, "QEMU ended with status 1 at its start", *verb, "-o", out, "--",
                           "qemu-system-x86_64", "-display", "none", *options)
        with open(out) as f:
            self.assertEqual(f.read(), "precious")

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_that_is_killed(self):
        """What there is until then is kept, and the exit code tells."""
        for verb in "count", "trace":
            out, pidfile = self.path(verb), self.path(verb + ".pid")
            vm = subprocess.Popen([PROGRAM, verb, "-o", out, "--", "qemu-system-x86_64", "-display",
                                   "none", "-pidfile", pidfile], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(vm.kill)
            self.wait_for(lambda: os.path.exists(pidfile) and os.path.getsize(pidfile))
            time.sleep(2)
            with open(pidfile) as f:
                os.kill(int(f.read()), signal.SIGSEGV)
            said = vm.communicate(timeout=60)[1]
            self.assertEqual(vm.returncode, 1, said)
            self.assertIn("QEMU was killed: Segmentation fault", said)
            self.assertIn("QEMU was killed: Segmentation fault", run("report", "--json", out).stdout)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_qemu_behind_prefixes(self):
        for verb in "count", "trace":
            done = run(verb, "-d", "2", "-o", self.path("x"), "--", "env", "A=b", "nice", "-n", "1",
                       "qemu-system-x86_64", "-display", "none")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.fails(1, "this is no QEMU\n.*the QEMU command itself", verb, "-o", self.path("x"), "--",
                       "sh", "-c", "exec qemu-system-x86_64")

    def test_qemu_that_leaves(self):
        """It would be in the background without its plugin's files."""
        for verb in "count", "trace":
            self.fails(1, f"{verb}: with -daemonize .*\n.*leave -daemonize out", verb, "-o",
                       self.path("x"), "--", "qemu-system-x86_64", "-display", "none", "-daemonize")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_boots_until_one_fails(self):
        """What was seen before is shown; the VMM is any program that writes."""
        vm = f"echo x >> {self.path('n')}; [ $(wc -l < {self.path('n')}) -lt 3 ] && echo up || exit 3"
        boot = ["boot", "-n", "5", "--no-cost", "--until", "serial:up"]
        done = self.fails(1, "boot 3 of 5 failed: boot: the VMM ended \\(status 3\\) before serial:up",
                          *boot, "--", "sh", "-c", vm)
        self.assertIn("sh, 2 runs;", done.stdout)
        os.unlink(self.path("n"))
        done = self.fails(1, "boot 3 of 5 failed", *boot, "--json", "--", "sh", "-c", vm)
        self.assertEqual(json.loads(done.stdout)["runs"], 2)

    def test_compared_boots_until_one_fails(self):
        vm = f"echo x >> {self.path('n')}; [ $(wc -l < {self.path('n')}) -lt 3 ] && echo up || exit 3"
        with open(self.path("v.json"), "w") as f:
            json.dump({"variants": [{"name": n, "until": ["serial:up"], "command": ["sh", "-c", c]}
                                    for n, c in (("good\u001b", "echo up"), ("bad", vm))]}, f)
        done = self.fails(1, "boot 3 of 4 failed: bad: the VMM ended", "boot", "-n", "4", "--by", "output",
                          "--compare", self.path("v.json"))
        self.assertIn("2 or 3 boots of each in turn", done.stdout)
        self.assertIn("bad: its phases cannot be seen here: --by output does not show this", done.stdout)
        self.assertNotIn("\u001b", done.stdout)
        os.unlink(self.path("n"))
        done = self.fails(1, "boot 3 of 4 failed", "boot", "-n", "4", "--json", "--compare",
                          self.path("v.json"))
        self.assertEqual([v["runs"] for v in json.loads(done.stdout)["variants"]], [3, 2])

    def test_boots_that_end_before_the_point(self):
        """At once, whoever still holds the output; and with what there is to say about it."""
        begin = time.monotonic()
        self.fails(1, "VMM ended \\(status 3\\) before serial:up: early", "boot", "-t", "60", "--until",
                   "serial:up", "--", "sh", "-c", f"sleep 600 & echo $! > {self.path('pid')}; echo early; exit 3")
        self.assertLess(time.monotonic() - begin, 30)
        with open(self.path("pid")) as f:
            helper = int(f.read())

        def is_gone():
            try:
                with open(f"/proc/{helper}/stat") as f:
                    return ") Z " in f.read()
            except FileNotFoundError:
                return True
        self.wait_for(is_gone)
        self.fails(1, "before serial:up: bye\n.*the guest ended before it", "boot", "--until", "serial:up",
                   "--", "sh", "-c", "echo bye")
        self.fails(1, "it wrote nothing\n  try: a VMM that goes to the background", "boot", "--until",
                   "serial:up", "--", "true")
        self.fails(1, "because: --by output does not show this", "boot", "--by", "output", "--until", "main",
                   "-e", PROGRAM, "--", "true")

    @unittest.skipUnless(shutil.which("qemu-system-riscv64"), "SKIP: no QEMU for riscv64")
    def test_clusters(self):
        """A stub that shows some of the vCPUs: how many there are more is said."""
        stub = self.path("stub")
        vm = subprocess.Popen(["qemu-system-riscv64", "-M", "sifive_u", "-smp", "5", "-S", "-display",
                               "none", "-nodefaults", "-gdb", f"unix:{stub},server=on,wait=off"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(stub))
        done = run("record", "-d", "0.2", "-o", self.path("x"), f"gdb:{stub}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 more vCPUs are in other clusters", done.stderr)
        self.assertIn("4 more vCPUs are in other clusters", run("report", self.path("x")).stdout)

    def test_protected_guests(self):
        """What no host can read is refused with one reason, by each way in."""
        qemu = self.path("qemu-system-x86_64")
        shutil.copy(shutil.which("bash"), qemu)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            stub = f"127.0.0.1:{s.getsockname()[1]}"
        vm = subprocess.Popen([qemu, "-c", "read", "-accel", "tcg", "-gdb", f"tcp:{stub}",
                               "-M", "q35,confidential-guest-support=s", "-object",
                               "sev-guest,id=s,policy=5"], stdin=subprocess.PIPE)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.stdin.close)
        self.addCleanup(vm.kill)
        why = (r"protected from its host \(SEV-ES\): its registers and memory are encrypted")
        row, _ = self.ps_row(PROGRAM, vm)
        self.assertNotIn(" yes", row)
        self.assertRegex(row, "gdb +no: .*" + why)
        for args in (["dump", str(vm.pid)], ["dump", f"gdb:{stub}"],
                     *(["record", "--backend", by, "-o", self.path("x"), str(vm.pid)]
                       for by in ("auto", "bpf", "kvm", "gdb", "qmp"))):
            self.fails(1, why, *args)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_waits_for_a_script_to_start_its_guest(self):
        """For longer than a VMM takes, and until the command ends."""
        out, stub = self.path("x.data"), self.path("stub")
        late = (f"sleep 12; exec qemu-system-x86_64 -accel tcg -display none -nodefaults "
                f"-gdb unix:{stub},server=on,wait=off")
        done = run("record", "-d", "0.3", "-o", out, "--", "sh", "-c", late)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: waiting for sh to start a guest, until it ends", done.stderr)
        self.fails(1, "sh: it ended with status 7 before it had a guest",
                   "record", "-o", out, "--", "sh", "-c", "sleep 1; exit 7")

    def guest_with_monitor(self, sock, *more):
        """A QEMU in its first instruction, without a name or kernel unless given."""
        vm = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-S", "-display", "none", "-nodefaults",
             "-qmp", f"unix:{sock},server=on,wait=off", *more], stdin=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(sock))
        return vm

    def wait_for(self, what):
        for _ in range(600):
            if what():
                return
            time.sleep(0.05)
        self.fail("not after 30 s")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_late_vcpu(self):
        """A vCPU that is plugged in while gdb's way samples is missing, and that is told."""
        sock, other, stub, out = map(self.path, ("monitor", "other", "stub", "out.data"))
        vm = self.guest_with_monitor(
            sock, "-machine", "pc", "-cpu", "qemu64", "-smp", "1,sockets=2,maxcpus=2", "-name",
            "late,debug-threads=on", "-gdb", f"unix:{stub},server=on,wait=off",
            "-qmp", f"unix:{other},server=on,wait=off")
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rw") as f:
            s.connect(sock)
            self.wait_for(lambda: os.path.exists(stub))
            uniscope = subprocess.Popen(
                [PROGRAM, "record", "--backend", "gdb", "-o", out, str(vm.pid)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.wait_for(lambda: os.path.exists(out) and os.path.getsize(out) > 1000)
            for what, how in (("qmp_capabilities", {}),
                              ("device_add", {"driver": "qemu64-x86_64-cpu", "socket-id": 1,
                                              "core-id": 0, "thread-id": 0})):
                f.write(json.dumps({"execute": what, "arguments": how}) + "\n")
                f.flush()
            answers = [json.loads(f.readline()) for _ in range(3)]
            self.assertEqual([a for a in answers if "error" in a], [])
            uniscope.send_signal(signal.SIGINT)
            said = uniscope.communicate(timeout=60)[0]
        why = "further vCPUs while it was recorded: only the first 1 "
        self.assertIn(why, said)
        done = run("report", out)
        self.assertIn(why, done.stdout + done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("unshare") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no unshare, or no QEMU")
    def test_kernel_of_a_container(self):
        """The kernel's path is the VMM's, in whose mount namespace alone it is."""
        own, stub = self.path("own"), self.path("stub")
        os.mkdir(own)
        if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "own", own],
                          capture_output=True).returncode:
            self.skipTest("SKIP: no mount namespaces here")
        script = (f"mount -t tmpfs own {own} && echo raw >{own}/kernel.bin && exec "
                  "qemu-system-x86_64 -accel tcg -S -display none -nodefaults "
                  f"-gdb unix:{stub},server=on,wait=off "
                  f"-device loader,file={own}/kernel.bin,addr=0x100000")
        vm = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdin=subprocess.DEVNULL)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        self.wait_for(lambda: os.path.exists(stub))
        done = run("dump", str(vm.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernel.bin is no ELF file", done.stdout + done.stderr)

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_stub_that_is_started_later(self):
        """By the monitor, so that no command line names it: whose it is, is found."""
        sock, stub = self.path("monitor"), self.path("stub")
        vm = self.guest_with_monitor(sock, "-name", "later")
        with socket.socket(socket.AF_UNIX) as s, s.makefile("rw") as f:
            s.connect(sock)
            for what, how in (("qmp_capabilities", {}), ("human-monitor-command", {
                    "command-line": f"gdbserver unix:{stub},server=on,wait=off"})):
                f.write(json.dumps({"execute": what, "arguments": how}) + "\n")
                f.flush()
            self.wait_for(lambda: os.path.exists(stub))
        done = run("ps", f"gdb:{stub}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"(?m)^ *{vm.pid} later ")
        self.assertRegex(done.stdout, r"gdb +yes\n")

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_where_processes_are_not_seen(self):
        for how, why in ((["unshare", "-p", "-f"], "another pid namespace .*\n.*--pid=host"),
                         (["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "-"],
                          "/proc does not list .*\n.*mount -t proc")):
            if subprocess.run([*how, "true"], capture_output=True).returncode:
                self.skipTest("SKIP: no namespaces here")
            done = subprocess.run([*how, PROGRAM, "ps"], capture_output=True, text=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stderr, why)

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("setpriv") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no setpriv, or no QEMU")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_root_without_rights(self):
        """As in a container: "sudo" would be no help.  (A monitor that lets us in would.)"""
        vm = self.guest_with_monitor(self.path("monitor"))
        os.chmod(self.path("monitor"), 0)
        os.chown(self.path("monitor"), 65534, 65534)
        seen = 0
        for how, why in ((["setpriv", "--bounding-set", "-all"],
                          "without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH\n.*--cap-add"),
                         (["unshare", "-U", "-r"], "a user namespace of its own")):
            if subprocess.run([*how, "true"], capture_output=True).returncode == 0:
                done = subprocess.run([*how, PROGRAM, "ps", str(vm.pid)], capture_output=True,
                                      text=True, timeout=300)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertRegex(done.stderr, why)
                seen += 1
        if not seen:
            self.skipTest("SKIP: rights cannot be given up here")

    @unittest.skipUnless(shutil.which("qemu-system-x86_64"), "SKIP: no QEMU")
    def test_ps_fits(self):
        """A deep kernel and 40 vCPUs: rows of 100 columns, and the whole in --json."""
        deep = self.path("/".join(["a" * 60] * 4))
        os.makedirs(deep)
        kernel = os.path.join(deep, "kernel.bin")
        open(kernel, "wb").write(b"raw")
        sock = self.path("monitor")
        vm = self.guest_with_monitor(sock, "-smp", "40", "-name", "deep,debug-threads=on",
                                     "-device", f"loader,file={kernel},addr=0x100000")
        row, _ = self.ps_row(PROGRAM, vm)
        lines = [x for x in row.splitlines() if " no: " not in x and "try: " not in x]
        self.assertRegex(lines[0], "…/kernel.bin$")
        self.assertRegex(row, "39:[0-9?]+\n")
        self.assertLessEqual(max(map(len, lines)), 100, row)
        found = [g for g in json.loads(run("ps", "--json").stdout) if g["pid"] == vm.pid]
        self.assertEqual(found[0]["kernel"], kernel)

    def ps_row(self, program, vm, *before):
        """What ps says of one guest: its row, and of it the line of the monitor."""
        out = subprocess.run([*before, program, "ps"], capture_output=True, text=True,
                             timeout=300, cwd="/")
        self.assertEqual(out.returncode, 0, out.stderr)
        row = re.search(rf"^ *{vm.pid} .*(?:\n {{8}}.*)*", out.stdout, re.M)
        self.assertTrue(row, out.stdout)
        return row[0], re.search(r"^ *qmp .*(\n +try: .*)?", row[0], re.M)[0]

    @unittest.skipUnless(os.geteuid() == 0, "SKIP: needs root")
    @unittest.skipUnless(shutil.which("setpriv") and shutil.which("qemu-system-x86_64"),
                         "SKIP: no setpriv, or no QEMU")
    @unittest.skipIf(is_sanitized(), "SKIP: AddressSanitizer wants /proc/self")
    def test_ps_as_another_user(self):
        os.chmod(self.dir.name, 0o755)
        program, sock = self.path("uniscope"), self.path("monitor")
        shutil.copy(PROGRAM, program)
        os.chmod(program, 0o755)
        vm = self.guest_with_monitor(sock)
        nobody = "setpriv", "--reuid=65534", "--clear-groups"
        os.chmod(sock, 0o700)
        row, qmp = self.ps_row(program, vm)
        self.assertRegex(row, rf"^ *{vm.pid} qemu +qemu ")
        if "Operation not permitted" not in row:
            self.assertRegex(qmp, "yes$")
        # The socket is root's: what would work is said.
        row, qmp = self.ps_row(program, vm, *nobody)
        self.assertRegex(row, rf"^ *{vm.pid} qemu ")
        self.assertIn("another user's", row)
        self.assertRegex(qmp, r"qmp +no: .*monitor.*\n +try: .*(root|sudo|owner)")
        # The socket is for all, but the VMM's memory is not.
        os.chmod(sock, 0o777)
        row, qmp = self.ps_row(program, vm, *nobody)
        self.assertRegex(qmp, r"qmp +yes, but memory will be read by the monitor, slowly: "
                              r".*not permitted\n +try: run as root")
        # What ps promises holds.
        dump = subprocess.run([*nobody, program, "dump", "--backend", "qmp", str(vm.pid)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        os.chmod(sock, 0o700)
        dump = subprocess.run([*nobody, program, "dump", "--backend", "qmp", str(vm.pid)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(dump.returncode, 3)
        self.assertIn("no right to inspect it", dump.stderr)
        os.chmod(sock, 0o777)
        found = [g for g in json.loads(subprocess.run(
            [*nobody, program, "ps", "--json"], capture_output=True, timeout=300, cwd="/").stdout)
            if g["pid"] == vm.pid][0]
        by = {b["name"]: b for b in found["backends"]}
        self.assertIn("by the monitor", by["qmp"]["caution"])
        self.assertIsNone(by["qmp"]["why_not"])
        self.assertFalse(by["kvm"]["serves"])
        self.assertIsNone(by["kvm"]["caution"])
        # What is said to work does, in the way that is said.
        os.chmod(self.dir.name, 0o777)
        data = self.path("as-nobody.data")
        done = subprocess.run([*nobody, program, "record", "--backend", "qmp", "-d", "0.5", "-o",
                               data, f"qmp:{sock}"], capture_output=True, text=True, timeout=300,
                              cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = json.loads(run("report", "--json", data).stdout)["facts"]
        self.assertIn("memory: by the monitor", facts["how"])


if __name__ == "__main__":
    loader, module = unittest.defaultTestLoader, sys.modules[__name__]
    suite = (loader.loadTestsFromNames(sys.argv[3:], module) if sys.argv[3:]
             else loader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
