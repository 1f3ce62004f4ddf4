# SPDX-License-Identifier: GPL-2.0-or-later
# Domains on arm64 by the xen backend, cross compiled: what may not happen to one, and
# stacks and a profile against the guest's truth.
# needs: tests/rigs/xen-kill tests/bench/bench-xen
run python3 $TESTS/conformance/xen.py $BUILD aarch64 --destroys 5
for only in leaf "shares x1" idle; do
	run python3 $TESTS/conformance/conformance.py $BUILD xen pvh aarch64 --only "$only"
done
