# SPDX-License-Identifier: GPL-2.0-or-later
# Domains by the xen backend: the most telling part of xen-all.sh that takes little time,
# and no statistics of a host that is emulated.
# needs: tests/rigs/xen-kill
run python3 $TESTS/conformance/xen.py $BUILD --only list --only "at any moment" \
	--only killed --destroys 1 --kills 5
run python3 $TESTS/conformance/conformance.py $BUILD xen pvh --short --only "ring 3 without"
run python3 $TESTS/conformance/conformance.py $BUILD xen pv --short --only leaf
