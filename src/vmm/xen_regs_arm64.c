/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen_regs_arm64.c: see xen_regs.h. */
#include "vmm/xen_regs.h"

#include <xen/xen.h>

/* The same structures by names of their own, so that this is tested on any machine. */
#include <xen/foreign/arm64.h>

#include <string.h>

/* Of SPSR_EL2 (Arm ARM C5.2.20): the state that was interrupted. */
#define MODE(cpsr) ((cpsr)&0x1f)
#define MODE_32	   0x10
#define EL0	   0x00
#define EL1T	   0x04
#define EL1H	   0x05

void us_xen_regs_of_arm64(const void *context, struct us_regs *ret)
{
	const struct vcpu_guest_context_arm64 *c = context;
	const struct vcpu_guest_core_regs_arm64 *u = &c->user_regs;
	unsigned mode = MODE(u->cpsr);
	*ret = (struct us_regs){
		.pc = u->pc64,
		.sp = mode == EL1H ? u->sp_el1 : u->sp_el0,
		.fp = u->x29,
		.space = us_aarch64_space(c->ttbr0, c->ttbr1, c->ttbcr, c->sctlr),
		.valid = UINT32_MAX,
		.arch = US_ARCH_AARCH64,
		.bits = mode == EL0 || mode == EL1T || mode == EL1H ? 64 : 0,
		.user = mode == EL0 || mode == MODE_32,
	};
	/* x0 to x30 lie one behind the other. */
	memcpy(ret->gpr, &u->x0, 31 * sizeof(ret->gpr[0]));
	ret->gpr[US_AARCH64_SP] = ret->sp;
}
