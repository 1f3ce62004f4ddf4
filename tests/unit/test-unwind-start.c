/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caller of a function that never returns and that neither a symbol nor a table nor
 * a CALL names: by the start that the code before it shows. */
#include "link-code.h"

#define SP (STACK + 8) /* of what it has called */

static const uint8_t by_pointer[] = { 0xff, 0xd0, 0xff, 0xe0 }; /* call, jmp *%rax */
static const uint8_t mover[] = { 0x48, 0x89, 0xf5, 0x53, 0x48, 0x83, 0xec, 0x10,
				 0xe8, 0xf3, 0x0f, 0x00, 0x00, 0x31, 0xc0, 0xc3 };

/* What is before 0x2000, and there: mov %rsi,%rbp; push %rbx; sub $16,%rsp; call
 * 0x3000; behind that another function. */
static void stays(const char *before, size_t n)
{
	memcpy(ram + 0x2000 - n, before, n);
	memcpy(ram + 0x2000, mover, sizeof(mover));
	ram[0x3000] = 0xc3;
	memcpy(ram + 0x1000, by_pointer, sizeof(by_pointer));
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define STAYS(before) stays(before, sizeof(before) - 1)

/* below: bytes that the stack is lower than it should be. */
static void expect_caller(us_gva caller, unsigned below, bool found)
{
	us_gva sp = SP - below;
	memset(ram + STACK - 16, 0x77, 0x100);
	put(sp, 0x200d);
	put(sp + 8 + 24, caller);
	unwind(0x3000, sp);
	assert_int_equal(out.pc[1], 0x200d);
	assert_int_equal(out.n, found ? 3 : 2);
	assert_int_not_equal(out.end, US_END_ROOT);
	if (!found)
		return;
	assert_int_equal(out.pc[2], caller);
	assert_int_equal(out.how[2], US_HOW_GUESS);
}

static void called_by_pointer(void **state)
{
	(void)state;
	STAYS("\xc3");
	expect_caller(0x1002, 0, true);
	expect_caller(0x1002, 0, true); /* remembered */
	/* No CALL is aligned so. */
	us_unwinder_set_code(unwinder, &map, &cfi);
	expect_caller(0x1002, 8, false);
	/* Behind none. */
	us_unwinder_set_code(unwinder, &map, &cfi);
	expect_caller(0x1004, 0, false);
}

static void behind_what_leads_elsewhere(void **state)
{
	(void)state;
	STAYS("\xeb\xfe"); /* jmp . */
	expect_caller(0x1002, 0, true);
	STAYS("\x0f\x0b"); /* ud2 */
	expect_caller(0x1002, 0, true);
	STAYS("\xc3\x66\x90\x0f\x1f\x00"); /* padding */
	expect_caller(0x1002, 0, true);
	STAYS("\x53\xe8\x00\x10\x00\x00"); /* a CALL: it may not return */
	expect_caller(0x1002, 0, true);
	/* Nothing does: where it begins is not known. */
	memset(ram + 0x1000, 0x50, 0x1000);
	STAYS("\x50");
	expect_caller(0x1002, 0, false);
}

/* Its code is long: nearly all of the range that is looked through. */
static void far_from_its_start(void **state)
{
	(void)state;
	static const uint8_t nop[8] = { 0x0f, 0x1f, 0x84 };
	memcpy(ram + 0x1fff, "\xc3\x53\x48\x83\xec\x10", 6);
	for (us_gva at = 0x2005; at < 0x5ff5; at += sizeof(nop))
		memcpy(ram + at, nop, sizeof(nop));
	memcpy(ram + 0x5ff5, "\xe8\x06\x01\x00\x00\xeb\xfe", 7); /* 0x6100 */
	ram[0x6100] = 0xc3;
	memcpy(ram + 0x1000, by_pointer, sizeof(by_pointer));
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(SP, 0x5ffa);
	put(SP + 8 + 24, 0x1002);
	unwind(0x6100, SP);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[2], 0x1002);
}

/* A CALL that names another function has not led here; one that names this one has,
 * however the stack is aligned. */
static void called_by_name(void **state)
{
	(void)state;
	for (unsigned other = 0; other < 2; other++) {
		STAYS("\xc3");
		map.n = 0;
		memcpy(ram + 0x1010, "\xe8\xeb\x0f\x00\x00\xff\xe0", 7); /* 0x2000 */
		ram[0x1011] = (uint8_t)(ram[0x1011] + 0x40 * other);
		us_unwinder_set_code(unwinder, &map, &cfi);
		expect_caller(0x1015, 8, !other);
	}
}

/* movabs $0x2000,%rax; mov $1,%edi; call *%rax; ret */
#define BY_CONSTANT                                                                    \
	"\x48\xb8\x00\x20\x00\x00\x00\x00\x00\x00\xbf\x01\x00\x00\x00\xff\xd0\xc3"
/* The same by %r14, after another such CALL. */
#define BY_PRESERVED                                                                   \
	"\x49\xbe\x00\x20\x00\x00\x00\x00\x00\x00\x41\xff\xd6\x41\xff\xd6\xc3"
/* By %rax, which the first one changes. */
#define BY_CHANGED "\x48\xb8\x00\x20\x00\x00\x00\x00\x00\x00\xff\xd0\xff\xd0\xc3"

static void look_by(const char *code, size_t n, uint8_t low, bool found)
{
	memset(ram + 0x1000, 0xcc, 0x100);
	memcpy(ram + 0x1000, code, n);
	ram[0x1002] = low;
	/* push %rbx; sub $16,%rsp; nop; mov %rax,%rsp; jmp *%rax: no way to a return */
	memcpy(ram + 0x2000, "\x53\x48\x83\xec\x10\x90\x48\x89\xc4\xff\xe0", 11);
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 24, 0x1000 + n - 1);
	for (us_gva pc = 0x2005; pc <= 0x2006; pc++) {
		unwind(pc, STACK);
		assert_int_equal(out.n, found ? 2 : 1);
	}
}
#define LOOK_BY(code, low, found) look_by(code, sizeof(code) - 1, low, found)

/* Large code models put the target into a register: it tells where the function is. */
static void called_by_a_constant(void **state)
{
	(void)state;
	LOOK_BY(BY_CONSTANT, 0, true);
	LOOK_BY(BY_CONSTANT, 0x40, false);
	LOOK_BY(BY_PRESERVED, 0, true);
	LOOK_BY(BY_CHANGED, 0, false);
}

/* Without it no word is where it should be. */
static void without_a_stack_pointer(void **state)
{
	(void)state;
	STAYS("\xc3");
	regs.sp_unknown = true;
	put(SP + 24, 0x1002);
	regs.valid = 0;
	unwind(0x200d, SP);
	assert_int_equal(out.n, 1);
}

/* --- with a link register --- */

#define RV_ROOM	 0xfe010113 /* addi sp, sp, -32 */
#define RV_SAVE	 0x00113c23 /* sd ra, 24(sp) */
#define RV_JALR	 0x000780e7 /* jalr a5 */
#define RV_AWAY	 0x00078067 /* jr a5 */
#define RV_RET	 0x00008067
#define ARM_ROOM 0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define ARM_BLR	 0xd63f0000
#define ARM_AWAY 0xd61f0000 /* br x0 */
#define ARM_RET	 0xd65f03c0
#define NOP_RV	 0x00000013
#define NOP_ARM	 0xd503201f

/* 0x2000 is called by pointer from 0x1000, and calls 0x3000. */
static void look_at_mover(bool saves, unsigned below)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	const uint32_t caller[] = { arm ? ARM_BLR : RV_JALR, arm ? ARM_AWAY : RV_AWAY };
	const uint32_t code[] = { arm ? ARM_RET : RV_RET, arm ? ARM_ROOM : RV_ROOM,
				  saves ? (arm ? NOP_ARM : RV_SAVE) : NOP_RV,
				  arm ? 0x940003fe : 0x7f9000ef,
				  arm ? ARM_RET : RV_RET };
	us_gva sp = STACK - below;
	words(0x1000, caller, 2);
	words(0x1ffc, code, 5);
	words(0x3000, arm ? (uint32_t[]){ ARM_RET } : (uint32_t[]){ RV_RET }, 1);
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(sp + (arm ? 8 : 24), 0x1004);
	look_with_link(0x3000, sp, 0x200c);
	assert_int_equal(out.pc[1], 0x200c);
}

/* What takes a stack for it has left its start in the link register. */
static void entered_by_return(void **state)
{
	(void)state;
	unsigned at = regs.arch == US_ARCH_AARCH64 ? 8 : 24;
	look_at_mover(true, 0);
	us_unwinder_set_code(unwinder, &map, &cfi);
	for (unsigned i = 0; i < 2; i++) {
		put(STACK + at, 0x2000);
		look_with_link(0x3000, STACK, 0x200c);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.end, US_END_ROOT);
	}
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + at, 0x2004);
	look_with_link(0x3000, STACK, 0x200c);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.end, US_END_NO_RULE);
}

#define RV_BOOT	  0x080000ef /* jal 0x1180, from 0x1100 */
#define RV_JUMP	  0x6f90006f /* j 0x2000, from 0x1108 */
#define RV_OTHER  0x6fd0006f /* j 0x2004 */
#define RV_KEPT	  0x00048093 /* mv ra, s1 */
#define RV_HOP	  0x0180006f /* j 0x1120 */
#define ARM_HOP	  0x14000006
#define ARM_BOOT  0x94000020
#define ARM_JUMP  0x140003be
#define ARM_OTHER 0x140003c2 /* b 0x2010 */
#define ARM_KEPT  0xaa1303fe /* mov x30, x19 */

/* 0x1100 calls 0x1180, and then leaves by that jump. */
static void look_behind(uint32_t between, uint32_t jump, bool forget)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	const uint32_t code[] = { arm ? ARM_BOOT : RV_BOOT, between, jump };
	words(0x1100, code, 3);
	words(0x1180, arm ? (uint32_t[]){ ARM_RET } : (uint32_t[]){ RV_RET }, 1);
	if (forget)
		us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + (arm ? 8 : 24), 0x1104);
	look_with_link(0x3000, STACK, 0x200c);
	assert_int_equal(out.pc[1], 0x200c);
	assert_int_equal(out.n, 2);
}

/* The code that jumped to it has called another before, and finds that return address.
 */
static void entered_by_jump(void **state)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	uint32_t nop = arm ? NOP_ARM : NOP_RV, jump = arm ? ARM_JUMP : RV_JUMP;
	(void)state;
	look_at_mover(true, 0);
	for (unsigned i = 0; i < 2; i++) {
		look_behind(nop, jump, i == 0);
		assert_int_equal(out.end, US_END_ROOT);
	}
	/* One that was called by pointer, now. */
	put(STACK + (arm ? 8 : 24), 0x1004);
	look_with_link(0x3000, STACK, 0x200c);
	assert_int_equal(out.n, 3);
	/* It would return to its own caller; it leads elsewhere; nobody knows where. */
	look_behind(arm ? ARM_KEPT : RV_KEPT, jump, true);
	assert_int_equal(out.end, US_END_NO_RULE);
	look_behind(nop, arm ? ARM_OTHER : RV_OTHER, true);
	assert_int_equal(out.end, US_END_NO_RULE);
	look_behind(nop, arm ? ARM_AWAY : RV_AWAY, true);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* That jump leads to another, to a constant, at 0x1120. */
static void entered_by_two_jumps(void **state)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	/* ldr x1, 0x112c; br x1 or lui t0, 2; jr t0 */
	const uint32_t by_arm[] = { NOP_ARM, 0x58000041, 0xd61f0020, 0x2000, 0 };
	const uint32_t by_rv[] = { NOP_RV, 0x000022b7, 0x00028067, 0, 0 };
	uint32_t nop = arm ? NOP_ARM : NOP_RV, hop = arm ? ARM_HOP : RV_HOP;
	(void)state;
	look_at_mover(true, 0);
	words(0x1120, arm ? by_arm : by_rv, 5);
	look_behind(nop, hop, true);
	assert_int_equal(out.end, US_END_ROOT);
	/* By then it would return to its own caller; it never comes to another. */
	words(0x1120, arm ? (uint32_t[]){ ARM_KEPT } : (uint32_t[]){ RV_KEPT }, 1);
	look_behind(nop, hop, true);
	assert_int_equal(out.end, US_END_NO_RULE);
	words(0x1120, arm ? (uint32_t[]){ 0x14000000 } : (uint32_t[]){ 0x6f }, 1);
	look_behind(nop, hop, true);
	assert_int_equal(out.end, US_END_NO_RULE);
}

static void by_link(void **state)
{
	(void)state;
	look_at_mover(true, 0);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[2], 0x1004);
	assert_int_equal(out.how[2], US_HOW_GUESS);
	look_at_mover(true, 8);
	assert_int_equal(out.n, 2);
}

/* Room is taken, but the link register is kept nowhere: that was before. */
static void riscv_without_a_link(void **state)
{
	(void)state;
	look_at_mover(false, 0);
	assert_int_equal(out.n, 2);
}

/* Behind a CALL of 0x3000, in a function that leaves by a jump to where a register
 * says; of its start nothing is to be seen. */
static void look_before_jump(const uint32_t way_out[3], bool found)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	const uint32_t caller[] = { arm ? ARM_BLR : RV_JALR, arm ? ARM_AWAY : RV_AWAY };
	const uint32_t call = arm ? 0x940003fe : 0x7f9000ef;
	const uint32_t ret = arm ? ARM_RET : RV_RET;
	words(0x1000, caller, 2);
	words(0x2008, &call, 1);
	words(0x200c, way_out, 3);
	words(0x2018, arm ? (uint32_t[]){ ARM_AWAY } : (uint32_t[]){ RV_AWAY }, 1);
	words(0x3000, &ret, 1);
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK, 0x1234567);
	put(STACK + (arm ? 8 : 24), 0x1004);
	look_with_link(0x3000, STACK, 0x200c);
	assert_int_equal(out.pc[1], 0x200c);
	assert_int_equal(out.n, found ? 3 : 2);
	assert_int_not_equal(out.end, US_END_ROOT);
	if (found)
		assert_int_equal(out.pc[2], 0x1004);
}

/* Such a jump returns if all that is needed for it has been restored. */
static void riscv_leaves_by_pointer(void **state)
{
	(void)state;
	enum { LOAD = 0x01813083 /* ld ra, 24(sp) */, SP_32 = 0x02010113 };
	enum { SP_16 = 0x01010113, LOAD_SP = 0x00053103 /* ld sp, 0(a0) */ };
	static const struct {
		uint32_t code[3];
		bool found;
	} cases[] = {
		{ { NOP_RV, LOAD, SP_32 }, true },
		{ { LOAD, SP_16, SP_16 }, true },
		{ { NOP_RV, NOP_RV, SP_32 }, false }, /* a jump table */
		{ { NOP_RV, LOAD, NOP_RV }, false },
		{ { NOP_RV, LOAD, SP_16 }, false },	/* its place is still in use */
		{ { RV_SAVE, LOAD, SP_32 }, false },	/* no return address */
		{ { LOAD, SP_32, LOAD_SP }, false },	/* another thread */
		{ { LOAD, SP_32, 0x000780e7 }, false }, /* jalr a5 */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		look_before_jump(cases[i].code, cases[i].found);
}

static void arm_leaves_by_pointer(void **state)
{
	(void)state;
	enum { LDP = 0xa8c27bfd /* x29, x30, [sp], #32 */ };
	const uint32_t tail[] = { NOP_ARM, LDP, NOP_ARM };
	const uint32_t jumps[] = { NOP_ARM, NOP_ARM, 0x910083ff /* add sp, sp, #32 */ };
	const uint32_t frame[] = { NOP_ARM, 0xa9407bfd /* ldp x29, x30, [sp] */,
				   NOP_ARM };
	look_before_jump(tail, true);
	look_before_jump(jumps, false);
	look_before_jump(frame, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(called_by_pointer),
		TEST(behind_what_leads_elsewhere),
		TEST(far_from_its_start),
		TEST(called_by_name),
		TEST(called_by_a_constant),
		TEST(without_a_stack_pointer),
		RISCV(entered_by_return),
		ARM(entered_by_return),
		RISCV(entered_by_jump),
		ARM(entered_by_jump),
		RISCV(entered_by_two_jumps),
		ARM(entered_by_two_jumps),
		RISCV(by_link),
		ARM(by_link),
		RISCV(riscv_without_a_link),
		RISCV(riscv_leaves_by_pointer),
		ARM(arm_leaves_by_pointer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
