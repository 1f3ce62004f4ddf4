/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.h: what a sample in the ring says, in uniscope's words. */
#ifndef US_BACKEND_BPF_SAMPLE_H
#define US_BACKEND_BPF_SAMPLE_H

#include "backend/backend.h"
#include "backend/bpf/host_kind.h"
#include "backend/bpf/shared.h"

/* Of the guests that this host runs. */
extern const enum us_arch us_bpf_sample_arch;

/* Hot path, all of them. */
/* Does all that a record of size bytes speaks of lie within it? */
bool us_bpf_sample_fits(const struct us_bpf_sample *l, size_t size);
void us_bpf_sample_regs(const struct us_bpf_sample *l, struct us_regs *ret);
/* What stands behind the sample, which fits, is pointed to. */
void us_bpf_sample_window(const struct us_bpf_sample *l, struct us_stack_copy *ret);
uint8_t us_bpf_sample_state(const struct us_bpf_sample *l); /* enum us_vcpu_state */
/* What it left the guest for, as us_vm_exit_code(); 0: it had not. */
uint32_t us_bpf_sample_exit(const struct us_bpf_sample *l, enum us_bpf_host host);

/* The VMM's registers, in its own address space. */
void us_bpf_sample_host_regs(const uint64_t reg[US_BPF_HOST_WORDS],
			     struct us_regs *ret);
/* What the host did; points into h. */
void us_bpf_sample_host(const struct us_bpf_host_sample *h, struct us_host_copy *ret);

#endif
