/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers on a stack of their own, that go back to the interrupted stack by a register
 * that functions preserve, or by a word of their own stack (Zephyr). */
#include "exit-guest.h"

#define FRAME  0x9000 /* of 48 bytes, on the interrupted stack */
#define BEFORE (FRAME + 48)
#define NOT_IT 0xa000

/* stp x19, x30, [sp, #-16]!; mov x19, x2; ldp x19, x30, [sp], #16; ret */
static void arm_handler(void)
{
	arm_chain();
	CODE(0x5000, 0xa9bf7bf3, 0xaa0203f3, 0xa8c17bf3, RET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x5000);
	arm_stack(BEFORE, FRAME, FRAME + 8, FRAME + 32);
	memset(ram + NOT_IT, 0x55, 64);
}

/* stp x29, x30, [sp, #-48]!; stp x0, x19, [sp, #16]; mrs x0, elr_el1; str x0, [sp, #32]
 */
#define ARM_SAVE 0xa9bd7bfd, 0xa9014fe0, 0xd5384020, 0xf90013e0
/* ldr x0, [sp, #32]; msr elr_el1, x0; ldp x0, x19, [sp, #16]; ldp x29, x30, [sp], #48;
 * eret */
#define ARM_LEAVE     0xf94013e0, 0xd5184020, 0xa9414fe0, 0xa8c37bfd, ERET
#define ARM_OWN_STACK 0xd2960001, 0x9100003f /* mov x1, #0xb000; mov sp, x1 */

/* In the handler, which has saved this x19; above its frame is this word. */
static void arm_look(us_gva x19, us_gva word, us_gva behind)
{
	put(STACK, x19);
	put(STACK + 8, behind);
	put(STACK + 16, word);
	look(0x5008, STACK, 0);
}
#define ARM_CHAIN 0x3004, 0x200c, 0x100c

static void arm_by_register(void **state)
{
	(void)state;
	arm_handler();
	/* mov x19, sp; ...; bl; mov sp, x19 */
	CODE(0x4000, ARM_SAVE, 0x910003f3, ARM_OWN_STACK, bl(0x401c, 0x5000),
	     0x9100027f, ARM_LEAVE);
	arm_look(FRAME, NOT_IT, 0x4020);
	EXPECT(US_END_ROOT, 0x5008, 0x4020, ARM_CHAIN);
	/* In the entry itself: on either stack. */
	regs.gpr[19] = FRAME;
	for (us_gva pc = 0x4014; pc <= 0x4020; pc += 4) {
		look(pc, pc < 0x401c ? FRAME : STACK, 0);
		EXPECT(US_END_ROOT, pc, ARM_CHAIN);
	}
	/* Without a symbol, nothing says what x19 is. */
	map.n = 3;
	us_unwinder_set_code(unwinder, &map, &cfi);
	arm_look(FRAME, NOT_IT, 0x4020);
	EXPECT(US_END_NO_RULE, 0x5008, 0x4020);
}

static void arm_by_register_on_one_stack(void **state)
{
	(void)state;
	arm_handler();
	CODE(0x4000, ARM_SAVE, 0x910003f3, bl(0x4014, 0x5000), 0x9100027f, ARM_LEAVE);
	put(FRAME - 16, NOT_IT); /* it is not needed */
	put(FRAME - 8, 0x4018);
	look(0x5008, FRAME - 16, 0);
	EXPECT(US_END_ROOT, 0x5008, 0x4018, ARM_CHAIN);
}

/* x19 is something else: mov x19, x2. */
static void arm_by_another_register(void **state)
{
	(void)state;
	arm_handler();
	CODE(0x4000, ARM_SAVE, 0xaa0203f3, ARM_OWN_STACK, bl(0x401c, 0x5000),
	     0x9100027f, ARM_LEAVE);
	arm_look(FRAME, NOT_IT, 0x4020);
	EXPECT(US_END_NO_RULE, 0x5008, 0x4020);
}

/* The place where it returns to is stored on the way, by that register: mrs x0,
 * elr_el1; str x0, [x19, #32].  Before that, the word is of another exception. */
static void arm_stored_late(void **state)
{
	(void)state;
	arm_handler();
	CODE(0x4000, 0xa9bd7bfd, 0xa9014fe0, 0x910003f3, ARM_OWN_STACK, 0xd5384020,
	     0xf9001260, bl(0x401c, 0x5000), 0x9100027f, ARM_LEAVE);
	arm_look(FRAME, NOT_IT, 0x4020);
	EXPECT(US_END_ROOT, 0x5008, 0x4020, ARM_CHAIN);
	regs.gpr[19] = FRAME;
	put(FRAME + 32, 0x1004);
	look(0x4018, STACK, 0);
	EXPECT(US_END_NO_RULE, 0x4018);
	entered_from(0x3004);
	look(0x4018, STACK, 0);
	EXPECT(US_END_ROOT, 0x4018, ARM_CHAIN);
}

static void arm_by_word(void **state)
{
	(void)state;
	arm_handler();
	/* mov x0, sp; ...; str x0, [sp, #-16]!; bl; ldr x0, [sp], #16; mov sp, x0 */
	CODE(0x4000, ARM_SAVE, 0x910003e0, ARM_OWN_STACK, 0xf81f0fe0,
	     bl(0x4020, 0x5000), 0xf84107e0, 0x9100001f, ARM_LEAVE);
	arm_look(NOT_IT, FRAME, 0x4024);
	EXPECT(US_END_ROOT, 0x5008, 0x4024, ARM_CHAIN);
	look(0x4024, STACK + 16, 0);
	EXPECT(US_END_ROOT, 0x4024, ARM_CHAIN);
	/* It is not that word, but leads to no code. */
	arm_look(FRAME, NOT_IT, 0x4024);
	EXPECT(US_END_NO_RULE, 0x5008, 0x4024);
}

/* addi sp, sp, -16; sd ra, 8(sp); sd s1, 0(sp); mv s1, a2; ld s1, 0(sp); ld ra, 8(sp);
 * addi sp, sp, 16; ret */
static void riscv_handler(void)
{
	riscv_chain(BEFORE);
	CODE(0x5000, 0xff010113, 0x00113423, 0x00913023, 0x00060493, 0x00013483,
	     0x00813083, 0x01010113, 0x00008067);
	symbol(0x5000);
	put(FRAME, 0x2008);
	put(FRAME + 32, 0x3002);
	memset(ram + NOT_IT, 0x55, 64);
}

/* addi sp, sp, -48; sd ra, 0(sp); sd t0, 8(sp); sd s1, 16(sp); csrr t0, sepc; sd t0,
 * 32(sp) */
#define RISCV_SAVE                                                                     \
	0xfd010113, 0x00113023, 0x00513423, 0x00913823, 0x141022f3, 0x02513023
/* ld t0, 32(sp); csrw sepc, t0; ld ra, 0(sp); ld t0, 8(sp); ld s1, 16(sp); addi sp, sp,
 * 48; sret */
#define RISCV_LEAVE                                                                    \
	0x02013283, 0x14129073, 0x00013083, 0x00813283, 0x01013483, 0x03010113,        \
		0x10200073

static void riscv_expect(us_gva s1, us_gva word, us_gva behind, bool whole)
{
	put(STACK, s1);
	put(STACK + 8, behind);
	put(STACK + 16, word);
	look(0x5010, STACK, 0);
	if (whole)
		EXPECT(US_END_ROOT, 0x5010, behind, 0x3002, 0x2008, 0x1008);
	else
		EXPECT(US_END_NO_RULE, 0x5010, behind);
}

static void riscv_by_register(void **state)
{
	(void)state;
	riscv_handler();
	/* mv s1, sp; lui sp, 0xb; jal; mv sp, s1 */
	CODE(0x4000, RISCV_SAVE, 0x00010493, 0x0000b137, jal(0x4020, 0x5000) | 0x80,
	     0x00048113, RISCV_LEAVE);
	riscv_expect(FRAME, NOT_IT, 0x4024, true);
	riscv_expect(NOT_IT, FRAME, 0x4024, false);
}

static void riscv_by_word(void **state)
{
	(void)state;
	riscv_handler();
	/* mv t0, sp; lui sp, 0xb; addi sp, sp, -16; sd t0, 0(sp); jal; ld sp, 0(sp) */
	CODE(0x4000, RISCV_SAVE, 0x00010293, 0x0000b137, 0xff010113, 0x00513023,
	     jal(0x4028, 0x5000) | 0x80, 0x00013103, RISCV_LEAVE);
	riscv_expect(NOT_IT, FRAME, 0x402c, true);
	riscv_expect(FRAME, NOT_IT, 0x402c, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(arm_by_register),
		ARM(arm_by_register_on_one_stack),
		ARM(arm_by_another_register),
		ARM(arm_stored_late),
		ARM(arm_by_word),
		RISCV(riscv_by_register),
		RISCV(riscv_by_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
