/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm/regs.c: see kvm/regs.h. */
#include "backend/kvm/regs.h"

#define EFER_LMA (1ULL << 10)
#define CR0_PE	 1

static uint8_t code_bits(const struct kvm_sregs *s)
{
	if (s->cs.l && s->efer & EFER_LMA)
		return 64;
	return s->cs.db ? 32 : 16;
}

void us_kvm_regs(const struct kvm_regs *r, const struct kvm_sregs *s,
		 struct us_regs *ret)
{
	*ret = (struct us_regs){
		.space = { .root = s->cr3,
			   .mode = us_x86_paging_mode(s->cr0, s->cr4, s->efer) },
		.gpr = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
			 r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 },
		.valid = 0xffff,
		.bits = code_bits(s),
		.user = s->cr0 & CR0_PE && s->ss.dpl == 3,
		.pc = r->rip,
		.sp = r->rsp,
		.fp = r->rbp,
	};
	if (ret->bits == 64)
		return;
	uint32_t width = s->ss.db ? UINT32_MAX : UINT16_MAX;
	ret->pc = (uint32_t)(s->cs.base + r->rip);
	ret->sp = (uint32_t)(s->ss.base + (r->rsp & width));
	ret->fp = (uint32_t)(s->ss.base + (r->rbp & width));
}
