/* SPDX-License-Identifier: GPL-2.0-or-later */
/* aarch64 stacks by the link register: at every instruction, and from exceptions. */
#include "link-code.h"

#define NOP	  0xd503201f
#define STP_PRE	  0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define MOV_FP	  0x910003fd /* mov x29, sp */
#define LDP_POST  0xa8c27bfd /* ldp x29, x30, [sp], #32 */
#define RET	  0xd65f03c0
#define RETAA	  0xd65f0bff
#define PACIASP	  0xd503233f
#define AUTIASP	  0xd50323bf
#define SUB_SP_48 0xd100c3ff
#define ADD_SP_48 0x9100c3ff
#define STR_LR_40 0xf90017fe /* str x30, [sp, #40] */
#define LDR_LR_40 0xf94017fe
#define ERET	  0xd69f03e0
#define BLR_X1	  0xd63f0020
#define CBZ_8	  0xb4000040 /* cbz x0, . + 8 */
#define LOOP	  0x14000000 /* b . */

/* 0x1000 calls 0x2000, which has a frame of 32 bytes and calls 0x3000. */
static void arm_chain(void)
{
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LDP_POST, RET);
	CODE(0x2000, PACIASP, STP_PRE, MOV_FP, bl(0x200c, 0x3000), LDP_POST, AUTIASP,
	     RET);
	put(STACK + 0x40, 0); /* the last frame record */
	put(STACK + 0x48, 0);
}

static void arm_every_instruction(void **state)
{
	(void)state;
	/* pc; how many bytes are on the stack; is the link register the caller's? */
	static const struct {
		us_gva pc;
		uint8_t depth;
		bool framed, link;
	} places[] = {
		{ 0x2000, 0, false, true },  { 0x2004, 0, false, true },
		{ 0x2008, 32, false, true }, { 0x200c, 32, true, true },
		{ 0x2010, 32, true, false }, { 0x2014, 0, false, true },
		{ 0x2018, 0, false, true },
	};
	for (unsigned with_map = 0; with_map < 2; with_map++) {
		arm_chain();
		if (with_map) {
			symbol(0x1000);
			symbol(0x2000);
		}
		put(STACK + 0x20, STACK + 0x40); /* 0x2000's record, at STACK + 0x20 */
		put(STACK + 0x28, 0x100c | 0x2bULL << 48);
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			regs.gpr[US_AARCH64_LR] = places[i].link ? 0x100c : 0x2010;
			look(places[i].pc, STACK + 0x40 - places[i].depth,
			     places[i].framed ? STACK + 0x20 : STACK + 0x40);
			EXPECT(US_END_ROOT, places[i].pc, 0x100c);
		}
	}
}

static void arm_leaf(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x3000, NOP, CBZ_8, NOP, RET);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	/* The caller is in the link register alone; signed, too. */
	for (us_gva pc = 0x3000; pc <= 0x300c; pc += 4) {
		regs.gpr[US_AARCH64_LR] = 0x2010 | (pc & 4 ? 0x7fULL << 48 : 0);
		look(pc, STACK + 0x20, STACK + 0x20);
		EXPECT(US_END_ROOT, pc, 0x2010, 0x100c);
	}
	/* What it holds was no CALL's return address. */
	regs.gpr[US_AARCH64_LR] = 0x2008;
	look(0x3000, STACK + 0x20, STACK + 0x20);
	assert_int_equal(out.n, 1);
}

/* The stack pointer is not known: frames are found by their records, and the callers of
 * what has none yet by the link register. */
static void arm_without_stack_pointer(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x3000, NOP, CBZ_8, NOP, RET);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	symbol(0x1000);
	symbol(0x2000);
	regs.sp_unknown = true;
	regs.valid &= ~(1U << US_AARCH64_SP);
	for (us_gva pc = 0x3000; pc <= 0x300c; pc += 4) {
		regs.gpr[US_AARCH64_LR] = 0x2010;
		look(pc, STACK + 0x20, STACK + 0x20);
		EXPECT(US_END_ROOT, pc, 0x2010, 0x100c);
	}
	regs.gpr[US_AARCH64_LR] = 0x100c;
	look(0x2004, STACK + 0x40, STACK + 0x40);
	EXPECT(US_END_ROOT, 0x2004, 0x100c);
	look(0x200c, STACK + 0x20, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x200c, 0x100c);
	/* It has stored its link register where the stack pointer is. */
	look(0x2008, STACK + 0x40, STACK + 0x40);
	EXPECT(US_END_NO_RULE, 0x2008);
}

static void arm_without_frame_pointer(void **state)
{
	(void)state;
	CODE(0x1000, SUB_SP_48, STR_LR_40, bl(0x1008, 0x2000), LDR_LR_40, ADD_SP_48,
	     RET);
	CODE(0x2000, SUB_SP_48, STR_LR_40, bl(0x2008, 0x3000), LDR_LR_40, ADD_SP_48,
	     RETAA);
	CODE(0x3000, RET);
	put(STACK + 40, 0x100c);
	put(STACK + 48 + 40, 0);
	regs.gpr[US_AARCH64_LR] = 0x200c;
	look(0x3000, STACK, 0x1234567);
	EXPECT(US_END_ROOT, 0x3000, 0x200c, 0x100c);
	regs.gpr[US_AARCH64_LR] = 0x100c; /* before it is stored */
	look(0x2004, STACK, 0x1234567);
	EXPECT(US_END_ROOT, 0x2004, 0x100c);
}

/* A function that never returns, and begins where no symbol tells. */
static void arm_endless(void **state)
{
	(void)state;
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LOOP);
	CODE(0x2000, STP_PRE, MOV_FP, NOP, LOOP + 0x3ffffff); /* b . - 4 */
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	put(STACK + 0x20, 0);
	put(STACK + 0x28, 0);
	regs.gpr[US_AARCH64_LR] = 0x5555;
	look(0x2008, STACK, STACK);
	EXPECT(US_END_ROOT, 0x2008, 0x100c);
	/* Called by a pointer, nothing says that it is no leaf of another one. */
	CODE(0x1008, BLR_X1);
	us_unwinder_set_code(unwinder, NULL, NULL);
	look(0x2008, STACK, STACK);
	assert_int_equal(out.n, 1);
	symbol(0x2000);
	look(0x2008, STACK, STACK);
	EXPECT(US_END_ROOT, 0x2008, 0x100c);
}

/* Behind a CALL that never returns the next function begins. */
static void arm_noreturn(void **state)
{
	(void)state;
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LDP_POST, RET);
	CODE(0x2000, STP_PRE, MOV_FP, bl(0x2008, 0x3000), PACIASP, SUB_SP_48, ADD_SP_48,
	     RET);
	CODE(0x3000, RET);
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	put(STACK + 0x20, 0);
	put(STACK + 0x28, 0);
	regs.gpr[US_AARCH64_LR] = 0x200c;
	look(0x3000, STACK, STACK);
	EXPECT(US_END_ROOT, 0x3000, 0x200c, 0x100c);
}

/* stp x29, x30, [sp, #-16]!; mrs x0, elr_el1; str x0 ... as handlers do. */
static void arm_exception(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x3000, NOP, NOP, RET);
	CODE(0x4000, 0xd10083ff,	     /* sub sp, sp, #32 */
	     0xa9007bfd,		     /* stp x29, x30, [sp] */
	     0xd5384020,		     /* mrs x0, elr_el1 */
	     0xf9000be0,		     /* str x0, [sp, #16] */
	     bl(0x4010, 0x5000), 0xf9400be0, /* ldr x0, [sp, #16] */
	     0xd5184020,		     /* msr elr_el1, x0 */
	     0xa9407bfd,		     /* ldp x29, x30, [sp] */
	     0x910083ff,		     /* add sp, sp, #32 */
	     ERET);
	CODE(0x5000, RET);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	put(STACK, STACK + 0x20); /* x29 */
	put(STACK + 8, 0x2010);	  /* x30: of a leaf that was broken off */
	put(STACK + 16, 0x3004);
	regs.gpr[US_AARCH64_LR] = 0x4014;
	look(0x5000, STACK, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x5000, 0x4014, 0x3004, 0x2010, 0x100c);
	assert_true(out.flags[2] & US_PC_EXACT);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
}

/* The exit is a function of its own: each instruction of it, from when what it goes on
 * with is in a register, to when it is in the processor and the stack given back. */
static void arm_exception_returns(void **state)
{
	(void)state;
	arm_exception(state);
	CODE(0x4100, NOP, 0xa9415bf5,	     /* ldp x21, x22, [sp, #16] */
	     bl(0x4108, 0x5000), 0xd5184035, /* msr elr_el1, x21 */
	     0xd5184016,		     /* msr spsr_el1, x22 */
	     0xa9407bfd,		     /* ldp x29, x30, [sp] */
	     0x910083ff,		     /* add sp, sp, #32 */
	     ERET);
	CODE(0x5000, NOP, RET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4100);
	symbol(0x5000);
	regs.gpr[US_AARCH64_LR] = 0x410c;
	look(0x5000, STACK, STACK);
	EXPECT(US_END_ROOT, 0x5000, 0x410c, 0x3004, 0x2010, 0x100c);
	entered = (struct us_entered){ .pc = 0x3004, .valid = true };
	for (us_gva pc = 0x4100; pc <= 0x411c; pc += 4) {
		bool restored = pc >= 0x4118, last = pc == 0x411c;
		regs.gpr[US_AARCH64_LR] = restored ? 0x2010 : 0x410c;
		mem.read_entered = last ? read_entered : NULL;
		look(pc, last ? STACK + 32 : STACK, restored ? STACK + 0x20 : STACK);
		EXPECT(US_END_ROOT, pc, 0x3004, 0x2010, 0x100c);
		assert_int_equal(out.how[1], US_HOW_INTERRUPT);
		assert_true(out.flags[1] & US_PC_EXACT);
	}
	mem.read_entered = NULL;
}

/* Where the way out takes a program's stack pointer from: once the way in has put it
 * there, and until it is loaded. */
static void arm_programs_stack(void **state)
{
	(void)state;
	CODE(0x4000, 0xd10083ff,     /* sub sp, sp, #32 */
	     0xf90007f7,	     /* str x23, [sp, #8] */
	     0xf9400bf5,	     /* ldr x21, [sp, #16] */
	     bl(0x400c, 0x5000),     /* which handles it */
	     0xf94007f7, 0xd5184117, /* ldr x23, [sp, #8]; msr sp_el0, x23 */
	     0xd5184035,	     /* msr elr_el1, x21 */
	     0x910083ff, ERET);	     /* add sp, sp, #32 */
	CODE(0x5000, NOP, RET);
	symbol(0x4000);
	symbol(0x5000);
	for (us_gva pc = 0x4000; pc <= 0x4020; pc += 4) {
		bool kept = pc >= 0x4008 && pc <= 0x4010;
		look(pc, STACK, STACK);
		const struct us_site *s = us_sites_find(unwinder->sites, pc, false,
							NULL);
		assert_int_equal(s->rule[1].sp_was, kept ? -3 : 0);
	}
}

/* What goes where its caller says is no exception's end. */
static void arm_enters_by_eret(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x3000, NOP, 0xd5184020, /* msr elr_el1, x0 */
	     NOP, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	entered = (struct us_entered){ .pc = 0x1000, .valid = true };
	mem.read_entered = read_entered;
	regs.gpr[0] = 0x1000;
	regs.gpr[US_AARCH64_LR] = 0x2010;
	for (us_gva pc = 0x3000; pc < 0x3010; pc += 4) {
		look(pc, STACK + 0x20, STACK + 0x20);
		EXPECT(US_END_ROOT, pc, 0x2010, 0x100c);
	}
	regs.gpr[US_AARCH64_LR] = 0; /* nobody's call */
	for (us_gva pc = 0x3000; pc < 0x3010; pc += 4) {
		look(pc, STACK + 0x20, STACK + 0x20);
		assert_int_equal(out.n, 1);
	}
	mem.read_entered = NULL;
}

/* Linux with page-table isolation: the last instructions lie in a page that all page
 * tables have, whose address is computed, and x29 is kept in far_el1 meanwhile. */
static void arm_exception_returns_by_trampoline(void **state)
{
	(void)state;
	arm_exception(state);
	CODE(0x4100, 0xa9415bf5,     /* ldp x21, x22, [sp, #16] */
	     0xd5184035,	     /* msr elr_el1, x21 */
	     0xf94003fd,	     /* ldr x29, [sp] */
	     0xd518601d,	     /* msr far_el1, x29 */
	     0x92c0801e,	     /* mov x30, #0xfffffbffffffffff */
	     0xf2bfb7fe, 0xf28c001e, /* movk: 0xfffffbfffdbf6000 */
	     0xd2c0801d,	     /* mov x29, #0x40000000000 */
	     0xf2a0483d, 0xf288201d, /* movk: 0x40002414100 */
	     0x8b1d03de,	     /* add x30, x30, x29 */
	     0xb000001d,	     /* adrp x29, 0x5000 */
	     0xcb1d03de,	     /* sub x30, x30, x29 */
	     0xd61f03c0);	     /* br x30 */
	CODE(0x5100, 0xf94007fe,     /* ldr x30, [sp, #8] */
	     0xd538601d,	     /* mrs x29, far_el1 */
	     0x910083ff,	     /* add sp, sp, #32 */
	     ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4100);
	symbol(0x5100);
	entered = (struct us_entered){ .pc = 0x3004, .valid = true };
	/* In between, where it jumps to is in registers that it has not set itself. */
	for (us_gva pc = 0x4100; pc <= 0x5108; pc += pc == 0x4110 ? 0xff0 : 4) {
		bool restored = pc == 0x410c || pc >= 0x5108;
		regs.gpr[US_AARCH64_LR] = pc > 0x5100 ? 0x2010 : 0x7777;
		mem.read_entered = pc >= 0x5100 ? read_entered : NULL;
		look(pc, STACK, restored ? STACK + 0x20 : STACK);
		if (pc != 0x4110 && pc != 0x5100 && pc != 0x5104)
			EXPECT(US_END_ROOT, pc, 0x3004, 0x2010, 0x100c);
		else /* where x29 is kept is not seen from here */
			assert_true(out.n >= 2 && out.pc[1] == 0x3004);
	}
	mem.read_entered = NULL;
}

/* Until the handler has put it on the stack, there is what the exception before has
 * left; the processor tells, or nobody. */
static void arm_exception_is_not_kept_yet(void **state)
{
	(void)state;
	arm_exception(state);
	CODE(0x3000, NOP, NOP, RET, 0xa9bf7bfd, NOP, RET);
	entered = (struct us_entered){ .pc = 0x3004, .valid = true };
	put(STACK, 0x7777);
	put(STACK + 8, 0x7777);
	put(STACK + 16, 0x3010); /* in another function */
	regs.gpr[US_AARCH64_LR] = 0x2010;
	for (unsigned n = 0; n < 4; n++) {
		if (n == 2) { /* these are there by now */
			put(STACK, STACK + 0x20);
			put(STACK + 8, 0x2010);
		}
		mem.read_entered = read_entered;
		look(0x4000 + 4 * n, n ? STACK : STACK + 32, STACK + 0x20);
		EXPECT(US_END_ROOT, 0x4000 + 4 * n, 0x3004, 0x2010, 0x100c);
		mem.read_entered = NULL;
		look(0x4000 + 4 * n, n ? STACK : STACK + 32, STACK + 0x20);
		assert_int_equal(out.n, 1);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
	put(STACK + 16, 0x3004);
	look(0x4010, STACK, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x4010, 0x3004, 0x2010, 0x100c);
}

static void arm_table(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x3000, NOP, NOP, RET);
	const struct us_cfi_saved fp = { .off = -32, .reg = 29, .how = US_CFI_AT_CFA };
	row(0x2000,
	    (struct us_cfi_rule){ .cfa_reg = US_AARCH64_SP,
				  .cfa_off = 32,
				  .pc = US_CFI_AT_CFA,
				  .pc_off = -24,
				  .n_saved = 1 },
	    &fp);
	row(0x3000,
	    (struct us_cfi_rule){ .cfa_reg = US_AARCH64_SP,
				  .pc = US_CFI_IN_REG,
				  .pc_off = US_AARCH64_LR },
	    NULL);
	finish_table();
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c | 0x11ULL << 48);
	regs.gpr[US_AARCH64_LR] = 0x2010 | 0x22ULL << 48;
	look(0x3004, STACK + 0x20, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x3004, 0x2010, 0x100c);
	assert_int_equal(out.how[1], US_HOW_CFI);
}

/* clang's tables for aarch64 know no epilogues: at the last instruction the frame that
 * they tell is gone, and what lies there is the caller's own return address. */
static void arm_table_without_epilogue(void **state)
{
	(void)state;
	const uint32_t push = 0xf81f0ffe, pop = 0xf84107fe; /* x30, 16 bytes */
	CODE(0x1000, STP_PRE, MOV_FP, BLR_X1, LDP_POST, RET);
	CODE(0x2000, push, BLR_X1, pop, RET);
	CODE(0x3000, push, bl(0x3004, 0x4000), pop, RET);
	CODE(0x4000, RET);
	for (us_gva at = 0x2000; at <= 0x3000; at += 0x1000)
		row(at,
		    (struct us_cfi_rule){ .cfa_reg = US_AARCH64_SP,
					  .cfa_off = 16,
					  .pc = US_CFI_AT_CFA,
					  .pc_off = -16 },
		    NULL);
	finish_table();
	for (us_gva at = 0x1000; at <= 0x4000; at += 0x1000)
		symbol(at);
	put(STACK, 0x2008);
	put(STACK + 16, 0x100c);
	put(STACK + 32, 0); /* 0x1000's record */
	put(STACK + 40, 0);
	regs.gpr[US_AARCH64_LR] = 0x3008;
	look(0x3008, STACK, STACK + 32);
	EXPECT(US_END_ROOT, 0x3008, 0x2008, 0x100c);
	regs.gpr[US_AARCH64_LR] = 0x2008;
	look(0x300c, STACK + 16, STACK + 32);
	EXPECT(US_END_ROOT, 0x300c, 0x2008, 0x100c);
	/* Nor do they know that nothing was pushed yet. */
	look(0x3000, STACK + 16, STACK + 32);
	EXPECT(US_END_ROOT, 0x3000, 0x2008, 0x100c);
}

static void arm_cycles(void **state)
{
	(void)state;
	/* A function that calls itself; its record points at itself, then downwards. */
	CODE(0x2000, STP_PRE, MOV_FP, bl(0x2008, 0x2000), LDP_POST, RET);
	put(STACK + 0x20, STACK + 0x20);
	put(STACK + 0x28, 0x200c);
	symbol(0x2000);
	look(0x200c, STACK + 0x20, STACK + 0x20);
	assert_true(out.n < US_MAX_FRAMES);
	put(STACK + 0x20, STACK);
	look(0x200c, STACK + 0x20, STACK + 0x20);
	assert_true(out.n < US_MAX_FRAMES);
	/* Frames without end. */
	for (us_gva at = STACK; at + 32 < RAM_SIZE; at += 32) {
		put(at, at + 32);
		put(at + 8, 0x200c);
	}
	look(0x2008, STACK, STACK);
	assert_int_equal(out.n, US_MAX_FRAMES);
	assert_int_equal(out.end, US_END_DEPTH);
}

/* At the first instruction of an entry all registers are those of what it broke off. */
static void arm_entering(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x4000, 0xd10083ff, ERET); /* sub sp, sp, #32 */
	CODE(0x3000, NOP, NOP, RET);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	regs.gpr[US_AARCH64_LR] = 0x2010;
	regs.entered =
		(struct us_entered){ .pc = 0x3004, .sp = STACK + 0x20, .valid = true };
	look(0x4000, STACK + 0x300, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x4000, 0x3004, 0x2010, 0x100c);
	assert_int_equal(out.how[1], US_HOW_INTERRUPT);
	assert_true(out.flags[1] & US_PC_EXACT);
	regs.entered.user = true;
	look(0x4000, STACK + 0x300, STACK + 0x20);
	assert_true(out.flags[1] & US_PC_USER);
	assert_false(out.flags[0] & US_PC_USER);
	regs.entered.valid = false;
	look(0x4000, STACK + 0x20, STACK + 0x20);
	assert_true(out.n == 1 || out.pc[1] != 0x3004);
}

/* Where the vectors are was not told: the code must look like them. */
static void arm_entering_perhaps(void **state)
{
	(void)state;
	static const us_gva at = 0x4000 + 5 * 0x80;
	arm_chain();
	for (us_gva slot = 0x4000; slot < 0x4800; slot += 0x80) {
		for (us_gva pad = slot; pad < slot + 0x80; pad += 4)
			CODE(pad, NOP);
		CODE(slot, 0xd10083ff, ERET); /* sub sp, sp, #32 */
	}
	CODE(0x4400, LOOP); /* the last before it fills its room */
	CODE(0x43fc, 0x14000010);
	CODE(0x3000, NOP, NOP, RET);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	regs.gpr[US_AARCH64_LR] = 0x2010;
	regs.entered = (struct us_entered){
		.pc = 0x3004, .sp = STACK + 0x20, .valid = true, .guessed = true
	};
	look(at, STACK + 0x300, STACK + 0x20);
	EXPECT(US_END_ROOT, at, 0x3004, 0x2010, 0x100c);
	/* Nothing is where it is said to have been, and no program is up there. */
	regs.entered.pc = RAM_SIZE;
	look(at, STACK + 0x300, STACK + 0x20);
	assert_true(out.n == 1 || out.pc[1] != RAM_SIZE);
	/* One slot goes over into the next. */
	regs.entered.pc = 0x3004;
	CODE(0x457c, 0xd10083ff);
	look(at, STACK + 0x300, STACK + 0x20);
	assert_true(out.n == 1 || out.pc[1] != 0x3004);
}

/* 0x4000 runs 0x3000 on another stack, which lies above or below its own. */
static void arm_other_stack(void **state)
{
	(void)state;
	static const us_gva others[] = { STACK + 0x800, STACK - 0x800 };
	arm_chain();
	CODE(0x2000, STP_PRE, MOV_FP, bl(0x2008, 0x4000), LDP_POST, RET);
	CODE(0x3000, STP_PRE, MOV_FP, NOP, LDP_POST, RET);
	CODE(0x4000, STP_PRE, MOV_FP, 0xf9400050, /* ldr x16, [x2] */
	     0x9100021f,			  /* mov sp, x16 */
	     BLR_X1, 0x910003bf,		  /* mov sp, x29 */
	     LDP_POST, RET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	put(STACK, STACK + 0x20); /* 0x4000's record */
	put(STACK + 8, 0x200c);
	for (size_t i = 0; i < 2; i++) {
		put(others[i], STACK);
		put(others[i] + 8, 0x4014);
		look(0x3008, others[i], others[i]);
		EXPECT(US_END_ROOT, 0x3008, 0x4014, 0x200c, 0x100c);
	}
	/* Stacks that lead round. */
	put(STACK, STACK - 0x800);
	put(STACK + 8, 0x4014);
	put(STACK - 0x800, STACK);
	put(STACK - 0x800 + 8, 0x4014);
	look(0x3008, STACK, STACK);
	assert_in_range(out.n, 2, 2 + 2 * US_MAX_SWITCHES);
	assert_int_equal(out.end, US_END_CYCLE);
}

/* The caller's code is gone; that stacks begin there is known. */
static void arm_gone(void **state)
{
	(void)state;
	arm_chain();
	memset(ram + 0x1000, 0, 0x20);
	symbol(0x2000);
	put(STACK + 0x20, STACK + 0x40);
	put(STACK + 0x28, 0x100c);
	look(0x2010, STACK + 0x20, STACK + 0x20);
	EXPECT(US_END_NO_RULE, 0x2010);
	row(0x1000, (struct us_cfi_rule){ .pc = US_CFI_LOST }, NULL);
	finish_table();
	look(0x2010, STACK + 0x20, STACK + 0x20);
	EXPECT(US_END_ROOT, 0x2010, 0x100c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(arm_every_instruction),
		ARM(arm_leaf),
		ARM(arm_without_stack_pointer),
		ARM(arm_without_frame_pointer),
		ARM(arm_endless),
		ARM(arm_noreturn),
		ARM(arm_exception),
		ARM(arm_exception_is_not_kept_yet),
		ARM(arm_exception_returns),
		ARM(arm_programs_stack),
		ARM(arm_exception_returns_by_trampoline),
		ARM(arm_enters_by_eret),
		ARM(arm_table),
		ARM(arm_table_without_epilogue),
		ARM(arm_cycles),
		ARM(arm_entering),
		ARM(arm_entering_perhaps),
		ARM(arm_other_stack),
		ARM(arm_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
