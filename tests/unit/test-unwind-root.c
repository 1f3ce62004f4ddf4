/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where x86 stacks end: a stack of its own, what lies above a thread, and iret. */
#include "link-guest.h"

#define OLD_STACK (STACK + 0x800)

/* --- x86: a stack of its own --- */

/* mov %rdi,%rsp; mov %rdx,%rdi; push $0; push $0; call *%rsi; cli; hlt */
static void own_stack(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x48\x89\xfc\x48\x89\xd7\x6a\x00\x6a\x00\xff\xd6\xfa\xf4");
	FUNCTION(0x1010, "\xc3");
	FUNCTION(0x2000, "\x90\xc3");
	calls(0x3000, 0x1000);
	put(STACK, 0x100c);
	for (unsigned i = 1; i < 40; i++)
		put(STACK + i * 8, 0x7700 + i);
	unwind(0x2000, STACK);
	ends(2, US_END_ROOT);
	assert_int_equal(out.pc[1], 0x100c);
	for (us_gva pc = 0x1003; pc <= 0x100a; pc += pc == 0x1003 ? 3 : 2) {
		unwind(pc, STACK + 8);
		ends(1, US_END_ROOT);
	}
	/* Padding up to the next function, behind the halt. */
	memset(ram + 0x100e, 0x90, 2);
	put(STACK, 0x100c);
	us_unwinder_set_code(unwinder, &map, &cfi);
	unwind(0x2000, STACK);
	ends(2, US_END_ROOT);
	/* Before that it has a caller. */
	put(STACK, 0x3005);
	put(STACK + 8, 0);
	unwind(0x1000, STACK);
	ends(2, US_END_ROOT);
	assert_int_equal(out.pc[1], 0x3005);
}

/* 32-bit code that jumps to 64-bit code under the same symbol, which takes a stack,
 * calls all of a list, and then what stays. */
#define NARROW "\xa3\x00\x50\x00\x00\x40" /* mov %eax,0x5000; inc %eax */
#define WIDE                                                                           \
	"\xbc\x00\x90\x00\x00\x85\xc0\x74\x04\xff\xd0\xeb\xf8\xe8\xce\x0f\x00\x00\xf4" \
	"\xeb\xfd"

static void wide_code(const char *jump, size_t n, uint8_t end)
{
	memset(ram + 0x1000, 0xcc, 0x20);
	AT(0x1000, NARROW);
	memcpy(ram + 0x1006, jump, n);
	AT(0x1020, WIDE);
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK, 0x1032);
	for (unsigned i = 1; i < 40; i++)
		put(STACK + i * 8, 0x7700 + i);
	unwind(0x2000, STACK);
	ends(2, end);
	assert_int_equal(out.pc[1], 0x1032);
}
#define JUMPS(jump, end) wide_code(jump, sizeof(jump) - 1, end)

static void behind_a_mode_switch(void **state)
{
	(void)state;
	for (unsigned symbols = 0; symbols < 2; symbols++) {
		map.n = 0;
		if (symbols)
			FUNCTION(0x1000, NARROW);
		FUNCTION(0x2000, "\x90\xc3");
		JUMPS("\xea\x20\x10\x00\x00\x08\x00", US_END_ROOT);
		JUMPS("\x68\x20\x10\x00\x00\xcb", US_END_ROOT);	       /* push; lret */
		JUMPS("\xea\x20\x10\x00\x00\x00\x00", US_END_NO_RULE); /* no cs */
		JUMPS("\xea\x20\x20\x00\x00\x08\x00", US_END_NO_RULE); /* to 0x2020 */
		JUMPS("\xea\x00\x10\x00\x00\x08\x00", US_END_NO_RULE); /* before it */
	}
}

/* What kept the stack pointer goes back; what returns has somewhere to go. */
static void stack_that_was_kept(void **state)
{
	(void)state;
	static const struct {
		const char *code;
		uint8_t n, ret;
	} cases[] = {
		/* mov %rsp,%rbx; mov %rdi,%rsp; call *%rsi; mov %rbx,%rsp; ret */
		{ "\x48\x89\xe3\x48\x89\xfc\xff\xd6\x48\x89\xdc\xc3", 12, 8 },
		/* mov %rsp,(%rdx); mov %rdi,%rsp; call *%rsi; mov (%rdx),%rsp; ret */
		{ "\x48\x89\x22\x48\x89\xfc\xff\xd6\x48\x8b\x22\xc3", 12, 8 },
		/* the same, and never returns: jmp . */
		{ "\x48\x89\x22\x48\x89\xfc\xff\xd6\xeb\xfe", 10, 8 },
		/* xchg %rdi,%rsp; call *%rsi; jmp . */
		{ "\x48\x87\xfc\xff\xd6\xeb\xfe", 7, 5 },
		/* lea -8(%rsp),%rsp is no other stack; push %rax */
		{ "\x50\x48\x89\xfc\xff\xd6\xeb\xfe", 8, 6 },
		/* mov %rdi,%rsp; call *%rsi; ret */
		{ "\x48\x89\xfc\xff\xd6\xc3", 6, 5 },
		/* mov %rdi,%rsp; call *%rsi; jmp *%rax */
		{ "\x48\x89\xfc\xff\xd6\xff\xe0", 7, 5 },
		/* mov %rdi,%rsp; call *%rsi; iretq */
		{ "\x48\x89\xfc\xff\xd6\x48\xcf", 7, 5 },
	};
	FUNCTION(0x1000, "");
	FUNCTION(0x1040, "\xc3");
	FUNCTION(0x2000, "\x90\xc3");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memset(ram + 0x1000, 0xcc, 0x40);
		memcpy(ram + 0x1000, cases[i].code, cases[i].n);
		us_unwinder_set_code(unwinder, &map, &cfi);
		for (unsigned k = 1; k < 40; k++)
			put(STACK + k * 8, 0x7700 + k);
		put(STACK, 0x1000 + cases[i].ret);
		unwind(0x2000, STACK);
		assert_int_equal(out.n, 2);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
}

/* --- x86: what lies above a thread --- */

#define THREAD_STAYS   "\x55\x48\x89\xe5\xe8\xf7\x0f\x00\x00\xeb\xfe"
#define THREAD_RETURNS "\x55\x48\x89\xe5\xe8\xf7\x0f\x00\x00\x5d\xc3"

/* 0x2000, called by the thread at 0x1000, whose frame is at STACK + 8. */
static void thread(us_gva above)
{
	put(STACK, 0x1009);
	put(STACK + 8, STACK + 0x100);
	put(STACK + 16, above);
	regs.gpr[US_X86_RBP] = STACK + 8;
	unwind(0x2000, STACK);
	assert_int_equal(out.pc[1], 0x1009);
	assert_int_equal(out.n, 2);
}

static void thread_code(const char *bytes)
{
	FUNCTION(0x1000, "");
	memcpy(ram + 0x1000, bytes, 11);
	FUNCTION(0x1040, "\xc3");
	FUNCTION(0x2000, "\x90\xc3");
	FUNCTION(0x2080, "\x90\x90\xc3");
	calls(0x3000, 0x2000);
	FUNCTION(0x3040, "\xc3");
}

static void garbage_above(void **state)
{
	(void)state;
	static const us_gva garbage[] = { 0x77, 0x4100000000000000, 0xfeedULL << 32,
					  ~0ULL, 0x2080 /* for when it is over */ };
	static const us_gva perhaps[] = {
		0x2081, /* in a function, and behind no CALL */
		0x3005, /* behind the CALL of another function */
	};
	for (unsigned stays = 0; stays < 2; stays++) {
		map.n = 0;
		thread_code(stays ? THREAD_STAYS : THREAD_RETURNS);
		for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
			thread(garbage[i]);
			assert_int_equal(out.end, US_END_ROOT);
		}
		for (size_t i = 0; i < sizeof(perhaps) / sizeof(*perhaps); i++) {
			thread(perhaps[i]);
			assert_int_equal(out.end, US_END_NO_RULE);
		}
	}
}

/* A thread whose first function ends with a CALL of the one right behind it, without
 * padding between: clang -Oz. */
static void thread_that_calls_the_next(void **state)
{
	(void)state;
	/* push $1; pop %rdi; call 0x1008 */
	FUNCTION(0x1000, "\x6a\x01\x5f\xe8\x00\x00\x00\x00");
	/* push %rbx; call 0x2000; jmp 0x1009 */
	FUNCTION(0x1008, "\x53\xe8\xf2\x0f\x00\x00\xeb\xf9");
	FUNCTION(0x2000, "\x90\xc3");
	put(STACK, 0x100e);
	put(STACK + 8, 0xbb);
	put(STACK + 16, 0x1008);
	put(STACK + 24, 0x77);
	unwind(0x2000, STACK);
	ends(3, US_END_ROOT);
	assert_int_equal(out.pc[2], 0x1008);
	/* No caller: what a function pushes to learn where it is.  call 0x1015; pop
	 * %rbx; call 0x2000; ret */
	map.n = 1;
	FUNCTION(0x1010, "\xe8\x00\x00\x00\x00\x5b\xe8\xe5\x0f\x00\x00\xc3");
	FUNCTION(0x2000, "\x90\xc3");
	calls(0x3000, 0x1010);
	put(STACK, 0x3005);
	put(STACK + 8, 0);
	for (us_gva pc = 0x1015; pc <= 0x1016; pc++) {
		us_gva pushed = STACK - 8 * (pc == 0x1015);
		put(STACK - 8, 0x1015);
		unwind(pc, pushed);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x3005);
	}
}

/* Without its start nothing is certain. */
static void garbage_above_the_unknown(void **state)
{
	(void)state;
	thread_code(THREAD_STAYS);
	map.n = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	thread(0x77);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* call 0x2000; pop %rbx; ret: a label in the middle of a function. */
static void label_in_a_function(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xe8\xfb\x0f\x00\x00\x5b\xc3");
	FUNCTION(0x1040, "\xc3");
	FUNCTION(0x2000, "\x90\xc3");
	put(STACK, 0x1005);
	put(STACK + 8, 0x77);
	put(STACK + 16, 0x78);
	unwind(0x2000, STACK);
	ends(2, US_END_NO_RULE);
	/* The label comes right behind a CALL: the code goes on there. */
	map.n = 0;
	memset(ram + 0x1000, 0xcc, 0x100);
	FUNCTION(0x1000, "\xe8\xfb\x0f\x00\x00");
	FUNCTION(0x1005, "\x48\x83\xc4\x00\xc3"); /* add $0,%rsp; ret */
	FUNCTION(0x2000, "\x90\xc3");
	put(STACK + 8, 0x1006); /* in a function, behind no CALL */
	unwind(0x2000, STACK);
	ends(2, US_END_NO_RULE);
}

/* A part of a handler that never returns: below is what the processor pushed. */
static void handler_that_stays(void **state)
{
	(void)state;
	thread_code(THREAD_STAYS);
	put(STACK + 24, 0x2081); /* rip */
	put(STACK + 32, 0x10);
	put(STACK + 40, 0x202);
	put(STACK + 48, STACK + 64);
	put(STACK + 56, 0x18);
	thread(14);
	assert_int_equal(out.end, US_END_NO_RULE);
	put(STACK + 40, 0);
	thread(14);
	assert_int_equal(out.end, US_END_ROOT);
}

static void put_narrow(us_gva at, const uint32_t *words, size_t n)
{
	memcpy(ram + at, words, n * sizeof(*words));
}

/* As thread(), of 32-bit code, with three words above its argument. */
static void narrow_thread(uint32_t pc, uint32_t cs, uint32_t flags, uint8_t end)
{
	put_narrow(STACK,
		   (uint32_t[]){ 0x1008, STACK + 0x100, 14, 0x77, pc, cs, flags }, 7);
	regs.gpr[US_X86_RBP] = STACK + 4;
	unwind(0x2000, STACK);
	assert_int_equal(out.pc[1], 0x1008);
	ends(2, end);
}

/* What 32-bit code of ring 0 leaves for an interrupt is three words, which numbers and
 * a pointer in a struct that holds the stack resemble. */
static void narrow_handler_that_stays(void **state)
{
	(void)state;
	regs.bits = 32;
	map.text_start = 0x1000;
	map.text_end = 0x5000;
	/* push %ebp; mov %esp,%ebp; call 0x2000; jmp . */
	FUNCTION(0x1000, "\x55\x89\xe5\xe8\xf8\x0f\x00\x00\xeb\xfe");
	FUNCTION(0x2000, "\x90\xc3");
	FUNCTION(0x2080, "\x90\x90\xc3");
	memset(ram + STACK, 0x77, 0x100);
	narrow_thread(0x2081, 8, 0x202, US_END_NO_RULE);
	narrow_thread(0x2081, 8, 2, US_END_NO_RULE);
	narrow_thread(0x2081, 0x80000008, 2, US_END_NO_RULE); /* Linux's own flag */
	narrow_thread(0x6000, 8, 2, US_END_ROOT);	      /* data */
	narrow_thread(0x2080, 8, 2, US_END_ROOT);	      /* a function */
	narrow_thread(0x2081, 0x6008, 2, US_END_NO_RULE);
	narrow_thread(0x2081, 0x26008, 2, US_END_ROOT); /* no selector */
	map.text_end = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	narrow_thread(0x6000, 8, 2, US_END_NO_RULE); /* who knows */
}

/* A table that counts from a register that is lost knows better than the code. */
static void table_that_differs(void **state)
{
	(void)state;
	const struct us_cfi_rule rule = {
		.cfa_reg = US_X86_R10, .cfa_off = 16, .pc = US_CFI_AT_CFA, .pc_off = -8
	};
	thread_code(THREAD_STAYS);
	row(0x1000, rule, NULL);
	finish_table();
	thread(0x77);
	assert_int_equal(out.end, US_END_NO_RULE);
}

/* The stack's memory ends right above; by page tables of four levels at 0xc000. */
static void nothing_above(void **state)
{
	(void)state;
	thread_code(THREAD_STAYS);
	put(0xc000, 0xd003);
	put(0xd000, 0xe003);
	put(0xe000, 0xf003);
	for (unsigned i = 0; i < 16; i++)
		put(0xf000 + i * 8, i == 9 ? 0 : i << 12 | 3);
	regs.space.mode = US_PAGING_X86_4;
	regs.space.root = 0xc000;
	put(0x8ff0, 0x1009);
	put(0x8ff8, 0);
	regs.gpr[US_X86_RBP] = 0x8ff8;
	unwind(0x2000, 0x8ff0);
	ends(2, US_END_ROOT);
	/* A function that returns needs a place to return to. */
	map.n = 0;
	memset(ram + 0x1000, 0xcc, 0x100);
	thread_code(THREAD_RETURNS);
	unwind(0x2000, 0x8ff0);
	ends(2, US_END_FAULT);
}

/* --- x86: entered by iret --- */

static void entered_by_iret(void **state)
{
	(void)state;
	for (unsigned leaves = 0; leaves < 2; leaves++) {
		map.n = 0;
		FUNCTION(0x1000, "");
		memcpy(ram + 0x1000, THREAD_STAYS, 11);
		FUNCTION(0x1040, "\xc3");
		FUNCTION(0x2000, "\x90\xc3");
		calls(0x3000, 0x4000);
		FUNCTION(0x4000, "\x90\x90\xc3");
		if (leaves) /* push..; iretq */
			AT(0x4000, "\x6a\x10\x48\xcf");
		us_unwinder_set_code(unwinder, &map, &cfi);
		thread(0x3005);
		assert_int_equal(out.end, leaves ? US_END_ROOT : US_END_NO_RULE);
	}
}

/*
 * An interrupt's handler has made a function run in the middle of another: it saves
 * rflags, or rax, rcx and rdx, and returns to what was interrupted.  That is no root,
 * and what was interrupted goes on.
 */
static void upcall(void **state)
{
	(void)state;
	static const struct {
		const char *code;
		uint8_t n, pushed; /* bytes up to the CALL; words below the address */
	} cases[] = {
		/* pushfq; push %rax; cld; call 0x2000; pop %rax; popfq; ret */
		{ "\x9c\x50\xfc\xe8\xf8\x0f\x00\x00\x58\x9d\xc3", 8, 2 },
		/* push %rax; push %rcx; push %rdx; call 0x2000; ... */
		{ "\x50\x51\x52\xe8\xf8\x0f\x00\x00\x5a\x59\x58\xc3", 8, 3 },
		/* push %rbx; push %rax; call 0x2000: an ordinary function */
		{ "\x53\x50\x90\xe8\xf8\x0f\x00\x00\x58\x5b\xc3", 8, 2 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool up = i < 2;
		us_gva slot = STACK + 8 + cases[i].pushed * 8ULL;
		map.n = 0;
		memset(ram + STACK, 0, 0x200);
		function(0x1000, cases[i].code, 12);
		FUNCTION(0x2000, "\x90\xc3");
		calls(0x3000, 0x3100);
		FUNCTION(0x3100, "\x90\xc3");
		put(STACK, 0x1008);
		/* At the first instruction, and behind it. */
		for (us_gva pc = 0x3100; pc <= 0x3101; pc++) {
			put(slot, pc);
			put(slot + 8, 0x3005);
			unwind(0x2000, STACK);
			if (up)
				EXPECT(US_END_ROOT, 0x2000, 0x1008, pc, 0x3005);
			else
				ends(2, pc == 0x3100 ? US_END_ROOT : US_END_NO_RULE);
		}
		/* The function of a thread's end: not known which. */
		put(slot, 0x3100);
		put(slot + 8, 0x7777);
		unwind(0x2000, STACK);
		ends(2, up ? US_END_NO_RULE : US_END_ROOT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(upcall),
		TEST(own_stack),
		TEST(behind_a_mode_switch),
		TEST(stack_that_was_kept),
		TEST(garbage_above),
		TEST(garbage_above_the_unknown),
		TEST(thread_that_calls_the_next),
		TEST(label_in_a_function),
		TEST(handler_that_stays),
		TEST(narrow_handler_that_stays),
		TEST(table_that_differs),
		TEST(nothing_above),
		TEST(entered_by_iret),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
