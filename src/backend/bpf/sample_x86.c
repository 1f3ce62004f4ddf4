/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_x86.c: see sample.h; on x86 hosts. */
#include "backend/bpf/sample.h"

#include "backend/kvm/regs.h"

const enum us_arch us_bpf_sample_arch = US_ARCH_X86_64;

void us_bpf_sample_regs(const struct us_bpf_sample *l, struct us_regs *ret)
{
	const uint64_t *r = l->reg;
	const struct kvm_regs regs = {
		.rax = r[0],
		.rcx = r[1],
		.rdx = r[2],
		.rbx = r[3],
		.rsp = r[4],
		.rbp = r[5],
		.rsi = r[6],
		.rdi = r[7],
		.r8 = r[8],
		.r9 = r[9],
		.r10 = r[10],
		.r11 = r[11],
		.r12 = r[12],
		.r13 = r[13],
		.r14 = r[14],
		.r15 = r[15],
		.rip = r[16],
	};
	const struct kvm_sregs sregs = {
		.cs = { .base = l->cs_base, .l = l->cs_l, .db = l->cs_db },
		.ss = { .base = l->ss_base, .db = l->ss_db, .dpl = l->cpl },
		.cr0 = l->cr0,
		.cr3 = l->cr3,
		.cr4 = l->cr4,
		.efer = l->efer,
	};
	us_kvm_regs(&regs, &sregs, ret);
	if (l->flags & US_BPF_NO_STACK)
		ret->space = (struct us_space){ .mode = US_PAGING_UNKNOWN };
	if (!(l->flags & US_BPF_NO_SP))
		return;
	ret->sp_unknown = true;
	ret->sp = ret->fp;
	ret->valid &= ~(1U << US_X86_RSP);
}

void us_bpf_sample_host_regs(const uint64_t reg[US_BPF_HOST_WORDS], struct us_regs *ret)
{
	/* struct pt_regs (arch/x86/include/asm/ptrace.h), from its first word on. */
	static const uint8_t order[] = {
		US_X86_R15, US_X86_R14, US_X86_R13, US_X86_R12, US_X86_RBP,
		US_X86_RBX, US_X86_R11, US_X86_R10, US_X86_R9,	US_X86_R8,
		US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RSI, US_X86_RDI,
	};
	enum { IP = 16, SP = US_BPF_HOST_SP };
	*ret = (struct us_regs){ .pc = reg[IP],
				 .sp = reg[SP],
				 .valid = 0xffff,
				 .arch = US_ARCH_X86_64,
				 .bits = 64,
				 .space.mode = US_PAGING_OFF };
	for (unsigned i = 0; i < sizeof(order); i++)
		ret->gpr[order[i]] = reg[i];
	ret->gpr[US_X86_RSP] = ret->sp;
	ret->fp = ret->gpr[US_X86_RBP];
}
