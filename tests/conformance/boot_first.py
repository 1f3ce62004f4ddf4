# SPDX-License-Identifier: GPL-2.0-or-later
"""Which function of a kernel uniscope boot takes for its first, by its name or by what the
entry calls.  Part of boot.py."""
import os
import shutil
import subprocess

import anywhere
from boots import VIRT, Boots
from harness import Skip, check, note


class FirstFunctions(Boots):
    def usual_names(self):
        # A guest that is halted nearly always: a busy one may not be before it is ended.
        at, told = self.moments(elf=self.elf("idle.elf"))
        check("kmain" in at and "first idle" in at, f"{list(at)}")
        check(told["first_function"] is None, f"{told['first_function']}")

    def unseen(self, guest, to=b"Xmain", folder="tests/guests", strip=()):
        """A guest whose kmain has another name; with strip, without more of it."""
        path = self.us.data(f"unseen-{guest}.elf")
        with open(self.elf(guest + ".elf", folder), "rb") as f:
            elf = f.read()
        with open(path, "wb") as f:
            f.write(elf.replace(b"\0kmain\0", b"\0" + to + b"\0"))
        if strip:
            subprocess.run(["strip", *strip, path], check=True)
        return path

    def finds(self, name, elf, **more):
        at, told = self.moments("--by", "plugin", elf=elf, **more)
        names = [p["name"] for p in told["points"]]
        check(name in at, f"{names}")
        check(told["first_function"].startswith(f"{name}: the first function "), f"{told}")
        check(names.index("kernel entry") < names.index(name), f"{names}")
        note(f"{os.path.basename(elf)}: {name}, {at[name]['instructions']['median'] - at['kernel entry'].get('instructions', {'median': 0})['median']} instructions "
             f"behind the entry")

    def entry_calls(self):
        """32-bit code calls something if the processor is too old, and leads to 64-bit code
        in the higher half: what that calls."""
        self.finds("boot_main", self.unseen("demo"))
        self.finds("boot_main", self.unseen("demo", strip=("-g",)))
        if os.path.exists(os.path.join(self.args.build, "tests/guests/shares-pae.elf")):
            self.finds("boot_main", self.unseen("shares-pae"))

    def entry_calls_elsewhere(self):
        if self.args.qemu:
            raise Skip("of this machine's QEMU")
        for processor, more in (("aarch64", ("-cpu", "max")), ("riscv64", ())):
            program = f"qemu-system-{processor}"
            if not shutil.which(program):
                note(f"{program} is not there")
                continue
            self.finds("build_tables", self.unseen(f"counted-{processor}",
                                                   folder="tests/guests/ports"),
                       program=program, pc=(*VIRT, *more))

    def other_names(self):
        """In any case, and behind underscores."""
        for name, told in ((b"KMAIN", "kmain"), (b"_main", "main"), (b"Main_", None)):
            at, _ = self.moments(elf=self.unseen("leaf", name))
            check(("boot_main" if told is None else told) in at, f"{name}: {list(at)}")

    def anywhere(self):
        """A kernel that runs wherever its loader puts it, at another place each time."""
        elf, kernel = anywhere.build(self.us.data("anywhere"), anywhere.TWINS)
        for _ in range(2):
            at, told = self.moments("--until", "kernel_main", "-e", kernel, elf=elf)
            names = [p["name"] for p in told["points"]]
            check(names.index("kernel entry") < names.index("kernel_main") <
                  names.index("first serial byte"), f"{names}")
            insns = [at[n]["instructions"]["median"] for n in ("kernel entry", "kernel_main")]
            check(insns[1] - insns[0] == 1, f"{insns}")  # the entry calls it
        # Of two that look the same, none is taken for the other.
        self.complaint("twin was not reached in 2 s", "--until", "twin", "-t", "2", "-e", kernel,
                       elf=elf)

    def entry_calls_anywhere(self):
        """The same kernel, whose function has no usual name."""
        elf, kernel = anywhere.build(self.us.data("anywhere-first"),
                                     anywhere.TWINS.replace("kernel_main", "begins"))
        subprocess.run(["strip", "-s", elf], check=True)
        at, told = self.moments("--by", "plugin", "-e", kernel, elf=elf)
        check("begins" in at and "as its code says" in told["first_function"], f"{told}")

    def without_symbols(self):
        """Its entry is all there is, and it is said why."""
        elf = self.unseen("leaf", strip=("-s",))
        folder = self.us.data("alone")
        os.makedirs(folder, exist_ok=True)
        elf = shutil.move(elf, os.path.join(folder, "k.elf"))
        with open(elf, "r+b") as f:  # nothing beside it is of its build then
            head = f.read()
            at = head.index(b"GNU\0", head.index(b"\x14\0\0\0\x03\0\0\0GNU\0"))
            f.seek(at + 4)
            f.write(b"x" * 20)
        at, told = self.moments(elf=elf)
        check("kernel entry" in at and "kmain" not in at, f"{list(at)}")
        check("k.elf has no symbols" in told["first_function"], f"{told}")

    def any_image(self):
        """The kernel is what is booted, if it has names, or else the image with the function."""
        if missing := [p for p in ("gcc", "ld", "objcopy") if not shutil.which(p)]:
            raise Skip(f"{missing[0]} is not installed")
        firmware, bare, elf = self.named_firmware(), self.us.data("bare"), self.elf("demo.elf")
        subprocess.run(["objcopy", "-S", elf, bare], check=True)
        for kernel, images in ((bare, (firmware, elf)), (bare, (elf, firmware)),
                               (elf, (firmware, elf))):
            options = [x for image in images for x in ("-e", image)]
            at, _ = self.moments("--until", "boot_main", *options, elf=kernel)
            behind = (at["boot_main"]["instructions"]["median"] -
                      at["kernel entry"]["instructions"]["median"])
            check(behind == 1263, f"{behind} instructions behind the entry")  # as elsewhere
