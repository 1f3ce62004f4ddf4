# SPDX-License-Identifier: GPL-2.0-or-later
# Boots with this host's KVM: the part of tests/boot/experiment that is for it.  What boot
# says goes into lines that begin with "=".
# needs: boot-experiment/rig.json boot-experiment/demo.elf boot-experiment/grub.img
# needs: boot-experiment/sector.img boot-experiment/sector-4m.img tests/boot/boot-floor
limit=2900
cd "$BUILD"
run sh -c 'uniscope boot --compare boot-experiment/rig.json -n @RUNS@ -t 300s --json | sed s/^/=/'
