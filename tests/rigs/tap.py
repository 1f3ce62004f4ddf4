# SPDX-License-Identifier: GPL-2.0-or-later
"""Several tests' TAP, one after the other, made into one."""
import re

_POINT = re.compile(r"(ok|not ok) \d+ ?(?:- )?(.*)")
_PLAN = re.compile(r"1\.\.(\d+)(?: # SKIP (.*))?$")


class Join:
    """Feed it lines; all that is not TAP becomes a comment."""

    def __init__(self):
        self.n = self.bad = 0
        self.early = self.seen = 0  # of the plan before its points; points since a plan

    def point(self, good, text):
        self.n += 1
        self.bad += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}", flush=True)

    def line(self, text):
        if point := _POINT.match(text):
            self._done()
            self.seen += 1
            self.point(point[1] == "ok", point[2])
        elif plan := _PLAN.match(text):
            self._plan(int(plan[1]), plan[2])
        elif text:
            print(text if text.startswith("#") else "# " + text, flush=True)

    def _plan(self, count, skip):
        """Before the points of a test or after them."""
        self._done()
        if skip:
            self.point(True, f"a test # SKIP {skip}")
        elif self.early:
            self._compare(self.early)
            self.early = count
        elif self.seen:
            self._compare(count)
        else:
            self.early = count

    def _done(self):
        """All that a plan announced is there: what comes is another test's."""
        if self.early and self.seen == self.early:
            self.early = self.seen = 0

    def _compare(self, count):
        if self.seen != count:
            self.point(False, f"{self.seen} results of {count or 'no plan'}")
        self.early = self.seen = 0

    def forget(self):
        """The test that gave the last points did not come to its end, and begins anew."""
        self.early = self.seen = 0

    def end(self):
        """Points without a plan are those of a test that did not end."""
        self._compare(self.early)
        print(f"1..{self.n}", flush=True)
