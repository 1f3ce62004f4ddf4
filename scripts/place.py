# SPDX-License-Identifier: GPL-2.0-or-later
"""Where figures come from: commit and machine."""
import os
import platform
import re
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]
    except OSError:
        return ""


def place(*sources):
    """Commit and machine, in words; sources: what the figures depend on."""
    git = ["git", "-C", TOP]
    changed = first_line(*git, "status", "--porcelain", "-uno", "--", *sources)
    commit = first_line(*git, "describe", "--always", "--abbrev=10")
    cpu = re.search(r"^model name[^:]*: (.*)", open("/proc/cpuinfo").read(), re.M)
    qemu = re.search(r"version ([0-9.]+)", first_line("qemu-system-x86_64", "--version"))
    return ", ".join(filter(None, [
        f"commit {commit}{' with changes' if changed else ''}",
        f"{os.cpu_count()} CPUs", cpu and cpu[1] or platform.machine(),
        f"Linux {platform.release().split('-')[0]}", qemu and f"QEMU {qemu[1]}"]))
