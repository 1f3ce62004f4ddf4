/* SPDX-License-Identifier: GPL-2.0-or-later */
/* look.h: what a sample in the ring says, in uniscope's words. */
#ifndef US_BACKEND_BPF_LOOK_H
#define US_BACKEND_BPF_LOOK_H

#include "backend/backend.h"
#include "backend/bpf/host_kind.h"
#include "backend/bpf/shared.h"

/* Of the guests that this host runs. */
extern const enum us_arch us_bpf_look_arch;

/* Hot path, all of them. */
/* Does all that a record of size bytes speaks of lie within it? */
bool us_bpf_look_fits(const struct us_bpf_look *l, size_t size);
void us_bpf_look_regs(const struct us_bpf_look *l, struct us_regs *ret);
/* What stands behind the sample, which fits, is pointed to. */
void us_bpf_look_window(const struct us_bpf_look *l, struct us_stack_copy *ret);
uint8_t us_bpf_look_state(const struct us_bpf_look *l); /* enum us_vcpu_state */
/* What it left the guest for, as us_vm_exit_code(); 0: it had not. */
uint32_t us_bpf_look_exit(const struct us_bpf_look *l, enum us_bpf_host host);

/* The VMM's registers, in its own address space. */
void us_bpf_look_host_regs(const uint64_t reg[US_BPF_HOST_WORDS], struct us_regs *ret);
/* What the host did; points into h. */
void us_bpf_look_host(const struct us_bpf_host_look *h, struct us_host_copy *ret);

#endif
