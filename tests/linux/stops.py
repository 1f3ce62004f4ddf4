# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a recording held the guest for each sample, by backend kvm.  The guest's clock
goes on meanwhile, and it counts the time for the program that had the vCPU: of one whose
stacks are deep more for each sample than of a loop."""
import bisect
import contextlib
import os
import struct
from collections import Counter

from harness import check, note
from recording import EXIT, GUEST

APART = 0.002  # seconds between a sample's time and its stop, at most
WITHOUT = 50  # stops within the recording that gave no sample, at most


class Stops:
    def __init__(self, preload, folder):
        self.preload, self.path = preload, os.path.join(folder, "stops")

    @contextlib.contextmanager
    def noted(self):
        """Of a uniscope that is started meanwhile."""
        more = {"LD_PRELOAD": self.preload, "STOPS": self.path}
        os.environ.update(more)
        try:
            yield
        finally:
            for name in more:
                del os.environ[name]

    def _read(self):
        with open(self.path, "rb") as f:
            return [(t / 1e9, length / 1e9) for t, length in struct.iter_unpack("<QQ", f.read())]

    @staticmethod
    def _nearest(times, t):
        at = bisect.bisect(times, t)
        return min((i for i in (at - 1, at) if 0 <= i < len(times)),
                   key=lambda i: abs(times[i] - t))

    def by_task(self, recording):
        """{what tells the thread: seconds for which its samples held the guest}, and {the
        same: how many they were}."""
        stops = self._read()
        times = [t for t, _ in stops]
        samples = [s for s in recording.samples if s.state in (GUEST, EXIT)]

        def near(start, some):
            return sum(abs(times[self._nearest(times, s.t + start)] - s.t - start) < APART
                       for s in some)
        # Before it begins there are some, too: which is the first sample's?
        first = times[:max(0, len(times) - len(samples)) + WITHOUT]
        start = max((t - samples[0].t for t in first), key=lambda start: near(start, samples[:200]))
        found = near(start, samples)
        note(f"{found} of {len(samples)} samples have their stop, of {len(stops)}")
        check(found > 0.98 * len(samples), "stops of other samples")
        held, number = Counter(), Counter()
        for s in samples:
            held[s.task] += stops[self._nearest(times, s.t + start)][1]
            number[s.task] += 1
        return held, number
