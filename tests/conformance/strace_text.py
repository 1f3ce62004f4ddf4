# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of strace's, and of uniscope replay's that is like it: `strace -f -o FILE`."""
import re
from dataclasses import dataclass, field

LINE = re.compile(r"(\d+) +(?:[\d.]+ )?(\S.*)")
CUT = " <unfinished ...>"
RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
CALL = re.compile(r"(\w+|\?)\((.*)\) += (.*?)(?: <([\d.]+)>)?$", re.S)


@dataclass
class Call:
    thread: int
    name: str
    args: str
    result: str  # "3", "-1 ENOENT (No such file or directory)", "?"
    order: int = field(compare=False, default=0)  # of the entries

    @property
    def value(self):
        word = self.result.split()[0]
        return None if word == "?" else int(word, 0)

    @property
    def error(self):
        return self.result.split()[1] if self.result.startswith("-1 E") else ""

    def path(self):
        """The first text among the arguments."""
        told = re.search(r'"((?:[^"\\]|\\.)*)"', self.args)
        return told[1] if told else None


def calls(text):
    """In the order in which they were entered."""
    open_, found = {}, []
    for order, line in enumerate(text.splitlines()):
        told = LINE.match(line)
        if not told or told[2].startswith(("+++", "---")):
            continue
        thread, rest = int(told[1]), told[2]
        resumed = RESUMED.match(rest)
        if rest.endswith(CUT) and "= ?" not in rest:
            open_[thread] = open_.get(thread, []) + [(order, rest[:-len(CUT)])]
            continue
        if resumed:
            mine = next(x for x in reversed(open_[thread]) if x[1].startswith(resumed[1] + "("))
            open_[thread].remove(mine)
            order, rest = mine[0], mine[1] + resumed[2]
        call = CALL.match(rest)
        if not call:
            raise ValueError(f"no call: {line}")
        found.append(Call(thread, call[1], call[2], call[3], order))
    return sorted(found, key=lambda c: c.order)


def summary(text):
    """Of a table as strace -c prints it: {name: (calls, errors)}."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d*) +(\w+)$", text, re.M)
    return {name: (int(n), int(failed or 0)) for n, failed, name in rows if name != "total"}
