/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers_aarch64.bpf.h: the guest's registers at a tick, and what the tick hit.
 *
 * A tick that falls due while the guest runs is handled right after its exit, when KVM
 * enables interrupts again (arch/arm64/kvm/arm.c, kvm_arch_vcpu_ioctl_run()).  The
 * thread then still counts as one that runs a guest (PF_VCPU).  KVM does so only if an
 * interrupt ended the guest's run: a tick that falls due after another exit comes
 * later, without that mark.
 *
 * General registers, pc, pstate and SP_EL0 are stored on each exit.  EL1's own
 * registers are stored then too if only KVM's own half runs in EL2 (nVHE).  If the
 * whole host runs in EL2 (VHE), they stay in the processor until the thread gives up
 * its CPU or leaves KVM: the values in memory are old, and the new ones cannot be read.
 */
#ifndef US_BACKEND_BPF_REGISTERS_AARCH64_H
#define US_BACKEND_BPF_REGISTERS_AARCH64_H

#include "backend/bpf/host_kind.h"
#include "backend/bpf/scratch.bpf.h"
#include "guest/regs.h"

#define SYSCALL_IOCTL  29
#define KVM_RUN	       0xae80
#define PF_VCPU	       1   /* include/linux/sched.h */
#define MP_STOPPED     5   /* include/uapi/linux/kvm.h, KVM_MP_STATE_STOPPED */
#define PSTATE_EL      0xc /* Arm ARM C5.2: the exception level, from bit 2 on */
#define PSTATE_EL2     0x8
#define PSTATE_MODE    0x1f
#define EL0	       0x00
#define EL1T	       0x04
#define EL1H	       0x05
#define ESR_CLASS(esr) ((esr) >> 26 & 63)
#define CLASS_WAIT     1 /* WFI and WFE; Arm ARM D17.2.37 */
#define WAIT_EVENT     1 /* it was WFE */

/* Position of the interrupted state in the timer's context (struct bpf_perf_event_data,
 * of user_pt_regs), and its number of words. */
#define CONTEXT_MODE  33
#define CONTEXT_WORDS 34

/* A guest that has guests of its own keeps some registers elsewhere. */
struct kvm_cpu_context___nested {
	uint64_t *vncr_array;
} __attribute__((preserve_access_index));

#define READ_SYS(ctxt, name, to)                                                       \
	bpf_probe_read_kernel(                                                         \
		to, 8, &(ctxt)->sys_regs[bpf_core_enum_value(enum vcpu_sysreg, name)])

static __always_inline bool read_el1(struct us_bpf_aarch64 *r,
				     struct kvm_cpu_context *ctxt)
{
	struct kvm_cpu_context___nested *nested = (void *)ctxt;
	if (bpf_core_field_exists(nested->vncr_array) &&
	    BPF_CORE_READ(nested, vncr_array))
		return false;
	return !READ_SYS(ctxt, SP_EL1, &r->sp_el1) &&
	       !READ_SYS(ctxt, TTBR0_EL1, &r->ttbr0) &&
	       !READ_SYS(ctxt, TTBR1_EL1, &r->ttbr1) &&
	       !READ_SYS(ctxt, TCR_EL1, &r->tcr) &&
	       !READ_SYS(ctxt, SCTLR_EL1, &r->sctlr) &&
	       !READ_SYS(ctxt, VBAR_EL1, &r->vbar) &&
	       !READ_SYS(ctxt, ELR_EL1, &r->elr) && !READ_SYS(ctxt, SPSR_EL1, &r->spsr);
}

/* bytes, *seen: not needed here.  *ret_state: KVM_MP_STATE_... */
static __always_inline bool read_registers(struct us_bpf_sample *l, uint8_t *bytes,
					   struct kvm_vcpu *vcpu,
					   struct us_bpf_seen *seen, int *ret_state)
{
	struct us_bpf_aarch64 *r = &l->arm;
	*ret_state = (int)BPF_CORE_READ(vcpu, arch.mp_state.mp_state);
	l->reason = (uint32_t)BPF_CORE_READ(vcpu, arch.fault.esr_el2);
	return !bpf_probe_read_kernel(r, sizeof(struct user_pt_regs),
				      &vcpu->arch.ctxt.regs) &&
	       read_el1(r, &vcpu->arch.ctxt);
}

static __always_inline bool is_protected(struct kvm_vcpu *vcpu)
{
	return false;
}

/* Is the current thread, seen in the kernel, in ioctl(KVM_RUN)? */
static __always_inline bool in_kvm_run(void)
{
	struct pt_regs *r = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return BPF_CORE_READ(r, syscallno) == SYSCALL_IOCTL &&
	       (uint32_t)BPF_CORE_READ(r, regs[1]) == KVM_RUN;
}

/* pstate: the state of the host's code that the tick interrupted. */
static __always_inline uint8_t kind_of(struct us_bpf_sample *l, struct kvm_vcpu *vcpu,
				       int state, uint64_t pstate)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool runs = task->flags & PF_VCPU;
	l->arm.saves = task->nvcsw + task->nivcsw;
	if (!(pstate & PSTATE_EL))
		return US_BPF_VMM;
	if (!runs && !in_kvm_run())
		return US_BPF_KERNEL;
	if ((pstate & PSTATE_EL) == PSTATE_EL2)
		l->flags |= US_BPF_OLD_EL1;
	if (runs)
		return US_BPF_GUEST;
	if (state == MP_STOPPED)
		return US_BPF_OFF;
	/* A later interrupt leaves no reason: see wait.h. */
	return ESR_CLASS(l->reason) == CLASS_WAIT && !(l->reason & WAIT_EVENT)
		       ? US_BPF_HALTED
		       : US_BPF_EXIT;
}

/* Where the guest's stack is, and where its chain of frames begins; 0: not known.
 * *ret_sp may be lower than what the guest has in use, never higher. */
static __always_inline void stack_of(const struct us_bpf_sample *l, us_gva *ret_sp,
				     us_gva *ret_fp)
{
	const struct us_bpf_aarch64 *r = &l->arm;
	uint64_t mode = r->pstate & PSTATE_MODE;
	*ret_sp = *ret_fp = 0;
	if (mode != EL0 && mode != EL1T && mode != EL1H)
		return;
	*ret_fp = r->x[29];
	if (mode != EL1H)
		*ret_sp = r->sp_el0;
	else
		*ret_sp = l->flags & US_BPF_OLD_EL1 ? r->x[29] : r->sp_el1;
}

#endif
