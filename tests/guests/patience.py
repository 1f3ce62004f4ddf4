# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test waits by: a clock that stands while others have this machine's CPUs.

A host may take them away (steal, proc(5)) for minutes, and so may other programs on this
machine; that makes a guest slow, not wrong.
"""
import os
import subprocess
import time

# Nobody waits for ever: it runs at a tenth of the wall's at least.
_SLOWEST = 10
# A host in emulation does not see what was taken from the emulator: it says so much.
SLOWER = float(os.environ.get("PATIENCE", 1))


def _now():
    """Seconds since the machine started that the CPUs were ours, in the mean; and which
    part of a CPU a program has that wants one now."""
    with open("/proc/stat") as f:
        lines = f.read().splitlines()
    ticks = [int(word) for word in lines[0].split()[1:9]]
    cpus = max(sum(line.startswith("cpu") for line in lines) - 1, 1)
    others = next((int(line.split()[1]) - 1 for line in lines
                   if line.startswith("procs_running")), 0)
    ours = (sum(ticks) - ticks[7]) / os.sysconf("SC_CLK_TCK") / cpus
    return ours, min(1, cpus / max(others, 1))


class _Clock:
    def __init__(self):
        self.seconds, self.wall, self.ours = 0, time.monotonic(), _now()[0]

    def read(self):
        wall, (ours, part) = time.monotonic(), _now()
        passed = wall - self.wall
        self.seconds += min(max((ours - self.ours) * part, passed / _SLOWEST), passed)
        self.wall, self.ours = wall, ours
        return self.seconds / SLOWER


_clock = _Clock()


def clock():
    """Seconds; only differences mean something."""
    return _clock.read()


def communicate(process, seconds):
    """As its communicate(timeout=seconds), by this clock."""
    end = clock() + seconds
    while True:
        try:
            return process.communicate(timeout=min(seconds, 1))
        except subprocess.TimeoutExpired:
            if clock() > end:
                raise


def run(argv, seconds, **more):
    """As subprocess.run() that captures text, by this clock."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **more) as process:
        try:
            out, err = communicate(process, seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, err)
