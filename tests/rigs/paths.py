# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the other tests' modules are: import this first."""
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for _folder in ("conformance", "linux"):
    sys.path.insert(0, os.path.join(TESTS, _folder))
