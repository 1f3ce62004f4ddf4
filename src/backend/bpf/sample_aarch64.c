/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_aarch64.c: see sample.h; on arm64 hosts. */
#include "backend/bpf/sample.h"

#include <string.h>

/* Bits of PSTATE (Arm ARM C5.2.20): the exception level, and 32-bit code. */
#define MODE(pstate) ((pstate)&0x1f)
#define EL0	     0x00
#define EL1T	     0x04
#define EL1H	     0x05
#define MODE_32	     0x10
#define VECTORS_SIZE 0x800 /* Arm ARM D1.3.1 */

const enum us_arch us_bpf_sample_arch = US_ARCH_AARCH64;

/* If the vCPU has just entered its vectors, ELR and SPSR show the interrupted code. */
static void set_entered(const struct us_bpf_aarch64 *r, struct us_regs *ret)
{
	uint64_t from = MODE(r->spsr);
	bool kernel = from == EL1H || from == EL1T;
	if (r->pc - r->vbar >= VECTORS_SIZE || (!kernel && from != EL0) ||
	    MODE(r->pstate) != EL1H || ret->space.mode != US_PAGING_AARCH64)
		return;
	ret->entered = (struct us_entered){
		.pc = r->elr,
		.sp = from == EL1H ? r->sp_el1 : r->sp_el0,
		.valid = true,
		.user = !kernel,
	};
}

void us_bpf_sample_regs(const struct us_bpf_sample *l, struct us_regs *ret)
{
	const struct us_bpf_aarch64 *r = &l->arm;
	uint64_t mode = MODE(r->pstate);
	bool old = l->flags & US_BPF_OLD_EL1;
	*ret = (struct us_regs){
		.pc = r->pc,
		.sp = mode == EL1H ? r->sp_el1 : r->sp_el0,
		.fp = r->x[29],
		.sp_el0 = mode == EL1H ? r->sp_el0 : 0,
		.space = us_aarch64_space(r->ttbr0, r->ttbr1, r->tcr, r->sctlr),
		.valid = UINT32_MAX,
		.arch = US_ARCH_AARCH64,
		.bits = mode == EL0 || mode == EL1T || mode == EL1H ? 64 : 0,
		.user = mode == EL0 || mode & MODE_32,
	};
	memcpy(ret->gpr, r->x, sizeof(r->x));
	if (old && mode == EL1H) {
		ret->sp = ret->fp;
		ret->sp_unknown = true;
		ret->valid &= ~(1U << US_AARCH64_SP);
	}
	ret->gpr[US_AARCH64_SP] = ret->sp;
	if (!old)
		set_entered(r, ret);
}

void us_bpf_sample_host_regs(const uint64_t reg[US_BPF_HOST_WORDS], struct us_regs *ret)
{
	enum { FP = 29, SP = US_BPF_HOST_SP, PC = 32 }; /* struct user_pt_regs */
	*ret = (struct us_regs){ .pc = reg[PC],
				 .sp = reg[SP],
				 .fp = reg[FP],
				 .valid = UINT32_MAX,
				 .arch = US_ARCH_AARCH64,
				 .bits = 64,
				 .space.mode = US_PAGING_OFF };
	memcpy(ret->gpr, reg, SP * sizeof(*reg));
	ret->gpr[US_AARCH64_SP] = ret->sp;
}
