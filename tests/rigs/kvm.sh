# SPDX-License-Identifier: GPL-2.0-or-later
# A host with KVM.  The memory of a guest that does not touch it may be more than there is.
echo 1 >/proc/sys/vm/overcommit_memory
[ -c /dev/kvm ] || say "no /dev/kvm"
