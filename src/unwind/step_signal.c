/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_signal.c: from a program's signal handler to what the signal interrupted, over
 * the code that makes the system call sigreturn(2).
 *
 * The C library gives that code to the kernel (x86), or the kernel has it in its vDSO;
 * nobody calls it.  glibc's and most kernels' tables describe the frame that the kernel
 * pushed.  musl has no tables: there the code itself shows what it is, and the frame is
 * that of the architecture (struct rt_sigframe in arch/x86/include/asm/sigframe.h,
 * arch/arm64/kernel/signal.c and arch/riscv/kernel/signal.c).
 */
#include "unwind/walk.h"

#include <string.h>

#define MAX_CODE 9

/* Words in a row, from a register's number on. */
#define AT(number, offset)                                                             \
	{                                                                              \
		.reg = (number), .how = US_CFI_AT_BASE, .off = (offset)                \
	}
#define AT4(number, offset)                                                            \
	AT(number, offset), AT((number) + 1, (offset) + 8),                            \
		AT((number) + 2, (offset) + 16), AT((number) + 3, (offset) + 24)

static const struct us_cfi_saved x86_saved[] = {
	AT4(8, 40),	     AT4(12, 72),	  AT(US_X86_RDI, 104),
	AT(US_X86_RSI, 112), AT(US_X86_RBP, 120), AT(US_X86_RBX, 128),
	AT(US_X86_RDX, 136), AT(US_X86_RAX, 144), AT(US_X86_RCX, 152),
};
/* From x0 on; x31 is the stack pointer. */
static const struct us_cfi_saved aarch64_saved[] = {
	AT4(0, 312),  AT4(4, 344),  AT4(8, 376), AT4(12, 408), AT4(16, 440),
	AT4(20, 472), AT4(24, 504), AT(28, 536), AT(29, 544),  AT(30, 552),
};
/* From x1 on, but x2, the stack pointer. */
static const struct us_cfi_saved riscv_saved[] = {
	AT(1, 312),   AT4(3, 328),  AT4(7, 360),  AT4(11, 392), AT4(15, 424),
	AT4(19, 456), AT4(23, 488), AT4(27, 520), AT(31, 552),
};

#define RULE(stack, sp_at, pc_at, of)                                                  \
	{                                                                              \
		.cfa = US_CFI_CFA_MEM, .cfa_reg = (stack), .cfa_off = (sp_at),         \
		.pc = US_CFI_AT_BASE, .base = (stack), .pc_off = (pc_at),              \
		.n_saved = sizeof(of) / sizeof(*(of)), .flags = US_CFI_SIGNAL          \
	}

static const struct sigreturn {
	unsigned sp;	  /* of the architecture */
	const char *code; /* it ends with the system call */
	uint8_t n, call;  /* bytes; where the system call begins */
	struct us_cfi_rule rule;
	const struct us_cfi_saved *saved;
} sigreturns[] = {
	/* mov $15, %rax; syscall */
	{ US_X86_RSP, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9, 7,
	  RULE(US_X86_RSP, 160, 168, x86_saved), x86_saved },
	/* mov $15, %eax; syscall */
	{ US_X86_RSP, "\xb8\x0f\0\0\0\x0f\x05", 7, 5,
	  RULE(US_X86_RSP, 160, 168, x86_saved), x86_saved },
	/* mov x8, #139; svc #0 */
	{ US_AARCH64_SP, "\x68\x11\x80\xd2\x01\0\0\xd4", 8, 4,
	  RULE(US_AARCH64_SP, 560, 568, aarch64_saved), aarch64_saved },
	/* li a7, 139; ecall */
	{ US_RISCV_SP, "\x93\x08\xb0\x08\x73\0\0\0", 8, 4,
	  RULE(US_RISCV_SP, 320, 304, riscv_saved), riscv_saved },
};

static bool is_there(struct us_walk *w, us_gva pc, const struct sigreturn *s)
{
	uint8_t code[MAX_CODE];
	return s->sp == w->u->arch->sp &&
	       us_paging_read(w->paging, w->space, pc, code, s->n) &&
	       !memcmp(code, s->code, s->n);
}

/* The code at pc, at its start, its system call, or behind that. */
static const struct sigreturn *find(struct us_walk *w, us_gva pc, bool at_start)
{
	if (!(w->flags & US_PC_USER) || w->word != 8)
		return NULL;
	for (size_t i = 0; i < sizeof(sigreturns) / sizeof(*sigreturns); i++) {
		const struct sigreturn *s = &sigreturns[i];
		if (is_there(w, pc, s) || (!at_start && (is_there(w, pc - s->call, s) ||
							 is_there(w, pc - s->n, s))))
			return s;
	}
	return NULL;
}

bool us_walk_is_signal(struct us_walk *w, struct us_step *s)
{
	if (!(w->flags & US_PC_USER))
		return false;
	const struct us_site *at = us_sites_find(w->u->sites, s->pc, false, w->site);
	bool table = at->source == US_SITE_CFI;
	s->exact = table ? at->cfi.rule->flags & US_CFI_SIGNAL
			 : find(w, s->pc, true) != NULL;
	return s->exact;
}

bool us_step_signal(struct us_walk *w, const struct us_site *site, struct us_step *ret)
{
	const struct sigreturn *s = w->after_call ? NULL : find(w, w->pc, false);
	return s && us_step_cfi(w, site, &s->rule, s->saved, ret) == US_STEP_YES;
}
