# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Linux as a guest: its kernel, busybox, a script and programs in an initramfs.

    with LinuxGuest(build, cpu="max", smp=2, work=KERNEL_WORK) as g:
        g.wait("READY")
        g.kallsyms()                    # what the guest says of its own kernel
        pid = g.start("program")        # one of its programs, on its last vCPU
        g.maps(pid)                     # [Mapping]
        g.stop(pid)

KASLR is on.  The guest hands over /proc/kallsyms and the like as a tar archive on a
virtio disk: the serial port would take a minute for them.  It takes commands on its
second serial port.
"""
import bisect
import glob
import io
import lzma
import os
import re
import socket
import sys
import tarfile
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "conformance"))
import packages  # noqa: E402
import silence  # noqa: E402
import vmlinux  # noqa: E402
from harness import Guest, Skip, note, patience  # noqa: E402
from initramfs import Initramfs  # noqa: E402

BUSYBOX = "/bin/busybox"
DISK_MIB = 32
# In the order of their dependencies.
MODULES = ["virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev",
           "virtio_pci", "virtio_blk"]

# All of the kernel's that is busy: system calls, pipes, /proc, page faults, fork.
KERNEL_WORK = """
while :; do
	dd if=/dev/zero of=/dev/null bs=64k count=300 2>/dev/null
	cat /proc/self/maps /proc/meminfo /proc/stat /proc/interrupts >/dev/null
	dd if=/dev/urandom bs=4k count=100 2>/dev/null | cat | cat >/dev/null
	dd if=/dev/vda of=/dev/null bs=64k count=50 iflag=direct 2>/dev/null
	ls -lR /sys/devices >/dev/null
done &
"""
# Asleep but for a blink ten times a second.
IDLE_WORK = "while :; do usleep 100000; done &\n"

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /oracle /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in {modules}; do insmod /modules/$m.ko || echo "FATAL no module $m"; done
echo "INIT $(uname -r) $(nproc) vCPUs"
cp /proc/kallsyms /proc/modules /proc/cpuinfo /proc/cmdline /oracle
tar cf /tmp/oracle.tar -C /oracle .
dd if=/tmp/oracle.tar of=/dev/vda bs=64k conv=fsync 2>/dev/null
rm -r /tmp/oracle.tar /oracle
exec 3<>/dev/{port}
stty raw -echo <&3
{work}
echo READY
while read -r n line <&3; do
	if [ "$n" = "${{#line}}" ]; then
		eval "$line" >&3 2>&1
		echo "@$?" >&3
	else
		echo "@{again}" >&3
	fi
done
"""
# The exit status of a line that has lost a byte.
AGAIN = 199


@dataclass
class Symbol:
    address: int
    kind: str  # as nm prints it: "T", "t", ...
    name: str
    module: str  # "" of the kernel itself


@dataclass
class Mapping:
    start: int
    end: int
    offset: int
    flags: str  # "r-xp"
    path: str  # "" of anonymous memory


class Kallsyms:
    """What the guest's own table says of an address."""

    def __init__(self, text):
        self.symbols = []
        for line in text.splitlines():
            address, kind, name, *module = line.split()
            self.symbols.append(Symbol(int(address, 16), kind, name,
                                       module[0].strip("[]") if module else ""))
        self.symbols.sort(key=lambda s: s.address)
        self.addresses = [s.address for s in self.symbols]

    def address(self, name):
        return next(s.address for s in self.symbols if s.name == name)

    def names(self, address):
        """Every name of the last symbol at or before the address, in the kernel or one
        module (several may lie at one address: any of them is right)."""
        at = bisect.bisect_right(self.addresses, address) - 1
        if at < 0:
            return set()
        here = self.addresses[at]
        first = bisect.bisect_left(self.addresses, here)
        return {s.name for s in self.symbols[first:at + 1]}

    def in_kernel_text(self, address):
        return self.address("_stext") <= address < self.address("_etext")


@dataclass(frozen=True)
class Release:
    """A kernel with what belongs to it."""
    image: str
    modules: str  # the folder of its modules
    processor: str = "x86_64"
    busybox: str = ""  # "": that of this machine


def kernel(build):
    """(vmlinuz, folder of its modules)."""
    where = packages.unpack_linux(build)
    image = glob.glob(os.path.join(where, "boot", "vmlinuz-*"))[0]
    # Since Debian 13 below usr.
    modules, = (glob.glob(os.path.join(where, "lib", "modules", "*"))
                or glob.glob(os.path.join(where, "usr", "lib", "modules", "*")))
    return image, modules


@dataclass(frozen=True)
class Board:
    """How a machine of that processor is started, and what Linux calls its parts."""
    cpu: str
    console: str
    port: str  # takes commands
    control: tuple  # QEMU's options for it; {path}: its socket
    modules: tuple = ()  # besides MODULES
    kvm_machine: str = ""  # where KVM needs to be told more than the processor


BOARDS = {
    "x86_64": Board("", "ttyS0", "ttyS1", ("-serial", "unix:{path},server=on,wait=off")),
    # "max" signs return addresses, and to emulate that takes most of its time.  The board
    # has one serial port.
    "aarch64": Board("cortex-a72", "ttyAMA0", "hvc0",
                     ("-chardev", "socket,id=control,path={path},server=on,wait=off",
                      "-device", "virtio-serial-pci", "-device", "virtconsole,chardev=control"),
                     ("virtio_console",), "virt,gic-version=host"),
}


def vmlinux_elf(build):
    """The kernel's ELF file, without symbols, as it is packed in vmlinuz."""
    image, _ = kernel(build)
    return vmlinux.extract_file(image, os.path.join(os.path.dirname(image), "vmlinux"))


def static_busybox():
    if not os.path.exists(BUSYBOX):
        raise Skip("busybox-static is not installed")
    with open(BUSYBOX, "rb") as f:
        if b"/lib64/ld-linux" in f.read(4096):
            raise Skip("busybox is not static: install busybox-static")
    return BUSYBOX


def is_builtin(modules, name):
    path = os.path.join(modules, "modules.builtin")
    if not os.path.exists(path):
        return False
    with open(path) as f:
        return f"/{name}.ko" in f.read()


def module_bytes(modules, name):
    """Newer suites have them packed.  None: it is part of the kernel."""
    for path in glob.glob(os.path.join(modules, "**", name + ".ko*"), recursive=True):
        with (lzma.open if path.endswith(".xz") else open)(path, "rb") as f:
            return f.read()
    if is_builtin(modules, name):
        return None
    raise Skip(f"no module {name} in {modules}")


class ByteLost(RuntimeError):
    """Of the line on its way into the guest."""


def initramfs(release, work="", programs=None, files=None):
    """What a kernel starts with: programs and files as of LinuxGuest."""
    fs, modules, board = Initramfs(), [], BOARDS[release.processor]
    fs.add_file("/bin/busybox", release.busybox or static_busybox())
    for name in (*MODULES, *board.modules):
        if bytes_ := module_bytes(release.modules, name):
            fs.add(f"/modules/{name}.ko", bytes_)
            modules.append(name)
    for name, path in (programs or {}).items():
        fs.add_file("/bin/" + name, path)
    for name, path in (files or {}).items():
        fs.add_file(name, path)
    fs.add("/init", INIT.format(modules=" ".join(modules), work=work, again=AGAIN,
                                 port=board.port))
    return fs


class LinuxGuest(Guest):
    """programs: {name: file}, put into /bin; work: shell commands that start them;
    release: another kernel than that of this machine's suite."""

    def __init__(self, build, cpu="max", smp=1, work="", programs=None, memory=256,
                 append="", accel="tcg", files=None, release=None, reboots=False):
        release = release or Release(*kernel(build))
        self.uniscope = os.path.join(build, "uniscope")  # says where it hangs: silence.py
        self.board = BOARDS[release.processor]
        self.files = tempfile.TemporaryDirectory(prefix="uniscope-")
        self.disk = os.path.join(self.files.name, "disk")
        with open(self.disk, "wb") as f:
            f.truncate(DISK_MIB << 20)
        self.control, self.control_path = None, os.path.join(self.files.name, "control")
        initrd = os.path.join(self.files.name, "initrd")
        initramfs(release, work, programs, files).write(initrd)
        super().__init__(
            build, "linux", accel, smp, kernel=release.image, memory=memory,
            processor=release.processor,
            machine=self.board.kvm_machine if accel == "kvm" else None,
            extra=("-cpu", self.model(accel, cpu), "-nodefaults",
                   *(() if reboots else ("-no-reboot",)), "-initrd", initrd,
                   *(word.format(path=self.control_path) for word in self.board.control),
                   "-drive", f"file={self.disk},if=virtio,format=raw",
                   "-append", f"console={self.board.console} quiet panic=-1 {append}"))

    def model(self, accel, cpu):
        """Of a processor; by KVM the host's, less what is to be left out of it."""
        if accel == "kvm":
            return ",".join(["host", *([] if self.board.cpu else cpu.split(",")[1:])])
        return self.board.cpu or cpu

    def __exit__(self, *args):
        if self.control:
            self.control.close()
        super().__exit__(*args)
        self.files.cleanup()

    def oracle(self):
        """{file name: text} that the guest handed over before READY."""
        with open(self.disk, "rb") as f:
            data = f.read()
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            return {os.path.basename(m.name): tar.extractfile(m).read().decode()
                    for m in tar.getmembers() if m.isfile()}

    def kallsyms(self):
        return Kallsyms(self.oracle()["kallsyms"])

    def connect(self):
        """Until the guest answers an empty line: on a busy host it may lose the start of
        what comes as soon as it is READY."""
        if not self.control:
            self.control = socket.socket(socket.AF_UNIX)
            self.control.connect(self.control_path)
        for _ in range(10):
            self.control.sendall(b"\n")
            self.control.settimeout(5)
            try:
                while self.control.recv(65536):  # and what lines before this one gave
                    self.control.settimeout(0.3)
            except TimeoutError:
                if self.control.gettimeout() < 5:
                    return
        raise RuntimeError("the guest's second serial port does not answer")

    def do(self, command, seconds=60):
        """Run a line of shell in the guest; what it printed.  On a busy host its serial
        port loses a byte now and then, so the line's length goes before it; the byte may
        be the end of the line, too."""
        for _ in range(5):
            try:
                return self.do_once(command, seconds)
            except ByteLost:
                note(f"a byte was lost of {command[:40]!r}")
        raise RuntimeError(f"the guest does not get {command!r}")

    def do_once(self, command, seconds):
        if not self.control:
            self.connect()
        self.control.settimeout(seconds * patience.SLOWER)
        line = command.encode()
        self.control.sendall(b"%d %s\n" % (len(line), line))
        text, again = b"", False
        while not (end := re.search(rb"^@(\d+)\r?\n", text, re.M)):
            try:
                more = self.control.recv(65536)
            except TimeoutError:
                said = f"no answer to {command!r}: {silence.why(self)}"
                if again:
                    raise RuntimeError(f"{said}, nor to one more end of the line") from None
                note(said)
                again = True
                self.control.sendall(b"\n")  # its end may be the byte that was lost
                continue
            if not more:
                raise RuntimeError(f"the guest ended during {command!r}")
            text += more
        if again:
            note("it came after one more end of the line")
            self.connect()  # of which there may be one too many
        printed = text[:end.start()].decode().replace("\r", "")
        if int(end[1]):
            raise (ByteLost if int(end[1]) == AGAIN else RuntimeError)(
                f"{command}: exit {int(end[1])}\n{printed}")
        return printed

    def do_first(self, command):
        """As do(), before all that is busy in the guest."""
        return self.do(f'sh -c "renice -n -20 \\$\\$; {command}"')

    def start(self, program):
        """Its process id.  It is alone on its vCPU."""
        mask = 1 << (self.smp - 1)
        return int(self.do(f"taskset {mask:x} {program} >/dev/console & echo $!"))

    def stop(self, pid):
        self.do(f"kill -9 {pid}; wait {pid} 2>/dev/null; true")

    def maps(self, pid):
        return self.all_maps(pid).get(pid, [])

    def all_maps(self, pids="[0-9]*"):
        """{pid: [Mapping]} of all processes, or of one."""
        # /dev/null, so that grep tells the file of one alone, too.
        said, rows = self.do_first(f"grep -s '' /dev/null /proc/{pids}/maps; true"), {}
        for m in re.finditer(r"^/proc/(\d+)/maps:(\w+)-(\w+) (\S+) (\w+) \S+ \d+[ \t]*(.*)",
                             said, re.M):
            rows.setdefault(int(m[1]), []).append(
                Mapping(int(m[2], 16), int(m[3], 16), int(m[5], 16), m[4], m[6]))
        return rows

    def load_address(self, pid):
        """Where the first byte of the program's file is mapped."""
        path = self.do(f"readlink /proc/{pid}/exe").strip()
        return next(m.start for m in self.maps(pid) if m.path == path and m.offset == 0)
