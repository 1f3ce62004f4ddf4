/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RISC-V stacks by the link register: at every instruction, and from exceptions. */
#include "link-code.h"

/* Compressed: addi sp,-32; sd ra,24(sp); sd s0,16(sp); addi s0,sp,32; jal; ld; ld;
 * addi sp,32; ret. */
static void riscv_chain(void)
{
	HALVES(0x1000, 0x1101, 0xec06, 0xe822, 0x1000, JAL(0x1008, 0x2000), 0x60e2,
	       0x6442, 0x6105, 0x8082);
	HALVES(0x2000, 0x1101, 0xec06, 0xe822, 0x1000, JAL(0x2008, 0x3000), 0x60e2,
	       0x6442, 0x6105, 0x8082);
	HALVES(0x3000, 0x0001, 0x8082);
	put(STACK + 0x38, 0x100c); /* of 0x2000's frame, which ends at STACK + 0x40 */
	put(STACK + 0x30, STACK + 0x60);
	put(STACK + 0x58, 0);
	put(STACK + 0x50, 0);
}

static void riscv_every_instruction(void **state)
{
	(void)state;
	static const struct {
		us_gva pc;
		uint8_t depth;
		bool framed, link;
	} places[] = {
		{ 0x2000, 0, false, true },  { 0x2002, 32, false, true },
		{ 0x2004, 32, false, true }, { 0x2006, 32, false, true },
		{ 0x2008, 32, true, true },  { 0x200c, 32, true, false },
		{ 0x200e, 32, true, true },  { 0x2010, 32, false, true },
		{ 0x2012, 0, false, true },
	};
	for (unsigned with_map = 0; with_map < 2; with_map++) {
		riscv_chain();
		if (with_map) {
			symbol(0x1000);
			symbol(0x2000);
		}
		for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
			regs.gpr[US_RISCV_RA] = places[i].link ? 0x100c : 0x200c;
			look(places[i].pc, STACK + 0x40 - places[i].depth,
			     places[i].framed ? STACK + 0x40 : STACK + 0x60);
			EXPECT(US_END_ROOT, places[i].pc, 0x100c);
		}
	}
}

static void riscv_leaf(void **state)
{
	(void)state;
	riscv_chain();
	regs.gpr[US_RISCV_RA] = 0x200c;
	look(0x3000, STACK + 0x20, STACK + 0x40);
	EXPECT(US_END_ROOT, 0x3000, 0x200c, 0x100c);
	/* By a pointer (c.jalr a5), and to far away (auipc, jalr). */
	HALVES(0x200a, 0x9782);
	HALVES(0x1004, 0x1097, 0x0000, 0x80e7, 0xffc0); /* to 0x2000 */
	us_unwinder_set_code(unwinder, NULL, NULL);
	look(0x3000, STACK + 0x20, STACK + 0x40);
	assert_int_equal(out.pc[1], 0x200c);
	assert_int_equal(out.pc[2], 0x100c);
}

static void riscv_exception_returns(void **state)
{
	(void)state;
	riscv_chain();
	CODE(0x4100, 0x00000013, 0x01013283, /* nop; ld t0, 16(sp) */
	     0x14129073, 0x00813083,	     /* csrw sepc, t0; ld ra, 8(sp) */
	     0x00013403, 0x02010113,	     /* ld s0, 0(sp); addi sp, sp, 32 */
	     0x10200073);		     /* sret */
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4100);
	put(STACK, STACK + 0x40); /* s0 */
	put(STACK + 8, 0x200c);	  /* ra */
	put(STACK + 16, 0x3000);  /* sepc */
	entered = (struct us_entered){ .pc = 0x3000, .valid = true };
	for (us_gva pc = 0x4100; pc <= 0x4118; pc += 4) {
		bool last = pc == 0x4118;
		regs.gpr[US_RISCV_RA] = pc >= 0x4110 ? 0x200c : 0x4104;
		mem.read_entered = last ? read_entered : NULL;
		look(pc, last ? STACK + 0x20 : STACK,
		     pc >= 0x4114 ? STACK + 0x40 : STACK);
		EXPECT(US_END_ROOT, pc, 0x3000, 0x200c, 0x100c);
	}
	mem.read_entered = NULL;
}

/* A frame too large for one instruction: lui t0; add sp, sp, t0. */
static void riscv_large_frame(void **state)
{
	(void)state;
	HALVES(0x1000, 0x1101, 0xec06, JAL(0x1004, 0x2000), 0x60e2, 0x6105, 0x8082);
	HALVES(0x2000, 0x1101, 0xec06, /* addi sp,-32; sd ra,24(sp) */
	       0x72fd, 0x9116,	       /* lui t0,-1; add sp,t0 */
	       0x0001,		       /* nop */
	       0x6285, 0x9116,	       /* lui t0,1; add sp,t0 */
	       0x60e2, 0x6105, 0x8082);
	symbol(0x1000);
	symbol(0x2000);
	put(STACK + 0x1000 + 24, 0x1008);
	put(STACK + 0x1020 + 24, 0);
	regs.gpr[US_RISCV_RA] = 0x5550;
	look(0x2008, STACK, 0x1234);
	EXPECT(US_END_ROOT, 0x2008, 0x1008);
}

static void riscv_record(void **state)
{
	(void)state;
	riscv_chain();
	HALVES(0x200c, 0xa001); /* j . : it never returns */
	regs.gpr[US_RISCV_RA] = 0x5550;
	look(0x200c, STACK + 0x20, STACK + 0x40);
	EXPECT(US_END_ROOT, 0x200c, 0x100c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RISCV(riscv_every_instruction),
		RISCV(riscv_exception_returns),
		RISCV(riscv_leaf),
		RISCV(riscv_large_frame),
		RISCV(riscv_record),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
