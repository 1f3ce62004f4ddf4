# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data as `perf kvm --guest record` writes it, in a file's or a pipe's form, packed or of a
machine with the other byte order: samples of guests among those of their host, with call
chains or without, out of order in time."""
import contextlib
import ctypes
import ctypes.util
import struct

IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER = (1 << n for n in (0, 1, 2, 5, 7, 8, 16))
KERNEL, USER, GUEST_KERNEL, GUEST_USER = 1, 2, 4, 5
CONTEXT_GUEST_KERNEL = (1 << 64) - 2176
COMM, MMAP, SAMPLE, LOST, HEADER_ATTR, COMPRESSED, COMPRESSED_SIZED = 3, 1, 9, 2, 64, 81, 83
FORK, EXEC = 7, 1 << 13
FREQUENCY, SAMPLE_ID_ALL = 1 << 10, 1 << 18
FEATURE_HOST, FEATURE_COMPRESSED = 3, 27
CONTEXT_USER = (1 << 64) - 512

_order = ['<']


@contextlib.contextmanager
def big_endian():
    _order.append('>')
    try:
        yield
    finally:
        _order.pop()


def pack(form, *values):
    return struct.pack(_order[-1] + form, *values)


def flags(value):
    """A word of bit fields: where bytes begin with their highest, so do these."""
    little = value.to_bytes(8, 'little')
    return little if _order[-1] == '<' else bytes(int(f'{b:08b}'[::-1], 2) for b in little)


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return pack('IHH', kind, misc, 8 + len(body)) + body


def attr(fields, hz=997, more=0):
    head = pack('IIQQQQ', 1, 128, 0, hz, fields, 0) + flags(FREQUENCY | more)
    return head + bytes(128 - len(head))


def comm(pid, tid, name, misc=0):
    return record(COMM, misc, pack('II', pid, tid) + name.encode()[:15] + b'\0')


def fork(pid, parent, t, misc=0):
    return record(FORK, misc, pack('IIIIQ', pid, parent, pid, parent, t))


def at(t, other):
    """A record that is no sample, with the time that SAMPLE_ID_ALL adds."""
    kind, misc, size = struct.unpack(_order[-1] + 'IHH', other[:8])
    return pack('IHH', kind, misc, size + 24) + other[8:] + pack('QQQ', 0, t, 0)


def mapping(pid, start, size, offset, path, mode=GUEST_KERNEL):
    return record(MMAP, mode, pack('IIQQQ', pid, pid, start, size, offset)
                  + path.encode() + b'\0')


def sample(pid, tid, t, ip, mode=GUEST_KERNEL, chain=None):
    body = pack('QIIQIIQ', ip, pid, tid, t, 0, 0, 1)
    if chain is not None:
        chain = [CONTEXT_GUEST_KERNEL, *chain]
        body += pack(f'Q{len(chain)}Q', len(chain), *chain)
    return record(SAMPLE, mode, body)


def lost(n):
    return record(LOST, 0, pack('QQ', 1, n))


def fields(chains):
    return IP | TID | TIME | CPU | PERIOD | (CALLCHAIN if chains else 0)


def as_file(records, chains, feature=None, more=0):
    """feature: (bit, bytes) of the one that stands behind the data; more: flags of the
    event."""
    data, head = b''.join(records), 104
    described = attr(fields(chains), more=more) + pack('QQ', 0, 0)
    begin = head + len(described)
    bits = 1 << feature[0] if feature else 0
    tail = pack('QQ', begin + len(data) + 16, len(feature[1])) + feature[1] if feature else b''
    magic = b'PERFILE2' if _order[-1] == '<' else b'2ELIFREP'
    return magic + pack('12Q', head, len(described), head, len(described), begin,
                        len(data), 0, 0, bits, 0, 0, 0) + described + data + tail


def as_pipe(records, chains):
    magic = b'PERFILE2' if _order[-1] == '<' else b'2ELIFREP'
    return magic + pack('Q', 16) + record(HEADER_ATTR, 0, attr(fields(chains))) \
        + b''.join(records)


class _Buffer(ctypes.Structure):
    _fields_ = [('at', ctypes.c_void_p), ('size', ctypes.c_size_t), ('pos', ctypes.c_size_t)]


def packed(records, each=1000, sized=False):
    """The same as perf record -z has them: one stream, flushed at every so many bytes,
    wherever that is in a record.  None: there is no libzstd here."""
    name, data, out = ctypes.util.find_library('zstd'), b''.join(records), []
    if not name:
        return None
    lib = ctypes.CDLL(name)
    lib.ZSTD_createCCtx.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(lib.ZSTD_createCCtx())
    for i in range(0, len(data), each):
        part, room = data[i:i + each], ctypes.create_string_buffer(2 * each + 1024)
        to = _Buffer(ctypes.cast(room, ctypes.c_void_p), len(room), 0)
        text = ctypes.create_string_buffer(part, len(part))
        of = _Buffer(ctypes.cast(text, ctypes.c_void_p), len(part), 0)
        while lib.ZSTD_compressStream2(stream, ctypes.byref(to), ctypes.byref(of), 1):
            pass
        got = room.raw[:to.pos]
        if sized:
            out.append(record(COMPRESSED_SIZED, 0, pack('Q', len(got)) + got))
        else:  # its size is not a multiple of eight
            out.append(pack('IHH', COMPRESSED, 0, 8 + len(got)) + got)
    lib.ZSTD_freeCCtx(stream)
    return out


def packed_feature():
    """zstd, a level, a ratio, and how much is unpacked at once."""
    return FEATURE_COMPRESSED, pack('IIIII', 1, 1, 1, 4, 1 << 20)


def guest(stacks, image=None, pid=4242):
    """Of one guest with two vCPUs: each stack [innermost, ...] so many times."""
    records = [comm(pid, pid, 'qemu'), comm(pid, pid + 2, 'CPU 0/KVM'),
               comm(pid, pid + 1, 'CPU 1/KVM')]
    if image:
        records.append(mapping(pid, *image))
    t = 10 ** 9
    for stack, n in stacks:
        for i in range(n):
            t += 10 ** 6
            # Buffers of CPUs come one after the other.
            records.append(sample(pid, pid + 1 + i % 2, t - 1500000 * (i % 2), stack[0],
                                  chain=stack))
    records.append(sample(pid, pid, t, 0xffffffff81000000, KERNEL, [0xffffffff81000000]))
    records.append(lost(3))
    return records
