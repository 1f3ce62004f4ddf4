/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where stacks of programs end: the function that the kernel enters. */
#include "link-code.h"

#define ARM_RET 0xd65f03c0
#define RV_RET	0x00018082	/* ret; nop */
#define FIRST	(STACK + 0x100) /* where its arguments are */

/* Two arguments, two variables, the kernel's pairs. */
enum { COUNT, ARGUMENT, LAST = 3, VARIABLE, OVER = 6, PAIR, SIZE = 9, ENTRY = 11 };
static const uint64_t first_stack[] = { 2,  0x8800, 0x8808, 0,	  0x8810, 0x8820, 0,
					33, 0x7000, 6,	    4096, 9,	  0x1000, 0 };
#define N_FIRST (sizeof(first_stack) / sizeof(*first_stack))

static void put_first(void)
{
	for (size_t i = 0; i < N_FIRST; i++)
		put(FIRST + i * 8, first_stack[i]);
	regs.user = true;
}

/* Each has no table and no symbol: its start is not known.  pushed: bytes. */
static void x86_first(unsigned pushed)
{
	map.n = 0;
	/* mov %rsp,%rdi; and $-16,%rsp; call 0x2000 */
	memset(ram + 0x1000, 0xcc, 0x100);
	AT(0x1000, "\x48\x89\xe7\x48\x83\xe4\xf0\xe8\xf4\x0f\x00\x00");
	FUNCTION(0x2000, "\x90\xc3");
	put_first();
	put(FIRST - pushed - 8, 0x100c);
	unwind(0x2000, FIRST - pushed - 8);
}

static void first_of_program(void **state)
{
	(void)state;
	for (unsigned pushed = 0; pushed <= 32; pushed += 8) {
		memset(ram + STACK, 0x77, FIRST - STACK);
		x86_first(pushed);
		ends(2, US_END_ROOT);
		assert_int_equal(out.pc[1], 0x100c);
	}
	x86_first(40);
	ends(2, US_END_NO_RULE);
	/* Variables were taken away, and arguments changed. */
	x86_first(0);
	put(FIRST + VARIABLE * 8 + 8, 0);
	put(FIRST + ARGUMENT * 8, 0x1234567890);
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_ROOT);
}

/* What is not all that the kernel puts there. */
static void not_the_first_of_a_program(void **state)
{
	(void)state;
	static const struct {
		unsigned at;
		uint64_t word;
	} cases[] = {
		{ COUNT, 0 },	       { COUNT, 1 },	   { COUNT, 3 },
		{ COUNT, 1ULL << 40 }, { ARGUMENT, 0 },	   { LAST, 0x8820 },
		{ OVER, 0x8828 },      { PAIR, 0 },	   { PAIR, 0x8828 },
		{ SIZE, 7 },	       { SIZE + 1, 4095 }, { SIZE + 1, 1 << 20 },
		{ ENTRY, 8 },	       { ENTRY + 1, 0 },   { ENTRY + 1, 0x2000 }
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		x86_first(0);
		put(FIRST + cases[i].at * 8, cases[i].word);
		unwind(0x2000, FIRST - 8);
		ends(2, US_END_NO_RULE);
	}
	x86_first(0);
	regs.user = false; /* a kernel's stack has no such thing */
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
	/* No end of the variables. */
	x86_first(0);
	for (us_gva at = FIRST + VARIABLE * 8; at < RAM_SIZE; at += 8)
		put(at, 0x8810);
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
	put(FIRST, 1 << 17); /* or of the memory */
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
}

/* Who was called by it is not it: its way back is in between. */
static void second_of_program(void **state)
{
	(void)state;
	x86_first(0);
	/* 0x3000, of which nothing is known: push..; call 0x2000 */
	AT(0x3000, "\x50\xe8\xfa\xef\xff\xff\xff\xe0"); /* jmp *%rax */
	put(FIRST - 8, 0x100c);
	put(FIRST - 16, 0x7777);
	put(FIRST - 24, 0x3006);
	unwind(0x2000, FIRST - 24);
	assert_true(out.n > 2 || out.end != US_END_ROOT);
	assert_int_equal(out.pc[1], 0x3006);
	assert_true(out.n == 2 || out.pc[2] == 0x100c);
}

static void first_by_link(void **state)
{
	(void)state;
	bool arm = regs.arch == US_ARCH_AARCH64;
	for (unsigned bad = 0; bad < 3; bad++) {
		map.n = 0;
		uint32_t call = arm ? bl(0x1004, 0x2000) : jal(0x1004, 0x2000);
		memcpy(ram + 0x1004, &call, 4);
		if (arm)
			WORDS(0x2000, ARM_RET);
		else
			WORDS(0x2000, RV_RET);
		put_first();
		put(FIRST + (ENTRY + 1) * 8, 0x1004);
		regs.user = bad != 1;
		put(FIRST + ENTRY * 8, bad == 2 ? 8 : 9);
		look_with_link(0x2000, FIRST, 0x1008);
		ends(2, bad ? US_END_NO_RULE : US_END_ROOT);
		assert_int_equal(out.pc[1], 0x1008);
	}
}

/* At the two first instructions of a function that a kernel enters, as the code there
 * is; the link register is still the kernel's. */
static void look_at_dropped(uint32_t first, uint32_t second, uint32_t call, size_t n,
			    bool root)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	map.n = 0;
	WORDS(0x3000, first, second, arm ? bl(0x3008, 0x2000) : jal(0x3008, 0x2000));
	WORDS(0x4000, call);
	regs.user = true;
	for (us_gva pc = 0x3000; pc <= 0x3004; pc += 4) {
		put(STACK, 0x4004); /* if it is saved */
		look_with_link(pc, STACK, 0x4004);
		assert_int_equal(out.n, n);
		assert_int_equal(out.end == US_END_ROOT, root);
	}
}

/* What clears its link register, and keeps it nowhere, returns to nobody. */
static void arm_drops_its_link(void **state)
{
	enum { FP = 0xaa1f03fd, LINK = 0xaa1f03fe, ONE = 0xd280003e };
	enum { LINK_0 = 0xd280001e, SAVE = 0xf81f0ffe, BLR = 0xd63f0020 };
	(void)state;
	look_at_dropped(FP, LINK, bl(0x4000, 0x5000), 1, true);
	look_at_dropped(0xd503245f, LINK_0, bl(0x4000, 0x5000), 1, true);
	look_at_dropped(SAVE, LINK, bl(0x4000, 0x5000), 1, false);
	look_at_dropped(FP, ONE, bl(0x4000, 0x5000), 1, false);
	/* mov x19, x30 */
	look_at_dropped(0xaa1e03f3, LINK, bl(0x4000, 0x5000), 1, false);
	/* It is called, and not to return. */
	look_at_dropped(FP, LINK, bl(0x4000, 0x3000), 2, false);
	look_at_dropped(FP, LINK, BLR, 2, false);
}

static void riscv_drops_its_link(void **state)
{
	enum { FP = 0x00000413, LINK = 0x00000093, ONE = 0x00100093 };
	enum { SAVE = 0x00113023, JALR = 0x000780e7 };
	(void)state;
	look_at_dropped(FP, LINK, jal(0x4000, 0x5000), 1, true);
	look_at_dropped(SAVE, LINK, jal(0x4000, 0x5000), 1, false);
	look_at_dropped(FP, ONE, jal(0x4000, 0x5000), 1, false);
	look_at_dropped(FP, LINK, jal(0x4000, 0x3000), 2, false);
	look_at_dropped(FP, LINK, JALR, 2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_of_program),	     TEST(not_the_first_of_a_program),
		TEST(second_of_program),     RISCV(first_by_link),
		ARM(first_by_link),	     ARM(arm_drops_its_link),
		RISCV(riscv_drops_its_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
