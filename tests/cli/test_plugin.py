#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope count and trace: the QEMU that they start with the plugin.

usage: test_plugin.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from cli import PLUGIN, PROGRAM, GuestCli, main, run


# A kernel that ends by an exception that it has no table for.
TWO_NAMES = """
	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002
	.text
	.globl _start, work, _also_work
	.type _start, @function
_start:	mov $stack, %esp
	mov $100, %ecx
1:	call work
	call idle
	loop 1b
	lidt table
	ud2
	.size _start, . - _start
	.type work, @function
	.type _also_work, @function
work: _also_work: ret
	.size work, 1
	.size _also_work, 1
	.type idle, @function
idle:	ret
	.size idle, 1
	.bss
table:	.skip 4096
stack:
"""

# Calls through a code segment, and a change of it that is no call.
FAR_CALLS = """
	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002
	.text
	.globl _start
	.type _start, @function
_start:	mov $stack, %esp
	lgdt gdtp
	ljmp $8, $main
	.size _start, . - _start
	.type main, @function
main:	mov $0x10, %eax
	mov %eax, %ss
	mov $100, %ecx
1:	lcall $8, $direct
	pushl $3
	lcall *pointer
	call reload
	call flush
	loop 1b
	lidt table
	ud2
	.size main, . - main
	.type direct, @function
direct:	call leaf
	lret
	.size direct, . - direct
	.type by_pointer, @function
by_pointer:
	call leaf
	lret $4
	.size by_pointer, . - by_pointer
	.type flush, @function
flush:	pop %eax
	push %cs
	push %eax
	lret
	.size flush, . - flush
	.type reload, @function
reload:	push %cs
	push $2f
	lret
2:	call leaf
	ret
	.size reload, . - reload
	.type leaf, @function
leaf:	ret
	.size leaf, . - leaf
	.balign 8
gdt:	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdtp:	.word 23
	.long gdt
pointer:
	.long by_pointer
	.word 8
	.bss
table:	.skip 4096
stack:
"""

# A Pascal function, of which DWARF would say "Spin", and one of Rust.
SHOWN_NAMES = """
	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002
	.text
	.globl _start
	.type _start, @function
_start:	mov $stack, %esp
	mov $100, %ecx
1:	call "WORK_$$_SPIN$LONGINT"
	call "_ZN1k5round28_$u7b$$u7b$closure$u7d$$u7d$17h1a11d2ce4edcbe0bE"
	loop 1b
	lidt table
	ud2
	.size _start, . - _start
	.type "WORK_$$_SPIN$LONGINT", @function
"WORK_$$_SPIN$LONGINT": ret
	.size "WORK_$$_SPIN$LONGINT", 1
	.type "_ZN1k5round28_$u7b$$u7b$closure$u7d$$u7d$17h1a11d2ce4edcbe0bE", @function
"_ZN1k5round28_$u7b$$u7b$closure$u7d$$u7d$17h1a11d2ce4edcbe0bE": ret
	.size "_ZN1k5round28_$u7b$$u7b$closure$u7d$$u7d$17h1a11d2ce4edcbe0bE", 1
	.bss
table:	.skip 4096
stack:
"""

# A function that goes to another stack, calls from there, and never returns.
NEW_STACK = """
	.section .multiboot, "a"
	.long 0x1badb002, 0, -0x1badb002
	.text
	.globl _start
	.type _start, @function
_start:	mov $first, %esp
	call begin
	.size _start, . - _start
	.type begin, @function
begin:	call work
	mov $second, %esp
	call work
	call work
	lidt table
	ud2
	.size begin, . - begin
	.type work, @function
work:	ret
	.size work, . - work
	.bss
table:	.skip 65536
first:	.skip 65536
second:
"""


class Plugin(GuestCli):
    def guest_of_two_names(self):
        """Of which one function has two."""
        return self.guest_of(TWO_NAMES)

    def guest_of(self, text):
        image, source = self.path("two"), self.path("two.s")
        with open(source, "w") as f:
            f.write(text)
        subprocess.run(["as", "--32", "-o", source + ".o", source], check=True)
        subprocess.run(["ld", "-m", "elf_i386", "-z", "noexecstack", "-Ttext=0x100000",
                        "--section-start=.multiboot=0xff000", "-o", image, source + ".o"],
                       check=True)
        return ["-e", image, "--", "qemu-system-x86_64", "-display", "none", "-no-reboot", "-kernel",
                image]

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_each_name_of_an_address(self):
        guest = self.guest_of_two_names()
        told = "note: _also_work: its address is shown as work"
        for name, note in ("work", False), ("_also_work", True), ("_also_.*", True):
            done = run("count", "--functions=" + name, "-o", self.path("x"), *guest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(note, told in done.stderr, done.stderr)
            self.assertRegex(done.stdout, r" 100 +work\b")
            self.assertNotIn("idle", done.stdout)
            done = run("trace", "-f", name, "-o", self.path("x"), *guest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("tracing 1 of 3 functions", done.stderr)
            self.assertEqual(note, told in done.stderr, done.stderr)
        self.fails(1, "no function of the images has that name", "count", "--functions=nothing",
                   "-o", self.path("x"), *guest)
        done = run("trace", "--from", "_also_work", "--until", "idle", "-o",
                   self.path("x"), *guest)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("note: _also_work"), 1, done.stderr)

    def counted(self, *options):
        out = self.path("x.json")
        done = run("count", "--deterministic", *options, "-o", out, *self.guest_of_two_names())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out) as f:
            report = json.load(f)
        return report, {f["name"]: (f["self"], f["calls"]) for f in report["functions"]}

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_flat_counts_are_those_of_the_paths(self):
        (paths, full), (report, flat) = self.counted(), self.counted("--flat")
        unnamed = "[no symbols]"
        self.assertEqual({n: f for n, f in flat.items() if n != unnamed},
                         {n: f for n, f in full.items() if n != unnamed})
        self.assertEqual(flat[unnamed][0], full[unnamed][0])
        self.assertEqual(report["summary"]["running"], paths["summary"]["running"])
        self.assertTrue(not any(n["parent"] for n in report["tree"]), report["tree"])
        self.fails(2, "leave out --functions", "count", "--flat", "--functions=work", "-o",
                   self.path("x"), *self.guest_of_two_names())
        for options in ["--flat"], []:
            run("count", *options, "-o", self.path("flat" if options else "full"),
                *self.guest_of_two_names())
        self.fails(1, "one has calls by their callers", "diff", self.path("full"), self.path("flat"))

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_a_folder_without_space(self):
        """The cause is named, and nothing is left that makes the next attempt fail."""
        trace, made, own = self.path("x"), self.path("new.uftrace"), self.path("own.uftrace")
        os.mkdir(own)
        done = run("trace", "-o", trace, *self.guest_of_two_names())
        self.assertEqual(done.returncode, 0, done.stderr)
        for out in made, own:
            done = subprocess.run([PROGRAM, "replay", "-o", out, trace], capture_output=True, text=True,
                                  timeout=300, preexec_fn=lambda: resource.setrlimit(
                                      resource.RLIMIT_FSIZE, (512, 512)))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("write the trace: File too large", done.stderr)
        self.assertFalse(os.path.exists(made))
        self.assertEqual(os.listdir(own), [])
        for out in made, own:
            self.assertEqual(run("replay", "-o", out, trace).returncode, 0)
            self.assertIn("info", os.listdir(out))

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_table_of_durations(self):
        trace = self.path("x")
        done = run("trace", "-o", trace, *self.guest_of_two_names())
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("replay", "--format", "functions", trace)
        self.assertRegex(done.stdout, r"^self % .* calls   function\n")
        for name in "work", "idle":
            row, = (line.split() for line in done.stdout.splitlines() if line.endswith(" " + name))
            share, own, total, mean, longest, n, _ = row
            self.assertEqual(n, "100")
            self.assertEqual(own, total, "neither calls anything")
            self.assertLessEqual(float(mean), float(longest))
            self.assertLessEqual(float(longest), float(total))
            self.assertLess(0, float(share))

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_each_name_that_is_shown(self):
        guest, x = self.guest_of(SHOWN_NAMES), self.path("x")
        names = ["WORK.SPIN", "WORK.Spin", "WORK.Sp.*", "WORK.Spin(LONGINT)"]
        if "{{closure}}" in run("count", "-o", x, *guest).stdout: # with libiberty
            names.append("k::round::{{closure}}")
        for name in names:
            done = run("count", "--functions=" + name, "-o", x, *guest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r" 100 +(WORK\.SPIN|k::round::\{\{closure\}\})")
            done = run("trace", "-f", name, "-o", x, *guest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("tracing 1 of 3 functions", done.stderr)
        for option in ["count", "--functions=WORK.SPUN"], ["trace", "--from", "WORK.SPUN"], \
                ["trace", "--until", "WORK.SP"]:
            done = run(*option, "-o", x, *guest)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("; did you mean WORK.SPIN?", done.stderr)
        # What is no regular expression can only be a name.
        why = r"\(.*\{.*\}.*\), so it can only be a name"
        for option in (["count", "--functions=k::{{x}}"], ["trace", "-f", "k::{{x}}"],
                       ["trace", "--notrace", "k::{{x}}"]):
            done = run(*option, "-o", x, *guest)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, why)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_a_reset_is_not_the_same_twice(self):
        """QEMU resets the machine in another thread, for which the guest does not wait."""
        with open(self.path("disk"), "wb") as f:
            #       lidt [0x7c20] (of limit 0); int3
            f.write(b"\x0f\x01\x1e\x20\x7c\xcc".ljust(510, b"\0") + b"\x55\xaa")
        for option in [], ["--deterministic"]:
            for seconds in "4", "30", "120":  # until a busy host has got there
                done = run("count", "-d", seconds, *option, "-o", self.path("x"), "--", "qemu-system-x86_64",
                           "-accel", "tcg", "-display", "none", "-net", "none", "-drive",
                           f"file={self.path('disk')},format=raw")
                text = " ".join(done.stdout.replace("#", "").split())
                if "the machine was reset" in text:
                    break
            self.assertIn("the machine was reset", text)
            self.assertEqual("and a second run differs" in text, bool(option), text)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_far_calls(self):
        done = run("count", "-o", self.path("x"), *self.guest_of(FAR_CALLS))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("report", "-f", "folded", "-o", "-", self.path("x"))
        counts = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
        self.assertEqual({stack: int(n) for stack, n in counts.items() if stack.startswith("main;")},
                         {"main;direct": 200, "main;direct;leaf": 100, "main;by_pointer": 200,
                          "main;by_pointer;leaf": 100, "main;reload": 500, "main;reload;leaf": 100,
                          "main;flush": 400})
        self.assertFalse([stack for stack in counts if stack.startswith("[interrupts]")])

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-x86_64"), "SKIP: no QEMU, or no plugin")
    def test_a_call_on_two_stacks(self):
        """Is one for uftrace, too."""
        done = run("trace", "-o", self.path("x"), *self.guest_of(NEW_STACK))
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.path("x.uftrace")
        done = run("replay", "-o", folder, self.path("x"))
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = []
        for name in os.listdir(folder):
            if name.endswith(".dat"):
                with open(os.path.join(folder, name), "rb") as f:
                    entries += [what >> 16 for _, what in struct.iter_unpack("<QQ", f.read())
                                if what & 3 == 0]
        calls = sorted(entries.count(x) for x in set(entries))
        self.assertEqual(calls, [1, 1, 3])  # _start, begin, work

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
    def test_no_system_calls(self):
        """Where none is made, that is told."""
        guest, out = self.guest_of_two_names(), self.path("x")
        for more, said, shown in (([], "uniscope: no system call was made\n", "while it was traced"),
                                  (["-f", "work"], " 0 system calls; next: ", "in what is shown")):
            done = run("trace", "--syscalls", *more, "-o", out, *guest)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(said, done.stderr)
            done = self.fails(1, "^uniscope: replay: no system call was made " + shown + "$",
                              "replay", "-c", out)
            self.assertEqual(done.stdout, "")
        self.assertEqual(run("replay", out).returncode, 0)

    def test_kernel_that_is_not_there(self):
        """What names are looked for in is named, before anything is started."""
        why = "no symbols: read ELF file {}: No such file or directory; -e ELF names another file"
        for path in self.path("gone"), "gone":
            guest = ["--", "qemu-system-x86_64", "-display", "none", "-kernel", path]
            for verb, option in (["count"], "--functions"), (["trace", "-f", "x"], "--filter"):
                option += " needs names of functions: "
                self.fails(1, option + re.escape(why.format(path)), *verb, "-o", self.path("x"),
                           *(["--functions"] if verb == ["count"] else []), *guest)
            self.fails(1, "--until main: " + re.escape(why.format(path)), "boot", "-n", "1",
                       "--until", "main", *guest)

    @unittest.skipUnless(PLUGIN and shutil.which("qemu-system-riscv64"), "SKIP: no QEMU, or no plugin")
    def test_system_calls_that_are_not_known(self):
        done = self.fails(1, "only system calls of x86_64.*(\n.*)*try: its output above says why", "trace",
                          "--syscalls", "-o", self.path("x"), "--", "qemu-system-riscv64", "-display",
                          "none", "-machine", "virt", "-S")
        self.assertNotIn("neither count nor trace", done.stderr)

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


if __name__ == "__main__":
    main()
