# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's Linux in an HVM domain, whose devices a QEMU in dom0 emulates.
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinux
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/modules.order
run python3 $TESTS/linux/test_domain.py $BUILD --kinds hvm --wait 2000
