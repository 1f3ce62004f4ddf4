# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's Linux in domains.
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinuz-*
# needs: packages/linux-image-*-cloud-amd64/boot/vmlinux
# needs: packages/linux-image-*-cloud-amd64/unpacked
# needs: packages/linux-image-*-cloud-amd64/lib/modules/*/modules.order
run python3 $TESTS/linux/test_domain.py $BUILD --kinds pvh,pv
