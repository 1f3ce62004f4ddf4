/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/machine.c: see gdb/machine.h. */
#include "backend/gdb/machine.h"

#include <string.h>

#define CR0_PE	    1u
#define EFLAGS_VM   (1u << 17)
#define EFER_LMA    (1u << 10)
#define CPSR_NARROW (1u << 4)
#define PRIV_M	    3

/* Arm ARM D1.3.1: 16 entries of 128 bytes; C5.2.18: SPSR_EL1, the interrupted state;
 * SPSR_EL2 and SPSR_EL3 are alike. */
#define VECTORS_SIZE  0x800
#define VECTORS_LOWER 0x400 /* from here on: entries from programs */
#define VECTOR_SIZE   0x80
#define SPSR_M	      0x1f /* the mode, and whether it was 32-bit code */
#define SPSR_EL0      0x00
#define SPSR_EL(n)    ((n) << 2)
#define SPSR_H	      0x01 /* with that level's own stack pointer, not SP_EL0 */
/* RISC-V privileged architecture, 4.1.2 and 4.1.1. */
#define STVEC_MODE  3
#define SSTATUS_SPP (1U << 8)
#define MSTATUS_MPP 11 /* the lowest bit of two (3.1.6.1) ... */
#define MPP_U	    0  /* ... and what they say */
#define MPP_NONE    2
#define MPP_M	    3
#define CAUSES	    64 /* interrupts, with a word of code each */

static const struct us_gdb_name x86_names[] = {
	{ "rax", US_X86_RAX },	    { "eax", US_X86_RAX }, { "rdx", US_X86_RDX },
	{ "edx", US_X86_RDX },	    { "rcx", US_X86_RCX }, { "ecx", US_X86_RCX },
	{ "rbx", US_X86_RBX },	    { "ebx", US_X86_RBX }, { "rsi", US_X86_RSI },
	{ "esi", US_X86_RSI },	    { "rdi", US_X86_RDI }, { "edi", US_X86_RDI },
	{ "rbp", US_X86_RBP },	    { "ebp", US_X86_RBP }, { "rsp", US_X86_RSP },
	{ "esp", US_X86_RSP },	    { "r8", US_X86_R8 },   { "r9", US_X86_R9 },
	{ "r10", US_X86_R10 },	    { "r11", US_X86_R11 }, { "r12", US_X86_R12 },
	{ "r13", US_X86_R13 },	    { "r14", US_X86_R14 }, { "r15", US_X86_R15 },
	{ "rip", US_GDB_PC },	    { "eip", US_GDB_PC },  { "eflags", US_GDB_FLAGS },
	{ "rflags", US_GDB_FLAGS }, { "cs", US_GDB_CS },   { "cr0", US_GDB_CR0 },
	{ "ss", US_GDB_SS },	    { "cr3", US_GDB_CR3 }, { "cr4", US_GDB_CR4 },
	{ "efer", US_GDB_EFER },
};

/* QEMU's names; x0 to x30 are read as numbers. */
static const struct us_gdb_name aarch64_names[] = {
	{ "sp", US_AARCH64_SP },	 { "pc", US_GDB_PC },
	{ "cpsr", US_GDB_FLAGS },	 { "fp", US_AARCH64_FP },
	{ "lr", US_AARCH64_LR },	 { "TTBR0_EL1", US_GDB_TTBR0 },
	{ "TTBR1_EL1", US_GDB_TTBR1 },	 { "TCR_EL1", US_GDB_TCR },
	{ "SCTLR", US_GDB_SCTLR },	 { "SCTLR_EL1", US_GDB_SCTLR },
	{ "VBAR", US_GDB_VBAR },	 { "VBAR_EL1", US_GDB_VBAR },
	{ "ELR_EL1", US_GDB_ELR },	 { "SPSR_EL1", US_GDB_SPSR },
	{ "SP_EL0", US_GDB_SP_EL0 },	 { "TPIDRRO_EL0", US_GDB_TPIDRRO },
	{ "VBAR_EL2", US_GDB_VBAR_EL2 }, { "ELR_EL2", US_GDB_ELR_EL2 },
	{ "SPSR_EL2", US_GDB_SPSR_EL2 }, { "VBAR_EL3", US_GDB_VBAR_EL3 },
	{ "ELR_EL3", US_GDB_ELR_EL3 },	 { "SPSR_EL3", US_GDB_SPSR_EL3 },
};

static const struct us_gdb_name riscv_names[] = {
	{ "zero", 0 },
	{ "ra", 1 },
	{ "sp", 2 },
	{ "gp", 3 },
	{ "tp", 4 },
	{ "t0", 5 },
	{ "t1", 6 },
	{ "t2", 7 },
	{ "fp", 8 },
	{ "s0", 8 },
	{ "s1", 9 },
	{ "a0", 10 },
	{ "a1", 11 },
	{ "a2", 12 },
	{ "a3", 13 },
	{ "a4", 14 },
	{ "a5", 15 },
	{ "a6", 16 },
	{ "a7", 17 },
	{ "s2", 18 },
	{ "s3", 19 },
	{ "s4", 20 },
	{ "s5", 21 },
	{ "s6", 22 },
	{ "s7", 23 },
	{ "s8", 24 },
	{ "s9", 25 },
	{ "s10", 26 },
	{ "s11", 27 },
	{ "t3", 28 },
	{ "t4", 29 },
	{ "t5", 30 },
	{ "t6", 31 },
	{ "pc", US_GDB_PC },
	{ "satp", US_GDB_SATP },
	{ "priv", US_GDB_PRIV },
	{ "stvec", US_GDB_STVEC },
	{ "sepc", US_GDB_SEPC },
	{ "sstatus", US_GDB_SSTATUS },
	{ "mtvec", US_GDB_MTVEC },
	{ "mepc", US_GDB_MEPC },
	{ "mstatus", US_GDB_MSTATUS },
};

/* 16-bit code: the segment bases follow from the selectors. */
static void decode_real(const uint64_t *v, struct us_regs *r)
{
	bool reset = v[US_GDB_CS] == 0xf000 && r->pc == 0xfff0;
	r->bits = 16;
	r->pc += reset ? 0xffff0000 : (v[US_GDB_CS] & 0xffff) << 4;
	r->sp = ((v[US_GDB_SS] & 0xffff) << 4) + (uint16_t)r->sp;
	r->fp = ((v[US_GDB_SS] & 0xffff) << 4) + (uint16_t)r->fp;
}

static void decode_x86(bool wide, bool controls, const uint64_t *v, struct us_regs *r,
		       struct us_gdb_code *code)
{
	r->bits = wide ? 64 : 32;
	if (!controls) {
		r->user = (v[US_GDB_CS] & 3) == 3;
		return;
	}
	bool protected = v[US_GDB_CR0] & CR0_PE, vm = v[US_GDB_FLAGS] & EFLAGS_VM;
	bool lma = v[US_GDB_EFER] & EFER_LMA;
	r->space.root = v[US_GDB_CR3];
	r->space.mode = us_x86_paging_mode(v[US_GDB_CR0], v[US_GDB_CR4],
					   v[US_GDB_EFER]);
	r->user = protected && ((v[US_GDB_CS] & 3) == 3 || vm);
	if (!lma && (!protected || vm)) {
		decode_real(v, r);
		return;
	}
	r->bits = lma ? 64 : 32;
	/* Above 4 GiB, all code is 64-bit. */
	code->open = !lma || r->pc <= UINT32_MAX;
	code->selector = (uint16_t)v[US_GDB_CS];
	code->mode = lma ? 2 : 1;
	code->ip = r->pc;
}

static void decode_aarch64(bool wide, bool controls, const uint64_t *v,
			   struct us_regs *r, struct us_gdb_code *code)
{
	(void)wide;
	(void)controls;
	code->mode = v[US_GDB_FLAGS] >> 2 & 3;
	r->bits = v[US_GDB_FLAGS] & CPSR_NARROW ? 0 : 64;
	r->user = code->mode == 0;
	r->level = code->mode >= 2 && r->bits ? code->mode : 0;
}

/* Only the stub knows how EL2 and EL3 translate. */
static void space_of_aarch64(const uint64_t *v, const struct us_gdb_code *code,
			     struct us_regs *r)
{
	if (code->mode <= 1)
		r->space = us_aarch64_space(
			v[US_GDB_TTBR0 - US_GDB_APART], v[US_GDB_TTBR1 - US_GDB_APART],
			v[US_GDB_TCR - US_GDB_APART], v[US_GDB_SCTLR - US_GDB_APART]);
}

/* A level's registers for the exceptions that it takes. */
struct level {
	uint64_t vbar, elr, spsr;
};

static struct level level_of(const uint64_t *v, const struct us_regs *r)
{
	static const uint8_t vbar[] = { US_GDB_VBAR, US_GDB_VBAR, US_GDB_VBAR_EL2,
					US_GDB_VBAR_EL3 };
	static const uint8_t elr[] = { US_GDB_ELR, US_GDB_ELR, US_GDB_ELR_EL2,
				       US_GDB_ELR_EL3 };
	static const uint8_t spsr[] = { US_GDB_SPSR, US_GDB_SPSR, US_GDB_SPSR_EL2,
					US_GDB_SPSR_EL3 };
	return (struct level){ v[vbar[r->level] - US_GDB_APART],
			       v[elr[r->level] - US_GDB_APART],
			       v[spsr[r->level] - US_GDB_APART] };
}

/* Of EL2 and EL3 only what they have interrupted of their own: the levels below may
 * have other page tables. */
static bool left_aarch64(const uint64_t *v, const struct us_regs *r,
			 struct us_entered *ret)
{
	struct level l = level_of(v, r);
	uint64_t mode = l.spsr & SPSR_M, own = SPSR_EL(r->level ? r->level : 1U);
	bool own_sp = mode == (own | SPSR_H), kernel = own_sp || mode == own;
	bool translates = r->space.mode == US_PAGING_AARCH64;
	bool fits = r->level ? kernel
			     : (kernel || mode == SPSR_EL0) &&
				       (translates || r->space.mode == US_PAGING_OFF);
	if (!fits)
		return false;
	*ret = (struct us_entered){
		.pc = l.elr,
		.sp = own_sp ? r->sp : v[US_GDB_SP_EL0 - US_GDB_APART],
		.valid = true,
		.user = !kernel,
		.other_sp = !own_sp,
		.vector = l.vbar,
	};
	return true;
}

/*
 * At an entry from programs, any of its instructions will do: none of them changes the
 * processor's exception registers or the program's stack pointer.  Only the link
 * register is overwritten, if the entry first has to switch to the kernel's page
 * tables; it is then saved in TPIDRRO_EL0 (Linux: tramp_ventry).
 */
static void entered_aarch64(const uint64_t *v, struct us_regs *r)
{
	us_gva at = r->pc - level_of(v, r).vbar;
	bool first = at % VECTOR_SIZE == 0;
	if (at >= VECTORS_SIZE || (!first && at < VECTORS_LOWER) ||
	    !left_aarch64(v, r, &r->entered) || first)
		return;
	r->entered.valid = r->entered.user;
	if (!r->entered.valid)
		return;
	r->gpr[US_AARCH64_LR] = v[US_GDB_TPIDRRO - US_GDB_APART];
	if (!r->gpr[US_AARCH64_LR]) /* not saved, or already restored */
		r->valid &= ~(1U << US_AARCH64_LR);
}

static void decode_riscv(bool wide, bool controls, const uint64_t *v, struct us_regs *r,
			 struct us_gdb_code *code)
{
	(void)wide;
	(void)controls;
	(void)v;
	(void)code;
	r->bits = 64;
	r->gpr[0] = 0;
	r->valid |= 1;
}

static void space_of_riscv(const uint64_t *v, const struct us_gdb_code *code,
			   struct us_regs *r)
{
	(void)code;
	uint64_t priv = v[US_GDB_PRIV - US_GDB_APART];
	r->user = priv == 0;
	r->machine = priv == PRIV_M;
	r->space = us_riscv_space(v[US_GDB_SATP - US_GDB_APART], priv == PRIV_M);
}

static bool left_machine(const uint64_t *v, const struct us_regs *r,
			 struct us_entered *ret)
{
	uint64_t mpp = v[US_GDB_MSTATUS - US_GDB_APART] >> MSTATUS_MPP & 3;
	*ret = (struct us_entered){
		.pc = v[US_GDB_MEPC - US_GDB_APART],
		.sp = r->sp,
		.valid = true,
		.user = mpp == MPP_U,
		.below = mpp != MPP_M,
		.vector = v[US_GDB_MTVEC - US_GDB_APART] & ~(us_gva)STVEC_MODE,
	};
	return mpp != MPP_NONE;
}

static bool left_riscv(const uint64_t *v, const struct us_regs *r,
		       struct us_entered *ret)
{
	if (r->machine)
		return left_machine(v, r, ret);
	if (r->space.mode != US_PAGING_OFF &&
	    (r->space.mode < US_PAGING_RISCV_39 || r->space.mode > US_PAGING_RISCV_57))
		return false;
	*ret = (struct us_entered){
		.pc = v[US_GDB_SEPC - US_GDB_APART],
		.sp = r->sp,
		.valid = true,
		.user = !(v[US_GDB_SSTATUS - US_GDB_APART] & SSTATUS_SPP),
		.vector = v[US_GDB_STVEC - US_GDB_APART] & ~(us_gva)STVEC_MODE,
	};
	return true;
}

/* In vectored mode each interrupt has its own entry.  M-mode shares its address space
 * only with M-mode code that it has interrupted. */
static void entered_riscv(const uint64_t *v, struct us_regs *r)
{
	uint64_t tvec = v[(r->machine ? US_GDB_MTVEC : US_GDB_STVEC) - US_GDB_APART];
	us_gva base = tvec & ~(us_gva)STVEC_MODE;
	bool vectored = (tvec & STVEC_MODE) == 1 && r->pc - base < 4 * CAUSES;
	struct us_entered left;
	if ((r->pc == base || vectored) && left_riscv(v, r, &left) && !left.below)
		r->entered = left;
}

#define BIT(reg)  (1ULL << (reg))
#define NAMES(of) of, sizeof(of) / sizeof(*(of))

static const struct us_gdb_machine machines[] = {
	{ "i386", US_ARCH_X86_64, US_X86_RSP, US_X86_RBP,
	  BIT(US_GDB_CR0) | BIT(US_GDB_CR3) | BIT(US_GDB_CR4) | BIT(US_GDB_EFER),
	  NAMES(x86_names), decode_x86, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, NULL },
	{ "aarch64", US_ARCH_AARCH64, US_AARCH64_SP, US_AARCH64_FP,
	  BIT(US_GDB_TTBR0) | BIT(US_GDB_TTBR1) | BIT(US_GDB_TCR) | BIT(US_GDB_SCTLR),
	  NAMES(aarch64_names), decode_aarch64, space_of_aarch64, VECTOR_SIZE,
	  VECTORS_SIZE,
	  BIT(US_GDB_VBAR) | BIT(US_GDB_ELR) | BIT(US_GDB_SPSR) | BIT(US_GDB_SP_EL0), 0,
	  BIT(US_GDB_VBAR_EL2) | BIT(US_GDB_ELR_EL2) | BIT(US_GDB_SPSR_EL2) |
		  BIT(US_GDB_SP_EL0),
	  BIT(US_GDB_VBAR_EL3) | BIT(US_GDB_ELR_EL3) | BIT(US_GDB_SPSR_EL3) |
		  BIT(US_GDB_SP_EL0),
	  BIT(US_GDB_TPIDRRO), entered_aarch64, left_aarch64 },
	{ "riscv:rv64", US_ARCH_RISCV64, US_RISCV_SP, US_RISCV_FP,
	  BIT(US_GDB_SATP) | BIT(US_GDB_PRIV), NAMES(riscv_names), decode_riscv,
	  space_of_riscv, 4, 0,
	  BIT(US_GDB_STVEC) | BIT(US_GDB_SEPC) | BIT(US_GDB_SSTATUS),
	  BIT(US_GDB_MTVEC) | BIT(US_GDB_MEPC) | BIT(US_GDB_MSTATUS), 0, 0, 0,
	  entered_riscv, left_riscv },
};

const struct us_gdb_machine *us_gdb_machine_of(const char *processor)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (!strncmp(processor, machines[i].processor,
			     strlen(machines[i].processor)))
			return &machines[i];
	return NULL;
}

/* "x0" to "x31", which both architectures have. */
static int number_of(const char *name)
{
	int n = 0;
	if (name[0] != 'x' || !name[1] || strlen(name) > 3)
		return -1;
	for (const char *p = name + 1; *p; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		n = n * 10 + (*p - '0');
	}
	return n < US_MAX_GPR ? n : -1;
}

int us_gdb_register(const struct us_gdb_machine *m, const char *name)
{
	for (size_t i = 0; m && i < m->n_name; i++)
		if (!strcmp(m->name[i].name, name))
			return m->name[i].id;
	return m && m->arch != US_ARCH_X86_64 ? number_of(name) : -1;
}
