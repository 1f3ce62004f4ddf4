/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the first function of a program's fiber returns to: a function that nobody has
 * called.  The stack ends there if that one only traps. */
#include "flat-guest.h"

#define LEAF  0x1000
#define FIBER 0x2000
#define STOP  0x3000

#define RET "\xc3"
#define UD2 "\x0f\x0b"

/* The fiber is push rbx; call LEAF; pop rbx; ret.  stop: the code at STOP, which has a
 * symbol if named; word: what the fiber returns to. */
static void unwind_fiber(const char *stop, size_t n, bool named, us_gva word)
{
	map.n = 0;
	memset(ram + STOP, 0xcc, 0x100);
	memcpy(ram + STOP, stop, n);
	FUNCTION(LEAF, "\x90\xc3");
	FUNCTION(FIBER, "\x53\xe8\xfa\xef\xff\xff\x5b\xc3");
	FUNCTION(FIBER + 0x100, "\x90\xc3");
	if (named)
		FUNCTION(STOP, "");
	put(STACK, FIBER + 6);
	put(STACK + 16, word);
	regs.user = true;
	unwind(LEAF, STACK);
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], FIBER + 6);
}

#define ENDS(end_, stop, named, word)                                                  \
	do {                                                                           \
		unwind_fiber(stop, sizeof(stop) - 1, named, word);                     \
		assert_int_equal(out.end, end_);                                       \
		us_unwind(unwinder, &paging, &regs, &out);                             \
		assert_int_equal(out.end, end_); /* as remembered */                   \
	} while (0)
#define ROOT(...) ENDS(US_END_ROOT, __VA_ARGS__)
#define CUT(...)  ENDS(US_END_NO_RULE, __VA_ARGS__)

static void ends_at_a_trap(void **state)
{
	(void)state;
	ROOT(UD2, true, STOP);
	ROOT("\xcc", true, STOP);
	ROOT("\xeb\xfe", true, STOP); /* jmp . */
	ROOT("\xf3\x0f\x1e\xfa\x48\x31\xff" UD2, true,
	     STOP); /* endbr64; xor rdi, rdi */
}

static void is_cut_at_all_else(void **state)
{
	(void)state;
	CUT(RET, true, STOP); /* it was pushed, and goes back to a caller */
	CUT("\x74\x02" UD2 RET, true, STOP);	       /* jz to it */
	CUT("\xb8\x0e\0\0\0\x0f\x05" UD2, true, STOP); /* system calls */
	CUT("\xcd\x80" UD2, true, STOP);
	CUT("\xe8\xfb\xdf\xff\xff" UD2, true, STOP); /* call LEAF */
	CUT("\xff\xe0", true, STOP);		     /* jmp *rax */
	CUT("\x90" UD2, true, STOP + 1);	     /* within a function */
	CUT(UD2, false, STOP);			     /* in no function */
	CUT(UD2, true, 0x6000);
	/* Behind a CALL, of another function. */
	memcpy(ram + STOP - 5, "\xe8\x00\xf1\xff\xff", 5);
	CUT(UD2, true, STOP);
}

/* A 0 needs no more than that the fiber's start is known. */
static void ends_by_zero(void **state)
{
	(void)state;
	ROOT(RET, true, 0);
}

static void where_a_table_agrees(void **state)
{
	(void)state;
	for (unsigned off = 16; off <= 24; off += 8) {
		const struct us_cfi_rule rule = { .cfa_reg = US_X86_RSP,
						  .cfa_off = (int32_t)off,
						  .pc = US_CFI_AT_CFA,
						  .pc_off = -8 };
		done(state);
		fresh(state);
		row(FIBER, rule, NULL);
		finish_table();
		put(STACK + 24, 0x77);
		if (off == 16)
			ROOT(UD2, true, STOP);
		else
			CUT(UD2, true, STOP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_at_a_trap),
		TEST(is_cut_at_all_else),
		TEST(ends_by_zero),
		TEST(where_a_table_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
