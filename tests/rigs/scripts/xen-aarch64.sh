# SPDX-License-Identifier: GPL-2.0-or-later
# Domains on arm64 by the xen backend, cross compiled: the most telling part of
# xen-aarch64-all.sh that takes little time, and no statistics of a host that is emulated.
# needs: tests/rigs/xen-kill tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD aarch64 --only "at any moment" \
	--only killed --destroys 1 --kills 5
run python3 $TESTS/conformance/conformance.py $BUILD xen pvh aarch64 --short --only leaf
