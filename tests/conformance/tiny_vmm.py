#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A VMM that is no QEMU: its guest writes one byte to the serial port, in real mode, and
halts.  The byte goes to standard output."""
import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys

CREATE_VM, CREATE_VCPU, VCPU_SIZE, RUN = 0xAE01, 0xAE41, 0xAE04, 0xAE80
SET_MEMORY, GET_SREGS, SET_SREGS, SET_REGS = 0x4020AE46, 0x8138AE83, 0x4138AE84, 0x4090AE82
EXIT_IO, EXIT_HLT = 2, 5
CODE = b"\xba\xf8\x03\xb0X\xee\xf4"  # mov $0x3f8,%dx; mov $'X',%al; out %al,(%dx); hlt
START = 0x1000


def main():
    kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    vm = fcntl.ioctl(kvm, CREATE_VM, 0)
    memory = mmap.mmap(-1, 0x10000)
    memory[START:START + len(CODE)] = CODE
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    fcntl.ioctl(vm, SET_MEMORY, struct.pack("IIQQQ", 0, 0, 0, len(memory), at))
    vcpu = fcntl.ioctl(vm, CREATE_VCPU, 0)
    run = mmap.mmap(vcpu, fcntl.ioctl(kvm, VCPU_SIZE, 0))
    sregs = bytearray(312)
    fcntl.ioctl(vcpu, GET_SREGS, sregs)
    sregs[0:8] = bytes(8)  # cs.base
    sregs[12:14] = bytes(2)  # cs.selector
    fcntl.ioctl(vcpu, SET_SREGS, sregs)
    fcntl.ioctl(vcpu, SET_REGS, struct.pack("18Q", *[0] * 16, START, 2))
    while True:
        fcntl.ioctl(vcpu, RUN, 0)
        reason, = struct.unpack_from("I", run, 8)
        if reason == EXIT_IO:
            at, = struct.unpack_from("Q", run, 40)
            os.write(1, run[at:at + 1])
        elif reason == EXIT_HLT:
            signal.pause()
        else:
            sys.exit(f"exit reason {reason}")


if __name__ == "__main__":
    main()
