/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that go on on another one, where only memory leads to it: as OCaml 5 runs its
 * fibers.  No tables. */
#include "flat-guest.h"

#define FIBER  (STACK + 0x1000) /* its stack ends here */
#define STATE  0x7000		/* r14 */
#define PARENT 0x7100		/* describes the old stack */

/*
 * 0x1000 calls 0x2000, which runs 0x4000 on a fiber.  Where that keeps its descriptor
 * lies the old stack pointer:
 *	0x2000 push rbx; push rbp; mov rdi,r14; sub 8,rsp
 *	0x2009 mov 28(r14),r11; mov (r11),r10; sub 10,r10; mov rsp,(r10)
 *	0x2017 mov 58(r14),r11; mov r11,8(r10); sub 10,r10; movq 0,8(r10); mov r10,rsp
 *	0x202e call *r12
 *	0x2031 lea 10(rsp),r10; mov 40(r14),rsp; add 8,rsp; pop rbp; pop rbx; ret
 */
static void begins_fiber(void)
{
	calls(0x1000, 0x2000);
	FUNCTION(0x2000, "\x53\x55\x49\x89\xfe\x48\x83\xec\x08"
			 "\x4d\x8b\x5e\x28\x4d\x8b\x13\x49\x83\xea\x10\x49\x89\x22"
			 "\x4d\x8b\x5e\x58\x4d\x89\x5a\x08\x49\x83\xea\x10"
			 "\x49\xc7\x42\x08\x00\x00\x00\x00\x4c\x89\xd4\x41\xff\xd4"
			 "\x4c\x8d\x54\x24\x10\x49\x8b\x66\x40\x48\x83\xc4\x08\x5d"
			 "\x5b\xc3");
	put(STACK + 0x818, 0x1005);
	put(FIBER - 0x10, STACK + 0x800);
}

/*
 * 0x3000 runs 0x4000 on a fiber that exists; its end leads to what describes the old
 * stack:
 *	0x3000 mov 28(r14),rcx; mov rsp,(rcx); mov 10(rax),r11; mov rcx,18(r11)
 *	0x300f mov (rax),r11; sub 20,r11; mov r11,rsp
 *	0x3019 call *(rbx)
 *	0x301b lea 20(rsp),r11; mov 18(r11),r10; mov (r10),r13
 *	0x3027 mov 40(r14),rsp; call 0x4000; mov r13,rsp; jmp *(rbx)
 */
static void runs_fiber(void)
{
	calls(0x1000, 0x3000);
	FUNCTION(0x3000, "\x49\x8b\x4e\x28\x48\x89\x21\x4c\x8b\x58\x10\x49\x89\x4b\x18"
			 "\x4c\x8b\x18\x49\x83\xeb\x20\x4c\x89\xdc\xff\x13"
			 "\x4c\x8d\x5c\x24\x20\x4d\x8b\x53\x18\x4d\x8b\x2a"
			 "\x49\x8b\x66\x40\xe8\xd0\x0f\x00\x00\x4c\x89\xec\xff\x23");
	put(STACK + 0x800, 0x1005);
	put(PARENT, STACK + 0x800);
	put(FIBER - 0x20 + 0x38, PARENT);
}

static void looks(us_gva pc, us_gva sp, const us_gva *callers, unsigned n)
{
	unwind(pc, sp);
	assert_int_equal(out.n, n + 1);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(out.pc[i + 1], callers[i]);
}
#define LOOKS(pc, sp, ...)                                                             \
	looks(pc, sp, (const us_gva[]){ __VA_ARGS__ },                                 \
	      sizeof((const us_gva[]){ __VA_ARGS__ }) / sizeof(us_gva))

static void old_stack_pointer_is_on_the_new_stack(void **state)
{
	(void)state;
	begins_fiber();
	FUNCTION(0x4000, "\xc3");
	put(FIBER - 0x28, 0x2031);
	LOOKS(0x4000, FIBER - 0x28, 0x2031, 0x1005);
	/* In the code itself: before the switch, on the fiber, and back. */
	LOOKS(0x202b, STACK + 0x800, 0x1005);
	LOOKS(0x202e, FIBER - 0x20, 0x1005);
	LOOKS(0x2031, FIBER - 0x20, 0x1005);
	LOOKS(0x2036, FIBER - 0x20, 0x1005);
	LOOKS(0x203a, STACK + 0x800, 0x1005);
	LOOKS(0x2040, STACK + 0x818, 0x1005);
}

/* A function that only a jump leads into, behind its start. */
static void begun_by_a_jump_behind_the_start(void **state)
{
	(void)state;
	begins_fiber();
	FUNCTION(0x4000, "\xc3");
	FUNCTION(0x5000, "\x53\x55\x49\x89\xfe\xe9\xfb\xcf\xff\xff"); /* jmp 0x2005 */
	calls(0x6000, 0x5000);
	put(STACK + 0x818, 0x6005);
	LOOKS(0x2031, FIBER - 0x20, 0x6005);
	LOOKS(0x2040, STACK + 0x818, 0x6005);
}

static void what_describes_it_is_on_the_new_stack(void **state)
{
	(void)state;
	runs_fiber();
	FUNCTION(0x4000, "\xc3");
	put(FIBER - 0x28, 0x301b);
	LOOKS(0x4000, FIBER - 0x28, 0x301b, 0x1005);
	LOOKS(0x3004, STACK + 0x800, 0x1005);
	LOOKS(0x3019, FIBER - 0x20, 0x1005);
	LOOKS(0x301b, FIBER - 0x20, 0x1005);
	LOOKS(0x3024, FIBER - 0x20, 0x1005);
	LOOKS(0x3027, FIBER - 0x20, 0x1005);
	/* A register keeps it while the descriptor is given back on a third stack. */
	regs.gpr[US_X86_R13] = STACK + 0x800;
	LOOKS(0x302b, STACK + 0x1800, 0x1005);
	put(STACK + 0x17f8, 0x3030);
	LOOKS(0x4000, STACK + 0x17f8, 0x3030, 0x1005);
	LOOKS(0x3033, STACK + 0x800, 0x1005);
}

/* The same by a table, which says it where the code is not known. */
static void by_a_table(void **state)
{
	struct us_cfi_rule rule = { .cfa = US_CFI_CFA_MEM_MEM,
				    .cfa_reg = US_X86_RSP,
				    .cfa_off = 0x38,
				    .cfa_next = 0x10,
				    .cfa_add = 8,
				    .pc = US_CFI_AT_CFA,
				    .pc_off = -8 };
	(void)state;
	runs_fiber();
	memset(ram + 0x301b, 0xf4, 0x30);
	FUNCTION(0x4000, "\xc3");
	row(0x3000, rule, NULL);
	finish_table();
	put(FIBER - 0x28, 0x301b);
	put(PARENT + 0x10, STACK + 0x800);
	LOOKS(0x4000, FIBER - 0x28, 0x301b, 0x1005);
	put(FIBER - 0x20 + 0x38, 0x123456789); /* leads nowhere */
	LOOKS(0x4000, FIBER - 0x28, 0x301b);
}

/* Ten fibers, each of which runs the next. */
static void fibers_in_fibers(void **state)
{
	(void)state;
	runs_fiber();
	FUNCTION(0x4000, "\xc3");
	calls(0x6000, 0x3000);
	us_gva sp = 0xf000;
	put(PARENT, STACK + 0x100);
	put(STACK + 0x100, 0x1005);
	for (unsigned i = 0; i < 10; i++) {
		sp -= 0x200; /* so each is below the one that runs it */
		put(sp + 0x38, PARENT + 0x20 * i);
		put(sp - 8, 0x301b);
		put(sp - 0x10, 0x6005);
		put(PARENT + 0x20 * (i + 1), sp - 0x10);
	}
	unwind(0x4000, sp - 8);
	assert_int_equal(out.n, 1 + 10 + 10);
	assert_int_equal(out.pc[19], 0x301b);
	assert_int_equal(out.pc[20], 0x1005);
}

/* From one thread to another, by a jump: the stack is that of the other. */
static void left_for_another(void **state)
{
	(void)state;
	calls(0x1000, 0x2000);
	/* mov rsp,(rsi); mov (rdi),rsp; mov rdi,28(r14); jmp *(rbx) */
	FUNCTION(0x2000, "\x48\x89\x26\x48\x8b\x27\x49\x89\x7e\x28\xff\x23");
	put(STACK + 0x800, 0x1005);
	LOOKS(0x2003, STACK + 0x800, 0x1005);
	LOOKS(0x2006, STACK + 0x800, 0x1005);
	LOOKS(0x200a, STACK + 0x800, 0x1005);
}

/* What leads to another stack, but not to the caller's. */
static void leads_elsewhere(void **state)
{
	static const struct {
		const char *code;
		size_t len;
	} codes[] = {
		/* mov rsp,(rdi); mov (rsi),rsp; call 0x4000; mov (rdx),rsp; ret */
		{ "\x48\x89\x27\x48\x8b\x26\xe8\xf5\x1f\x00\x00\x48\x8b\x22\xc3", 15 },
		/* mov rsp,(rdi); mov rdi,(rdi); mov rdi,rsp; call 0x4000;
		 * mov 40(r14),rsp; ret */
		{ "\x48\x89\x27\x48\x89\x3f\x48\x89\xfc\xe8\xf2\x1f\x00\x00"
		  "\x49\x8b\x66\x40\xc3",
		  19 },
		/* The same, with movq 0,(rdi). */
		{ "\x48\x89\x27\x48\xc7\x07\x00\x00\x00\x00\x48\x89\xfc"
		  "\xe8\xee\x1f\x00\x00\x49\x8b\x66\x40\xc3",
		  23 },
		/* What is between changes any register: cpuid. */
		{ "\x48\x89\x27\x0f\xa2\x48\x89\xfc\xe8\xf3\x1f\x00\x00"
		  "\x49\x8b\x66\x40\xc3",
		  18 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		map.n = 0;
		calls(0x1000, 0x2000);
		function(0x2000, codes[i].code, codes[i].len);
		FUNCTION(0x4000, "\xc3");
		us_gva behind = 0x2000;
		while (ram[behind] != 0xe8)
			behind++;
		behind += 5;
		for (us_gva at = FIBER - 0x100; at < FIBER + 0x100; at += 8)
			put(at, FIBER + 0x40); /* a return address behind each */
		put(FIBER + 0x40, 0x1005);
		put(FIBER + 0x38, 0x1005);
		put(FIBER - 8, behind);
		unwind(0x4000, FIBER - 8);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], behind);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
}

/* Two fibers, each of which is said to have run the other. */
static void in_a_circle(void **state)
{
	(void)state;
	runs_fiber();
	FUNCTION(0x4000, "\xc3");
	calls(0x6000, 0x3000);
	for (unsigned i = 0; i < 2; i++) {
		us_gva sp = FIBER + 0x400 * i;
		put(sp + 0x38, PARENT + 0x20 * i);
		put(sp - 8, 0x301b);
		put(sp - 0x10, 0x6005);
		put(PARENT + 0x20 * !i, sp - 0x10);
	}
	unwind(0x4000, FIBER - 8);
	assert_true(out.n < US_MAX_FRAMES);
	assert_int_equal(out.end, US_END_CYCLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(old_stack_pointer_is_on_the_new_stack),
		TEST(begun_by_a_jump_behind_the_start),
		TEST(what_describes_it_is_on_the_new_stack),
		TEST(by_a_table),
		TEST(fibers_in_fibers),
		TEST(left_for_another),
		TEST(leads_elsewhere),
		TEST(in_a_circle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
