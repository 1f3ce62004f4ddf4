/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How kernels leave what an interrupt entered: with the stack pointer from the frame
 * (FreeBSD), by a swap with a scratch register (FreeBSD, rCore), from EL2 and EL3; and
 * functions with a shadow stack.  Behind a label: test-unwind-label.c.
 */
#include "exit-guest.h"

/* --- aarch64 --- */

/* mov x18, sp; sub sp, sp, #64; stp x0, x29, [sp, #32]; stp x18, x30, [sp]; mrs x10,
 * elr_el1; mrs x11, spsr_el1; stp x10, x11, [sp, #16]; bl; ldp x18, x30, [sp]; ldp x10,
 * x11, [sp, #16]; msr spsr_el1, x11; msr elr_el1, x10; ldp x0, x29, [sp, #32]; mov sp,
 * x18; eret */
static void arm_stack_from_frame(void **state)
{
	(void)state;
	static const us_gva stacks[] = { STACK + 64, STACK + 0x400 };
	arm_chain();
	CODE(0x4000, 0x910003f2, 0xd10103ff, 0xa90277e0, 0xa9007bf2, 0xd538402a,
	     0xd538400b, 0xa9012fea, bl(0x401c, 0x5000), 0xa9407bf2, 0xa9412fea,
	     0xd518400b, 0xd518402a, 0xa94277e0, 0x9100025f, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x5000);
	for (unsigned i = 0; i < 2; i++) { /* on this stack, and on another */
		arm_stack(stacks[i], STACK + 40, STACK + 8, STACK + 16);
		put(STACK, stacks[i]);
		regs.gpr[US_AARCH64_LR] = 0x4020;
		look(0x5000, STACK, stacks[i]);
		EXPECT(US_END_ROOT, 0x5000, 0x4020, 0x3004, 0x200c, 0x100c);
		assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	}
}

/* sub sp, sp, #32; stp x29, x30, [sp]; mrs x0, elr_el2; str x0, [sp, #16]; bl; ldr x0,
 * [sp, #16]; msr elr_el2, x0; ldp x29, x30, [sp]; add sp, sp, #32; eret */
static void arm_levels(void **state)
{
	(void)state;
	/* EL1, EL2, EL3, and the register that EL2 has of EL1's. */
	static const uint32_t level[] = { 0, 4, 6, 5 };
	for (unsigned i = 0; i < 4; i++) {
		uint32_t bits = level[i] << 16;
		arm_chain();
		arm_stack(STACK + 32, STACK, STACK + 8, STACK + 16);
		CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020 | bits, 0xf9000be0,
		     bl(0x4010, 0x5000), 0xf9400be0, 0xd5184020 | bits, 0xa9407bfd,
		     0x910083ff, ERET);
		us_unwinder_set_code(unwinder, &map, &cfi);
		regs.gpr[US_AARCH64_LR] = 0x4014;
		look(0x5000, STACK, STACK + 32);
		if (level[i] == 5)
			assert_int_equal(out.n, 2);
		else
			EXPECT(US_END_ROOT, 0x5000, 0x4014, 0x3004, 0x200c, 0x100c);
	}
}

#define TABLE	  0xe000 /* of 512 pages of 4 KiB, as they are */
#define PAGE	  0x403	 /* valid, accessed */
#define EL0	  0x40
#define READ_ONLY 0x80
#define PXN	  (1ULL << 53)

static void map_pages(us_gva from, us_gva to, uint64_t bits)
{
	for (us_gva at = from; at < to; at += 0x1000)
		put(TABLE + (at >> 12) * 8, at | PAGE | bits);
}

/* A kernel in the lower half: where the kernel cannot execute, a program was
 * interrupted.  Its stack pointer is not known, but its frame pointer is. */
static void arm_program_beside_its_kernel(void **state)
{
	static const struct {
		uint64_t code;
		bool user;
	} ways[] = {
		{ EL0 | READ_ONLY | PXN, true },
		{ EL0, true }, /* what programs write to, the kernel cannot execute */
		{ EL0 | READ_ONLY, false }, /* either may have */
		{ 0, false },
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		done(state);
		fresh_arm(state);
		arm_chain();
		arm_stack(STACK + 0x1000, STACK, STACK + 8, STACK + 16);
		CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020, 0xf9000be0,
		     bl(0x4010, 0x5000), 0xf9400be0, 0xd5184020, 0xa9407bfd, 0x910083ff,
		     ERET);
		map_pages(0, 0x10000, 0);
		map_pages(0x1000, 0x4000, ways[i].code);
		map_pages(STACK + 0x1000, STACK + 0x2000, EL0 | PXN);
		us_unwinder_set_code(unwinder, &map, &cfi);
		regs.space = (struct us_space){ .root = TABLE,
						.control = (64 - 21) | 1ULL << 23,
						.mode = US_PAGING_AARCH64 };
		regs.gpr[US_AARCH64_LR] = 0x4014;
		look(0x5000, STACK, STACK + 0x1000);
		print_message("# %zu: %u frames\n", i, out.n);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[2], 0x3004);
		assert_int_equal(out.flags[1] & US_PC_USER, 0);
		assert_int_equal(!!(out.flags[2] & US_PC_USER), ways[i].user);
		if (!ways[i].user)
			continue;
		EXPECT(out.end, 0x5000, 0x4014, 0x3004, 0x200c, 0x100c);
		assert_true(out.flags[4] & US_PC_USER);
	}
}

/* str x30, [x18], #8; stp; mov; bl; ldp; ldr x30, [x18, #-8]!; ret: stopped at each
 * instruction. */
static void arm_shadow_stack(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x2000, 0xf800865e, STP_PRE, MOV_FP, bl(0x200c, 0x3000), LDP_POST,
	     0xf85f8e5e, RET);
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	put(STACK + 0x20, 0);
	put(STACK + 0x28, 0);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	for (us_gva pc = 0x2000; pc <= 0x2018; pc += 4) {
		bool in = pc >= 0x2008 && pc <= 0x2010;
		regs.gpr[US_AARCH64_LR] = pc == 0x2010 ? 0x2010 : 0x100c;
		look(pc, in ? STACK : STACK + 0x20,
		     pc == 0x200c || pc == 0x2010 ? STACK : STACK + 0x20);
		EXPECT(US_END_ROOT, pc, 0x100c);
	}
}

/* gcc's functions load x30 from the shadow stack alone.  Behind a blr it holds what
 * that has left: that the function has called itself is not to be believed. */
static void arm_shadow_stack_alone(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x2000, 0xf800865e, STP_PRE, MOV_FP, 0xd63f0020, /* blr x1 */
	     0xf84207fd,				      /* ldr x29, [sp], #32 */
	     0xf85f8e5e, RET);
	put(STACK, STACK + 0x20);
	put(STACK + 8, 0x100c);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	regs.gpr[US_AARCH64_LR] = 0x2010;
	look(0x2014, STACK + 0x20, STACK + 0x20);
	assert_true(out.n == 1 || out.pc[1] != 0x2010);
}

/* Boot code sets x29 to 0 and calls the kernel; behind it lies an entry's way out, and
 * above its stack the address of code. */
static void arm_root_before_exit(void **state)
{
	(void)state;
	arm_chain();
	CODE(0x4000, 0xaa1f03fd, bl(0x4004, 0x5000), 0xf9400be0, 0xd5184020, 0xa9407bfd,
	     0x910083ff, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 16, 0x3004);
	regs.gpr[US_AARCH64_LR] = 0x4008;
	look(0x5000, STACK, 0);
	EXPECT(US_END_ROOT, 0x5000, 0x4008);
}

/* --- RISC-V --- */

/* A way out as the return address of a handler that the entry jumps to. */
static void riscv_way_out(us_gva way_out)
{
	map.n = 0;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x1073, 0x1401, 0x7139, 0xe406, 0xec22, 0x1473, 0x1400, 0x24f3,
	       0x1000, 0x2973, 0x1410, 0xe822, 0xf026, 0xf44a, 0x850a, 0x0001, 0x0001,
	       0x7482, 0x7922, 0x9073, 0x1004, 0x1073, 0x1419, 0x60a2, 0x6462, 0x6142,
	       0x0073, 0x1020);
	/* addi sp, sp, -16; sd ra, 8(sp); nop; ld ra, 8(sp); addi sp, sp, 16; ret */
	HALVES(0x6000, 0x1141, 0xe406, 0x0001, 0x60a2, 0x0141, 0x8082);
	if (way_out)
		symbol(way_out);
	symbol(0x5000);
	symbol(0x6000);
}

static void riscv_handed_way_out(void **state)
{
	(void)state;
	riscv_way_out(0x4022);
	for (unsigned again = 0; again < 2; again++) {
		riscv_look(STACK + 64, 0x4022);
		assert_true(out.flags[1] & US_PC_EXACT);
	}
	put(STACK - 8, 0x4022); /* once the handler has stored it */
	look(0x6004, STACK - 16, 0);
	assert_int_equal(out.pc[1], 0x4022);
	assert_int_equal(out.pc[2], 0x3002);
	assert_int_equal(out.pc[4], 0x1008);
}

static void no_way_out(us_gva ra)
{
	regs.gpr[US_RISCV_RA] = ra;
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 1);
}

static void riscv_no_way_out(void **state)
{
	(void)state;
	riscv_way_out(0);
	no_way_out(0x4022); /* no function */
	riscv_way_out(0x4022);
	no_way_out(0x4024); /* not its start */
	no_way_out(0x6000); /* an ordinary one */
	regs.user = true;
	no_way_out(0x4022);
	regs.user = false;
	/* Its frame is elsewhere: mv sp, a1 */
	HALVES(0x4022, 0x812e);
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
	riscv_way_out(0x4022);
	HALVES(0x4034, 0x8082, 0x0001); /* ret, not sret */
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
	riscv_way_out(0x4022); /* csrw sepc is missing */
	HALVES(0x402a, 0x0001, 0x0001);
	us_unwinder_set_code(unwinder, &map, &cfi);
	no_way_out(0x4022);
}

/* csrrw sp, sscratch, sp; addi sp, sp, -64; sd ra, 8(sp); sd s0, 24(sp); csrr t0,
 * sscratch; sd t0, 16(sp); csrr t0, sepc; sd t0, 40(sp); mv a0, sp; jal; ld t0, 40(sp);
 * csrw sepc, t0; ld t0, 16(sp); csrw sscratch, t0; ld ra, 8(sp); ld s0, 24(sp); addi
 * sp, sp, 64; csrrw sp, sscratch, sp; sret */
static void riscv_swap(void **state)
{
	(void)state;
	static const us_gva stacks[] = { STACK + 64, STACK + 0x400 };
	for (unsigned i = 0; i < 2; i++) {
		map.n = 0;
		riscv_chain(stacks[i]);
		HALVES(0x4000, 0x1173, 0x1401, 0x7139, 0xe406, 0xec22, 0x22f3, 0x1400,
		       0xe816, 0x22f3, 0x1410, 0xf416, 0x850a, JAL(0x4018, 0x5000),
		       0x72a2, 0x9073, 0x1412, 0x62c2, 0x9073, 0x1402, 0x60a2, 0x6462,
		       0x6121, 0x1173, 0x1401, 0x0073, 0x1020);
		symbol(0x5000);
		riscv_look(stacks[i], 0x401c);
	}
}

/* c.sspush is c.mop.1, and would be lui ra, 0 to older processors; stopped at each
 * instruction. */
static void riscv_shadow_stack(void **state)
{
	(void)state;
	riscv_chain(STACK + 16);
	HALVES(0x2000, 0x6081, 0x1141, 0xe406, JAL(0x2006, 0x3000), 0x60a2, 0x0141,
	       0x8082);
	symbol(0x5000);
	put(STACK + 8, 0x1008);
	put(STACK + 24, 0);
	for (us_gva pc = 0x2000; pc <= 0x200e; pc += pc == 0x2006 ? 4 : 2) {
		bool in = pc >= 0x2004 && pc <= 0x200c;
		regs.gpr[US_RISCV_RA] = pc == 0x200a ? 0x200a : 0x1008;
		look(pc, in ? STACK : STACK + 16, 0);
		assert_true(out.n >= 2);
		assert_int_equal(out.pc[1], 0x1008);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ARM(arm_shadow_stack_alone),
		ARM(arm_program_beside_its_kernel),
		ARM(arm_root_before_exit),
		ARM(arm_stack_from_frame),
		ARM(arm_levels),
		ARM(arm_shadow_stack),
		RISCV(riscv_handed_way_out),
		RISCV(riscv_no_way_out),
		RISCV(riscv_swap),
		RISCV(riscv_shadow_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
