# SPDX-License-Identifier: GPL-2.0-or-later
# Domains by the xen backend: what may not happen to one, what a look costs, and a profile
# against the guest's truth.
# needs: tests/rigs/xen-kill tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD
for only in "shares x2" idle; do
	run python3 $TESTS/conformance/conformance.py $BUILD xen pvh --only "$only"
done
run python3 $TESTS/conformance/conformance.py $BUILD xen pv --only "shares x2"
