/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/regs_arm64.c: see xen/regs.h. */
#include "vmm/xen/regs.h"

#include <xen/xen.h>

/* The same structures under names of their own, so that tests run on any machine. */
#include <xen/foreign/arm64.h>

#include <string.h>

/* Of SPSR_EL2 (Arm ARM C5.2.20): the state that was interrupted. */
#define MODE(cpsr) ((cpsr)&0x1f)
#define MODE_32	   0x10
#define EL0	   0x00
#define EL1T	   0x04
#define EL1H	   0x05

/* The vectors, whose address Xen does not report: 2 KiB, four groups of four entries.
 * An exception enters with all interrupts masked (Arm ARM D1.3.1). */
#define ENTRY_SIZE  0x80
#define GROUP(pc)   ((pc) >> 9 & 3)
#define FROM_EL1T   0
#define FROM_EL1H   1
#define FROM_EL0_64 2
#define ALL_MASKED  0x3c0

/* The vCPU may be at the first instruction of an entry if pc is aligned like one, all
 * interrupts are masked, and its group is that of the state that SPSR_EL1 says was
 * interrupted. */
static void set_entered(const struct vcpu_guest_core_regs_arm64 *u, struct us_regs *ret)
{
	unsigned from = MODE(u->spsr_el1);
	bool kernel = from == EL1T || from == EL1H;
	unsigned group = from == EL1T ? FROM_EL1T : kernel ? FROM_EL1H : FROM_EL0_64;
	if (MODE(u->cpsr) != EL1H || (u->cpsr & ALL_MASKED) != ALL_MASKED ||
	    u->pc64 % ENTRY_SIZE || GROUP(u->pc64) != group ||
	    (!kernel && from != EL0) || ret->space.mode != US_PAGING_AARCH64)
		return;
	ret->entered = (struct us_entered){
		.pc = u->elr_el1,
		.sp = from == EL1H ? ret->sp : u->sp_el0,
		.valid = true,
		.user = !kernel,
		.guessed = true,
	};
}

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
	set_entered(u, ret);
}
