# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope boot --profile: where the time of a boot goes.  Part of boot.py."""
import importlib.util
import json
import os
import shutil

from boots import CLOCK, PC, Boots
from harness import Skip, check, note


def disks():
    """tests/boot/images.py; there is another images here."""
    spec = importlib.util.spec_from_file_location("disks", os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "..", "boot", "images.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Profiles(Boots):
    def profile(self, *options, out=None, **more):
        """What --json says of it, and where the recording is."""
        out = out or self.us.data("boot.data")
        told = self.boot("--json", "--no-cost", "--profile", "-o", out, *options, **more)
        return {p["name"]: p for p in told["points"]}, told["profile"], out

    def profile_adds_up(self):
        """Instructions are the clock, so the boot that is counted is the one that is timed:
        what its phases have until a function is what was executed before it."""
        at, told, out = self.profile("--until", "kmain", vm=CLOCK)
        names = [p["name"] for p in told["phases"]]
        insns = {p["name"]: p["instructions"] for p in told["phases"]}
        note(f"{insns}")
        check(names[:2] == ["firmware", "kernel"] and told["by"] == "plugin", f"{told}")
        check(sum(insns.values()) == told["instructions"], f"{told}")
        check("from kmain" not in names, f"{names}")
        counted = told["instructions"]
        timed = at["kmain"]["instructions"]["median"]
        check(counted == timed, f"{counted} until kmain, {timed} where it is timed")
        entry = at["kernel entry"]["instructions"]["median"]
        check(insns["firmware"] == entry == max(insns.values()), f"{insns}, {entry}")
        self.profile_names(told, out)
        self.profile_devices(told)

    def profile_names(self, told, out):
        """Of the kernel's phase all functions are the kernel's, below their callers."""
        folded = self.us.run("report", "-f", "folded", out).stdout.splitlines()
        rows = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1]))
                for line in folded]
        check(sum(n for _, n in rows) == told["instructions"], "not all is in the tree")
        for phase in told["phases"]:
            below = sum(n for path, n in rows
                        if path[0] == f"[{phase['name']}]")
            check(below == phase["instructions"], f"{phase}: {below}")
        kernel = [path for path, _ in rows if path[0] == "[kernel]"]
        check(any(path[-1] == "boot_main" for path in kernel), f"{kernel[:5]}")
        strange = [path for path in kernel if path[-1].startswith("0x")]
        check(not strange, f"{strange[:5]}")
        text = self.us.run("report", "-f", "phases", out).stdout
        check("[firmware]" in text and "[kernel]" in text, text)

    def profile_devices(self, told):
        """The demo's clocks: each look at the PIT writes port 0x43 once and reads 0x42 twice
        (tests/guests/x86/clock.c); the local APIC is a page of memory."""
        used, = (d for d in told["devices"] if d["phase"] == "kernel")
        ports = {p.get("address"): p["n"] for p in used["ports"]["most"]}
        note(f"kernel: {used}")
        check(ports[0x43] > 100 and abs(ports[0x42] - 2 * ports[0x43]) <= 4, f"{ports}")
        check(used["ports"]["n"] >= sum(ports.values()), f"{used}")
        apic = used["memory"]["most"][0]
        check("apic" in apic["device"] and apic["address"] == 0xfee00000, f"{apic}")
        firmware, = (d for d in told["devices"] if d["phase"] == "firmware")
        check(firmware["ports"]["n"] > 0 and firmware["memory"]["n"] > 0, f"{firmware}")

    def profile_as_a_file(self):
        """As report -o: by the suffix; and what it costs is told.  (A page:
        tests/web/check-boot-page.)"""
        out = self.us.data("boot.folded")
        done = self.boot("--no-cost", "--profile", "--until", "kmain", "-o", out)
        check(f"wrote {out}" in done.stdout, done.stdout)
        check("its cost: kmain after " in done.stdout, done.stdout)
        check("[firmware]" in done.stdout and "[kernel]" in done.stdout, done.stdout)
        check(not os.path.exists(out + ".data"), "the recording is left")
        with open(out, encoding="utf-8") as f:
            text = f.read()
        check(text.startswith("[firmware];") and "\n[kernel];" in text, text[:200])

    def profile_of_a_disk(self):
        """The loader in its first sector has the firmware read all others, in words of two
        bytes from one port."""
        if missing := [p for p in ("gcc", "ld", "nm", "objcopy") if not shutil.which(p)]:
            raise Skip(f"{missing[0]} is not installed")
        elf, disk = self.us.data("demo.elf"), self.us.data("sector.img")
        shutil.copy(self.elf("demo.elf"), elf)
        disks().own_loader(elf, disk)
        firmware = self.named_firmware()
        told = json.loads(self.us.run(
            "boot", "--json", "--no-cost", "--profile", "-o", self.us.data("disk.data"),
            "--until", "boot_main", "-e", firmware, "-e", elf, "--", self.qemu.program, "-M",
            "pc", "-m", "64", "-net", "none", "-display", "none", "-drive",
            f"file={disk},format=raw,if=ide").stdout)["profile"]
        names = [p["name"] for p in told["phases"]]
        check(names[:3] == ["firmware", "loader", "kernel"], f"{names}")
        top = told["phases"][0]["functions"][0]["name"]
        check(top == "seabios", f"{told['phases'][0]}")
        used, = (d for d in told["devices"] if d["phase"] == "loader")
        note(f"loader: {used}")
        words = (os.path.getsize(disk) - 512) // 2
        ports = {p.get("address"): p["n"] for p in used["ports"]["most"]}
        check(ports.get(0x1f0) == words, f"{ports}, {words} words")

    def profile_of_32_bit(self):
        """QEMU of another version and processor has its state elsewhere: all ports are known."""
        program = "qemu-system-i386"
        if self.args.qemu or not shutil.which(program) or os.uname().machine != "x86_64":
            raise Skip(f"{program} of this machine, on x86-64")
        _, told, _ = self.profile("--until", "kmain", program=program,
                                  elf=self.elf("shares-flat.elf"), pc=("-M", "pc", *PC[2:]))
        used, = (d for d in told["devices"] if d["phase"] == "kernel")
        ports = {p["address"]: p["n"] for p in used["ports"]["most"]}
        note(f"kernel: {ports}")
        check(None not in ports and abs(ports[0x42] - 2 * ports[0x43]) <= 4, f"{ports}")

    def profile_of_two(self):
        """Two vCPUs, which run at once."""
        _, told, _ = self.profile("--until", "kmain", "--until", "serial:BEAT",
                                  vm=("-smp", "2"), elf=self.elf("shares.elf"))
        total = sum(p["instructions"] for p in told["phases"])
        check(total == told["instructions"], f"{told}")
        check(told["phases"][0]["name"] == "firmware", f"{told}")

    def profile_of_what_it_did(self):
        """A guest that does not come there: all until it was given up."""
        out = self.us.data("never.data")

        def folded():
            return self.us.run("report", "-f", "folded", out).stdout
        done = self.given_up(lambda _: "copy_packet" in folded(), "--profile", "-o", out)
        check("[kernel]" in done.stdout and f"wrote {out}" in done.stdout, done.stdout)
        check("copy_packet" in folded(), folded()[-400:])

    def profile_mistakes(self):
        self.complaint("-o -: the results of boot", "--profile", "-o", "-", code=2)
        self.complaint("create /nowhere/x.html.data", "--profile", "-o", "/nowhere/x.html")
        self.complaint("with -daemonize qemu cannot be watched", "--profile",
                       vm=("-daemonize",))
        self.complaint("the suffix names no profile", "--profile", "-o", "x.svg", code=2)
        out = self.us.data("none.html")
        self.complaint("no such function", "--profile", "-o", out, "--until",
                       "nowhere_at_all")
        check(not os.path.exists(out) and not os.path.exists(out + ".data"), "empty files")
        done = self.us.run("boot", "--profile", "--compare", "/nowhere/v.json", good=(2,))
        check("--profile is of one guest" in done.stderr, done.stderr)
