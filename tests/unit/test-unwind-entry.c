/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: from an entry with a stack of its own, whose handler leaves by another function,
 * to what was interrupted; and beside it what does not fit. */
#include "flat-guest.h"

#define KERNEL                                                                         \
	0xffffff8000000000 /* the same memory as from 0 on, which is a program's */
#define ROOT  0xa000
#define LARGE 0x83
#define USER  4

#define HANDLER (KERNEL + 0x1000) /* push rbx; xor ebx, ebx; pop rbx; ret */
#define ENTRY	(KERNEL + 0x2000)
#define THREAD	(KERNEL + 0x3000) /* int $0x80; ret */
#define CALLER	(KERNEL + 0x3100) /* calls THREAD */
#define PROGRAM 0x5000		  /* int $0x80; ret */
#define MAIN	0x5100		  /* calls PROGRAM */
#define USER_SP 0x9800
#define TOP	(KERNEL + 0x9000)
#define FRAME	(KERNEL + 0x8708) /* 40 bytes, up to a multiple of 16 */

/* push rax; push rbx; mov rsp, rbx; mov $TOP, rsp; mov rbx, rdi; call HANDLER; */
#define BY_REGISTER                                                                    \
	"\x50\x53\x48\x89\xe3\x48\xbc\x00\x90\x00\x00\x80\xff\xff\xff"                 \
	"\x48\x89\xdf\xe8\xe9\xef\xff\xff"
/* The same with rbp. */
#define BY_FP                                                                          \
	"\x50\x53\x48\x89\xe5\x48\xbc\x00\x90\x00\x00\x80\xff\xff\xff"                 \
	"\x48\x89\xef\xe8\xe9\xef\xff\xff"
/* push rax; push rbx; mov rsp, rdi; mov $TOP, rsp; push rdi; call HANDLER; */
#define BY_STACK                                                                       \
	"\x50\x53\x48\x89\xe7\x48\xbc\x00\x90\x00\x00\x80\xff\xff\xff"                 \
	"\x57\xe8\xeb\xef\xff\xff"
/* The same, with nothing kept: nop for the push. */
#define BY_NOTHING                                                                     \
	"\x50\x53\x48\x89\xe7\x48\xbc\x00\x90\x00\x00\x80\xff\xff\xff"                 \
	"\x90\xe8\xeb\xef\xff\xff"
/* push rax; push rbx; call HANDLER; */
#define SAME_STACK "\x50\x53\xe8\xf9\xef\xff\xff"
#define UD2	   "\x0f\x0b"
#define BACK	   "\x48\x89\xdc\x5b\x58\x48\xcf" /* mov rbx, rsp; pop; pop; iretq */

static us_gva behind; /* the CALL of the handler */
static uint64_t frame[5];

static us_gva ram_at(us_gva va)
{
	return va & 0xffff;
}

static void code(us_gva at, const void *bytes, size_t n)
{
	memcpy(ram + ram_at(at), bytes, n);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define CODE(at, bytes) code(at, bytes, sizeof(bytes) - 1)

static int fresh_entry(void **state)
{
	int r = fresh(state);
	memset(ram + ROOT, 0, RAM_SIZE - ROOT);
	put(ROOT, 0xb003 | USER);
	put(ROOT + 8 * 511, 0xc003);
	put(0xb000, 0xd003 | USER);
	put(0xc000, 0xe003);
	put(0xd000, LARGE | USER);
	put(0xe000, LARGE);
	memcpy(ram + PROGRAM, "\xcd\x80\xc3", 3);
	memcpy(ram + MAIN, "\xe8\xfb\xfe\xff\xff", 5);
	put(USER_SP, MAIN + 5);
	regs.space.mode = US_PAGING_X86_4;
	regs.space.root = ROOT;
	const uint64_t user[] = { PROGRAM + 2, 0x33, 0x202, USER_SP, 0x2b };
	memcpy(frame, user, sizeof(frame));
	return r;
}
#define ENTRY_TEST(f) cmocka_unit_test_setup_teardown(f, fresh_entry, done)

static void entry_is(const void *bytes, size_t n, size_t n_way_out)
{
	map.n = 0;
	CODE(HANDLER, "\x53\x31\xdb\x5b\xc3");
	code(ENTRY, bytes, n);
	CODE(THREAD, "\xcd\x80\xc3");
	CODE(CALLER, "\xe8\xfb\xfe\xff\xff\xc3");
	behind = ENTRY + n - n_way_out;
}
#define ENTRY_IS(bytes, out) entry_is(bytes out, sizeof(bytes out) - 1, sizeof(out) - 1)

/* In the handler.  more: words above the pushes, below the frame; sp: there. */
static void unwind_handler(unsigned more, us_gva sp)
{
	us_gva pushed = FRAME - 8 * more - 16;
	memcpy(ram + ram_at(FRAME), frame, sizeof(frame));
	put(ram_at(FRAME - 8 * more - 16), 0x77);
	put(ram_at(FRAME - 8 * more - 8), 0x78);
	if (sp == TOP - 8)
		put(ram_at(sp), pushed);
	put(ram_at(sp - 8), behind);
	put(ram_at(sp - 16), pushed); /* rbx, that the handler has saved */
	regs.gpr[US_X86_RBX] = 0x79;
	regs.gpr[US_X86_RBP] = pushed;
	unwind(HANDLER + 3, sp - 16);
	assert_true(out.n >= 2);
	assert_int_equal(out.pc[1], behind);
}

static void expect(us_gva pc, us_gva caller, uint8_t flags)
{
	assert_true(out.n >= 4);
	assert_int_equal(out.pc[2], pc);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	assert_int_equal(out.flags[2], flags);
	assert_int_equal(out.pc[3], caller);
}
#define EXPECT_USER() expect(PROGRAM + 2, MAIN + 5, US_PC_USER)

static void expect_cut(void)
{
	assert_int_equal(out.n, 2);
	assert_int_not_equal(out.end, US_END_ROOT);
}

static void of_a_program(void **state)
{
	(void)state;
	ENTRY_IS(BY_REGISTER, UD2);
	unwind_handler(0, TOP);
	EXPECT_USER();
	us_unwind(unwinder, &paging, &regs, &out); /* as remembered */
	EXPECT_USER();
	ENTRY_IS(BY_REGISTER, BACK);
	unwind_handler(0, TOP);
	EXPECT_USER();
	ENTRY_IS(BY_STACK, UD2);
	unwind_handler(0, TOP - 8);
	EXPECT_USER();
	ENTRY_IS(BY_FP, UD2);
	unwind_handler(0, TOP);
	EXPECT_USER();
}

static void of_the_kernel(void **state)
{
	(void)state;
	const uint64_t kernel[] = { THREAD + 2, 8, 0x202, FRAME + 40, 16 };
	memcpy(frame, kernel, sizeof(frame));
	put(ram_at(FRAME + 40), CALLER + 5);
	ENTRY_IS(BY_REGISTER, UD2);
	unwind_handler(0, TOP);
	expect(THREAD + 2, CALLER + 5, 0);
	frame[3] += 16; /* on another stack */
	unwind_handler(0, TOP);
	expect_cut();
	frame[3] -= 16;
	frame[0] = HANDLER - 0x100; /* in no function */
	unwind_handler(0, TOP);
	expect_cut();
}

/* An error code and a vector, by what has jumped to the entry. */
static void below_more_words(void **state)
{
	(void)state;
	ENTRY_IS(BY_REGISTER, UD2);
	for (unsigned i = 1; i <= 2; i++) {
		put(ram_at(FRAME - 8), 14);
		unwind_handler(i, TOP);
		EXPECT_USER();
	}
	put(ram_at(FRAME - 8), 14);
	unwind_handler(3, TOP);
	expect_cut();
	put(ram_at(FRAME - 8), CALLER + 5); /* the entry was called */
	unwind_handler(1, TOP);
	expect_cut();
}

static void that_does_not_fit(void **state)
{
	static const struct {
		unsigned at;
		uint64_t word;
	} wrong[] = {
		{ 0, 1 << 22 },	   /* no memory */
		{ 0, THREAD + 2 }, /* the kernel's */
		{ 1, 0x10033 },	   /* no selector */
		{ 2, 0x200 },	   /* no flags */
		{ 3, 0 },	   /* no stack */
		{ 3, TOP },	   /* the kernel's */
		{ 4, 0x28 },	   /* of ring 0 */
	};
	(void)state;
	ENTRY_IS(BY_REGISTER, UD2);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		uint64_t right = frame[wrong[i].at];
		frame[wrong[i].at] = wrong[i].word;
		unwind_handler(0, TOP);
		assert_int_equal(out.n, 2);
		frame[wrong[i].at] = right;
	}
	unwind_handler(0, TOP);
	EXPECT_USER();
}

static void of_which_nothing_is_known(void **state)
{
	(void)state;
	ENTRY_IS(SAME_STACK, UD2); /* as boot code, below what looks like a frame */
	unwind_handler(0, FRAME - 16);
	assert_int_equal(out.n, 2);
	ENTRY_IS(BY_NOTHING, UD2); /* rdi alone has the old stack */
	unwind_handler(0, TOP);
	expect_cut();
	ENTRY_IS(BY_REGISTER, UD2);
	map.n = 1; /* no symbol */
	us_unwinder_set_code(unwinder, &map, &cfi);
	unwind_handler(0, TOP);
	expect_cut();
}

/* Behind the change of stacks. */
static void in_the_entry(void **state)
{
	(void)state;
	ENTRY_IS(BY_REGISTER, UD2);
	memcpy(ram + ram_at(FRAME), frame, sizeof(frame));
	regs.gpr[US_X86_RBX] = FRAME - 16;
	unwind(ENTRY + 15, TOP);
	assert_true(out.n >= 3);
	assert_int_equal(out.pc[1], PROGRAM + 2);
	assert_int_equal(out.pc[2], MAIN + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ENTRY_TEST(of_a_program),
		ENTRY_TEST(of_the_kernel),
		ENTRY_TEST(below_more_words),
		ENTRY_TEST(that_does_not_fit),
		ENTRY_TEST(of_which_nothing_is_known),
		ENTRY_TEST(in_the_entry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
