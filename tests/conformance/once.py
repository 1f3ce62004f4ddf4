# SPDX-License-Identifier: GPL-2.0-or-later
"""What several test programs make once and then share, when they run at the same time."""
import contextlib
import fcntl
import os


@contextlib.contextmanager
def alone(folder):
    """No other program is in here for this folder, which is made if it is missing."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_new(path, text):
    """A file that others compare the time of: only if its text is another."""
    if os.path.exists(path):
        with open(path) as f:
            if f.read() == text:
                return
    with open(path, "w") as f:
        f.write(text)
