# SPDX-License-Identifier: GPL-2.0-or-later
# Domains by the xen backend: what may not happen to one, what a look costs, and the suite
# that all backends share, on PVH and PV domains.
# needs: tests/rigs/xen-kill tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD --kills 100
for kind in pvh pv; do
	run python3 $TESTS/conformance/conformance.py $BUILD xen $kind --exits-apart
done
