# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's Linux in a domain of arm64.
# needs: rigs/*/linux-image-cloud-arm64/boot/vmlinuz-*
run python3 $TESTS/linux/test_domain.py $BUILD aarch64
