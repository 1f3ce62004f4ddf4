# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in several languages that state their own truth: see programs/README.md."""
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field

from harness import Skip

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def strip_arguments(name):
    """Without what stands in brackets: template arguments, parameters, <T as Trait>."""
    name = name.replace("operator()", "operator").replace("->", "")
    depth, out = 0, []
    for c in name:
        depth -= c in ")>"
        if depth == 0 and c not in "()<>":
            out.append(c)
        depth += c in "(<"
    return "".join(out)


def c_label(name):
    return name.split(".")[0]


def cxx_label(name):
    return re.split(r"::| ", strip_arguments(name).replace(" [clone .cold]", ""))[-1]


def rust_label(name):
    if name == "main" or "shares::" not in name:
        return None  # C's main(), which calls Rust's
    return strip_arguments(name).split("::")[-1]


def pascal_label(name):
    """WORK.TBOX.F60: f60."""
    return strip_arguments(name).split(".")[-1].lower()


def ocaml_label(name):
    """Shares.f60: f60."""
    module, _, label = name.rpartition(".")
    return None if module != "Shares" else "main" if label == "entry" else label


def go_label(name):
    """main.(*Box[...]).f30: f30."""
    if not name.startswith("main."):
        return None
    return re.sub(r"\[.*\]", "", name).split(".")[-1]


@dataclass
class Program:
    name: str
    compiler: str
    command: list  # of words; SOURCE and PROGRAM stand in it
    source: str
    label: object  # function name -> the name that the truth uses, or None
    root: str  # where its stacks begin
    names: list  # of functions that take time, as the report has to print them
    also: list = field(default_factory=list)  # other source files
    apart: tuple = ()  # outermost functions of stacks that are the language's own

    def moves(self):
        """It lies elsewhere at each start, and has to be found first."""
        return "-static-pie" in self.command

    def build(self, build):
        """The program's file, built if it is not there or older than its source."""
        folder = os.path.join(build, "tests", "linux", self.name)
        program = os.path.join(folder, self.name)
        if os.path.exists(program) and not os.path.exists(os.path.join(HERE, self.source)):
            return program  # a rig has what was made before
        sources = [os.path.join(HERE, s) for s in (self.source, *self.also)]
        if os.path.exists(program) and all(
                os.path.getmtime(s) < os.path.getmtime(program) for s in sources):
            return program
        if not shutil.which(self.compiler):
            raise Skip(f"{self.compiler} is not installed")
        os.makedirs(folder, exist_ok=True)
        for source in sources:  # OCaml leaves its object files beside the source
            shutil.copy(source, folder)
        command = [self.compiler, *self.command]
        command = [w.replace("SOURCE", self.source).replace("PROGRAM", self.name)
                   for w in command]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "GOCACHE": os.path.abspath(os.path.join(folder, "cache"))})
        if done.returncode:
            raise Skip(f"{self.compiler}: {(done.stderr or done.stdout).strip()[-200:]}")
        return program

    def marked_lines(self):
        """{label: (file, first line, last line)}, from "lines of X" to "end"."""
        marks = {}
        for source in (self.source, *self.also):
            with open(os.path.join(HERE, source)) as f:
                open_mark = None
                for n, line in enumerate(f, 1):
                    if m := re.search(r"lines of (\w+)", line):
                        open_mark = m[1], n
                    if open_mark and re.search(r"[{*/] end\b", line):
                        marks[open_mark[0]] = (source, open_mark[1], n)
                        open_mark = None
        return marks


def _c(name, compiler, *flags, link="-static"):
    return Program(name, compiler, ["-g", link, *flags, "SOURCE", "-o", "PROGRAM"],
                   "shares.c", c_label, "_start", ["f60", "f30", "dive"])


def _pascal(name, *flags):
    return Program(name, "fpc", ["-O2", *flags, "-oPROGRAM", "SOURCE"],
                   "shares.pas", pascal_label, "SI_PRC._FPC_PROC_START",
                   ["WORK.TBOX.F60", "WORK.STAGE.F30", "WORK.DIVE", "WORK.TWORKER.LEAF"],
                   ["work.pas"])


# Of Go's runtime: its threads, its signal handlers, what these make of a goroutine, and
# what works on a stack of its own when that goroutine has none yet, or no more.
GO_APART = ("clone", "sysmon", "sigtramp", "sigreturn", "sigreturn__sigaction",
            "asyncPreempt", "mcall", "morestack", "mstart", "rt0_go")


def _go(name, suffix, *flags):
    # What stands in the brackets of generic functions is another in each version.
    return Program(name, "go", ["build", *flags, "-o", "PROGRAM", "SOURCE"], "shares.go",
                   go_label, "runtime.goexit" + suffix,
                   ["main.f60", "main.dive", "main.run"],
                   apart=tuple("runtime." + f + suffix * (f != "sysmon" and f != "mcall")
                               for f in GO_APART))


# Its names are in the table of its runtime alone.
GO_BARE = _go("go-bare", "", "-ldflags", "-s -w")

# Builds of one source, to be mistaken for each other.
SAME, OTHER = _c("c-same", "gcc", "-O2"), _c("c-other", "gcc", "-O1")
SAME_NO_ID = _c("c-same-no-id", "gcc", "-O2", "-Wl,--build-id=none")
OTHER_NO_ID = _c("c-other-no-id", "gcc", "-O2", "-DEXTRA", "-Wl,--build-id=none")
# 32-bit, without a library: its call paths are known, it says nothing itself.
NARROW = Program("narrow", "gcc",
                 ["-m32", "-O2", "-g", "-static", "-nostdlib", "-fno-pie", "-no-pie",
                  "-fcf-protection=none", "-Wl,-z,noexecstack", "SOURCE", "-o", "PROGRAM"],
                 "narrow.c", c_label, "_start", ["spin", "read_zeroes"])
NARROW_PATHS = [("_start", "narrow_main", "work", "compute", "spin"),
                ("_start", "narrow_main", "work", "fetch", "read_zeroes")]

PROGRAMS = [
    _c("c-gcc", "gcc", "-O2"),
    _c("c-clang", "clang-14", "-O2"),
    _c("c-pie", "gcc", "-O2", link="-static-pie"),
    _c("c-musl", "musl-gcc", "-Os"),
    Program("cxx", "g++", ["-O2", "-g", "-static", "SOURCE", "-o", "PROGRAM"],
            "shares.cc", cxx_label, "_start",
            ["work::Box<long>::f60(unsigned long)", "work::Box<long>::f30(long)",
             "work::leaf(unsigned long)"]),
    Program("rust", "rustc",
            ["-O", "-g", "-C", "target-feature=+crt-static", "-C", "relocation-model=static",
             "SOURCE", "-o", "PROGRAM"], "shares.rs", rust_label, "_start",
            ["<shares::Crate<T> as shares::Worker>::f60", "shares::Crate<T>::f30",
             "shares::calls_leaf"]),
    _pascal("fpc-gw2", "-gw2"),
    _pascal("fpc-g", "-g"),
    Program("ocaml", "ocamlopt",
            ["-g", "-I", "+unix", "unix.cmxa", "-ccopt", "-static -no-pie", "SOURCE", "-o",
             "PROGRAM"], "shares.ml", ocaml_label, "_start",
            ["Shares.f60", "Shares.f30", "Shares.leaf"]),
    _go("go", ".abi0"),
]
