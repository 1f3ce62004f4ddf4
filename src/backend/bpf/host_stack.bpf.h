/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_stack.bpf.h: what the host did at a tick that did not hit the guest: the host
 * kernel's stack, and what uniscope needs to unwind the VMM's.
 */
#ifndef US_BACKEND_BPF_HOST_STACK_H
#define US_BACKEND_BPF_HOST_STACK_H

#include "backend/bpf/scratch.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct us_bpf_host_sample);
} hosts SEC(".maps");

/* Right after a guest's exit the running task's stack is not available: then take that
 * of the whole task, which includes the tick's own interrupt. */
static __always_inline void take_kernel_stack(struct us_bpf_host_sample *h, void *ctx)
{
	long n = bpf_get_stack(ctx, h->kernel, sizeof(h->kernel), 0);
	h->with_tick = n <= 0;
	if (n <= 0)
		n = bpf_get_task_stack(bpf_get_current_task_btf(), h->kernel,
				       sizeof(h->kernel), 0);
	h->n_kernel = n > 0 ? (uint32_t)n / 8 : 0;
}

/* From the VMM's stack pointer on, in two pieces: the stack may end after the first. */
static __always_inline void copy_vmm_stack(struct us_bpf_host_sample *h)
{
	uint64_t sp = h->reg[US_BPF_HOST_SP], first = 4096 - (sp & 4095);
	h->n_bytes = 0;
	barrier_var(first);
	if (first > 4096 || bpf_probe_read_user(h->stack, first, (const void *)sp))
		return;
	h->n_bytes = first;
	if (!bpf_probe_read_user(h->stack + first, US_BPF_HOST_BYTES - 4096,
				 (const void *)(sp + first)))
		h->n_bytes = first + US_BPF_HOST_BYTES - 4096;
}

/* Sent before the sample that it belongs to; false: it could not be sent. */
static __always_inline bool send_host(const struct us_bpf_sample *l, void *ctx)
{
	uint32_t zero = 0;
	struct us_bpf_host_sample *h = bpf_map_lookup_elem(&hosts, &zero);
	if (!h)
		return false;
	h->no_sample = 0;
	h->t_ns = l->t_ns;
	h->row = l->row;
	h->n_kernel = 0;
	h->with_tick = 0;
	if (l->kind != US_BPF_VMM)
		take_kernel_stack(h, ctx);
	if (bpf_probe_read_kernel(
		    h->reg, sizeof(h->reg),
		    (const void *)bpf_task_pt_regs(bpf_get_current_task_btf())))
		return false;
	copy_vmm_stack(h);
	return !bpf_ringbuf_output(&ring, h, sizeof(*h), BPF_RB_NO_WAKEUP);
}

static __always_inline bool is_hosts(uint8_t kind)
{
	return kind == US_BPF_EXIT || kind == US_BPF_VMM || kind == US_BPF_KERNEL;
}

#endif
