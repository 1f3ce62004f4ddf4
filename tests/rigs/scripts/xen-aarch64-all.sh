# SPDX-License-Identifier: GPL-2.0-or-later
# The suite that all backends share, on domains of arm64, and more kills.
# needs: tests/rigs/xen-kill
run python3 $TESTS/conformance/xen.py $BUILD aarch64 --only killed --kills 100
run python3 $TESTS/conformance/conformance.py $BUILD xen pvh aarch64 --exits-apart
