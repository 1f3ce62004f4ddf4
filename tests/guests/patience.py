# SPDX-License-Identifier: GPL-2.0-or-later
"""What a test waits by: a clock that stands while others have this machine's CPUs.

A host may take them away (steal, proc(5)) for minutes; that makes a guest slow, not
wrong.
"""
import os
import subprocess
import time

# Nobody waits for ever: it runs at a tenth of the wall's at least.
_SLOWEST = 10
# A host in emulation does not see what was taken from the emulator: it says so much.
_SLOWER = float(os.environ.get("PATIENCE", 1))


def _ours():
    """Seconds that the CPUs were ours, in the mean, since the machine started."""
    with open("/proc/stat") as f:
        lines = f.read().splitlines()
    ticks = [int(word) for word in lines[0].split()[1:9]]
    cpus = sum(line.startswith("cpu") for line in lines) - 1
    return (sum(ticks) - ticks[7]) / os.sysconf("SC_CLK_TCK") / max(cpus, 1)


_begin_ours, _begin = _ours(), time.monotonic()


def clock():
    """Seconds; only differences mean something."""
    wall = time.monotonic() - _begin
    return min(max(_ours() - _begin_ours, wall / _SLOWEST), wall) / _SLOWER


def communicate(process, seconds):
    """As its communicate(timeout=seconds), by this clock."""
    end = clock() + seconds
    while True:
        try:
            return process.communicate(timeout=min(seconds, 5))
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
