/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link registers: jumps to where a word beside the code says, as gcc writes them on the
 * stack for nested functions; and handlers that return the frame they were given, as
 * OpenSBI's, which the code below it has called from a space of its own. */
#include "link-code.h"

#define TRAMPOLINE 0x9000 /* no image has it */

static void symbols(size_t n, const us_gva *at)
{
	for (map.n = 0; map.n < n; map.n++)
		start[map.n] = at[map.n];
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define SYMBOLS(...)                                                                   \
	symbols(sizeof((const us_gva[]){ __VA_ARGS__ }) / 8,                           \
		(const us_gva[]){ __VA_ARGS__ })

/* --- what gcc writes on the stack to call a nested function by pointer --- */

/* 0x3000 calls 0x2000, which calls it by pointer, to get to 0x1000. */
static void arm_nested(void)
{
	CODE(0x1000, 0xd503201f, 0xd65f03c0);		 /* nop; ret */
	CODE(0x2000, 0xa9be7bfd, 0xd63f0000, 0xa8c27bfd, /* stp; blr x0; ldp; ret */
	     0xd65f03c0);
	CODE(0x3000, 0xa9be7bfd, bl(0x3004, 0x2000), 0xa8c27bfd, 0xd65f03c0);
	SYMBOLS(0x1000, 0x2000, 0x3000);
	map.text_start = 0x1000;
	map.text_end = 0x3010;
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 8, 0x3008);
	put(STACK + 40, 0);
	regs.gpr[US_AARCH64_LR] = 0x2008;
}

static void arm_through_a_trampoline(void **state)
{
	(void)state;
	arm_nested();
	/* bti c; ldr x17, . + 20; ldr x18, . + 24; br x17 */
	CODE(TRAMPOLINE, 0xd503245f, 0x580000b1, 0x580000d2, 0xd61f0220);
	put(TRAMPOLINE + 24, 0x1000);
	for (us_gva pc = TRAMPOLINE; pc < TRAMPOLINE + 16; pc += 4) {
		look(pc, STACK, STACK);
		EXPECT(US_END_ROOT, pc, 0x2008, 0x3008);
	}
	/* What no CALL is before is no return address; nor is there a way out where
	 * the word leads to no code. */
	regs.gpr[US_AARCH64_LR] = 0x2004;
	look(TRAMPOLINE, STACK, STACK);
	assert_int_equal(out.n, 1);
	regs.gpr[US_AARCH64_LR] = 0x2008;
	put(TRAMPOLINE + 24, 0x5000);
	us_unwinder_set_code(unwinder, &map, &cfi);
	look(TRAMPOLINE + 12, STACK, STACK);
	assert_int_equal(out.n, 1);
}

static void riscv_through_a_trampoline(void **state)
{
	(void)state;
	CODE(0x1000, 0x00000013, 0x00008067);		 /* nop; ret */
	CODE(0x2000, 0xff010113, 0x00113423, 0x000780e7, /* jalr a5 */
	     0x00813083, 0x01010113, 0x00008067);
	CODE(0x3000, 0xff010113, 0x00113423, jal(0x3008, 0x2000), 0x00813083,
	     0x01010113, 0x00008067);
	SYMBOLS(0x1000, 0x2000, 0x3000);
	map.text_start = 0x1000;
	map.text_end = 0x3018;
	us_unwinder_set_code(unwinder, &map, &cfi);
	/* auipc t2, 0; ld t0, 24(t2); ld t2, 16(t2); jr t0 */
	CODE(TRAMPOLINE, 0x00000397, 0x0183b283, 0x0103b383, 0x00028067);
	put(TRAMPOLINE + 24, 0x1000);
	put(STACK + 8, 0x300c);
	regs.gpr[US_RISCV_RA] = 0x200c;
	for (us_gva pc = TRAMPOLINE; pc < TRAMPOLINE + 16; pc += 4) {
		look(pc, STACK, STACK);
		EXPECT(US_END_ROOT, pc, 0x200c, 0x300c);
	}
	/* A word that is far away may be any variable. */
	const uint32_t far = 0x7f83b283; /* ld t0, 2040(t2) */
	memcpy(ram + TRAMPOLINE + 4, &far, 4);
	put(TRAMPOLINE + 2040, 0x1000);
	us_unwinder_set_code(unwinder, &map, &cfi);
	look(TRAMPOLINE + 12, STACK, STACK);
	assert_int_equal(out.n, 1);
}

/* --- a handler that returns the frame that it was given --- */

#define ENTRY	0x4000
#define HANDLER 0x5000
#define FRAME	0xa000
#define ROOT	0xc000
#define HIGH	(UINT64_MAX << 38) /* 0 is there */

/* mv a0, sp; jal HANDLER; ld ra, 8(a0); ld sp, 16(a0); ld s0, 64(a0); ld t0, 256(a0);
 * csrw mepc, t0; ld a0, 80(a0); mret */
static void put_handler(uint32_t first)
{
	CODE(ENTRY, first, jal(ENTRY + 4, HANDLER), 0x00853083, 0x01053103, 0x04053403,
	     0x10053283, 0x34129073, 0x05053503, 0x30200073);
	CODE(HANDLER, 0x00000013, 0x00008067);
	CODE(0x1000, 0x00000013, 0x00008067);
	CODE(0x2000, 0xff010113, 0x00113423, jal(0x2008, 0x1000), 0x00813083,
	     0x01010113, 0x00008067);
	us_unwinder_set_code(unwinder, NULL, NULL);
}
#define MV_A0_SP 0x00010513

/* What was broken off is 0x1000, which 0x2000 called; both lie at the base. */
static void broken_off(us_gva base)
{
	put(FRAME + 8, base + 0x200c);
	put(FRAME + 16, base + STACK);
	put(FRAME + 64, 0x7777);
	put(FRAME + 256, base + 0x1000);
	put(STACK + 8, 0);
}

/* In the handler, and at each instruction after it up to where the frame is left. */
static void expect_all(us_gva base)
{
	regs.gpr[US_RISCV_RA] = ENTRY + 8;
	look(HANDLER, FRAME, 0);
	EXPECT(US_END_ROOT, HANDLER, ENTRY + 8, base + 0x1000, base + 0x200c);
	for (us_gva pc = ENTRY; pc < ENTRY + 24; pc += 4) {
		regs.gpr[US_RISCV_RA] = pc > ENTRY + 8 ? base + 0x200c : ENTRY + 8;
		regs.gpr[10] = FRAME;
		look(pc, pc > ENTRY + 12 ? base + STACK : FRAME,
		     pc > ENTRY + 16 ? 0x7777 : 0);
		EXPECT(US_END_ROOT, pc, base + 0x1000, base + 0x200c);
	}
}

static void riscv_handler_returns_its_frame(void **state)
{
	(void)state;
	put_handler(MV_A0_SP);
	broken_off(0);
	expect_all(0);
	put_handler(0x00010533); /* add a0, sp, zero */
	expect_all(0);
	/* What it is given is another's. */
	put_handler(0x00058513); /* mv a0, a1 */
	regs.gpr[US_RISCV_RA] = ENTRY + 8;
	look(HANDLER, FRAME, 0);
	assert_int_equal(out.n, 2);
}

/* mov x0, sp; bl HANDLER; mov sp, x0; ldp x30, x1, [sp]; msr elr_el1, x1; add sp, sp,
 * #32; eret */
static void arm_handler_returns_its_frame(void **state)
{
	(void)state;
	CODE(ENTRY, 0x910003e0, bl(ENTRY + 4, HANDLER), 0x9100001f, 0xa94007fe,
	     0xd5184021, 0x910083ff, 0xd69f03e0);
	CODE(HANDLER, 0xd503201f, 0xd65f03c0);
	CODE(0x1000, 0xd503201f, 0xd65f03c0);
	CODE(0x2000, 0xa9be7bfd, bl(0x2004, 0x1000), 0xa8c27bfd, 0xd65f03c0);
	put(STACK, 0x2008);
	put(STACK + 8, 0x1000);
	put(STACK + 40, 0);
	regs.gpr[US_AARCH64_LR] = ENTRY + 8;
	look(HANDLER, STACK, 0);
	EXPECT(US_END_ROOT, HANDLER, ENTRY + 8, 0x1000, 0x2008);
	for (us_gva pc = ENTRY; pc < ENTRY + 16; pc += 4) {
		look(pc, STACK, 0);
		if (pc != ENTRY + 8) /* x0 alone has it there */
			EXPECT(US_END_ROOT, pc, 0x1000, 0x2008);
	}
}

/* M-mode is in no space; what it has broken off is where satp says. */
static void riscv_below_machine_mode(void **state)
{
	(void)state;
	put_handler(MV_A0_SP);
	broken_off(HIGH);
	put(ROOT + 256 * 8, 0xcf); /* a page of 1 GiB: V, R, W, X, A, D */
	regs.machine = true;
	regs.space = us_riscv_space(8ULL << 60 | ROOT >> 12, true);
	expect_all(HIGH);
	regs.space = us_riscv_space(0, true);
	regs.gpr[US_RISCV_RA] = ENTRY + 8;
	look(HANDLER, FRAME, 0);
	assert_int_equal(out.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(arm_through_a_trampoline),
		RISCV(riscv_through_a_trampoline),
		ARM(arm_handler_returns_its_frame),
		RISCV(riscv_handler_returns_its_frame),
		RISCV(riscv_below_machine_mode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
