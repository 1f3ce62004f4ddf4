/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exit-guest.h: code and stacks for the tests of how kernels leave an entry. */
#ifndef US_TEST_EXIT_GUEST_H
#define US_TEST_EXIT_GUEST_H

#include "link-code.h"

#define STP_PRE	 0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define MOV_FP	 0x910003fd /* mov x29, sp */
#define LDP_POST 0xa8c27bfd /* ldp x29, x30, [sp], #32 */
#define NOP	 0xd503201f
#define RET	 0xd65f03c0
#define ERET	 0xd69f03e0

/* 0x1000 calls 0x2000, which calls the leaf 0x3000. */
static inline void arm_chain(void)
{
	CODE(0x1000, STP_PRE, MOV_FP, bl(0x1008, 0x2000), LDP_POST, RET);
	CODE(0x2000, STP_PRE, MOV_FP, bl(0x2008, 0x3000), LDP_POST, RET);
	CODE(0x3000, NOP, NOP, RET);
	CODE(0x5000, RET);
}

/* The chain's stack from here on, and what an entry's frame has of the leaf. */
static inline void arm_stack(us_gva at, us_gva x29, us_gva x30, us_gva elr)
{
	put(at, at + 0x20);
	put(at + 8, 0x100c);
	put(at + 0x20, 0);
	put(at + 0x28, 0);
	put(x29, at);
	put(x30, 0x200c);
	put(elr, 0x3004);
}

/* 0x1000 calls 0x2000, which calls the leaf 0x3000, each with a frame of 16 bytes. */
static inline void riscv_chain(us_gva stack)
{
	HALVES(0x1000, 0x1141, 0xe406, JAL(0x1004, 0x2000), 0x60a2, 0x0141, 0x8082);
	HALVES(0x2000, 0x1141, 0xe406, JAL(0x2004, 0x3000), 0x60a2, 0x0141, 0x8082);
	HALVES(0x3000, 0x0001, 0x0001, 0x8082);
	HALVES(0x5000, 0x0001, 0x8082);
	put(stack + 8, 0x1008);
	put(stack + 24, 0);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
}

/* What the handler's caller's frame, of 64 bytes at STACK, has of the leaf. */
static inline void riscv_look(us_gva stack, us_gva behind)
{
	put(STACK + 8, 0x2008);
	put(STACK + 16, stack);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = behind;
	look(0x5000, STACK, 0);
	assert_true(out.n >= 5);
	assert_int_equal(out.pc[1], behind);
	assert_int_equal(out.pc[2], 0x3002);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[3], 0x2008);
	assert_int_equal(out.pc[4], 0x1008);
}

static inline void entered_from(us_gva pc)
{
	entered = (struct us_entered){ .pc = pc, .valid = true };
	mem.read_entered = read_entered;
}

#endif
