/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_regs.c: see program_regs.h. */
#include "trace/plugin/program_regs.h"

#include "trace/plugin/qemu_api.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENV_WORDS 64 /* of the state that we check */
#define NOWHERE	  UINT8_MAX

struct reg {
	const char *name; /* QEMU's name */
	uint8_t word;	  /* in the state of old versions; NOWHERE: not known */
};

/* An ABI refers to its registers by these. */
struct us_program_regs_arch {
	const char *target;
	const struct reg *reg;
	unsigned n_reg;
	uint8_t sp, root;
	uint8_t program_sp; /* the program's, while the kernel has its own */
	uint8_t pc_word;    /* in the state */
	bool (*check)(const uint64_t *env);
};

enum x86_reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, CR3, FS, GS, EFER };
/* struct CPUX86State: 16 registers, eip, eflags, 3 words of condition codes, 4 halves,
 * 6 segments of 3 words, of which the second is the base, ldt, tr, gdt, idt, cr[5]. */
static const struct reg x86_regs[] = {
	[RAX] = { "rax", 0 },	      [RCX] = { "rcx", 1 },
	[RDX] = { "rdx", 2 },	      [RBX] = { "rbx", 3 },
	[RSP] = { "rsp", 4 },	      [RBP] = { "rbp", 5 },
	[RSI] = { "rsi", 6 },	      [RDI] = { "rdi", 7 },
	[R8] = { "r8", 8 },	      [R9] = { "r9", 9 },
	[R10] = { "r10", 10 },	      [CR3] = { "cr3", 56 },
	[FS] = { "fs_base", 36 },     [GS] = { "gs_base", 39 },
	[EFER] = { "efer", NOWHERE },
};
#define X86_EFER_LMA   (1ULL << 10)
#define X86_HFLAGS     22 /* the lower half: QEMU's own flags */
#define X86_HFLAGS_LMA (1ULL << 14)
#define X86_IDT_BASE   51 /* followed by its limit, in half a word */
#define X86_CR0	       53
#define X86_PAGING     0x80000001ULL
#define X86_PC_WORD    16

enum arm_reg { X0, X1, X2, X3, X4, X5, X8, SP, SP_EL0, TTBR0, TPIDR };
static const struct reg arm_regs[] = {
	[X0] = { "x0", NOWHERE },	    [X1] = { "x1", NOWHERE },
	[X2] = { "x2", NOWHERE },	    [X3] = { "x3", NOWHERE },
	[X4] = { "x4", NOWHERE },	    [X5] = { "x5", NOWHERE },
	[X8] = { "x8", NOWHERE },	    [SP] = { "sp", NOWHERE },
	[SP_EL0] = { "SP_EL0", NOWHERE },   [TTBR0] = { "TTBR0_EL1", NOWHERE },
	[TPIDR] = { "TPIDR_EL0", NOWHERE },
};

static bool x86_check(const uint64_t *env)
{
	return (env[X86_CR0] & X86_PAGING) == X86_PAGING;
}

static const struct us_program_regs_arch archs[] = {
	{ "x86_64", x86_regs, sizeof(x86_regs) / sizeof(x86_regs[0]), RSP, CR3, RSP,
	  X86_PC_WORD, x86_check },
	{ "aarch64", arm_regs, sizeof(arm_regs) / sizeof(arm_regs[0]), SP, TTBR0,
	  SP_EL0, NOWHERE, NULL },
};

/* Linux: Documentation/arch/x86/entry_64.rst, man 2 syscall. */
static const struct abi {
	uint8_t number, arg[US_SYSCALL_ARGS], value, thread, behind;
} abis[US_N_ABI] = {
	[US_ABI_X86_64] = { RAX, { RDI, RSI, RDX, R10, R8, R9 }, RAX, FS, RCX },
	[US_ABI_I386] = { RAX, { RBX, RCX, RDX, RSI, RDI, RBP }, RAX, GS, NOWHERE },
	[US_ABI_AARCH64] = { X8, { X0, X1, X2, X3, X4, X5 }, X0, TPIDR, NOWHERE },
};

void us_program_regs_init(struct us_program_regs *r, const char *target, unsigned vcpu)
{
	const char *name[US_REGISTERS_MAX];
	*r = (struct us_program_regs){ 0 };
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (!strcmp(archs[i].target, target))
			r->arch = &archs[i];
	for (unsigned i = 0; r->arch && i < r->arch->n_reg; i++)
		name[i] = r->arch->reg[i].name;
	if (r->arch)
		(void)us_registers_find(&r->registers, name, r->arch->n_reg);
	if (!us_memory_can_be_read() && qemu_get_cpu && cpu_memory_rw_debug)
		r->cpu = qemu_get_cpu((int)vcpu);
}

/* Checked the first time: it may not be an address at all. */
static bool is_state(const struct us_program_regs *r, const uint64_t *env, uint64_t pc)
{
	uint64_t copy[ENV_WORDS];
	struct iovec to = { copy, sizeof(copy) },
		     from = { (void *)(uintptr_t)env, sizeof(copy) };
	return !((uintptr_t)env % sizeof(*env)) &&
	       process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(copy) &&
	       copy[r->arch->pc_word] == pc &&
	       (!r->arch->check || r->arch->check(copy));
}

bool us_program_regs_begin(struct us_program_regs *r, const uint64_t *env, uint64_t pc)
{
	if (r->registers.bytes || !r->arch)
		return r->arch;
	if (!env || r->arch->pc_word == NOWHERE)
		return false;
	if (!r->env && is_state(r, env, pc))
		r->env = env;
	return r->env == env && env[r->arch->pc_word] == pc;
}

static uint64_t read_reg(const struct us_program_regs *r, unsigned i)
{
	uint64_t value = 0;
	if (i >= r->arch->n_reg)
		return 0;
	if (!r->env)
		return us_register_read(&r->registers, i, &value) ? value : 0;
	uint8_t word = r->arch->reg[i].word;
	return word == NOWHERE ? 0 : r->env[word];
}

void us_program_regs_read(const struct us_program_regs *r, enum us_syscall_abi abi,
			  bool entered, struct us_program_call *ret)
{
	const struct abi *a = &abis[abi];
	ret->number = read_reg(r, a->number);
	for (unsigned i = 0; i < US_SYSCALL_ARGS; i++)
		ret->arg[i] = read_reg(r, a->arg[i]);
	ret->value = read_reg(r, a->value);
	ret->sp = read_reg(r, entered ? r->arch->program_sp : r->arch->sp);
	ret->root = read_reg(r, r->arch->root);
	ret->thread = read_reg(r, a->thread);
	ret->behind = read_reg(r, a->behind);
}

bool us_program_regs_sp(const struct us_program_regs *r, uint64_t *ret)
{
	*ret = read_reg(r, r->arch->sp);
	return *ret;
}

bool us_program_regs_is_long(const struct us_program_regs *r)
{
	uint64_t efer;
	if (r->arch->pc_word != X86_PC_WORD)
		return true;
	if (r->env)
		return r->env[X86_HFLAGS] & X86_HFLAGS_LMA;
	return !us_register_read(&r->registers, EFER, &efer) || efer & X86_EFER_LMA;
}

bool us_program_regs_gates(const struct us_program_regs *r, uint64_t *ret_gva,
			   size_t *ret_n)
{
	if (!r->env || r->arch->pc_word != X86_PC_WORD)
		return false;
	*ret_gva = r->env[X86_IDT_BASE];
	*ret_n = (uint32_t)r->env[X86_IDT_BASE + 1] + 1ULL;
	return true;
}

bool us_program_memory_is_there(const struct us_program_regs *r)
{
	return us_memory_can_be_read() || r->cpu;
}

bool us_program_memory_read(const struct us_program_regs *r, uint64_t gva, void *dst,
			    size_t n)
{
	if (!r->cpu)
		return us_memory_read(&r->registers, gva, dst, n);
	return !cpu_memory_rw_debug(r->cpu, gva, dst, n, false);
}
