# SPDX-License-Identifier: GPL-2.0-or-later
# The suite that all backends share, on PVH and PV domains, and more kills.
# needs: tests/rigs/xen-kill
run python3 $TESTS/conformance/xen.py $BUILD --only killed --kills 100
for kind in pvh pv; do
	run python3 $TESTS/conformance/conformance.py $BUILD xen $kind --exits-apart
done
