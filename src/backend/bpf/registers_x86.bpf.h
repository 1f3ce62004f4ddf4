/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers_x86.bpf.h: the guest's registers at a tick, and what the tick hit.
 *
 * A tick that falls due while the guest runs is handled right after its exit, when KVM
 * enables interrupts again (arch/x86/kvm/x86.c, vcpu_enter_guest()); KVM marks this in
 * handling_intr_from_guest.  The same happens to a tick that fell due in the
 * microseconds before, while KVM handled another exit: the exit's reason distinguishes
 * them.
 *
 * SVM (arch/x86/kvm/svm/svm.c, svm_vcpu_run()): rax, rsp and rip have been copied out
 * of the VMCB by then; all others were stored on the exit.  CR3 is copied only later,
 * so it is read from the VMCB, unless KVM's own root is there (shadow paging).  Then
 * each change of CR3 exits, and KVM's copy is right.
 *
 * VMX: registers_vmx.bpf.h.
 *
 * A host that emulates its guests runs them in the kernel: their registers are right at
 * each tick, and all time in KVM_RUN is theirs.  While the emulator writes back the
 * results of an instruction (arch/x86/kvm/emulate.c, writeback_registers(), and then
 * the instruction pointer), some registers are old: the emulator still has all new
 * values.
 */
#ifndef US_BACKEND_BPF_REGISTERS_X86_H
#define US_BACKEND_BPF_REGISTERS_X86_H

#include "backend/bpf/host_kind.h"
#include "backend/bpf/registers_vmx.bpf.h"
#include "backend/bpf/scratch.bpf.h"
#include "guest/regs.h"

#define SVM_EXIT_INTR 0x60 /* AMD APM volume 2, appendix C */
#define SVM_EXIT_NMI  0x61
#define NP_ENABLE     1
#define SEGMENT_L     (1 << 9) /* of a VMCB's attributes: APM volume 2, figure 4-20 */
#define SEGMENT_DB    (1 << 10)
#define SREG_CS	      1 /* include/asm/kvm_host.h, VCPU_SREG_CS */
#define SREG_SS	      2
#define RIP	      16
#define SYSCALL_IOCTL 16
#define KVM_RUN	      0xae80
#define MP_RUNNABLE   0 /* include/uapi/linux/kvm.h, KVM_MP_STATE_... */
#define MP_HALTED     3
#define MP_AP_HOLD    9
#define RING_3	      3

/* Position of the interrupted code segment in the timer's context (struct
 * bpf_perf_event_data, of struct pt_regs), and its number of words. */
#define CONTEXT_MODE  17
#define CONTEXT_WORDS 21

/* In newer kernels the instruction pointer is not in the array, and what was a number
 * is an array. */
struct kvm_vcpu_arch___rip {
	unsigned long regs[16], rip;
} __attribute__((preserve_access_index));

struct kvm_vcpu_arch___bitmap {
	unsigned long regs[16], regs_avail[1];
} __attribute__((preserve_access_index));

/* As newer kernels call nested_ctl. */
struct vmcb_control_area___misc {
	uint32_t exit_code;
	uint64_t misc_ctl;
} __attribute__((preserve_access_index));

struct x86_emulate_ctxt {
	unsigned long eip; /* after the instruction, once it is done */
	uint16_t regs_dirty;
	unsigned long _regs[16];
} __attribute__((preserve_access_index));

struct kvm_vcpu_arch___emulated {
	struct x86_emulate_ctxt *emulate_ctxt;
} __attribute__((preserve_access_index));

struct vcpu_pvm___emulated {
	int in_stock_emul; /* the emulator is at work */
} __attribute__((preserve_access_index));

struct kvm_vmcb_info {
	struct vmcb *ptr;
} __attribute__((preserve_access_index));

struct vcpu_svm___nested {
	struct kvm_vmcb_info vmcb01, *current_vmcb;
} __attribute__((preserve_access_index));

/*
 * A structure is read in one piece, from the first member that is used to the last:
 * each call into the kernel costs as much as the bytes.
 */
#define SPAN_BYTES 512
#define SPAN(type, first, last)                                                        \
	(bpf_core_field_offset(type, last) + bpf_core_field_size(type, last) -         \
	 bpf_core_field_offset(type, first))
#define IN_SPAN(bytes, type, first, member, as)                                        \
	(*(as *)((bytes) + bpf_core_field_offset(type, member) -                       \
		 bpf_core_field_offset(type, first)))

/* These are constants once the program is loaded: only one of two branches is left. */
#define READ_SPAN(bytes, from, type, first, last)                                      \
	(SPAN(type, first, last) <= SPAN_BYTES &&                                      \
	 !bpf_probe_read_kernel((bytes), SPAN(type, first, last), (from)))

#define ARCH(member, as) IN_SPAN(bytes, struct kvm_vcpu_arch, regs, member, as)

/* Which copies are right, on VMX. */
static __always_inline uint64_t avail_in(uint8_t *bytes)
{
	if (bpf_core_field_exists(struct kvm_vcpu_arch, regs_avail))
		return ARCH(regs_avail, uint32_t);
	if (bpf_core_field_exists(struct kvm_vcpu_arch___bitmap, regs_avail))
		return IN_SPAN(bytes, struct kvm_vcpu_arch___bitmap, regs, regs_avail,
			       uint64_t);
	return 0;
}

/* General registers, and KVM's copies of the others, which are not always right.
 * *ret_avail: see avail_in(). */
static __always_inline bool read_arch(struct us_bpf_sample *l, uint8_t *bytes,
				      struct kvm_vcpu *vcpu, int *ret_state,
				      uint64_t *ret_avail)
{
	if (!READ_SPAN(bytes, &vcpu->arch.regs, struct kvm_vcpu_arch, regs, mp_state))
		return false;
	__builtin_memcpy(l->reg, bytes, sizeof(l->reg));
	if (bpf_core_field_exists(struct kvm_vcpu_arch___rip, rip))
		l->reg[RIP] = IN_SPAN(bytes, struct kvm_vcpu_arch___rip, regs, rip,
				      uint64_t);
	l->cr0 = ARCH(cr0, uint64_t);
	l->cr3 = ARCH(cr3, uint64_t);
	l->cr4 = ARCH(cr4, uint64_t);
	l->efer = ARCH(efer, uint64_t);
	*ret_state = ARCH(mp_state, int);
	*ret_avail = avail_in(bytes);
	return true;
}

#define SAVE(member, as) IN_SPAN(bytes, struct vmcb_save_area, cs, member, as)

static __always_inline void set_svm(struct us_bpf_sample *l, uint8_t *bytes,
				    bool own_tables)
{
	const struct vmcb_seg *cs = &SAVE(cs, struct vmcb_seg);
	const struct vmcb_seg *ss = &SAVE(ss, struct vmcb_seg);
	l->cs_base = cs->base;
	l->ss_base = ss->base;
	l->cs_l = (cs->attrib & SEGMENT_L) != 0;
	l->cs_db = (cs->attrib & SEGMENT_DB) != 0;
	l->ss_db = (ss->attrib & SEGMENT_DB) != 0;
	l->cpl = SAVE(cpl, uint8_t);
	if (own_tables)
		return; /* there CR0, CR3 and CR4 are KVM's */
	l->cr0 = SAVE(cr0, uint64_t);
	l->cr3 = SAVE(cr3, uint64_t);
	l->cr4 = SAVE(cr4, uint64_t);
	l->efer = SAVE(efer, uint64_t);
}

#define CONTROL(type, last)                                                            \
	READ_SPAN(bytes, &vmcb->control.exit_code, type, exit_code, last)
#define NESTED_PAGING(type, member)                                                    \
	(IN_SPAN(bytes, type, exit_code, member, uint64_t) & NP_ENABLE)

/* *ret_own_tables: KVM walks the guest's page tables itself.  The barrier keeps the
 * compiler from asking for a member where the kernel does not have it. */
static __always_inline bool read_control(struct us_bpf_sample *l, uint8_t *bytes,
					 struct vmcb *vmcb, bool *ret_own_tables)
{
	if (bpf_core_field_exists(struct vmcb_control_area, nested_ctl)) {
		barrier();
		if (!CONTROL(struct vmcb_control_area, nested_ctl))
			return false;
		*ret_own_tables = !NESTED_PAGING(struct vmcb_control_area, nested_ctl);
	} else {
		barrier();
		if (!CONTROL(struct vmcb_control_area___misc, misc_ctl))
			return false;
		*ret_own_tables = !NESTED_PAGING(struct vmcb_control_area___misc,
						 misc_ctl);
	}
	l->reason = IN_SPAN(bytes, struct vmcb_control_area, exit_code, exit_code,
			    uint32_t);
	return true;
}

static __always_inline bool read_svm(struct us_bpf_sample *l, uint8_t *bytes,
				     struct kvm_vcpu *vcpu)
{
	struct vcpu_svm___nested *nested = (void *)vcpu;
	struct vmcb *vmcb = BPF_CORE_READ((struct vcpu_svm *)vcpu, vmcb);
	if (bpf_core_field_exists(nested->current_vmcb) &&
	    BPF_CORE_READ(nested, current_vmcb) != &nested->vmcb01)
		l->flags |= US_BPF_NESTED;
	bool own_tables;
	if (!read_control(l, bytes, vmcb, &own_tables))
		return false;
	if (!READ_SPAN(bytes, &vmcb->save.cs, struct vmcb_save_area, cs, rsp))
		return false;
	set_svm(l, bytes, own_tables);
	return true;
}

/* If the emulator is writing back an instruction's results, complete that in the copy.
 * bytes: its registers have no room on the stack, of which the programs need most. */
static __always_inline void finish_instruction(struct us_bpf_sample *l, uint8_t *bytes,
					       struct kvm_vcpu *vcpu)
{
	struct vcpu_pvm___emulated *pvm = (void *)vcpu;
	struct kvm_vcpu_arch___emulated *arch = (void *)&vcpu->arch;
	const uint64_t *regs = (void *)bytes;
	if (!bpf_core_field_exists(pvm->in_stock_emul) ||
	    !bpf_core_field_exists(arch->emulate_ctxt) ||
	    !BPF_CORE_READ(pvm, in_stock_emul))
		return;
	struct x86_emulate_ctxt *ctxt = BPF_CORE_READ(arch, emulate_ctxt);
	uint64_t eip = BPF_CORE_READ(ctxt, eip);
	uint16_t dirty = BPF_CORE_READ(ctxt, regs_dirty);
	if (eip == l->reg[RIP] ||
	    bpf_probe_read_kernel(bytes, sizeof(ctxt->_regs), &ctxt->_regs))
		return;
	l->reg[RIP] = eip;
	for (unsigned i = 0; i < 16; i++)
		if (dirty >> i & 1)
			l->reg[i] = regs[i];
}

static __always_inline void read_emulated(struct us_bpf_sample *l, uint8_t *bytes,
					  struct kvm_vcpu *vcpu)
{
	struct vcpu_pvm *pvm = (void *)vcpu;
	struct kvm_segment cs = { 0 }, ss = { 0 };
	l->reason = US_BPF_NO_REASON;
	bpf_core_read(&cs, sizeof(cs), &pvm->seg[SREG_CS]);
	bpf_core_read(&ss, sizeof(ss), &pvm->seg[SREG_SS]);
	l->cs_base = cs.base;
	l->cs_l = cs.l;
	l->cs_db = cs.db;
	l->ss_base = ss.base;
	l->ss_db = ss.db;
	l->cpl = (uint8_t)BPF_CORE_READ(pvm, cpl);
	finish_instruction(l, bytes, vcpu);
}

/* bytes: SPAN_BYTES to work in.  *seen: of this vCPU.  *ret_state: KVM_MP_STATE_... */
static __always_inline bool read_registers(struct us_bpf_sample *l, uint8_t *bytes,
					   struct kvm_vcpu *vcpu,
					   struct us_bpf_seen *seen, int *ret_state)
{
	uint64_t avail;
	if (!read_arch(l, bytes, vcpu, ret_state, &avail))
		return false;
	if (host_kind == US_BPF_HOST_VMX && bpf_core_type_exists(struct vcpu_vmx)) {
		read_vmx(l, (uint64_t)vcpu, avail, seen);
		return true;
	}
	if (host_kind == US_BPF_HOST_SVM && bpf_core_type_exists(struct vcpu_svm))
		return read_svm(l, bytes, vcpu);
	if (host_kind == US_BPF_HOST_EMULATES &&
	    bpf_core_type_exists(struct vcpu_pvm)) {
		read_emulated(l, bytes, vcpu);
		return true;
	}
	return false;
}

static __always_inline bool is_protected(struct kvm_vcpu *vcpu)
{
	return bpf_core_field_exists(vcpu->arch.guest_state_protected) &&
	       BPF_CORE_READ(vcpu, arch.guest_state_protected);
}

/* Is the current thread, seen in the kernel, in ioctl(KVM_RUN)? */
static __always_inline bool in_kvm_run(void)
{
	struct pt_regs *r = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return r->orig_ax == SYSCALL_IOCTL && (uint32_t)r->si == KVM_RUN;
}

/* Did the guest exit because of an interrupt of the host, or for another reason? */
static __always_inline bool is_interrupt(uint32_t reason)
{
	if (host_kind == US_BPF_HOST_VMX)
		return us_vmx_is_interrupt(reason);
	return host_kind != US_BPF_HOST_SVM || reason == SVM_EXIT_INTR ||
	       reason == SVM_EXIT_NMI;
}

/* interrupted_cs: the code segment of the host's code that the tick interrupted. */
static __always_inline uint8_t kind_of(struct us_bpf_sample *l, struct kvm_vcpu *vcpu,
				       int state, uint64_t interrupted_cs)
{
	if (BPF_CORE_READ(vcpu, arch.handling_intr_from_guest))
		return is_interrupt(l->reason) ? US_BPF_GUEST : US_BPF_EXIT;
	if ((interrupted_cs & RING_3) == RING_3)
		return US_BPF_VMM;
	if (!in_kvm_run())
		return US_BPF_KERNEL;
	if (state == MP_HALTED || state == MP_AP_HOLD)
		return US_BPF_HALTED;
	if (state != MP_RUNNABLE)
		return US_BPF_OFF;
	return host_kind == US_BPF_HOST_EMULATES ? US_BPF_GUEST : US_BPF_EXIT;
}

/* Where the guest's stack is, and where its chain of frames begins; 0: there is none.
 */
static __always_inline void stack_of(const struct us_bpf_sample *l, us_gva *ret_sp,
				     us_gva *ret_fp)
{
	*ret_fp = l->reg[5];
	*ret_sp = l->flags & US_BPF_NO_SP ? *ret_fp : l->reg[4];
	if (!l->cs_l) { /* segments, and words of 32 bits: the bytes must do */
		*ret_sp = (uint32_t)(l->ss_base + (uint32_t)*ret_sp);
		*ret_fp = 0;
	}
}

#endif
