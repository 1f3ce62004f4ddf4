/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.h: converts a sample in the ring to uniscope's own structures. */
#ifndef US_BACKEND_BPF_SAMPLE_H
#define US_BACKEND_BPF_SAMPLE_H

#include "backend/backend.h"
#include "backend/bpf/host_kind.h"
#include "backend/bpf/shared.h"

/* The architecture of the guests that this host runs. */
extern const enum us_arch us_bpf_sample_arch;

/* All of these are hot path. */
/* Is everything that a record of size bytes refers to inside it? */
bool us_bpf_sample_fits(const struct us_bpf_sample *l, size_t size);
void us_bpf_sample_regs(const struct us_bpf_sample *l, struct us_regs *ret);
/* Points to the data behind the sample, which must fit. */
void us_bpf_sample_window(const struct us_bpf_sample *l, struct us_stack_copy *ret);
uint8_t us_bpf_sample_state(const struct us_bpf_sample *l); /* enum us_vcpu_state */
/* Why the vCPU left the guest, as us_vm_exit_code(); 0: it did not. */
uint32_t us_bpf_sample_exit(const struct us_bpf_sample *l, enum us_bpf_host host);

/* The VMM's registers, in its own address space. */
void us_bpf_sample_host_regs(const uint64_t reg[US_BPF_HOST_WORDS],
			     struct us_regs *ret);
/* What the host did; points into h. */
void us_bpf_sample_host(const struct us_bpf_host_sample *h, struct us_host_copy *ret);

#endif
