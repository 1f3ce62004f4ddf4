# SPDX-License-Identifier: GPL-2.0-or-later
"""Python's compiled modules for a rig: to compile what a test imports takes an emulated
host longer than many a test.

Those of this machine are for files of this machine, by their time, which the rig's file
system does not keep: here they are taken by what the files hold, for any file that is the
same as one here (PEP 552: not checked when loaded).
"""
import importlib.util
import marshal
import os
import sys

_UNCHECKED = 1  # PEP 552: by a hash, which nobody looks at
_HEADER = 16


def name(path):
    """Where Python looks for it; only by the version that runs this."""
    folder, file = os.path.split(path)
    return os.path.join(folder, "__pycache__",
                        f"{file[:-len('.py')]}.{sys.implementation.cache_tag}.pyc")


def _cached(path, source):
    """The code that is there of this machine's file, if that is the same."""
    try:
        with open(path, "rb") as f:
            if f.read() != source:
                return None
        with open(name(path), "rb") as f:
            data = f.read()
    except OSError:
        return None
    time, size = int(os.stat(path).st_mtime) & 0xffffffff, len(source)
    made_of_it = (0).to_bytes(4, "little") + time.to_bytes(4, "little") \
        + size.to_bytes(4, "little")
    if data[:4] != importlib.util.MAGIC_NUMBER or data[4:_HEADER] != made_of_it:
        return None
    return data[_HEADER:]


def compiled(path, source, make):
    """The module that is at this path in the rig, compiled; with `make` also if nobody
    has compiled it here.  None if that is not to be had."""
    code = _cached(path, source)
    if code is None and make:
        code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
    if code is None:
        return None
    return importlib.util.MAGIC_NUMBER + _UNCHECKED.to_bytes(4, "little") \
        + importlib.util.source_hash(source) + code
