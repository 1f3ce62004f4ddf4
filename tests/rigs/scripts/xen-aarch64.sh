# SPDX-License-Identifier: GPL-2.0-or-later
# Domains on arm64 by the xen backend, cross compiled: the most telling part of
# xen-aarch64-all.sh.
# needs: tests/rigs/xen-kill
run python3 $TESTS/conformance/xen.py $BUILD aarch64 --only interrupted \
	--only "at any moment" --only killed --destroys 3 --kills 10
for only in leaf "shares x1"; do
	run python3 $TESTS/conformance/conformance.py $BUILD xen pvh aarch64 --only "$only"
done
