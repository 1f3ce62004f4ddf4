# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that stands still at one instruction: by QEMU's stub for gdb."""
import socket
import subprocess
import time

from harness import patience


def options(path):
    """For QEMU: it waits for stop_at()."""
    return ["-S", "-gdb", f"unix:{path},server=on,wait=off"]


def address_of(elf, name):
    said = subprocess.run(["nm", elf], capture_output=True, text=True, check=True).stdout
    address, = (row.split()[0] for row in said.splitlines() if row.split()[2:] == [name])
    return int(address, 16)


def _connect(path):
    end = patience.clock() + 60
    while True:
        try:
            s = socket.socket(socket.AF_UNIX)
            s.connect(path)
            return s
        except OSError:
            s.close()
            if patience.clock() > end:
                raise
            time.sleep(0.05)


def _ask(s, command):
    s.sendall(f"${command}#{sum(command.encode()) & 255:02x}".encode())
    said = b""
    while b"#" not in said[:-2]:
        got = s.recv(4096)
        if not got:
            raise RuntimeError(f"QEMU is gone: {command}")
        said += got
    s.sendall(b"+")
    return said[said.index(b"$") + 1:said.index(b"#")].decode()


def stop_at(path, address):
    """Have the guest go on until then.  The socket: it stands still while that is open."""
    s = _connect(path)
    s.settimeout(300)
    for command, good in (("qSupported", ""), (f"Z0,{address:x},1", "OK"), ("vCont;c", "T")):
        said = _ask(s, command)
        if not said.startswith(good):
            raise RuntimeError(f"{command}: {said}")
    return s
