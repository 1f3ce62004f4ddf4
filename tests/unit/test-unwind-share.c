/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found out of code counts in all address spaces that have the same page of
 * memory there (us_unwinder_share_code()), and in no other. */
#include "paged-guest.h"

#include "unwind/unwind.h"

#define CODE_AT	 0x400000 /* in each space; its stack is in the page behind it */
#define STACK_AT 0x401800
#define F	 CODE_AT
#define IN_F	 (F + 4) /* behind its first instruction */
#define RETURN	 (CODE_AT + 0x105)
#define OTHER	 (CODE_AT + 0x125)
#define ONE_CODE 0x10000
#define TWO_CODE 0x11000

static struct us_mem code_mem;
static struct us_paging code;
static struct us_unwinder *unwinder;

/* Four tables from root on, and a stack behind them. */
static void put_space(us_gpa root, us_gpa code_page)
{
	put64(root, 0, (root + 0x1000) | 7);
	put64(root + 0x1000, 0, (root + 0x2000) | 7);
	put64(root + 0x2000, 2, (root + 0x3000) | 7);
	put64(root + 0x3000, 0, code_page | 5);
	put64(root + 0x3000, 1, (root + 0x4000) | 7);
}

/* sub rsp, n; nop ...; add rsp, n; ret; and two that call it. */
static void put_code(us_gpa page, uint8_t n)
{
	const uint8_t f[] = { 0x48, 0x83, 0xec, n,    0x90, 0x90, 0x90,
			      0x90, 0x48, 0x83, 0xc4, n,    0xc3 };
	memset(ram + page, 0xcc, 0x1000);
	memcpy(ram + page, f, sizeof(f));
	memcpy(ram + page + 0x100, "\xe8\xfb\xfe\xff\xff\xc3", 6);
	memcpy(ram + page + 0x120, "\xe8\xdb\xfe\xff\xff\xc3", 6);
}

/* Both words look like return addresses: the code tells which is one. */
static void put_stack(us_gpa root, us_gva at_18, us_gva at_28)
{
	us_gpa sp = root + 0x4000 + STACK_AT % 0x1000;
	put64(sp + 0x18, 0, at_18);
	put64(sp + 0x28, 0, at_28);
}

static us_gva caller_in(us_gpa root)
{
	struct us_regs regs = { .arch = US_ARCH_X86_64,
				.bits = 64,
				.user = true,
				.valid = 0xffff,
				.pc = IN_F,
				.sp = STACK_AT,
				.space = { .mode = US_PAGING_X86_4, .root = root } };
	struct us_stack out;
	regs.gpr[US_X86_RSP] = regs.sp;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
	assert_true(out.n >= 2);
	return out.pc[1];
}

static void new_moment(void)
{
	us_paging_new_sample(&code);
	code.epoch += US_CODE_TRUST;
}

static int spaces(void **state)
{
	fresh(state);
	code_mem = mem;
	us_paging_init(&code, &code_mem);
	for (us_gpa root = 0; root < 0xf000; root += 0x5000) {
		put_space(root, root == 0xa000 ? TWO_CODE : ONE_CODE);
		put_stack(root, RETURN, OTHER);
	}
	put_code(ONE_CODE, 0x18);
	put_code(TWO_CODE, 0x28);
	return us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &unwinder);
}

static int done(void **state)
{
	(void)state;
	us_unwinder_free(unwinder);
	return 0;
}

static void same_code(void **state)
{
	(void)state;
	us_unwinder_share_code(unwinder, &code);
	assert_int_equal(caller_in(0), RETURN);
	/* In this moment it is not looked at again. */
	put_code(ONE_CODE, 0x28);
	assert_int_equal(caller_in(0x5000), RETURN);
	new_moment();
	assert_int_equal(caller_in(0x5000), OTHER);
	assert_int_equal(caller_in(0), OTHER);
}

static void other_code(void **state)
{
	(void)state;
	us_unwinder_share_code(unwinder, &code);
	assert_int_equal(caller_in(0), RETURN);
	assert_int_equal(caller_in(0xa000), OTHER);
	/* A page of its own, as after a breakpoint was set. */
	put64(0xa000 + 0x3000, 0, ONE_CODE | 5);
	new_moment();
	assert_int_equal(caller_in(0xa000), RETURN);
}

/* Who does not ask for it has each space alone. */
static void not_shared(void **state)
{
	(void)state;
	assert_int_equal(caller_in(0), RETURN);
	put_code(ONE_CODE, 0x28);
	assert_int_equal(caller_in(0x5000), OTHER);
}

/* What is known of a space by its map counts there. */
static void known_by_map(void **state)
{
	(void)state;
	const us_gva start[] = { CODE_AT, CODE_AT + 0x100 };
	const struct us_code_map map = { .start = start,
					 .n = 2,
					 .text_start = CODE_AT,
					 .text_end = CODE_AT + 0x200,
					 .root = 0x5000 };
	us_unwinder_set_code(unwinder, &map, NULL);
	us_unwinder_share_code(unwinder, &code);
	assert_int_equal(caller_in(0), RETURN);
	put_code(ONE_CODE, 0x28);
	assert_int_equal(caller_in(0x5000), OTHER);
	assert_int_equal(caller_in(0), RETURN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(same_code, spaces, done),
		cmocka_unit_test_setup_teardown(other_code, spaces, done),
		cmocka_unit_test_setup_teardown(not_shared, spaces, done),
		cmocka_unit_test_setup_teardown(known_by_map, spaces, done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
