/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of Go: where a goroutine begins, and the runtime's own stacks; beside each the
 * look-alike that is not. */
#include "flat-guest.h"

#define G0 0x9000 /* the runtime's stack */

/* nop; call goexit1; nop: nobody calls it, and its second instruction is returned to.
 */
static void goexit_code(us_gva at)
{
	memcpy(ram + at, "\x90\xe8\x1a\x00\x00\x00\x90", 7);
}

static void begins(void **state)
{
	(void)state;
	static const struct {
		us_gva at;
		uint8_t byte, value; /* of its code, as it is then */
		uint8_t end;
	} cases[] = {
		{ 0x4000, 0, 0x90, US_END_ROOT },
		{ 0x4000, 0, 0x50, US_END_NO_RULE },
		{ 0x4000, 1, 0xe9, US_END_NO_RULE },
		{ 0x4000, 6, 0xcc, US_END_NO_RULE },
		{ 0x4008, 0, 0x90, US_END_NO_RULE }, /* no function of Go's */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(ram + 0x4000, 0xcc, 0x20);
		map.n = 0;
		FUNCTION(0x2000, "\x90\xc3");
		goexit_code(cases[i].at);
		ram[cases[i].at + cases[i].byte] = cases[i].value;
		put(STACK, cases[i].at + 1);
		put(STACK + 8, 0x777000);
		regs.user = true;
		unwind(0x2000, STACK);
		assert_int_equal(out.end, cases[i].end);
		assert_int_equal(out.n, cases[i].end == US_END_ROOT ? 2 : 1);
	}
	/* No code is there. */
	put(STACK, 0x7fffffff0001);
	unwind(0x2000, STACK);
	assert_int_equal(out.n, 1);
}

#define START_CONTEXT "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74\x08"
#define FINISH	      "\x48\x31\xff\xe8\x00\x00\x00\x00\xf4"

/* Coroutines of C: their creator has put a return address there, which is behind no
 * CALL. */
static void begins_context(void **state)
{
	(void)state;
	static const struct {
		const char *code;
		uint8_t at, value; /* of its code, as it is then */
		uint8_t end;
	} cases[] = {
		{ START_CONTEXT, 0, 0x48, US_END_ROOT },
		{ "\xf3\x0f\x1e\xfa" START_CONTEXT, 0, 0xf3, US_END_ROOT },
		{ START_CONTEXT, 2, 0xe5, US_END_NO_RULE }, /* mov %rsp,%rbp */
		{ START_CONTEXT, 6, 0x20, US_END_NO_RULE },
		{ FINISH, 0, 0x48, US_END_ROOT },
		{ FINISH, 8, 0x90, US_END_NO_RULE }, /* it may come back */
		{ FINISH, 3, 0xe9, US_END_NO_RULE },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(ram + 0x3ff0, 0xcc, 0x30);
		map.n = 0;
		FUNCTION(0x2000, "\x90\xc3");
		memcpy(ram + 0x4000, cases[i].code, i == 1 ? 16 : i < 4 ? 12 : 9);
		ram[0x4000 + cases[i].at] = cases[i].value;
		put(STACK, 0x4000);
		put(STACK + 8, 0x777000);
		regs.user = true;
		/* The second time by what the first has found. */
		for (unsigned k = 0; k < 3; k++) {
			unwind(0x2000, STACK);
			assert_int_equal(out.end, cases[i].end);
			assert_int_equal(out.n, cases[i].end == US_END_ROOT ? 2 : 1);
			assert_true(out.n == 1 || out.flags[1] & US_PC_EXACT);
		}
	}
}

/* By a table, which knows nothing of goexit. */
static void begins_by_table(void **state)
{
	(void)state;
	FUNCTION(0x2000, "\x90\xc3");
	goexit_code(0x4000);
	row(0x2000,
	    (struct us_cfi_rule){ .cfa = US_CFI_CFA_REG,
				  .cfa_reg = US_X86_RSP,
				  .cfa_off = 8,
				  .pc = US_CFI_AT_CFA,
				  .pc_off = -8 },
	    NULL);
	finish_table();
	put(STACK, 0x4001);
	unwind(0x2000, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], 0x4001);
	assert_int_equal(out.end, US_END_ROOT);
}

/*
 * 0x1000 loads the stack pointer, as systemstack does, and calls 0x2000; it was called
 * at 0x3000, whose frame pointer is the one that is left.
 *
 *	mov (%rdx),%rax; mov 0x38(%rax),%rsp; call 0x2000; mov 0x38(%rax),%rsp; ret
 */
#define SWITCH "\x48\x8b\x02\x48\x8b\x60\x38\xe8\xf4\x0f\x00\x00\x48\x8b\x60\x38\xc3"
#define STAYS  "\x48\x8b\x02\x48\x8b\x48\x38\xe8\xf4\x0f\x00\x00\x48\x8b\x48\x38\xc3"

static void on_g0(us_gva fp)
{
	put(G0, 0x100c);
	for (unsigned i = 1; i < 40; i++)
		put(G0 + 8 * i, 0x7700 + i);
	regs.gpr[US_X86_RBP] = fp;
	unwind(0x2000, G0);
}

static void own_stack(void **state)
{
	(void)state;
	/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; call 0x1000; add $32,%rsp; pop; ret
	 */
	static const char caller[] =
		"\x55\x48\x89\xe5\x48\x83\xec\x20\xe8\xf3\xdf\xff\xff"
		"\x48\x83\xc4\x20\x5d\xc3";
	FUNCTION(0x1000, SWITCH);
	FUNCTION(0x2000, "\x90\xc3");
	FUNCTION(0x3000, "");
	memcpy(ram + 0x3000, caller, sizeof(caller) - 1);
	goexit_code(0x4000);
	put(STACK + 0x18, 0x300d); /* pushed by the CALL */
	put(STACK + 0x20, 0x1234); /* of its frame */
	put(STACK + 0x40, 0);	   /* rbp of who called it */
	put(STACK + 0x48, 0x4001);
	on_g0(STACK + 0x40);
	assert_int_equal(out.n, 4);
	assert_int_equal(out.pc[1], 0x100c);
	assert_int_equal(out.pc[2], 0x300d);
	assert_int_equal(out.how[2], US_HOW_GUESS);
	assert_int_equal(out.pc[3], 0x4001);
	assert_int_equal(out.end, US_END_ROOT);
	/* The CALL is to another function. */
	put(STACK + 0x18, 0x5005);
	calls(0x5000, 0x2000);
	on_g0(STACK + 0x40);
	assert_int_equal(out.n, 2);
	/* That the frame pointer leads nowhere is no harm. */
	on_g0(8);
	assert_int_equal(out.n, 2);
	on_g0(0x7fffffff0000);
	assert_int_equal(out.n, 2);
}

/* It does not load the stack pointer: what lies there is of another time. */
static void same_stack(void **state)
{
	(void)state;
	FUNCTION(0x1000, STAYS);
	FUNCTION(0x2000, "\x90\xc3");
	calls(0x3000, 0x1000);
	put(STACK + 0x18, 0x3005);
	on_g0(STACK + 0x40);
	assert_int_equal(out.n, 2);
}

/* mov x0, x0; bl: as above. */
static void begins_arm(void **state)
{
	(void)state;
	static const uint32_t leaf[] = { 0xd503201f, 0xd65f03c0 };
	uint32_t goexit[] = { 0xaa0003e0, 0x94000008 };
	for (unsigned other = 0; other < 2; other++) {
		goexit[1] = other ? 0x14000008 : 0x94000008; /* b is no bl */
		memcpy(ram + 0x2000, leaf, sizeof(leaf));
		memcpy(ram + 0x4000, goexit, sizeof(goexit));
		start[0] = 0x2000;
		map.n = 1;
		us_unwinder_set_code(unwinder, &map, &cfi);
		regs.pc = 0x2000;
		regs.sp = regs.gpr[US_AARCH64_SP] = STACK;
		regs.gpr[US_AARCH64_LR] = 0x4004;
		us_paging_new_sample(&paging);
		us_unwind(unwinder, &paging, &regs, &out);
		assert_int_equal(out.n, other ? 1 : 2);
		assert_int_equal(out.end, other ? US_END_NO_RULE : US_END_ROOT);
	}
}

static int fresh_arm(void **state)
{
	int r = fresh(state);
	us_unwinder_free(unwinder);
	memset(ram, 0, STACK);
	regs.arch = US_ARCH_AARCH64;
	regs.valid = UINT32_MAX;
	return r || us_unwinder_new(US_ARCH_AARCH64, NULL, NULL, &unwinder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(begins),
		TEST(begins_context),
		TEST(begins_by_table),
		TEST(own_stack),
		TEST(same_stack),
		cmocka_unit_test_setup_teardown(begins_arm, fresh_arm, done),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
