# SPDX-License-Identifier: GPL-2.0-or-later
# Domains on arm64: what may not happen to one, what a look costs, and the suite that all
# backends share.
# needs: tests/rigs/xen-kill tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD aarch64 --kills 100
run python3 $TESTS/conformance/conformance.py $BUILD xen pvh aarch64 --exits-apart
