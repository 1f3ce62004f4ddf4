# SPDX-License-Identifier: GPL-2.0-or-later
"""Write a cpio archive that Linux takes as its first file system.  No root needed."""
import os

# Linux: Documentation/driver-api/early-userspace/buffer-format.rst, "newc".
_HEADER = "070701" + 13 * "{:08X}"
_FILE, _FOLDER, _LINK = 0o100000, 0o040000, 0o120000


class Initramfs:
    def __init__(self):
        self.parts, self.folders, self.inode = [], set(), 1

    def _entry(self, name, mode, data=b""):
        path = name.encode() + b"\0"
        header = _HEADER.format(self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0,
                                len(path), 0)
        self.inode += 1
        for part in (header.encode() + path, data):
            self.parts.append(part + bytes(-len(part) % 4))

    def folder(self, path):
        up = os.path.dirname(path)
        if up:
            self.folder(up)
        if path not in self.folders:
            self.folders.add(path)
            self._entry(path, _FOLDER | 0o755)

    def add(self, path, data, mode=0o755):
        """A file; data is bytes or text."""
        path = path.strip("/")
        if os.path.dirname(path):
            self.folder(os.path.dirname(path))
        self._entry(path, _FILE | mode, data.encode() if isinstance(data, str) else data)

    def add_file(self, path, source):
        with open(source, "rb") as f:
            self.add(path, f.read())

    def link(self, path, to):
        path = path.strip("/")
        self.folder(os.path.dirname(path))
        self._entry(path, _LINK | 0o777, to.encode())

    def write(self, path):
        self._entry("TRAILER!!!", 0)
        with open(path, "wb") as f:
            f.write(b"".join(self.parts))
