# SPDX-License-Identifier: GPL-2.0-or-later
"""Which libraries an ELF file of 64 bits needs, of any architecture: nothing is run."""
import struct

_ET_REL = 1
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB = 1, 5


def _text(data, at):
    return data[at:data.index(b"\0", at)].decode()


def needs(data):
    """(path of its interpreter or "", names of the libraries it needs)."""
    if data[:6] != b"\x7fELF\x02\x01":
        return "", []
    if struct.unpack_from("<H", data, 16)[0] == _ET_REL:
        return "", []
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    interpreter, loads, dynamic = "", [], []
    for at in range(table, table + size * count, size):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
        if kind == _PT_LOAD:
            loads.append((address, offset, length))
        elif kind == _PT_INTERP:
            interpreter = _text(data, offset)
        elif kind == _PT_DYNAMIC:
            dynamic = list(struct.iter_unpack("<QQ", data[offset:offset + length]))
    strings = next((value for tag, value in dynamic if tag == _DT_STRTAB), None)
    if strings is None:
        return interpreter, []
    start = next(offset + strings - address for address, offset, length in loads
                 if address <= strings < address + length)
    return interpreter, [_text(data, start + value) for tag, value in dynamic
                         if tag == _DT_NEEDED]
