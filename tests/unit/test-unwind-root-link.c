/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the stacks of processors with a link register end. */
#include "link-code.h"

#define RV_FRAME 0xe4061141 /* addi sp,sp,-16; sd ra,8(sp) */
#define RV_UNDO	 0x014160a2 /* ld ra,8(sp); addi sp,sp,16 */
#define RV_RET	 0x00018082 /* ret; nop */
#define RV_LOOP	 0x0000006f
#define RV_MRET	 0x30200073
#define RV_SRET	 0x10200073
#define RV_LA_SP 0x00000117, 0x01010113 /* auipc sp,0; addi sp,sp,16 */
#define RV_KEEP	 0x00253023		/* sd sp,0(a0) */
#define RV_SWAP	 0x14011173		/* csrrw sp,sscratch,sp */
#define RV_PUT	 0x14011073		/* csrw sscratch,sp */

/* main at 0x1000 calls 0x2000, right behind which the next function begins; its frame
 * is at STACK. */
static void riscv_main(bool returns)
{
	map.n = 0;
	if (returns)
		WORDS(0x1000, RV_FRAME, jal(0x1004, 0x2000), RV_UNDO, RV_RET);
	else
		WORDS(0x1000, RV_FRAME, jal(0x1004, 0x2000));
	WORDS(returns ? 0x1010 : 0x1008, RV_RET);
	WORDS(0x2000, RV_RET);
}

static void riscv_entered_by_mret(void **state)
{
	(void)state;
	static const struct {
		uint32_t last;
		uint8_t end;
	} cases[] = { { RV_MRET, US_END_ROOT },
		      { RV_SRET, US_END_ROOT },
		      { RV_RET, US_END_NO_RULE },
		      { RV_LOOP, US_END_NO_RULE } };
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		riscv_main(i & 1);
		WORDS(0x3000, jal(0x3000, 0x4000), RV_LOOP);
		WORDS(0x4000, 0x00000013, cases[i / 2].last);
		put(STACK + 8, 0x3004);
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, cases[i / 2].end);
		/* ... and while it is still, or again, in the register. */
		look_with_link(0x1000, STACK + 16, 0x3004);
		ends(1, cases[i / 2].end);
	}
	/* What is there has left itself. */
	riscv_main(false);
	WORDS(0x3000, jal(0x3000, 0x4000), RV_MRET);
	WORDS(0x4000, RV_RET);
	put(STACK + 8, 0x3004);
	look_with_link(0x2000, STACK, 0x1008);
	ends(2, US_END_ROOT);
}

static void riscv_thread(void **state)
{
	(void)state;
	for (unsigned returns = 0; returns < 2; returns++) {
		riscv_main(returns);
		put(STACK + 8, 0x1000); /* entered by a ret to it */
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, US_END_ROOT);
		put(STACK + 8, 0x777000); /* a program's, or garbage */
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, returns ? US_END_NO_RULE : US_END_ROOT);
	}
}

static void riscv_own_stack(void **state)
{
	(void)state;
	static const struct {
		uint32_t first;
		uint8_t end;
	} cases[] = { { 0x00000013, US_END_ROOT },
		      { RV_KEEP, US_END_NO_RULE },
		      { RV_PUT, US_END_NO_RULE },
		      { RV_SWAP, US_END_NO_RULE } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		map.n = 0;
		WORDS(0x1000, cases[i].first, RV_LA_SP, jal(0x100c, 0x2000), RV_LOOP);
		WORDS(0x2000, RV_RET);
		for (unsigned k = 0; k < 8; k++)
			put(STACK + k * 8, 0x777000);
		look_with_link(0x2000, STACK, 0x1010);
		ends(2, cases[i].end);
	}
}

#define ARM_FRAME 0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define ARM_MOV	  0x910003fd /* mov x29, sp */
#define ARM_LOOP  0x14000000
#define ARM_RET	  0xd65f03c0
#define ARM_ERET  0xd69f03e0

static void arm_entered_by_eret(void **state)
{
	(void)state;
	for (unsigned leaves = 0; leaves < 2; leaves++) {
		map.n = 0;
		WORDS(0x1000, ARM_FRAME, ARM_MOV, bl(0x1008, 0x2000), ARM_LOOP);
		WORDS(0x2000, ARM_RET);
		WORDS(0x3000, bl(0x3000, 0x4000), ARM_LOOP);
		WORDS(0x4000, leaves ? ARM_ERET : ARM_RET);
		put(STACK, 0x1234567);
		put(STACK + 8, 0x3004);
		look_with_link(0x2000, STACK, 0x100c);
		ends(2, leaves ? US_END_ROOT : US_END_NO_RULE);
	}
}

static void arm_own_stack(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		map.n = 0;
		/* mov x9, sp; mov sp, x0; bl; b . */
		WORDS(0x1000, kept ? 0x910003e9 : 0xd503201f, 0x9100001f,
		      bl(0x1008, 0x2000), ARM_LOOP);
		WORDS(0x2000, ARM_RET);
		look_with_link(0x2000, STACK, 0x100c);
		ends(2, kept ? US_END_NO_RULE : US_END_ROOT);
	}
}

/* What a new thread begins with has no way back: the switch to it has left what it runs
 * in registers that functions preserve. */
static void arm_thread_starter(void **state)
{
	(void)state;
	enum { MOV = 0xaa1403e0 /* x0, x20 */, BLR = 0xd63f0260 /* x19 */ };
	enum { NOP = 0xd503201f, BACK = 0x17ffffff };
	static const struct {
		uint32_t code[4];
		us_gva fp;
		bool root;
	} cases[] = {
		{ { NOP, MOV, BLR, ARM_LOOP }, 0, true },
		{ { NOP, MOV, BLR, BACK }, 0, true },
		{ { NOP, 0xaa1303e9, 0xd63f0120, BACK }, 0, true }, /* through x9 */
		/* Frames go on. */
		{ { NOP, MOV, BLR, ARM_LOOP }, STACK + 0x100, false },
		/* What its caller gave it, perhaps by way of x19; what it calls itself.
		 */
		{ { NOP, MOV, 0xd63f0020, ARM_LOOP }, 0, false },
		{ { 0xaa0003f3, MOV, BLR, ARM_LOOP }, 0, false },
		{ { NOP, MOV, 0x940003fe, ARM_LOOP }, 0, false },
		/* It keeps the way back, in x21, which has something, or in memory:
		 * mov, str, str. */
		{ { 0xaa1e03f5, MOV, BLR, ARM_LOOP }, 0, false },
		{ { 0xf900003e, MOV, BLR, ARM_LOOP }, 0, false },
		{ { 0xf9000029, 0xf900003e, BLR, ARM_LOOP }, 0, false },
		/* It may return, or go elsewhere: ret, ret x21, br x1, eret. */
		{ { NOP, MOV, BLR, ARM_RET }, 0, false },
		{ { NOP, MOV, BLR, 0xd65f02a0 }, 0, false },
		{ { NOP, MOV, BLR, 0xd61f0020 }, 0, false },
		{ { NOP, MOV, BLR, ARM_ERET }, 0, false },
		/* cbz x19: another path leads on. */
		{ { 0xb4000073, MOV, BLR, ARM_LOOP }, 0, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		map.n = 0;
		function(0x1000, (const char *)cases[i].code, sizeof(cases[i].code));
		WORDS(0x1010, ARM_RET);
		WORDS(0x2000, ARM_RET);
		regs.gpr[US_AARCH64_LR] = 0x100c;
		regs.gpr[21] = 0x1000;
		look(0x2000, STACK, cases[i].fp);
		ends(2, cases[i].root ? US_END_ROOT : US_END_NO_RULE);
	}
	/* It ends with a CALL, and constants are behind it. */
	map.n = 0;
	WORDS(0x1000, MOV, BLR, bl(0x1008, 0x2000), 0x40110800, 0xffffff80);
	WORDS(0x1014, ARM_RET);
	WORDS(0x2000, ARM_RET);
	regs.gpr[US_AARCH64_LR] = 0x1008;
	look(0x2000, STACK, 0);
	ends(2, US_END_ROOT);
	/* Its start is not known. */
	map.n = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	look(0x2000, STACK, 0);
	ends(2, US_END_NO_RULE);
}

static void riscv_thread_starter(void **state)
{
	(void)state;
	enum { MV = 0x00098513 /* a0, s3 */, JALR = 0x000900e7 /* s2 */ };
	for (unsigned given = 0; given < 2; given++) {
		map.n = 0;
		/* mv s2, a1: it is not what the switch has left */
		WORDS(0x1000, given ? 0x00000013 : 0x00058913, MV, JALR, RV_LOOP);
		WORDS(0x2000, RV_RET);
		regs.gpr[US_RISCV_RA] = 0x100c;
		look(0x2000, STACK, 0);
		ends(2, given ? US_END_ROOT : US_END_NO_RULE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RISCV(riscv_entered_by_mret), RISCV(riscv_thread),
		RISCV(riscv_own_stack),	      ARM(arm_entered_by_eret),
		ARM(arm_own_stack),	      ARM(arm_thread_starter),
		RISCV(riscv_thread_starter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
