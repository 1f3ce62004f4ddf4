# SPDX-License-Identifier: GPL-2.0-or-later
"""The rigs: hosts with a hypervisor, in QEMU's emulation of a processor that has one.

To add a rig is one row here and the script that sets its host up (setup).
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rig:
    arch: str  # as uname -m says it
    # {kernel}, {initrd}, {hypervisor}: files that were made for it; {log}: one that is
    # shown if something fails.
    qemu: str
    console: str  # of Linux
    kernel: str  # Debian's package that depends on the newest
    setup: str  # a script beside this file: makes the hypervisor ready
    modules: tuple = ()  # loaded in this order
    files: tuple = ()  # programs (with the libraries they need), firmware; may be globs
    links: dict = field(default_factory=dict)  # where QEMU looks: what is there
    # Where files come from: "" is the machine this runs on, else Debian's suite of this
    # name, from which packages are unpacked with all that they depend on.
    suite: str = ""
    packages: tuple = ()
    hypervisor: str = ""  # a file of a package, for QEMU as {hypervisor}; may be packed


_PC = ("qemu-system-x86_64 -M q35 -cpu qemu64,+svm,+npt -smp 4 -m 2048 "
       "-kernel {kernel} -initrd {initrd} "
       "-append 'console=ttyS0 panic=-1 nokaslr no_timer_check mitigations=off quiet'")
_PYTHON = ("/usr/bin/python3",)
_QEMU_PC = ("/usr/bin/qemu-system-x86_64", "/usr/bin/qemu-system-x86_64-microvm",
            "/usr/share/qemu/qboot.rom", "/usr/share/qemu/pvh.bin",
            "/usr/share/qemu/kvmvapic.bin", "/usr/share/qemu/linuxboot_dma.bin",
            "/usr/share/qemu/multiboot_dma.bin", "/usr/share/seabios/bios-256k.bin",
            "/usr/share/seabios/vgabios-stdvga.bin", "/usr/lib/ipxe/qemu/efi-e1000e.rom")

_ARM = ("qemu-system-aarch64 -M virt,virtualization=on,gic-version=3 -cpu {cpu} "
        "-smp 2 -m 1536 -kernel {{kernel}} -initrd {{initrd}} "
        "-append 'console=ttyAMA0 panic=-1 nokaslr mitigations=off quiet'")
# Xen's log has a serial port of its own: it would come in the middle of dom0's lines.
# QEMU's emulation has an error in SMAP that a dom0 meets at once (IRET in ring 3), and its
# MWAIT does not take what its CPUID promises (ECX 1, to be woken by masked interrupts):
# Xen, which waits so for a short time, falls over by a general protection fault.
# Xen saves SSE registers when somebody wants them (CR0.TS) unless told to be eager; in
# this emulation dom0's programs then find those of a Linux domain in theirs, and fall over.
_XEN_PC = ("qemu-system-x86_64 -M q35 -cpu EPYC,+svm,+npt,-smap,-monitor -smp 1 "
           "-m 6144 -chardev file,id=log,path={log} "
           "-device isa-serial,chardev=log,index=1,iobase=0x2f8,irq=3 "
           "-kernel {hypervisor} -append 'console=com2 com2=115200,8n1 "
           "dom0_mem=1024M,max:1024M bootscrub=0 spec-ctrl=eager-fpu guest_loglvl=all "
           "conring_size=4M' "
           "-initrd '{kernel} console=ttyS0 panic=-1 mitigations=off quiet,{initrd}'")
_XEN_FILES = ("/usr/lib/xen-*/bin/xenstored", "/usr/lib/xen-*/bin/xenconsoled",
              "/usr/lib/xen-*/bin/xen-init-dom0", "/usr/lib/xen-*/bin/xl",
              "/usr/lib/xen-*/bin/xenctx")
_QEMU_XEN = ("/usr/lib/xen-*/boot/hvmloader", "/usr/libexec/xen-qemu-system-i386",
             "/usr/share/seabios/bios-256k.bin", "/usr/share/qemu/linuxboot.bin",
             "/usr/share/qemu/keymaps/en-us", "/usr/share/qemu/linuxboot_dma.bin",
             "/usr/share/qemu/kvmvapic.bin")
# dom0 has the serial port, which Xen would otherwise keep: "none" is no device.  QEMU has
# its device tree at 0x48000000.
_XEN_ARM = ("qemu-system-aarch64 -M virt,virtualization=on,gic-version=3 -cpu cortex-a57 "
            "-smp 1 -m 6144 -kernel {hypervisor} "
            "-append 'console=none dtuart=none dom0_mem=1024M bootscrub=0' "
            "-device guest-loader,addr=0x49000000,kernel={kernel},"
            "bootargs='console=ttyAMA0 panic=-1 nokaslr mitigations=off quiet' "
            "-device guest-loader,addr=0x50000000,initrd={initrd}")
# Loaded at run time.
_XEN_LIBRARIES = ("libgcc_s.so.1", "libxencall.so.1", "libxenforeignmemory.so.1",
                  "libxenstore.so.4")
_XEN_MODULES = ("xen-privcmd", "xenfs", "xen-evtchn", "xen-gntdev", "xen-gntalloc")
# To compile uniscope against.
_LIBRARIES = ("libc6-dev", "libelf-dev", "libdw-dev", "libjansson-dev", "libcmocka-dev",
              "libbpf-dev")

# One set for both hypervisors: it is fetched once, and uniscope is compiled once.
_ARM_PACKAGES = ("qemu-system-arm", "ipxe-qemu", "xen-hypervisor-4.17-arm64",
                 "xen-utils-4.17", "libxen-dev", "busybox-static", "python3") + _LIBRARIES

_KVM_PC = dict(
    arch="x86_64", qemu=_PC, console="ttyS0", setup="kvm.sh",
    kernel="linux-image-cloud-amd64", modules=("irqbypass", "kvm", "kvm-amd"),
    files=_PYTHON + _QEMU_PC,
    links={"/usr/share/qemu/bios-microvm.bin": "qboot.rom",
           "/usr/share/qemu/bios-256k.bin": "../seabios/bios-256k.bin",
           "/usr/share/qemu/vgabios-stdvga.bin": "../seabios/vgabios-stdvga.bin",
           "/usr/share/qemu/efi-e1000e.rom": "/usr/lib/ipxe/qemu/efi-e1000e.rom"})

_KVM_TRIXIE = _KVM_PC | dict(
    suite="trixie", packages=("qemu-system-x86", "python3", "libelf1t64", "libdw1t64",
                              "libjansson4"))

_KVM_ARM = dict(
    arch="aarch64", console="ttyAMA0", kernel="linux-image-cloud-arm64", setup="kvm.sh",
    files=_PYTHON + ("/usr/bin/qemu-system-aarch64", "/usr/lib/ipxe/qemu/efi-virtio.rom"),
    links={"/usr/share/qemu/efi-virtio.rom": "/usr/lib/ipxe/qemu/efi-virtio.rom"},
    suite="bookworm", packages=_ARM_PACKAGES)

_XEN_PC_HOST = dict(
    arch="x86_64", qemu=_XEN_PC, console="ttyS0",
    kernel="linux-image-amd64", setup="xen.sh", modules=_XEN_MODULES,
    hypervisor="/boot/xen-*-amd64.gz",
    files=_PYTHON + _XEN_FILES
    + tuple("/usr/lib/x86_64-linux-gnu/" + name for name in _XEN_LIBRARIES))

_XEN_PC_PACKAGES = ("xen-hypervisor-4.17-amd64", "xen-utils-4.17", "libxencall1",
                    "libxendevicemodel1", "libxenevtchn1", "libxenforeignmemory1",
                    "libxengnttab1", "libxenhypfs1", "libxenmisc4.17", "libxenstore4",
                    "libxentoolcore1", "libxentoollog1", "libyajl2", "libncurses6",
                    "libtinfo6")

RIGS = {
    "kvm-x86_64": Rig(**_KVM_PC),
    "kvm-x86_64-full": Rig(**_KVM_PC | {
        "kernel": "linux-image-amd64",
        "modules": ("irqbypass", "ccp", "kvm", "kvm-amd")}),
    # A processor without nested paging: KVM keeps shadows of the guest's page tables.
    "kvm-x86_64-shadow": Rig(**_KVM_PC | {"qemu": _PC.replace(",+npt", "")}),
    # Without CMPXCHG16B: this kernel's allocator uses it at each step, and now and then
    # falls over behind it by a double fault, in this emulation.
    "kvm-x86_64-trixie": Rig(
        **_KVM_TRIXIE | {"qemu": _PC.replace("+npt", "+npt,-cx16")}),
    "kvm-x86_64-trixie-shadow": Rig(
        **_KVM_TRIXIE | {"qemu": _PC.replace("+npt", "-cx16")}),
    # KVM in EL1 with a part in EL2 (nVHE), for this processor has no more; and all of it
    # in EL2 (VHE).
    "kvm-aarch64": Rig(**_KVM_ARM, qemu=_ARM.format(cpu="cortex-a72")),
    "kvm-aarch64-vhe": Rig(**_KVM_ARM, qemu=_ARM.format(cpu="neoverse-n1")),
    "xen-x86_64": Rig(
        **_XEN_PC_HOST,
        packages=_XEN_PC_PACKAGES),
    # A CPU for dom0 alone, and one for the domains.
    "xen-x86_64-two": Rig(
        **_XEN_PC_HOST | {"qemu": _XEN_PC.replace("-smp 1", "-smp 2").replace(
            "dom0_mem", "dom0_max_vcpus=1 dom0_vcpus_pin dom0_mem")},
        packages=_XEN_PC_PACKAGES),
    # With what emulates the devices of HVM domains.
    "xen-x86_64-hvm": Rig(
        **_XEN_PC_HOST | {"files": _XEN_PC_HOST["files"] + _QEMU_XEN},
        packages=_XEN_PC_PACKAGES + ("qemu-system-xen",)),
    "xen-x86_64-trixie": Rig(
        **_XEN_PC_HOST, suite="trixie",
        packages=("xen-hypervisor-4.20-amd64", "xen-utils-4.20", "python3", "libelf1t64",
                  "libdw1t64", "libjansson4")),
    "xen-aarch64": Rig(
        arch="aarch64", qemu=_XEN_ARM, console="ttyAMA0",
        kernel="linux-image-cloud-arm64", setup="xen.sh", modules=_XEN_MODULES,
        hypervisor="/boot/xen-*-arm64*",
        files=_PYTHON + _XEN_FILES
        + ("/lib/aarch64-linux-gnu/libgcc_s.so.1",)
        + tuple("/usr/lib/aarch64-linux-gnu/" + name for name in _XEN_LIBRARIES[1:]),
        suite="bookworm", packages=_ARM_PACKAGES),
}
