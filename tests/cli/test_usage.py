#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Options, help and messages for bad input of each command.

usage: test_usage.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import os
import re
import shutil
import subprocess
import tempfile

from cli import PROGRAM, SOURCE, Cli, main, run

COMMANDS = ("ps", "top", "record", "boot", "count", "trace", "replay", "report", "annotate", "diff", "serve",
            "dump", "import", "doctor")


class Usage(Cli):
    def test_each_file_is_run(self):
        folder = os.path.join(SOURCE, "tests", "cli")
        with open(os.path.join(folder, "meson.build")) as f:
            listed = re.search(r"foreach of : \[(.*?)\]", f.read(), re.S)[1]
        self.assertEqual(sorted(re.findall(r"\w+", listed)),
                         sorted(re.findall(r"test_(\w+)[.]py", " ".join(os.listdir(folder)))))

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
        self.fails(2, r"--notrace \(: ", "replay", "--notrace", "(", "x.data")
        self.fails(2, "--tasks 0: must be a number from 0.1 to 50", "top", "--tasks", "0", "fake:")
        self.fails(3, "none has this name", "top", "no-such-guest-as-this")
        self.fails(2, "which function", "annotate")
        self.fails(2, r"--ignore \(", "report", "--ignore", "(")
        self.fails(2, "must be KEY=REGEX", "report", "--filter", "exit")
        self.fails(2, "did you mean state[?]", "report", "--filter", "stat=exit")
        done = self.fails(2, "--filter vcpu=one: must be a list of vCPUs", "report", "--filter", "vcpu=one")
        self.assertNotIn("--vcpu", done.stderr)
        self.fails(2, "--vcpu vcpu=0: must be a list", "report", "--vcpu", "vcpu=0")
        self.fails(2, r"--filter image=\[: ", "report", "--filter", "image=[")
        self.fails(2, "no such state; states are: guest, exit, ready", "report", "--filter", "state=bogus")
        for words in (("serve", "--listen"), ("trace", "--listen"), ("record", "--serve")):
            self.fails(2, f"{words[1]} foo: must be an address", words[0], words[1] + "=foo", "fake:")
        self.fails(2, "--by foo: must be plugin, log", "boot", "--by", "foo", "--", "qemu-system-x86_64")
        self.fails(2, r"--until serial:\(: ", "boot", "--until", "serial:(", "--", "qemu-system-x86_64")
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
        self.fails(2, "suffix names no format: .*[.]calls and [.]functions do", "replay", "-o", self.path("x.doc"))
        # Speedscope takes its reader by the name: Chrome's format in it cannot be opened.
        self.fails(2, "cannot be written as speedscope; name the file .trace.json", "replay", "-o",
                   self.path("x.speedscope.json"))
        for name in "x.trace.json", "x.json":
            self.fails(1, "x.data: No such file", "replay", "-o", self.path(name), "x.data")

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
        self.completes("bash", f"""source {SOURCE}/completion/uniscope.bash
            complete_words() {{
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _uniscope; echo ${{COMPREPLY[*]}}
            }}""")

    def test_zsh_completion(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        self.completes("zsh", f"""setopt no_nomatch
            compadd() {{
                while [[ $1 == -S ]]; do shift 2; done
                [[ $1 == -- ]] && shift
                local w; for w; do [[ $w == $PREFIX* ]] && print -n -- "$w "; done
            }}
            _describe() {{ compadd ${{items%%:*}} }}
            _files() {{ }}
            complete_words() {{
                words=("$@") CURRENT=$# PREFIX=${{@[-1]}}; source {SOURCE}/completion/_uniscope; echo
            }}""")

    def completes(self, shell, script):
        """What a shell offers, with a uniscope whose `ps` lists a guest of its own."""
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "uniscope")
            with open(fake, "w") as f:
                f.write(f"""#!/bin/sh
                    [ "$1" = ps ] && [ $# = 1 ] && echo ' 4711 web   qemu' && exit
                    exec {PROGRAM} "$@\"""")
            os.chmod(fake, 0o755)

            def offered(*words):
                done = subprocess.run([shell, "-c", f'{script}\ncomplete_words "$@"', shell, fake, *words],
                                      capture_output=True, text=True, timeout=300, cwd=folder)
                self.assertEqual(done.stderr, "", words)
                return done.stdout.split()

            self.assertEqual(offered("record", "--b"), ["--backend", "--budget"])
            self.assertEqual(offered("re"), ["record", "replay", "report"])
            for command in COMMANDS:
                page = open(f"{SOURCE}/man/uniscope-{command}.1.scd").read()
                options = offered(command, "--")
                self.assertIn("--help", options)
                for option in options:
                    self.assertIn(f"*{option}*", page, command)
            self.assertNotIn("--waits", offered("record", "--"))
            self.assertNotIn("--guest", offered("import", "--"))
            # All formats of replay, and the first of report: by the tables, which refuse others.
            for command in ("replay", "report"):
                told = self.fails(2, "formats are: ", command, "--format", "nope", "x").stderr
                for name in re.search("formats are: (.*)", told)[1].split(", "):
                    if name != "...":
                        self.assertIn(name, offered(command, "--format", ""))
                        self.assertIn(name, run(command, "--help").stdout)
            self.assertIn("plugin", offered("record", "--backend", ""))
            self.assertNotIn("plugin", offered("dump", "--backend", ""))
            self.assertIn("guest", [x.rstrip("=") for x in offered("report", "--filter", "")])
            self.assertEqual(offered("top", "--filter", ""), [])
            for words in (["ps"], ["dump"], ["trace", "--on"], ["trace", "--off"], ["trace", "--snapshot"],
                          ["trace", "--listen", "127.0.0.1:0"]):
                self.assertEqual(offered(*words, ""), ["4711", "web"], words)
            for words in (["trace"], ["trace", "--listen", ":0", "--", "qemu"]):
                self.assertNotIn("4711", offered(*words, ""), words)


if __name__ == "__main__":
    main()
