# SPDX-License-Identifier: GPL-2.0-or-later
# What a sample of a domain costs: tests/bench/bench_xen.py.
# needs: tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD --only "what a look costs"
