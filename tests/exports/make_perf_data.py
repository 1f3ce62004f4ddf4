# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data as `perf kvm --guest record` writes it, in a file's or a pipe's form: samples of
guests among those of their host, with call chains or without, out of order in time."""
import struct

IP, TID, TIME, CALLCHAIN, CPU, PERIOD, IDENTIFIER = (1 << n for n in (0, 1, 2, 5, 7, 8, 16))
KERNEL, USER, GUEST_KERNEL, GUEST_USER = 1, 2, 4, 5
CONTEXT_GUEST_KERNEL = (1 << 64) - 2176
COMM, MMAP, SAMPLE, LOST, HEADER_ATTR = 3, 1, 9, 2, 64
FREQUENCY = 1 << 10


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def attr(fields, hz=997):
    head = struct.pack('<IIQQQQQ', 1, 128, 0, hz, fields, 0, FREQUENCY)
    return head + bytes(128 - len(head))


def comm(pid, tid, name):
    return record(COMM, 0, struct.pack('<II', pid, tid) + name.encode()[:15] + b'\0')


def mapping(pid, start, size, offset, path, mode=GUEST_KERNEL):
    return record(MMAP, mode, struct.pack('<IIQQQ', pid, pid, start, size, offset)
                  + path.encode() + b'\0')


def sample(pid, tid, t, ip, mode=GUEST_KERNEL, chain=None):
    body = struct.pack('<QIIQIIQ', ip, pid, tid, t, 0, 0, 1)
    if chain is not None:
        chain = [CONTEXT_GUEST_KERNEL, *chain]
        body += struct.pack(f'<Q{len(chain)}Q', len(chain), *chain)
    return record(SAMPLE, mode, body)


def lost(n):
    return record(LOST, 0, struct.pack('<QQ', 1, n))


def fields(chains):
    return IP | TID | TIME | CPU | PERIOD | (CALLCHAIN if chains else 0)


def as_file(records, chains):
    data, head = b''.join(records), 104
    described = attr(fields(chains)) + struct.pack('<QQ', 0, 0)
    at = head + len(described)
    return b'PERFILE2' + struct.pack('<12Q', head, len(described), head, len(described), at,
                                     len(data), 0, 0, 0, 0, 0, 0) + described + data


def as_pipe(records, chains):
    return b'PERFILE2' + struct.pack('<Q', 16) + record(HEADER_ATTR, 0, attr(fields(chains))) \
        + b''.join(records)


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
