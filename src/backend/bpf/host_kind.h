/* SPDX-License-Identifier: GPL-2.0-or-later */
/* host_kind.h: how a host runs its guests, as far as the programs in its kernel must
 * know. */
#ifndef US_BACKEND_BPF_HOST_KIND_H
#define US_BACKEND_BPF_HOST_KIND_H

enum us_bpf_host {
	US_BPF_HOST_UNKNOWN,
	US_BPF_HOST_SVM,
	US_BPF_HOST_VMX,
	US_BPF_HOST_EMULATES, /* in the kernel: a pagetable-based virtual machine */
	US_BPF_HOST_ARM64,
};

#define US_BPF_NO_REASON 0xffffffffU

#endif
