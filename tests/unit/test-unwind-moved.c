/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that keep their return address in another register for a while, and write
 * no frame record: around a part that the compiler has moved out (clang -Oz), or while
 * they work on another stack. */
#include "exit-guest.h"

#define BLR_X1	   0xd63f0020
#define MOV_X0_LR  0xaa1e03e0
#define MOV_LR_X0  0xaa0003fe
#define MOV_X19_LR 0xaa1e03f3
#define MOV_LR_X19 0xaa1303fe
#define LDR_X9	   0xf940050a /* ldr x10, [x8, #8] */
#define RECORD	   (STACK + 0x20)

/* 0x1000 calls 0x2000, which calls 0x3000 by pointer, which calls the part at 0x4000.
 * The only records are those of the first two. */
static void arm_parts(uint32_t in_part)
{
	map.n = 0;
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LDP_POST, RET);
	CODE(0x2000, STP_PRE, MOV_FP, BLR_X1, LDP_POST, RET);
	CODE(0x3000, 0xd10043ff, MOV_X0_LR, bl(0x3008, 0x4000), MOV_LR_X0, 0x910043ff,
	     RET);
	CODE(0x4000, LDR_X9, in_part, RET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	put(RECORD, RECORD + 0x20);
	put(RECORD + 8, 0x100c);
	put(RECORD + 0x20, 0);
	put(RECORD + 0x28, 0);
	regs.gpr[0] = 0x200c;
	regs.gpr[US_AARCH64_LR] = 0x300c;
}

static void arm_part(void **state)
{
	(void)state;
	arm_parts(NOP);
	for (us_gva pc = 0x4000; pc <= 0x4008; pc += 4) {
		look(pc, STACK + 0x10, RECORD);
		EXPECT(US_END_ROOT, pc, 0x300c, 0x200c, 0x100c);
	}
	/* Behind it. */
	look(0x300c, STACK + 0x10, RECORD);
	EXPECT(US_END_ROOT, 0x300c, 0x200c, 0x100c);
}

/* mov x0, x2: then nothing has it.  The record is not the function's own. */
static void arm_part_that_changes_it(void **state)
{
	(void)state;
	arm_parts(0xaa0203e0);
	CODE(0x1008, BLR_X1);
	look(0x4000, STACK + 0x10, RECORD);
	EXPECT(US_END_NO_RULE, 0x4000, 0x300c);
}

/* The entry has saved x0 with the part's other registers, or has not. */
static void arm_part_is_interrupted(void **state)
{
	(void)state;
	for (unsigned saves = 0; saves < 2; saves++) {
		arm_parts(NOP);
		/* stp x29, x30, [sp, #-48]!; stp x0, x19, [sp, #16]; mrs x0, elr_el1;
		 * str x0, [sp, #32]; bl 0x6000; ldr x0, [sp, #32]; msr elr_el1, x0;
		 * ldp x0, x19, [sp, #16]; ldp x29, x30, [sp], #48; eret */
		CODE(0x5000, 0xa9bd7bfd, 0xa9014fe0, 0xd5384020, 0xf90013e0,
		     bl(0x5010, 0x6000), 0xf94013e0, 0xd5184020,
		     saves ? 0xa9414fe0 : NOP, 0xa8c37bfd, ERET);
		CODE(0x6000, NOP, RET);
		if (!saves) {
			symbol(0x5000);
			symbol(0x6000);
		}
		us_unwinder_set_code(unwinder, &map, &cfi);
		put(STACK - 0x20, RECORD);
		put(STACK - 0x18, 0x300c);
		put(STACK - 0x10, 0x200c);
		put(STACK, 0x4004);
		regs.gpr[0] = 0x4004;
		regs.gpr[US_AARCH64_LR] = 0x5014;
		look(0x6000, STACK - 0x20, RECORD);
		if (saves)
			EXPECT(US_END_ROOT, 0x6000, 0x5014, 0x4004, 0x300c, 0x200c,
			       0x100c);
		else
			EXPECT(US_END_NO_RULE, 0x6000, 0x5014, 0x4004, 0x300c);
	}
}

/* mov x19, x30; mov x20, sp; mov sp, x2; blr x1; mov sp, x20; mov x30, x19; ret */
static void arm_other_stack(void **state)
{
	(void)state;
	arm_parts(NOP);
	CODE(0x3000, MOV_X19_LR, 0x910003f4, 0x9100005f, BLR_X1, 0x9100029f, MOV_LR_X19,
	     RET);
	regs.gpr[19] = 0x200c;
	regs.gpr[20] = RECORD;
	for (us_gva pc = 0x4000; pc <= 0x4008; pc += 4) {
		regs.gpr[US_AARCH64_LR] = 0x3010;
		look(pc, STACK + 0x4000, RECORD);
		EXPECT(US_END_ROOT, pc, 0x3010, 0x200c, 0x100c);
	}
	for (us_gva pc = 0x3010; pc <= 0x3018; pc += 4) {
		if (pc == 0x3018)
			regs.gpr[US_AARCH64_LR] = 0x200c;
		look(pc, pc == 0x3010 ? STACK + 0x4000 : RECORD, RECORD);
		EXPECT(US_END_ROOT, pc, 0x200c, 0x100c);
	}
}

/* A table says that the return address is still in the link register, although the part
 * was called.  The first sample does not know the other register. */
static void arm_table_says_otherwise(void **state)
{
	(void)state;
	arm_parts(NOP);
	row(0x3000,
	    (struct us_cfi_rule){ .cfa_reg = US_AARCH64_SP,
				  .cfa_off = 16,
				  .pc = US_CFI_IN_REG,
				  .pc_off = US_AARCH64_LR },
	    NULL);
	finish_table();
	regs.valid &= ~1U;
	look(0x4000, STACK + 0x10, RECORD);
	EXPECT(US_END_FAULT, 0x4000, 0x300c);
	regs.valid |= 1;
	look(0x4000, STACK + 0x10, RECORD);
	EXPECT(US_END_ROOT, 0x4000, 0x300c, 0x200c, 0x100c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(arm_part),
		ARM(arm_part_that_changes_it),
		ARM(arm_part_is_interrupted),
		ARM(arm_other_stack),
		ARM(arm_table_says_otherwise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
