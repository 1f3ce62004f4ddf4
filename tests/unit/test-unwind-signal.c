/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program's signal handler is above what the signal interrupted. */
#include "flat-guest.h"

#define HANDLER	 0x3000
#define RESTORER 0x4000
#define FRAME	 (STACK + 0x400) /* on the program's stack, or on another */

/* 0x1000 calls 0x2000, which is interrupted; then HANDLER runs. */
static void program(const char *restorer, size_t n)
{
	calls(0x1000, 0x2000);
	FUNCTION(0x2000, "\x90\x90\x53\x90\x5b\xc3"); /* in push %rbx; nop; pop; ret */
	FUNCTION(HANDLER, "\x55\x90\x5d\xc3");	      /* push %rbp; nop; pop; ret */
	function(RESTORER, restorer, n);
	regs.user = true;
}
#define PROGRAM(restorer) program(restorer, sizeof(restorer) - 1)

/* The stack pointer where the signal came, behind 0x2000's push %rbx. */
static void signal_frame(us_gva frame, us_gva sp)
{
	put(frame, RESTORER);
	put(frame + 8 + 120, 0x77); /* rbp */
	put(frame + 8 + 160, sp);
	put(frame + 8 + 168, 0x2003);
	put(sp, 0);
	put(sp + 8, 0x1005);
}

static void expect_whole(unsigned first)
{
	assert_true(out.n >= first + 3);
	assert_int_equal(out.pc[first], RESTORER);
	assert_int_equal(out.pc[first + 1], 0x2003);
	assert_int_equal(out.how[first + 1], US_HOW_INTERRUPT);
	assert_int_equal(out.pc[first + 2], 0x1005);
}

/* At each instruction of the handler, whose stack is above or below the program's. */
static void expect_each(void)
{
	static const us_gva sps[] = { STACK + 0x800, STACK + 0x100 };
	for (size_t i = 0; i < 2; i++) {
		signal_frame(FRAME, sps[i]);
		regs.gpr[US_X86_RBP] = 0x77;
		put(FRAME - 8, 0x77);
		for (us_gva at = 0; at < 4; at++) {
			bool pushed = at == 1 || at == 2;
			unwind(HANDLER + at, pushed ? FRAME - 8 : FRAME);
			expect_whole(1);
		}
		unwind(RESTORER, FRAME + 8);
		expect_whole(0);
	}
}

/* As glibc's: its rules say what the kernel pushed. */
static void by_its_table(void **state)
{
	(void)state;
	PROGRAM("\x48\xc7\xc0\x0f\0\0\0\x0f\x05");
	struct us_cfi_rule frame = { .cfa = US_CFI_CFA_MEM,
				     .cfa_reg = US_X86_RSP,
				     .cfa_off = 160,
				     .pc = US_CFI_AT_BASE,
				     .base = US_X86_RSP,
				     .pc_off = 168,
				     .flags = US_CFI_SIGNAL };
	row(RESTORER, frame, NULL);
	finish_table();
	expect_each();
}

/* As musl's, without tables, and where the system call is about to be made. */
static void by_its_code(void **state)
{
	(void)state;
	static const char *const codes[] = { "\x48\xc7\xc0\x0f\0\0\0\x0f\x05",
					     "\xb8\x0f\0\0\0\x0f\x05" };
	static const uint8_t n[] = { 9, 7 };
	PROGRAM("");
	for (unsigned i = 0; i < 2; i++) {
		memcpy(ram + RESTORER, codes[i], n[i]);
		us_unwinder_set_code(unwinder, &map, &cfi);
		expect_each();
		for (unsigned at = n[i] - 2U; at <= n[i]; at += 2) {
			unwind(RESTORER + at, FRAME + 8);
			assert_true(out.n >= 3);
			assert_int_equal(out.pc[1], 0x2003);
			assert_int_equal(out.pc[2], 0x1005);
		}
	}
}

static void expect_cut(void)
{
	signal_frame(FRAME, STACK + 0x800);
	unwind(HANDLER, FRAME);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* Another system call, in the kernel, or a frame that is not there. */
static void what_is_none(void **state)
{
	(void)state;
	PROGRAM("\x48\xc7\xc0\x0e\0\0\0\x0f\x05");
	expect_cut();
	ram[RESTORER + 3] = 0x0f;
	us_unwinder_set_code(unwinder, &map, &cfi);
	regs.user = false;
	expect_cut();
	regs.user = true;
	put(RAM_SIZE - 0x80, RESTORER);
	unwind(HANDLER, RAM_SIZE - 0x80);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], RESTORER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_its_table),
		TEST(by_its_code),
		TEST(what_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
