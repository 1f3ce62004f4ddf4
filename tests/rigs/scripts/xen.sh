# SPDX-License-Identifier: GPL-2.0-or-later
# Domains by the xen backend: the most telling part of xen-all.sh.
# needs: tests/rigs/xen-kill
run python3 $TESTS/conformance/xen.py $BUILD --only list --only interrupted \
	--only "at any moment" --only killed --destroys 3 --kills 10
run python3 $TESTS/conformance/conformance.py $BUILD xen pvh --only "ring 3"
run python3 $TESTS/conformance/conformance.py $BUILD xen pv --only "shares x2"
