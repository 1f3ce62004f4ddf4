/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.c: see sample.h. */
#include "backend/bpf/sample.h"

bool us_bpf_sample_fits(const struct us_bpf_sample *l, size_t size)
{
	if (size < sizeof(*l) || size > US_BPF_MAX_SAMPLE ||
	    l->size > size - sizeof(*l) || l->n_window > US_BPF_MAX_WINDOWS ||
	    l->frames_at > l->size || l->frames_at % 8 ||
	    l->n_frame > (l->size - l->frames_at) / sizeof(struct us_bpf_frame))
		return false;
	for (unsigned i = 0; i < l->n_window; i++)
		if (l->window[i].offset > l->size ||
		    l->window[i].len > l->size - l->window[i].offset)
			return false;
	return true;
}

void us_bpf_sample_window(const struct us_bpf_sample *l, struct us_stack_copy *ret)
{
	const uint8_t *tail = (const uint8_t *)(l + 1);
	*ret = (struct us_stack_copy){
		.n_window = l->n_window,
		.frame = (const struct us_frame_copy *)(tail + l->frames_at),
		.n_frame = l->n_frame,
	};
	for (unsigned i = 0; i < l->n_window; i++)
		ret->window[i] = (struct us_stack_window){ l->window[i].at,
							   l->window[i].len,
							   tail + l->window[i].offset };
}

_Static_assert(US_STACK_WINDOWS == US_BPF_MAX_WINDOWS, "one for each");
_Static_assert(sizeof(struct us_frame_copy) == sizeof(struct us_bpf_frame),
	       "frames are used in place");

uint8_t us_bpf_sample_state(const struct us_bpf_sample *l)
{
	static const uint8_t states[] = {
		[US_BPF_GUEST] = US_VCPU_GUEST,	  [US_BPF_EXIT] = US_VCPU_EXIT,
		[US_BPF_HALTED] = US_VCPU_HALTED, [US_BPF_VMM] = US_VCPU_EXIT,
		[US_BPF_KERNEL] = US_VCPU_EXIT,	  [US_BPF_OFF] = US_VCPU_OFF,
	};
	return l->kind < sizeof(states) ? states[l->kind] : US_VCPU_EXIT;
}

uint32_t us_bpf_sample_exit(const struct us_bpf_sample *l, enum us_bpf_host host)
{
	if (us_bpf_sample_state(l) != US_VCPU_EXIT)
		return 0;
	if (l->kind != US_BPF_EXIT)
		return us_vm_exit_code(us_exit_of_kvm(l->vmm_reason),
				       l->kind == US_BPF_VMM ? US_PLACE_VMM
							     : US_PLACE_KERNEL);
	return us_vm_exit_code(host == US_BPF_HOST_SVM	   ? us_exit_of_svm(l->reason)
			       : host == US_BPF_HOST_VMX   ? us_exit_of_vmx(l->reason)
			       : host == US_BPF_HOST_ARM64 ? us_exit_of_arm64(l->reason)
							   : US_EXIT_UNKNOWN,
			       US_PLACE_HYPERVISOR);
}

void us_bpf_sample_host(const struct us_bpf_host_sample *h, struct us_host_copy *ret)
{
	*ret = (struct us_host_copy){ .kernel = h->kernel,
				      .n_kernel = h->n_kernel,
				      .with_tick = h->with_tick };
	us_bpf_sample_host_regs(h->reg, &ret->regs);
	ret->stack.n_window = h->n_bytes != 0;
	ret->stack.window[0] = (struct us_stack_window){ ret->regs.sp, h->n_bytes,
							 h->stack };
}
