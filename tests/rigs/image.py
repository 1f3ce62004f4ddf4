# SPDX-License-Identifier: GPL-2.0-or-later
"""The first file system of a rig: its programs with the libraries they need, python,
the tests, and what was built here."""
import glob
import lzma
import os

import bytecode
import cross
import elf
from paths import TESTS
from debs import Suite
from guest import BOARDS, MODULES, static_busybox, vmlinux_elf
from harness import Skip, kvm_works
from initramfs import Initramfs
import packages
import releases

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = ("lib/{arch}-linux-gnu", "usr/lib/{arch}-linux-gnu", "lib", "usr/lib")
# In the build folder, the test guests for the rig's processor.
GUESTS = ("tests/guests/*.elf", "tests/guests/*.bin")
PORTS = ("tests/guests/ports/*-{arch}.elf", "tests/guests/ports/*-{arch}.img")
# What tests of Linux guests want of it is fetched and unpacked there.
LINUX = "packages/linux-image-*-cloud-amd64/"
# Of Python's own library: what no test imports, and takes the most room.
PYTHON_LEFT_OUT = ("test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip",
                   "pydoc_data", "distutils", "unittest", "sqlite3", "xmlrpc", "dbm",
                   "curses", "wsgiref", "venv", "__pycache__")


class Image:
    """What goes in by its path on the host that the rig is."""

    def __init__(self, build, rig):
        self.build, self.rig, self.fs = build, rig, Initramfs()
        self.suite = Suite(build, rig.suite, rig.arch) if rig.suite else None
        self.roots = self._roots()
        self.there = set()

    def _roots(self):
        """Folders in which a path is looked for, in this order."""
        if not self.suite:
            return packages.unpack_all(self.build, self.rig.packages) + ["/"]
        own = [self.suite.closure(self.rig.packages)]
        return own + ["/"] if self.rig.arch == os.uname().machine else own

    def find(self, path):
        """The files that a path, which may be a glob, stands for: [(path, file)]."""
        for root in self.roots:
            got = sorted(glob.glob(os.path.join(root, path.lstrip("/"))))
            if got:
                return [("/" + os.path.relpath(f, root), _real(root, f)) for f in got]
        raise Skip(f"there is no {path} for {self.rig.arch}")

    def _library(self, name):
        for root in self.roots:
            for folder in LIBRARIES:
                where = os.path.join(root, folder.format(arch=self.rig.arch))
                for got in (os.path.join(where, name),
                            *glob.glob(os.path.join(where, "*", name))):
                    if os.path.exists(got):
                        return _real(root, got)
        raise Skip(f"there is no library {name} for {self.rig.arch}")

    def add_file(self, path, file):
        """And what it needs, if it is a program."""
        if path in self.there:
            return
        self.there.add(path)
        with open(file, "rb") as f:
            data = f.read()
        self.fs.add(path, data, 0o755 if os.access(file, os.X_OK) else 0o644)
        if path.endswith(".py"):
            module = bytecode.compiled(path, data, make=path.startswith("/uniscope/"))
            if module:
                self.fs.add(bytecode.name(path), module, 0o644)
        interpreter, libraries = elf.needs(data)
        if interpreter:
            self.add_file(interpreter, self._library(os.path.basename(interpreter)))
        for name in libraries:
            self.add_file(f"/lib/{self.rig.arch}-linux-gnu/{name}", self._library(name))

    def add_folder(self, path, folder, left_out=()):
        for at, folders, files in os.walk(folder):
            folders[:] = [f for f in folders
                          if f not in left_out and not f.startswith("config-")]
            for name in files:
                file = os.path.join(at, name)
                if os.path.exists(file):
                    self.add_file(os.path.join(path, os.path.relpath(file, folder)), file)

    def _python(self):
        (_, file), = self.find("/usr/bin/python3")
        library = "/usr/lib/" + os.path.basename(file)
        root = file[:-len("/usr/bin/" + os.path.basename(file))] or "/"
        self.add_folder(library, root + library, PYTHON_LEFT_OUT)

    def _host(self, kernel):
        busybox = static_busybox() if "/" in self.roots else \
            self.find("/bin/busybox")[0][1]
        self.add_file("/bin/busybox", busybox)
        for name in self.rig.modules:
            self.fs.add(f"/modules/{name}.ko", module(kernel, name))
        self.fs.add("/rig/modules", "".join(name + "\n" for name in self.rig.modules))
        for path in self.rig.files:
            for where, file in self.find(path):
                self.add_file(where, file)
        for where, to in self.rig.links.items():
            self.fs.link(where, to)
        if "/usr/bin/python3" in self.there:
            self._python()
        with open(os.path.join(HERE, "init.sh")) as f:
            self.fs.add("/init", f.read())
        self.fs.add_file("/rig/setup", os.path.join(HERE, self.rig.setup))

    def _uniscope(self, script):
        """The program, the guests and the tests, and what a test wants besides."""
        builds, wanted = [self.build], said(script, "needs")
        if self.rig.arch != os.uname().machine:
            builds.insert(0, cross.build(self.build, self.rig.arch, self.roots[0],
                                        ["uniscope", *wanted]))
        self.add_file("/uniscope/build/uniscope", os.path.join(builds[0], "uniscope"))
        guests = GUESTS if self.rig.arch == "x86_64" else PORTS
        if any(name.startswith(LINUX) for name in wanted):
            vmlinux_elf(self.build)  # no test before may have fetched it
        for name in (*(name.format(arch=self.rig.arch) for name in guests), *wanted):
            if name.startswith("/"):
                for where, file in self.find(name):
                    self.add_file(where, file)
                continue
            for build in builds:  # a file of the first that has it
                for file in glob.glob(os.path.join(build, name)):
                    self._built(file, build)
        for suite in said(script, "linux"):
            self._linux(suite)
        for name in ("calibration", "conformance", "guests", "linux", "rigs", "serve"):
            for file in glob.glob(os.path.join(TESTS, name, "*.py")):
                self.add_file(f"/uniscope/tests/{name}/{os.path.basename(file)}", file)
        self.add_file("/uniscope/tests/unit/run-unit",
                      os.path.join(TESTS, "unit", "run-unit"))

    def _built(self, file, build):
        """Of a build folder, to the same place in the rig's."""
        self.add_file("/uniscope/build/" + os.path.relpath(file, build), file)

    def _linux(self, kernel):
        """SUITE[:PROCESSOR], as the tests of Linux guests take it: what a guest of it
        starts with, so that they find it fetched."""
        suite, _, processor = kernel.partition(":")
        release = releases.release(self.build, suite, processor or "x86_64")
        modules = (*MODULES, *BOARDS[release.processor].modules)
        files = [release.image, os.path.join(release.modules, "modules.builtin"),
                 *(file for name in modules for file in glob.glob(
                     f"{release.modules}/**/{name}.ko*", recursive=True))]
        if release.processor != "x86_64":
            files.append(release.busybox)
        for file in files:
            self._built(file, self.build)

    def write(self, path, kernel, script=None, words=()):
        """kernel: the folder of its unpacked package; words: the script's arguments."""
        self._host(kernel)
        self._uniscope(script)
        if script:
            self.fs.add_file("/rig/test", script)
            self.fs.add("/rig/words", "".join(word + "\n" for word in words))
            if kvm_works():  # on the machine that emulates this host
                self.fs.add("/rig/kvm-outside", "")
        self.fs.write(path)


def module(kernel, name):
    """Its bytes, of the kernel in this folder."""
    for file in glob.glob(f"{kernel}/**/lib/modules/**/{name}.ko*", recursive=True):
        with open(file, "rb") as f:
            data = f.read()
        return lzma.decompress(data) if file.endswith(".xz") else data
    raise Skip(f"no module {name} in {kernel}")


def said(script, word):
    """What a test says of itself: lines "# needs: FILE...", of the build folder or, with
    a slash in front, of the host; and "# linux: KERNEL...", those of its guests."""
    if not script:
        return []
    with open(script) as f:
        return [name for line in f if line.startswith(f"# {word}: ")
                for name in line.split()[2:]]


def _real(root, path):
    """As os.path.realpath(), with links that lead from this root."""
    for _ in range(40):
        if not os.path.islink(path):
            return path
        to = os.readlink(path)
        path = root + to if to.startswith("/") else \
            os.path.normpath(os.path.join(os.path.dirname(path), to))
    raise Skip(f"{path} is a loop of links")
