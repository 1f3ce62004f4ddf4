/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers_vmx.bpf.h: what KVM keeps of a guest on Intel's VMX; vmx_rule.h says which
 * of it is valid.
 *
 * RIP has been read by the time of a tick because uniscope made KVM read it: see
 * exit_event.h and timer.c.  With shadow paging each change of CR3 exits, and KVM's
 * copy is right.
 */
#ifndef US_BACKEND_BPF_REGISTERS_VMX_H
#define US_BACKEND_BPF_REGISTERS_VMX_H

#include "backend/bpf/scratch.bpf.h"
#include "backend/bpf/vmx_rule.h"

enum kvm_reg {
	VCPU_REGS_RSP,
	VCPU_REGS_RIP,
	VCPU_EXREG_CR3,
	VCPU_EXREG_SEGMENTS,
};

/* As newer kernels call them. */
enum kvm_reg___renamed {
	VCPU_REG_RIP,
	VCPU_REG_CR3,
	VCPU_REG_SEGMENTS,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kvm_save_segment {
	unsigned long base;
	uint32_t ar;
};

struct loaded_vmcs {
	void *vmcs;
};

union vmx_exit_reason {
	uint32_t full;
};

/* Of the module kvm_intel. */
struct vcpu_vmx {
	struct kvm_vcpu vcpu;
	struct loaded_vmcs vmcs01, *loaded_vmcs;
	struct {
		uint32_t bitmask;
		struct kvm_save_segment seg[8];
	} segment_cache;
	union vmx_exit_reason exit_reason;
};

/* Since 6.16. */
struct vcpu_vt {
	union vmx_exit_reason exit_reason;
};

struct vcpu_vmx___vt {
	struct vcpu_vt vt;
};

#pragma clang attribute pop

#define HAS_BIT(avail, type, reg)                                                      \
	(bpf_core_enum_value_exists(type, reg) &&                                      \
	 ((avail) >> (bpf_core_enum_value(type, reg) & 63) & 1))

/* A register without either name in the kernel has no right copy. */
#define IS_AVAILABLE(avail, before, after)                                             \
	(HAS_BIT(avail, enum kvm_reg, before) ||                                       \
	 HAS_BIT(avail, enum kvm_reg___renamed, after))

static __always_inline uint32_t vmx_reason(struct vcpu_vmx *vmx)
{
	struct vcpu_vmx___vt *vt = (void *)vmx;
	if (bpf_core_field_exists(vt->vt))
		return BPF_CORE_READ(vt, vt.exit_reason.full);
	return BPF_CORE_READ(vmx, exit_reason.full);
}

static __always_inline void vmx_segments(struct us_vmx_kept *k, struct vcpu_vmx *vmx)
{
	k->segments = BPF_CORE_READ(vmx, segment_cache.bitmask);
	k->cs_base = BPF_CORE_READ(vmx, segment_cache.seg[US_VMX_CS].base);
	k->cs_ar = BPF_CORE_READ(vmx, segment_cache.seg[US_VMX_CS].ar);
	k->ss_base = BPF_CORE_READ(vmx, segment_cache.seg[US_VMX_SS].base);
	k->ss_ar = BPF_CORE_READ(vmx, segment_cache.seg[US_VMX_SS].ar);
}

/* A function of its own, so that the stack that it needs is free again for the walk. */
__noinline int read_vmx(struct us_bpf_sample *l, uint64_t vcpu, uint64_t avail,
			struct us_bpf_seen *seen)
{
	struct vcpu_vmx *vmx = (void *)vcpu;
	if (!l || !seen)
		return 0;
	struct us_vmx_kept k = {
		.has_rip = IS_AVAILABLE(avail, VCPU_REGS_RIP, VCPU_REG_RIP),
		.has_rsp = HAS_BIT(avail, enum kvm_reg, VCPU_REGS_RSP),
		.has_cr3 = shadow_paging ||
			   IS_AVAILABLE(avail, VCPU_EXREG_CR3, VCPU_REG_CR3),
	};
	if (!bpf_core_type_exists(struct vcpu_vmx))
		return 0;
	k.exit_reason = vmx_reason(vmx);
	if (IS_AVAILABLE(avail, VCPU_EXREG_SEGMENTS, VCPU_REG_SEGMENTS))
		vmx_segments(&k, vmx);
	if (BPF_CORE_READ(vmx, loaded_vmcs) != &vmx->vmcs01)
		l->flags |= US_BPF_NESTED;
	us_vmx_rule(l, &k, seen);
	return 0;
}

#endif
