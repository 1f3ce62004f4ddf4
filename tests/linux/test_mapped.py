#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of a Linux guest that nobody names: their files by what they have mapped.

usage: test_mapped.py BUILD [KERNEL] [--only WORD]

KERNEL: SUITE[:PROCESSOR] of Debian, such as trixie or bookworm:aarch64; else this
machine's.

A guest runs programs with and without libraries and symbols.  What the recording says
they have mapped has to be what the guest's own /proc/PID/maps says; names come from each
place where they may be, and from no other.
"""
import contextlib
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
import time

import releases
import waiting
from begin import asked_kernel, options, or_skip
from guest import BUSYBOX, LinuxGuest
from harness import Skip, Tap, Uniscope, check, note, require
from programs import PROGRAMS
from recording import Recording

HERE = os.path.dirname(os.path.abspath(__file__))
# What is put before a compiler's name, and where the loader and the C library are.
TOOLS = {"x86_64": ("", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"),
         "aarch64": ("aarch64-linux-gnu-",
                     "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
                     "/usr/aarch64-linux-gnu/lib/libc.so.6")}
LIBRARY = "/lib/libmapped.so"
ENOUGH = 60  # samples in the program


def build_id(path):
    told = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                          check=True).stdout
    return told.split("Build ID:")[1].split()[0]


class Files:
    """The guest's programs, and their symbols, which it does not have."""

    def __init__(self, processor):
        self.tools, self.loader, self.libc = TOOLS[processor]
        self.folder = tempfile.TemporaryDirectory(prefix="uniscope-")
        self.whole, self.bare, self.root = (self._folder(n)
                                            for n in ("whole", "bare", "root"))
        self.id = None  # of the library; None: it cannot be built
        self.waits = ""  # a program that waits
        if not self._compiles():
            note(f"no {self.tools}gcc with a C library: a static program alone")
            return
        self._build("libmapped.so", "mapped-lib.c", "-shared", "-fPIC",
                    "-Wl,-soname,libmapped.so")
        library = os.path.join(self.whole, "libmapped.so")
        self._build("mapped", "mapped.c", library, "-Wl,-rpath,/lib")
        self.id = build_id(library)

    def _compiles(self):
        done = shutil.which(self.tools + "gcc") and os.path.exists(self.loader) and \
            subprocess.run([self.tools + "gcc", "-E", "-include", "time.h", "-x", "c",
                            "/dev/null"], capture_output=True)
        return done and done.returncode == 0

    def _folder(self, name):
        path = os.path.join(self.folder.name, name)
        os.mkdir(path)
        return path

    def _build(self, name, source, *flags):
        whole = os.path.join(self.whole, name)
        subprocess.run([self.tools + "gcc", "-O2", "-g", "-Wl,--build-id=sha1", "-Wl,-z,now",
                        os.path.join(HERE, "programs", source), *flags, "-o", whole],
                       check=True)
        subprocess.run([self.tools + "strip", "-o", os.path.join(self.bare, name), whole], check=True)

    def in_guest(self):
        if not self.id:
            return {}
        bare = {LIBRARY: "libmapped.so", "/bin/mapped": "mapped"}
        loader = "/lib64/" if not self.tools else "/lib/"
        return {loader + os.path.basename(self.loader): self.loader,
                "/lib/libc.so.6": self.libc,
                **{path: os.path.join(self.bare, name) for path, name in bare.items()}}

    def by_id(self, name, build):
        """A folder with .build-id/ab/cdef.debug."""
        path = os.path.join(self._folder(name), ".build-id", build[:2])
        os.makedirs(path)
        shutil.copy(os.path.join(self.whole, "libmapped.so"),
                    os.path.join(path, build[2:] + ".debug"))
        return os.path.join(self.folder.name, name)

    def as_root(self, name, library):
        """A guest's files, with this library."""
        path = os.path.join(self._folder(name), LIBRARY[1:])
        os.makedirs(os.path.dirname(path))
        shutil.copy(library, path)
        return os.path.join(self.folder.name, name)


class Server(http.server.ThreadingHTTPServer):
    """What debuginfod(8) answers for one file; it knows what it was asked."""

    def __init__(self, path, build):
        self.path, self.build, self.asked = path, build, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.serve_forever)

    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path != f"/buildid/{self.server.build}/debuginfo":
            self.send_error(404)
            return
        with open(self.server.path, "rb") as f:
            data = f.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


def needs_library():
    if shutil.which("ldconfig") and "libdebuginfod" not in subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout:
        raise Skip("libdebuginfod is not installed")


class Suite:
    def __init__(self, args):
        self.args, self.tap, self.us = args, Tap(), Uniscope(args.build)
        suite, processor = asked_kernel(args)
        self.release = releases.release(args.build, suite, processor)
        self.files = Files(processor)
        self.cache = tempfile.TemporaryDirectory(prefix="uniscope-")
        os.environ.pop("DEBUGINFOD_URLS", None)
        os.environ["DEBUGINFOD_CACHE_PATH"] = self.cache.name

    def record(self, guest):
        self.mapped = guest.start("mapped") if self.files.id else 0
        self.shell = int(guest.do("sh -c 'while :; do :; done' >/dev/null & echo $!"))
        for seconds in (4, 8, 16):
            self.us.record(guest, "gdb", "--budget", "50", seconds=seconds)
            wanted = ("/bin/mapped", LIBRARY) if self.files.id else ("/bin/busybox",)
            if min(self.samples(module) for module in wanted) >= ENOUGH:
                break
        self.maps = {pid: guest.maps(pid) for pid in (self.mapped, self.shell) if pid}
        for pid in self.maps:
            guest.stop(pid)

    def report(self, *args):
        return self.us.report("--limit", "0", *args)

    def samples(self, module):
        return sum(f["self"] for f in self.report()["functions"] if f["module"] == module)

    def named(self, module, *args):
        """{name: samples} of what has one."""
        return {f["name"]: f["self"] for f in self.report(*args)["functions"]
                if f["module"] == module and f["known"] and f["self"]}

    def mappings(self):
        recording = Recording(self.us.data())
        own, wrong = recording.mapped_as(self.maps)
        check(not wrong, "; ".join(wrong))
        ids = {path: build for path, build in recording.files.values()}
        note(f"{len(own)} mappings as in /proc/PID/maps, files {ids}")
        check(own, "no mapping of these programs")
        check("/bin/busybox" in ids, f"no static program: {ids}")
        check(ids["/bin/busybox"] == build_id(self.release.busybox or BUSYBOX), ids)
        if self.files.id:
            check({"/bin/mapped", LIBRARY} <= set(ids), f"only {ids}")
            check(ids[LIBRARY] == self.files.id, f"{ids[LIBRARY]}, not {self.files.id}")

    def vdso(self):
        """The kernel's code in a program, if this one has some that is of use here."""
        if self.samples("[vdso]") < 10:
            raise Skip("this guest's programs ask the kernel what time it is")
        names = self.named("[vdso]")
        note(f"vdso: {names}")
        check(any("clock_gettime" in name for name in names), names)

    def processes(self):
        """Whose they are: a program's file only in its own process."""
        report = self.us.report("--filter", f"process=\\({self.shell}\\)")
        modules = {f["module"] for f in report["functions"] if f["self"]}
        check("/bin/busybox" in modules and not {"/bin/mapped", LIBRARY} & modules, modules)

    def from_memory(self):
        """The dynamic symbols alone: what the library offers, and no name for the rest."""
        names = self.named(LIBRARY)
        note(f"from the guest's memory: {names}")
        check("lib_shown" in names and "lib_hidden" not in names, names)
        check(set(names) <= {"lib_shown", "lib_work"}, names)
        check(any(LIBRARY in w and "dynamic" in w for w in self.report()["warnings"]),
              "nobody says so")

    def has_all(self, *args):
        names = self.named(LIBRARY, *args)
        note(f"{args}: {names}")
        check({"lib_shown", "lib_hidden"} <= set(names), names)

    def by_id(self):
        self.has_all("--symbols", self.files.by_id("by-id", self.files.id))

    def any_name(self):
        folder = self.files._folder("any")
        os.mkdir(os.path.join(folder, "deep"))
        shutil.copy(os.path.join(self.files.whole, "libmapped.so"),
                    os.path.join(folder, "deep", "whatever"))
        self.has_all("--symbols", folder)

    def another_build(self):
        """What says that it is the build, and is not."""
        folder = self.files.by_id("wrong", build_id(os.path.join(self.files.whole, "mapped")))
        check("lib_hidden" not in self.named(LIBRARY, "--symbols", folder), "a wrong file")

    def root(self):
        whole = os.path.join(self.files.whole, "libmapped.so")
        self.has_all("--root", self.files.as_root("guest-root", whole))
        other = self.files.as_root("other-root", os.path.join(self.files.whole, "mapped"))
        report = self.report("--root", other)
        check(any("another build" in w for w in report["warnings"]), report["warnings"])
        check("lib_hidden" not in {f["name"] for f in report["functions"]}, "a wrong file")

    def server(self):
        """Asked if the user says so, and not else."""
        with Server(os.path.join(self.files.whole, "libmapped.so"), self.files.id) as s:
            self.report()
            self.report("--symbols", self.files.bare)
            check(not s.asked, f"asked without being told to: {s.asked}")
            needs_library()
            self.has_all("--debuginfod", s.url())
            check(f"/buildid/{self.files.id}/debuginfo" in s.asked, s.asked)
            n = len(s.asked)
            self.has_all()  # from the cache of its library
            check(len(s.asked) == n, f"asked without being told to: {s.asked[n:]}")

    def debuginfod(self):
        """The real one."""
        program = shutil.which("debuginfod")
        if not program:
            raise Skip("debuginfod is not installed")
        folder = self.files._folder("server")
        with Server("", "") as free:
            port = free.server_port
        log = open(os.path.join(folder, "log"), "w")
        server = subprocess.Popen(
            [program, "-F", "-p", str(port), "-d", os.path.join(folder, "db"),
             self.files.whole], stdout=log, stderr=log,
            env={**os.environ, "HOME": folder})
        try:
            os.environ["DEBUGINFOD_CACHE_PATH"] = self.files._folder("cache")
            os.environ["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{port}/"
            for _ in range(50):  # until it has looked at the files
                shutil.rmtree(os.environ["DEBUGINFOD_CACHE_PATH"])
                if "lib_hidden" in self.named(LIBRARY):
                    break
                time.sleep(0.2)
            self.has_all()
        finally:
            os.environ["DEBUGINFOD_CACHE_PATH"] = self.cache.name
            del os.environ["DEBUGINFOD_URLS"]
            server.terminate()
            server.wait()
            log.close()

    def waiting(self, guest):
        """Of tasks that wait, too, by dump and by record --tasks: asked if the user says so,
        and not else.  The program is stripped, and has no dynamic symbols."""
        pid = int(guest.do("waits deep >/dev/null & echo $!"))
        whole = self.files.waits
        build = build_id(whole)

        def dumped(*args):
            told = waiting.dump_tasks(self.us, guest.target("gdb"), "gdb", *args)
            frames, = (t["frames"] for t in told["tasks"] if t["pid"] == pid)
            return [f["function"] for f in frames if f["user"]]

        def recorded(*args):
            rows = self.report("--waits", "--filter", f"process=\\({pid}\\)", *args)
            return {f["name"] for f in rows["functions"]}

        try:
            with Server(whole, build) as s:
                bare = dumped()
                self.us.record(guest, "gdb", "--budget", "50", "--tasks", "10", seconds=4)
                unnamed = recorded()
                check(not s.asked, f"asked without being told to: {s.asked}")
                check(len(bare) > 10 and not any(bare), f"named: {bare}")
                check("dive" not in unnamed, unnamed)
                needs_library()
                named = dumped("--debuginfod", s.url())
                note(f"dump: {named}")
                check(f"/buildid/{build}/debuginfo" in s.asked, s.asked)
                check(named[-1] == "_start" and named.count("dive") == 10, named)
                check({"_start", "main", "dive"} <= recorded("--debuginfod", s.url()), "report")
        finally:
            guest.stop(pid)

    def rows_of(self, guest, program):
        for seconds in (2, 4, 8):
            self.us.record(guest, "gdb", "--budget", "50", seconds=seconds)
            rows = [f for f in self.report("--root", self.all_root)["functions"]
                    if f["module"] == "/bin/" + program.name]
            if sum(f["self"] for f in rows) >= ENOUGH:
                break
        return rows

    def languages(self, guest):
        """Programs of several languages, static and not, with build-ids and without, by
        the guest's files: named as in the test that gives them to uniscope."""
        n = 0
        for program in self.ready:
            pid = guest.start(program.name)
            try:
                rows = self.rows_of(guest, program)
            finally:
                guest.stop(pid)
            samples = sum(f["self"] for f in rows)
            known = sum(f["self"] for f in rows if f["known"])
            note(f"{program.name}: {known} of {samples} samples have a name")
            check(samples >= ENOUGH and known >= 0.95 * samples, "no names")
            check(any(f["name"] in program.names for f in rows), [f["name"] for f in rows])
            n += 1
        check(n, "no program could be built")

    def forked(self, guest):
        """A process that executed no file: what it has not touched is in the page cache."""
        parent = guest.start("mapped forked")
        try:
            for seconds in (4, 8, 16):
                self.us.record(guest, "gdb", "--budget", "50", seconds=seconds)
                if min(self.samples(module) for module in ("/bin/mapped", LIBRARY)) >= ENOUGH:
                    break
        finally:
            guest.stop(parent)
        recording = Recording(self.us.data())
        ids = {path: build for path, build in recording.files.values()}
        check(ids.get(LIBRARY) == self.files.id, f"files {ids}")
        user = [s for s in recording.samples if s.frames and not s.frames[0].is_kernel()]
        found = next((i for i, s in enumerate(user) if s.whole()), len(user))
        whole = sum(s.whole() for s in user[found:])
        names = self.named(LIBRARY)
        note(f"a forked program: found after {found} of {len(user)} samples, "
             f"{whole} of {len(user) - found} whole, {names}")
        check(found <= 0.5 * len(user), "found late, or not at all")
        check(whole >= 0.98 * (len(user) - found), "its stacks are cut")
        check("lib_shown" in names, names)

    def build_all(self):
        self.all_root, self.ready, files = self.files._folder("all-root"), [], {}
        os.mkdir(os.path.join(self.all_root, "bin"))
        if self.files.id and not self.files.tools:
            self.files.waits = waiting.program(self.args.build)
            bare = files["waits"] = os.path.join(self.files.bare, "waits")
            subprocess.run(["strip", "-o", bare, self.files.waits], check=True)
        for program in PROGRAMS if not self.args.kernel else ():
            with contextlib.suppress(Skip):
                path = program.build(self.args.build)
                shutil.copy(path, os.path.join(self.all_root, "bin", program.name))
                files[program.name] = path
                self.ready.append(program)
        return files

    def bad_options(self):
        for option, value, word in (("--root", "/nowhere", "no folder"),
                                    ("--debuginfod", "nowhere", "must be a URL")):
            done = self.us.run("report", option, value, self.us.data(), good=(2,))
            check(word in done.stderr, done.stderr)

    def run(self):
        points = [
            ("mappings as in /proc/PID/maps", self.mappings),
            ("each in its own process", self.processes),
            ("names of the vdso", self.vdso),
            ("dynamic symbols from memory", self.from_memory),
            ("symbols by build-id", self.by_id),
            ("symbols by any name", self.any_name),
            ("symbols of another build", self.another_build),
            ("the guest's files", self.root),
            ("a server is asked if the user says so", self.server),
            ("debuginfod", self.debuginfod),
            ("wrong options", self.bad_options),
        ]
        with contextlib.ExitStack() as stack:
            guest = stack.enter_context(LinuxGuest(
                self.args.build, smp=2, release=self.release, memory=512,
                programs=self.build_all(), files=self.files.in_guest()))
            guest.wait("READY", 300)
            guest.elf = None  # nobody names a file
            if self.ready and self.args.only in "languages":
                self.tap.point("languages", lambda: self.languages(guest))
            if self.args.only in "a server for tasks that wait" and self.files.waits:
                self.tap.point("a server for tasks that wait", lambda: self.waiting(guest))
            if self.files.id and self.args.only in "a program that was forked":
                self.tap.point("a program that was forked", lambda: self.forked(guest))
            self.record(guest)
        for name, function in points if self.files.id else points[:1]:
            if self.args.only in name:
                self.tap.point(name, function)
        self.tap.end()


def main():
    args = options(kernel="", only="").parse_args()
    with or_skip():
        require("tcg", asked_kernel(args)[1])
        suite = Suite(args)
    suite.run()


if __name__ == "__main__":
    main()
