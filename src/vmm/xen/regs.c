/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/regs.c: see xen/regs.h. */
#include "vmm/xen/regs.h"

#include <xen/xen.h>

#include <xen/hvm/save.h>

/* Bits of a descriptor's attributes, packed as Xen and AMD keep them (APM volume 2,
 * 4.8.1 and 15.5): type 0-3, S, DPL 5-6, P, AVL, L, D, G. */
#define ATTR_DPL(a) ((a) >> 5 & 3)
#define ATTR_L	    (1u << 9)
#define ATTR_D	    (1u << 10)
#define EFER_LMA    (1ull << 10)
/* Selectors of 32-bit code without their privilege level: Xen's, and Linux's. */
#define XEN_CS32   (FLAT_RING3_CS32 & ~3u)
#define LINUX_CS32 0x20u

void us_xen_regs_of_pv(const struct vcpu_guest_context *c, struct us_regs *ret)
{
	const struct cpu_user_regs *u = &c->user_regs;
	ret->pc = u->rip;
	ret->sp = u->rsp;
	ret->fp = u->rbp;
	ret->sp_unknown = false;
	/* The kernel's page tables, which also map its programs.  Xen has no domain
	 * with a PCID in the root. */
	ret->space = (struct us_space){ .root = c->ctrlreg[3] & US_ROOT_MASK,
					.mode = US_PAGING_X86_4 };
	ret->gpr[US_X86_RAX] = u->rax;
	ret->gpr[US_X86_RDX] = u->rdx;
	ret->gpr[US_X86_RCX] = u->rcx;
	ret->gpr[US_X86_RBX] = u->rbx;
	ret->gpr[US_X86_RSI] = u->rsi;
	ret->gpr[US_X86_RDI] = u->rdi;
	ret->gpr[US_X86_RBP] = u->rbp;
	ret->gpr[US_X86_RSP] = u->rsp;
	ret->gpr[US_X86_R8] = u->r8;
	ret->gpr[US_X86_R9] = u->r9;
	ret->gpr[US_X86_R10] = u->r10;
	ret->gpr[US_X86_R11] = u->r11;
	ret->gpr[US_X86_R12] = u->r12;
	ret->gpr[US_X86_R13] = u->r13;
	ret->gpr[US_X86_R14] = u->r14;
	ret->gpr[US_X86_R15] = u->r15;
	ret->valid = UINT16_MAX;
	ret->arch = US_ARCH_X86_64;
	/* Kernel and programs both run in ring 3: only Xen knows which. */
	ret->user = !(c->flags & VGCF_in_kernel);
	ret->machine = false;
	ret->scattered = true;
	ret->bits = 64;
	ret->entered = (struct us_entered){ 0 };
	uint32_t cs = u->cs & ~3u;
	if (ret->user && (cs == XEN_CS32 || cs == LINUX_CS32))
		ret->bits = 32;
}

void us_xen_regs_of_hvm(const struct hvm_hw_cpu *c, struct us_regs *ret)
{
	bool wide = (c->msr_efer & EFER_LMA) && (c->cs_arbytes & ATTR_L);
	*ret = (struct us_regs){
		.pc = c->rip,
		.sp = c->rsp,
		.fp = c->rbp,
		.space = { .root = c->cr3,
			   .mode = us_x86_paging_mode(c->cr0, c->cr4, c->msr_efer) },
		.gpr = { [US_X86_RAX] = c->rax,
			 [US_X86_RDX] = c->rdx,
			 [US_X86_RCX] = c->rcx,
			 [US_X86_RBX] = c->rbx,
			 [US_X86_RSI] = c->rsi,
			 [US_X86_RDI] = c->rdi,
			 [US_X86_RBP] = c->rbp,
			 [US_X86_RSP] = c->rsp,
			 [US_X86_R8] = c->r8,
			 [US_X86_R9] = c->r9,
			 [US_X86_R10] = c->r10,
			 [US_X86_R11] = c->r11,
			 [US_X86_R12] = c->r12,
			 [US_X86_R13] = c->r13,
			 [US_X86_R14] = c->r14,
			 [US_X86_R15] = c->r15 },
		.valid = UINT16_MAX,
		.user = ATTR_DPL(c->ss_arbytes) == 3,
		.bits = wide			 ? 64
			: c->cs_arbytes & ATTR_D ? 32
						 : 16,
	};
	if (!wide) {
		uint32_t width = c->ss_arbytes & ATTR_D ? UINT32_MAX : UINT16_MAX;
		ret->pc = (uint32_t)(c->cs_base + ret->pc);
		ret->sp = (uint32_t)(c->ss_base + (ret->sp & width));
		ret->fp = (uint32_t)(c->ss_base + (ret->fp & width));
	}
}
