#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""uniscope boot: boots that fail.

usage: test_boot.py PROGRAM SOURCE-DIR [CLASS[.TEST]...]: those of these names, or all
"""
import json
import os
import shutil
import time

from cli import PROGRAM, GuestCli, main, run


# A VMM with a monitor: its guest is in the state that is its first argument.
STOPPED = """#!/usr/bin/env python3
import json, socket, sys
at = next(a for a in sys.argv if a.startswith("unix:"))
listener = socket.socket(socket.AF_UNIX)
listener.bind(at[len("unix:"):].split(",")[0])
listener.listen()
print("up", flush=True)
if sys.argv[1] == "internal-error":
    print("KVM internal error. Suberror: 1" + 30 * "\\nCS =0008 00000000 ffffffff", file=sys.stderr, flush=True)
while True:
    peer, _ = listener.accept()
    f = peer.makefile("rw")
    print(json.dumps({"QMP": {"version": {}, "capabilities": []}}), file=f, flush=True)
    for line in f:
        asked = json.loads(line)
        said = {"status": sys.argv[1], "running": False} if asked["execute"] == "query-status" else {}
        print(json.dumps({"return": said, "id": asked.get("id")}), file=f, flush=True)
"""


class Boot(GuestCli):
    def test_boots_until_one_fails(self):
        """What was seen before is shown; the VMM is any program that writes."""
        vm = f"echo x >> {self.path('n')}; [ $(wc -l < {self.path('n')}) -lt 3 ] && echo up || exit 3"
        boot = ["boot", "-n", "5", "--no-cost", "--until", "serial:up"]
        done = self.fails(1, "boot 3 of 5 failed: boot: the VMM ended \\(status 3\\) before serial:up",
                          *boot, "--", "sh", "-c", vm)
        self.assertIn("sh, 2 runs;", done.stdout)
        os.unlink(self.path("n"))
        done = self.fails(1, "boot 3 of 5 failed", *boot, "--json", "--", "sh", "-c", vm)
        self.assertEqual(json.loads(done.stdout)["runs"], 2)

    def test_compared_boots_until_one_fails(self):
        self.fails(1, "--compare none: No such file.*\\n.*JSON", "boot", "--compare", "none")
        vm = f"echo x >> {self.path('n')}; [ $(wc -l < {self.path('n')}) -lt 3 ] && echo up || exit 3"
        with open(self.path("v.json"), "w") as f:
            json.dump({"variants": [{"name": n, "until": ["serial:up"], "command": ["sh", "-c", c]}
                                    for n, c in (("good\u001b", "echo up"), ("bad", vm))]}, f)
        done = self.fails(1, "boot 3 of 4 failed: bad: the VMM ended", "boot", "-n", "4", "--by", "output",
                          "--compare", self.path("v.json"))
        self.assertIn("2 or 3 boots of each in turn", done.stdout)
        self.assertIn("bad: its phases cannot be seen here: --by output does not show this", done.stdout)
        self.assertNotIn("\u001b", done.stdout)
        os.unlink(self.path("n"))
        done = self.fails(1, "boot 3 of 4 failed", "boot", "-n", "4", "--json", "--compare",
                          self.path("v.json"))
        self.assertEqual([v["runs"] for v in json.loads(done.stdout)["variants"]], [3, 2])

    def test_boots_that_end_before_the_point(self):
        """At once, whoever still holds the output; and with what there is to say about it."""
        begin = time.monotonic()
        self.fails(1, "VMM ended \\(status 3\\) before serial:up: early", "boot", "-t", "60", "--until",
                   "serial:up", "--", "sh", "-c", f"sleep 600 & echo $! > {self.path('pid')}; echo early; exit 3")
        self.assertLess(time.monotonic() - begin, 30)
        with open(self.path("pid")) as f:
            helper = int(f.read())

        def is_gone():
            try:
                with open(f"/proc/{helper}/stat") as f:
                    return ") Z " in f.read()
            except FileNotFoundError:
                return True
        self.wait_for(is_gone)
        self.fails(1, "before serial:up: bye\n.*the guest ended before it", "boot", "--until", "serial:up",
                   "--", "sh", "-c", "echo bye")
        self.fails(1, "it wrote nothing\n  try: a VMM that goes to the background", "boot", "--until",
                   "serial:up", "--", "true")
        self.fails(1, "because: --by output does not show this", "boot", "--by", "output", "--until", "main",
                   "-e", PROGRAM, "--", "true")

    def test_guests_that_are_stopped_for_good(self):
        """QEMU stays, and says why if it is asked; here it is one that only says so."""
        vm = self.path("qemu-system-x86_64")
        with open(vm, "w") as f:
            f.write(STOPPED)
        os.chmod(vm, 0o755)
        for state, said, hint in (("internal-error", "KVM internal error. Suberror: 1", "KVM cannot go on"),
                                  ("io-error", "up", "a disk's file"),
                                  ("guest-panicked", "up", "it panicked")):
            begin = time.monotonic()
            self.fails(1, f"QEMU stopped the guest for good \\({state}\\) before serial:never: {said}.*\n"
                       f"  try: .*{hint}", "boot", "--by", "output", "-t", "300", "--until", "serial:never", "--",
                       vm, state)
            self.assertLess(time.monotonic() - begin, 200)
        self.fails(1, "serial:never was not reached in 4 s", "boot", "--by", "output", "-t", "4", "--until",
                   "serial:never", "--", vm, "paused")

    def test_a_guest_that_ends_and_keeps_its_vmm(self):
        """A triple fault in a real QEMU."""
        if not shutil.which("qemu-system-x86_64"):
            self.skipTest("qemu-system-x86_64 is not installed")
        with open(self.path("disk"), "wb") as f:
            #       lidt [0x7c20] (of limit 0); int3
            f.write(b"\x0f\x01\x1e\x20\x7c\xcc".ljust(510, b"\0") + b"\x55\xaa")
        begin = time.monotonic()
        self.fails(1, "stopped the guest for good \\(shutdown\\) after boot sector, before serial:never: .*\n"
                   "  try: the guest ended itself .*-no-shutdown keeps QEMU", "boot", "-t", "300", "--until",
                   "serial:never", "--", "qemu-system-x86_64", "-accel", "tcg", "-display", "none", "-net",
                   "none", "-serial", "stdio", "-no-reboot", "-no-shutdown", "-drive",
                   f"file={self.path('disk')},format=raw")
        self.assertLess(time.monotonic() - begin, 200)

    def test_processors_that_are_not_known(self):
        """Their addresses and registers say nothing; what they write does."""
        vm = self.path("qemu-system-s390x")
        with open(vm, "w") as f:
            f.write("#!/bin/sh\necho up\n")
        os.chmod(vm, 0o755)
        for way in ([], ["--by", "log"], ["--by", "breakpoints"]):
            self.fails(1, "boot: the guest's processor is s390x; .*\n  try: --by output", "boot", *way, "--", vm)
        with open(self.path("v.json"), "w") as f:
            json.dump({"variants": [{"name": n, "command": [vm]} for n in "ab"]}, f)
        self.fails(1, "the guest's processor is s390x", "boot", "--compare", self.path("v.json"))
        done = run("boot", "--by", "output", "--", vm)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("first serial byte", done.stdout)


if __name__ == "__main__":
    main()
