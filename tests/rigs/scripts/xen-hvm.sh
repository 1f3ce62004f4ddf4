# SPDX-License-Identifier: GPL-2.0-or-later
# An HVM domain, whose firmware and devices a QEMU in dom0 emulates.  (Debian's Linux
# needs more than 45 minutes there to come up: tests/linux/test_domain.py --kinds hvm.)
run python3 $TESTS/conformance/xen.py $BUILD --only HVM
