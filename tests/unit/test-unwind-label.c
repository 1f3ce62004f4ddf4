/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries whose way out is behind a label with a name of its own (xv6, ucore, Zephyr):
 * from the return address of the handler, and before its CALL.
 */
#include "exit-guest.h"

/* --- x86 --- */

/* push rax; push rcx; mov rdi, rsp; call 0x1000; pop rcx; pop rax; add rsp, 16; iretq
 */
static const char entry[] = "\x50\x51\x48\x89\xe7\xe8\xf6\xef\xff\xff"
			    "\x59\x58\x48\x83\xc4\x10\x48\xcf";

/* An interrupt's frame at STACK + 40, of a leaf that 0x4000 has called. */
static void interrupted(us_gva label)
{
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, entry);
	if (label)
		symbol(label);
	FUNCTION(0x3000, "\x90\x90\xc3");
	calls(0x4000, 0x3000);
	put(STACK, 0x200a);
	put(STACK + 40, 0x3001);
	put(STACK + 48, 8);
	put(STACK + 56, 0x202);
	put(STACK + 64, STACK + 80);
	put(STACK + 72, 16);
	put(STACK + 80, 0x4005);
}

static void x86_label(void **state)
{
	/* None; where the CALL returns to; an instruction behind that. */
	static const us_gva label[] = { 0, 0x200a, 0x200b };
	for (unsigned i = 0; i < 3; i++) {
		done(state);
		fresh(state);
		interrupted(label[i]);
		for (unsigned again = 0; again < 2; again++) {
			unwind(0x1000, STACK);
			assert_true(out.n >= 4);
			assert_int_equal(out.pc[1], 0x200a);
			assert_int_equal(out.pc[2], 0x3001);
			assert_int_equal(out.how[2], US_HOW_INTERRUPT);
			assert_int_equal(out.pc[3], 0x4005);
		}
	}
}

/* The entry itself is what runs, at sp below the frame at STACK + 40. */
static void x86_at(us_gva pc, us_gva sp)
{
	for (unsigned again = 0; again < 2; again++) {
		unwind(pc, sp);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x3001);
		assert_int_equal(out.how[1], US_HOW_INTERRUPT);
		assert_int_equal(out.pc[2], 0x4005);
	}
}

static void x86_before_label(void **state)
{
	/* None; where the CALL returns to; an instruction behind that; a push. */
	static const us_gva label[] = { 0, 0x200a, 0x200b, 0x2001 };
	for (unsigned i = 0; i < 4; i++) {
		done(state);
		fresh(state);
		interrupted(label[i]);
		ram[STACK + 24] = 7; /* what the vector's stub has pushed */
		x86_at(0x2000, STACK + 24);
		x86_at(0x2001, STACK + 16);
		x86_at(0x2002, STACK + 8);
		x86_at(0x2005, STACK + 8);
		x86_at(0x200a, STACK + 8);
	}
}

/* push rax; mov rax, rsp; mov rsp, 0x9000; push rax; cld; call 0x1000; nop; and behind
 * the label: pop rsp; pop rax; iretq */
static void x86_before_label_on_its_stack(void **state)
{
	for (unsigned labelled = 0; labelled < 2; labelled++) {
		done(state);
		fresh(state);
		interrupted(0);
		map.n = 1;
		FUNCTION(0x2000, "\x50\x48\x89\xe0\x48\xc7\xc4\x00\x90\x00\x00\x50"
				 "\xfc\xe8\xee\xef\xff\xff\x90\x5c\x58\x48\xcf");
		if (labelled)
			symbol(0x2013);
		symbol(0x3000);
		symbol(0x4000);
		put(0x9000 - 8, STACK + 32);
		x86_at(0x2000, STACK + 40);
		x86_at(0x2001, STACK + 32);
		x86_at(0x2004, STACK + 32);
		x86_at(0x200c, 0x9000 - 8);
		x86_at(0x200d, 0x9000 - 8);
		x86_at(0x2012, 0x9000 - 8);
	}
}

/* The interrupt came right behind a CALL by pointer, which may have led anywhere: push
 * rbx; call rax; pop rbx; ret */
static void x86_before_label_behind_call(void **state)
{
	for (unsigned labelled = 0; labelled < 2; labelled++) {
		done(state);
		fresh(state);
		FUNCTION(0x1000, "\xc3");
		FUNCTION(0x2000, "\x50\xe8\xfa\xef\xff\xff\x58\x48\xcf");
		if (labelled)
			symbol(0x2006);
		FUNCTION(0x3000, "\x53\xff\xd0\x5b\xc3");
		calls(0x4000, 0x3000);
		put(STACK + 8, 0x3003);
		put(STACK + 16, 8);
		put(STACK + 24, 0x202);
		put(STACK + 32, STACK + 48);
		put(STACK + 40, 16);
		put(STACK + 56, 0x4005);
		for (us_gva pc = 0x2000; pc <= 0x2001; pc++) {
			unwind(pc, pc == 0x2000 ? STACK + 8 : STACK);
			assert_true(out.n >= 3);
			assert_int_equal(out.pc[1], 0x3003);
			assert_int_equal(out.how[1], US_HOW_INTERRUPT);
			assert_int_equal(out.pc[2], 0x4005);
		}
		put(STACK + 16, 0); /* no frame: a function that was called */
		unwind(0x2000, STACK + 8);
		assert_true(!labelled || out.how[1] == US_HOW_CODE);
	}
}

/* A frame that is not there once may be there the next time. */
static void x86_label_again(void **state)
{
	(void)state;
	interrupted(0x200a);
	put(STACK + 48, 0);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	put(STACK + 48, 8);
	unwind(0x1000, STACK);
	assert_true(out.n >= 4);
	assert_int_equal(out.pc[2], 0x3001);
}

/* What a CALL at the end of a function is followed by is another function: one that
 * returns, or that has a prologue of its own. */
static void x86_no_label(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, "\x50\x51\x48\x89\xe7\xe8\xf6\xef\xff\xff");
	FUNCTION(0x200a, "\x55\x48\x89\xe5\x5d\x59\x58\x48\x83\xc4\x10\x48\xcf");
	put(STACK, 0x200a);
	put(STACK + 40, 0x3001);
	put(STACK + 48, 8);
	put(STACK + 56, 0x202);
	put(STACK + 64, STACK + 80);
	put(STACK + 72, 16);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	memcpy(ram + 0x200a, "\x59\x58\x85\xc0\x74\x06\x48\x83\xc4\x10\x48\xcf\xc3",
	       13);
	us_unwinder_set_code(unwinder, &map, &cfi);
	unwind(0x1000, STACK); /* jz to a ret */
	assert_int_equal(out.n, 2);
	unwind(0x2002, STACK + 8);
	assert_int_equal(out.n, 1);
}

/* Behind boot code that calls the kernel lies another way in: push rax; push rcx; call;
 * pop rcx; pop rax; iretq.  What is on the stack may look like a frame. */
static void x86_way_in(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xc3");
	FUNCTION(0x2000, "\x90\x90\x90\x90\x90\xe8\xf6\xef\xff\xff");
	FUNCTION(0x200a, "\x50\x51\xe8\xef\xef\xff\xff\x59\x58\x48\xcf");
	FUNCTION(0x3000, "\x90\x90\xc3");
	put(STACK, 0x200a);
	put(STACK + 8, 0x3001);
	put(STACK + 16, 8);
	put(STACK + 24, 0x202);
	put(STACK + 32, STACK + 48);
	put(STACK + 40, 16);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 2);
	unwind(0x2002, STACK + 8);
	assert_int_equal(out.n, 1);
}

/* --- aarch64 --- */

/* sub sp, sp, #32; stp x29, x30, [sp]; mrs x0, elr_el1; str x0, [sp, #16]; bl; and
 * behind the label: ldr x0, [sp, #16]; msr elr_el1, x0; ldp x29, x30, [sp]; add sp, sp,
 * #32; eret.  The entry itself is what runs. */
static void arm_before_label(void **state)
{
	(void)state;
	arm_chain();
	arm_stack(STACK + 32, STACK, STACK + 8, STACK + 16);
	CODE(0x4000, 0xd10083ff, 0xa9007bfd, 0xd5384020, 0xf9000be0, bl(0x4010, 0x5000),
	     0xf9400be0, 0xd5184020, 0xa9407bfd, 0x910083ff, ERET);
	symbol(0x1000);
	symbol(0x2000);
	symbol(0x3000);
	symbol(0x4000);
	symbol(0x4014);
	symbol(0x5000);
	entered_from(0x3004);
	regs.gpr[US_AARCH64_LR] = 0x200c;
	for (us_gva pc = 0x4000; pc <= 0x4010; pc += 4) {
		look(pc, pc == 0x4000 ? STACK + 32 : STACK, STACK + 32);
		EXPECT(US_END_ROOT, pc, 0x3004, 0x200c, 0x100c);
	}
}

/* --- RISC-V --- */

/* csrw sscratch, sp; addi sp, sp, -64; sd ra, 8(sp); sd s0, 24(sp); csrrw s0, sscratch,
 * zero; csrr s1, sstatus; csrr s2, sepc; sd s0, 16(sp); sd s1, 32(sp); sd s2, 40(sp);
 * mv a0, sp; jal; and behind the label: ld s1, 32(sp); ld s2, 40(sp); csrw sstatus, s1;
 * csrw sepc, s2; ld ra, 8(sp); ld s0, 24(sp); ld sp, 16(sp); sret */
static void riscv_label(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x1073, 0x1401, 0x7139, 0xe406, 0xec22, 0x1473, 0x1400, 0x24f3,
	       0x1000, 0x2973, 0x1410, 0xe822, 0xf026, 0xf44a, 0x850a,
	       JAL(0x401e, 0x5000), 0x7482, 0x7922, 0x9073, 0x1004, 0x1073, 0x1419,
	       0x60a2, 0x6462, 0x6142, 0x0073, 0x1020);
	symbol(0x4022);
	symbol(0x5000);
	riscv_look(STACK + 64, 0x4022);
	riscv_look(STACK + 64, 0x4022);
}

/* addi sp, sp, -64; sd ra, 8(sp); csrr t0, sepc; sd t0, 40(sp); jal; and behind the
 * label: ld t0, 40(sp); csrw sepc, t0; ld ra, 8(sp); addi sp, sp, 64; sret.  The entry
 * itself is what runs. */
static void riscv_before_label(void **state)
{
	static const us_gva pc[] = { 0x4000, 0x4002, 0x4004, 0x4008, 0x400a };
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x7139, 0xe406, 0x22f3, 0x1410, 0xf416, JAL(0x400a, 0x5000),
	       0x72a2, 0x9073, 0x1412, 0x60a2, 0x6121, 0x0073, 0x1020);
	symbol(0x400e);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	entered_from(0x3002);
	for (unsigned i = 0; i < sizeof(pc) / sizeof(*pc); i++) {
		regs.gpr[US_RISCV_RA] = 0x2008;
		look(pc[i], i ? STACK : STACK + 64, 0);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x3002);
		assert_int_equal(out.pc[2], 0x2008);
	}
}

/* Two ways out behind the label, of which one is on another stack: nobody knows. */
static void riscv_two_ways(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	/* jal; beqz a0, 1f; ld sp, 0(sp); 1: ld t0, 40(sp); csrw sepc, t0; addi sp, sp,
	 * 64; mret */
	HALVES(0x4000, 0x7139, 0xe406, JAL(0x4004, 0x5000), 0xc111, 0x6102, 0x72a2,
	       0x9073, 0x1412, 0x6121, 0x0073, 0x3020);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = 0x4008;
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
}

/* la sp, ...; jal; and behind boot code's label another way in: addi sp, sp, -64; sd
 * ra, 8(sp); csrr t0, sepc; sd t0, 40(sp); jal; ld t0, 40(sp); csrw sepc, t0; ld ra,
 * 8(sp); addi sp, sp, 64; sret. */
static void riscv_way_in(void **state)
{
	(void)state;
	riscv_chain(STACK + 64);
	HALVES(0x4000, 0x6141, 0x0001, JAL(0x4004, 0x5000), 0x7139, 0xe406, 0x22f3,
	       0x1410, 0xf416, JAL(0x4012, 0x5000), 0x72a2, 0x9073, 0x1412, 0x60a2,
	       0x6121, 0x0073, 0x1020);
	symbol(0x4008);
	symbol(0x5000);
	put(STACK + 8, 0x2008);
	put(STACK + 40, 0x3002);
	regs.gpr[US_RISCV_RA] = 0x4008;
	entered_from(0x3002);
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4008);
	regs.gpr[US_RISCV_RA] = 0;
	look(0x4002, STACK, 0);
	assert_int_equal(out.n, 1);
}

/* Without page tables all is memory: what is no code that the map knows is not what was
 * broken off. */
static void riscv_no_code(void **state)
{
	riscv_label(state);
	map.text_start = 0x1000;
	map.text_end = 0x5100;
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 40, 0x7002);
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2);
	map.text_start = map.text_end = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(x86_label_again),
		TEST(x86_way_in),
		TEST(x86_label),
		TEST(x86_before_label),
		TEST(x86_before_label_on_its_stack),
		TEST(x86_before_label_behind_call),
		TEST(x86_no_label),
		ARM(arm_before_label),
		RISCV(riscv_label),
		RISCV(riscv_before_label),
		RISCV(riscv_two_ways),
		RISCV(riscv_way_in),
		RISCV(riscv_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
