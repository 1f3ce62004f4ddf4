#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`uniscope top` in a terminal: screens of several sizes, keys, what becomes of the
terminal and of the guest, and whether it shows what report shows.

usage: top.py BUILD [--short]
The terminal is tmux's; the guest runs under TCG and is looked at by its stub.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Guest, Skip, Tap, Uniscope, patience, require, require_way  # noqa: E402

WAIT_S = 60
ROW = re.compile(r"^ *(\d+\.\d) +(\d+\.\d) +[\d.]+-[\d.]+ [ ▏▎▍▌▋▊▉█]{0,11} *(\w+)")


class Terminal:
    """A shell in a terminal of that size."""

    def __init__(self, folder, columns, rows, locale="C.UTF-8", term="tmux-256color"):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        self.server = ["tmux", "-S", os.path.join(folder, f"tmux{columns}x{rows}{term}"),
                       "-f", "/dev/null"]
        self.env = {**os.environ, "LC_ALL": "C.UTF-8"}
        self.tmux("new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(rows),
                  f"env -u TMUX LC_ALL={locale} TERM={term} PS1='$ ' dash")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *args):
        return subprocess.run([*self.server, *args], capture_output=True, text=True,
                              env=self.env, check=False).stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def type(self, text):
        self.tmux("send-keys", "-t", "t", "-l", text)

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def until(self, pattern, enough=lambda found: True):
        """The screen once it has that; what stands there is told if it does not come."""
        end = patience.clock() + WAIT_S
        while patience.clock() < end:
            text = self.screen()
            found = re.search(pattern, text, re.M)
            if found and enough(found):
                return text
            time.sleep(0.1)
        raise AssertionError(f"no {pattern!r} on the screen:\n{text}")

    def command(self, *argv):
        self.type(" ".join(argv))
        self.keys("Enter")


class Way:
    """For what no other guest of this host is disturbed by."""
    backend, accel = "bpf", "kvm"


def rows(screen):
    """{function: (self, total)} of a screen."""
    found = (ROW.match(line) for line in screen.splitlines())
    return {m[3]: (float(m[1]), float(m[2])) for m in found if m}


def top_pid(guest):
    """Of the uniscope that looks at this guest."""
    return int(subprocess.run(["pgrep", "-f", f"top .*{guest.gdb}"], capture_output=True,
                              text=True, check=True).stdout.split()[0])


def freeze(t, seconds, saved):
    """The screen when it has looked for so long; what it is of is saved."""
    # What is frozen says so behind the time, on the same line.
    t.until(r"since the start, (\d+) s *$", lambda found: int(found[1]) >= seconds)
    t.keys("f")
    screen = t.until("FROZEN")
    t.keys("o", "C-u")
    t.until("save to: _")
    t.type(saved)
    t.keys("Enter")
    t.until("saved to .*" + os.path.basename(saved))
    return screen


def compare(told, shown):
    """What stood on the screen, frozen, is what report says of the same samples."""
    n = told["summary"]["running"]
    assert n > 100, n
    by_name = {f["name"]: f for f in told["functions"]}
    assert len(shown) >= 3, shown
    for name, (self_, total) in shown.items():
        f = by_name[name]
        assert abs(self_ - 100 * f["self"] / n) < 0.06, (name, self_, f, n)
        assert abs(total - 100 * f["total"] / n) < 0.06, (name, total, f, n)
    hottest = max(told["functions"], key=lambda f: f["self"])
    assert hottest["name"] in shown


def main():
    build = Way.build = os.path.abspath(sys.argv[1])
    us = Uniscope(build)
    tap = Tap()
    require("tcg")
    with tempfile.TemporaryDirectory() as folder, Guest(build, "demo", "tcg", 2) as g:
        g.wait("READY")
        top = [us.program, "top", "-F", "200", "--budget", "50", "-e", g.elf,
               "gdb:" + g.gdb]

        def small():
            with Terminal(folder, 80, 24) as t:
                t.command(*top, "-w", "all")
                screen = t.until(r"^vCPU 1 .*guest +\d[\s\S]*copy_bytes_naive")
                lines = screen.splitlines()
                assert len(lines) <= 24 and all(len(line) <= 80 for line in lines)
                assert "self % total %" in screen and "o save" in screen, screen
                # The callers of a function: of the only row, for another may be the
                # hottest while there are few samples.
                t.keys("/")
                t.until("only names like: _")
                t.type("^copy_bytes_naive$")
                t.keys("Enter")
                t.until(r"/\^copy_bytes_naive\$/")
                t.keys("Enter")
                t.until(r"called by:\n.*copy_packet\b")
                t.keys("Escape")
                t.until("o save")
                t.keys("/", "C-u", "Enter")
                t.until("checksum")
                # The stack of a vCPU now.
                t.keys("t")
                t.until(r"stack of vCPU 0 now[\s\S]*(server_thread|thread_entry|_thread)")
                t.keys("v")
                t.until("stack of vCPU 1 now")
                t.keys("Escape")
                t.until("o save")
                t.keys("/")
                t.until("only names like: _")
                t.type("^checksum$")
                t.keys("Enter")
                screen = t.until(r"/\^checksum\$/")
                assert "copy_bytes_naive" not in screen, screen
                t.keys("/", "C-u", "Enter")
                t.until("copy_bytes_naive")
                t.keys("s")
                t.until(r"95 % \(total\)")
                t.keys("h")
                t.until("choose a row")
                t.keys("h", "q")
                t.until(r"^\$ ?$")  # what is typed before it, top reads as keys
                t.type("echo left=$?")
                t.keys("Enter")
                screen = t.until("left=0$")
                assert "copy_bytes" not in screen, f"it is still there:\n{screen}"

        def saved_is_shown():
            with Terminal(folder, 200, 50) as t:
                t.command(*top, "-w", "all")
                t.until(r"copy_bytes_naive")
                for seconds in (6, 15, 30, 60):  # a busy host has few samples
                    saved = os.path.join(folder, f"saved{seconds}.data")
                    screen = freeze(t, seconds, saved)
                    told = json.loads(us.run("report", "--json", saved).stdout)
                    if told["summary"]["running"] > 100:
                        break
                    t.keys("f")
                lines = screen.splitlines()
                assert len(lines) <= 50 and any(len(line) > 100 for line in lines)
                t.keys("C-c")
                t.until(r"^\$ ?$")
                compare(told, rows(screen))

        def resized():
            with Terminal(folder, 120, 40, locale="C") as t:
                t.command(*top)
                screen = t.until("copy_bytes_naive")
                assert all(ord(c) < 128 for c in screen), screen
                for columns, lines in (20, 5), (300, 60), (80, 24):
                    t.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(lines))
                    screen = t.until(r"copy_bytes|co.*ive" if columns > 20 else r"\d\d\.\d co")
                    assert len(screen.splitlines()) <= lines
                t.until("o save")
                os.kill(top_pid(g), signal.SIGTERM)
                t.until(r"^\$ ?$")

        def killed():
            with Terminal(folder, 80, 24) as t:
                t.command(*top)
                t.until("copy_bytes_naive")
                os.kill(top_pid(g), signal.SIGKILL)
                t.until(r"\s*".join("Killed"))  # behind the foot of the screen
                assert g.goes_on(), "the guest stands"
                t.type("reset; echo re''ady")  # it waits for slow terminals
                t.keys("C-j")
                t.until("^ready")
                t.type("echo us$((1 + 1))able")
                t.keys("Enter")
                t.until("us2able$")
                assert "echo us$((" in t.screen(), "it does not echo"

        def closed():
            with Terminal(folder, 80, 24) as t:
                t.command(*top)
                t.until("copy_bytes_naive")
                pid = top_pid(g)
                t.tmux("kill-server")
                end = patience.clock() + WAIT_S
                while os.path.exists(f"/proc/{pid}"):
                    assert patience.clock() < end, "it goes on without its terminal"
                    time.sleep(0.1)

        def unknown():
            with Terminal(folder, 80, 24, term="no-such-terminal") as t:
                t.command(*top, "-d", "2", "2>&1", "|", "cat")
                t.until(r"copy_bytes_naive")
                t.command("clear", ";", *top, "-d", "2")
                t.until("TERM=no-such-terminal: terminfo does not know it")
                t.until(r"^# .* by gdb")

        def guest_ends():
            with Terminal(folder, 80, 24) as t, Guest(build, "demo", "tcg", 1) as other:
                other.wait("READY")
                t.command(us.program, "top", "-e", other.elf, "gdb:" + other.gdb)
                t.until("copy_bytes_naive")
                other.vm.kill()
                other.vm.wait()
                screen = t.until("ENDED")
                assert "copy_bytes_naive" in screen
                t.keys("q")
                t.until(r"^\$ ?$")

        def all_guests():
            require_way(Way)
            with Terminal(folder, 100, 30) as t, \
                    Guest(build, "shares", "kvm", memory=32) as first:
                first.wait("READY")
                t.command(us.program, "top", "--all", "--backend", "bpf")
                t.until(r"\(shares\) +\d+\.\d +\d+\.\d +\d+\.\d  \w+")
                with Guest(build, "idle", "kvm", memory=32) as other:
                    t.until(r"\(idle\) +\d")
                    other.vm.kill()
                    other.vm.wait()
                t.until(r"\(idle\) +[a-zA-Z]{2}")
                # Into one, whichever is the first, and back.
                t.keys("g", "Enter")
                t.until(r"^vCPU 0 ")
                t.keys("Escape")
                t.until(r"guests? on this host")
                t.keys("q")
                t.until(r"^\$ ?$")

        tests = (small, saved_is_shown, killed, closed, resized, unknown, guest_ends,
                 all_guests)
        for test in tests[:3] if "--short" in sys.argv[2:] else tests:
            tap.point(f"top: {test.__name__}", test)
    tap.end()


if __name__ == "__main__":
    main()
