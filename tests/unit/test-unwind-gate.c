/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: from a page by which programs enter, at each of its instructions, to the
 * program. The kernel is in its own page tables alone; the page, and a stack, are in
 * both. */
#include "flat-guest.h"

#define KERNEL	    0xffffff8000000000
#define GATE	    0xffffff8040000000 /* the same memory */
#define KERNEL_ROOT 0xa000
#define USER_ROOT   0xb000
#define LARGE	    0x83
#define USER	    4

#define PROGRAM	 0x5000 /* calls both below */
#define BY_INT	 0x5100
#define BY_CALL	 0x5200
#define USER_SP	 0x9000
#define VECTOR	 (GATE + 0x3000)
#define SYSCALL	 (GATE + 0x3100)
#define FRAME	 (GATE + 0x8400) /* what the processor pushes, up to 40 bytes above */
#define STACK_AT (KERNEL + 0x8800)

static us_gva ram_at(us_gva va)
{
	return va & 0xffff;
}

static void code(us_gva at, const void *bytes, size_t n)
{
	memcpy(ram + ram_at(at), bytes, n);
	start[map.n++] = at;
}
#define CODE(at, bytes) code(at, bytes, sizeof(bytes) - 1)

static void put_frame(us_gva at, us_gva rip, uint64_t flags)
{
	const uint64_t frame[] = { rip, 0x33, flags, USER_SP, 0x2b };
	memcpy(ram + ram_at(at), frame, sizeof(frame));
}

static int fresh_gate(void **state)
{
	int r = fresh(state);
	memset(ram + KERNEL_ROOT, 0, RAM_SIZE - KERNEL_ROOT);
	for (us_gpa root = KERNEL_ROOT; root <= USER_ROOT; root += 0x1000) {
		put(root, 0xe003 | USER);
		put(root + 8 * 511, root + 0x2003);
		put(root + 0x2000 + 8, LARGE);
	}
	put(0xc000, LARGE);
	put(0xe000, LARGE | USER);
	/* pop rdi; push rdi; call 0x4100; pop rdi; iretq */
	CODE(KERNEL + 0x4000, "\x5f\x57\xe8\xf9\x00\x00\x00\x5f\x48\xcf");
	CODE(KERNEL + 0x4100, "\x90\xc3");
	/* pop rdi; pop rcx; swapgs; sysretq */
	CODE(KERNEL + 0x4200, "\x5f\x59\x0f\x01\xf8\x48\x0f\x07");
	/* push rdi; mov cr3, rdi; mov rdi, cr3; mov rsp, rdi; mov $STACK_AT, rsp;
	 * push 40(rdi) ... push (rdi); mov $0x4000, rdi; jmp *rdi */
	CODE(VECTOR, "\x57\x0f\x20\xdf\x0f\x22\xdf\x48\x89\xe7"
		     "\x48\xbc\x00\x88\x00\x00\x80\xff\xff\xff"
		     "\xff\x77\x28\xff\x77\x20\xff\x77\x18\xff\x77\x10\xff\x77\x08"
		     "\xff\x37\x48\xbf\x00\x40\x00\x00\x80\xff\xff\xff\xff\xe7");
	/* swapgs; mov cr3, rsp; mov rsp, cr3; mov $STACK_AT, rsp; push rcx; push rdi;
	 * mov $0x4200, rdi; jmp *rdi */
	CODE(SYSCALL, "\x0f\x01\xf8\x0f\x20\xdc\x0f\x22\xdc"
		      "\x48\xbc\x00\x88\x00\x00\x80\xff\xff\xff"
		      "\x51\x57\x48\xbf\x00\x42\x00\x00\x80\xff\xff\xff\xff\xe7");
	memcpy(ram + PROGRAM, "\xe8\xfb\x00\x00\x00\xe8\xf6\x01\x00\x00", 10);
	memcpy(ram + BY_INT, "\xcd\x80\xc3", 3);
	memcpy(ram + BY_CALL, "\x0f\x05\xc3", 3);
	put_frame(FRAME, BY_INT + 2, 0x202);
	regs.space.mode = US_PAGING_X86_4;
	us_unwinder_set_code(unwinder, &map, &cfi);
	return r;
}
#define GATE_TEST(f) cmocka_unit_test_setup_teardown(f, fresh_gate, done)

/* The vCPU is at this instruction of an interrupt. */
static void in_vector(unsigned at)
{
	static const unsigned pushes[] = { 23, 26, 29, 32, 35, 37 };
	us_gva sp = at == 0 ? FRAME : at < 20 ? FRAME - 8 : STACK_AT;
	memset(ram + 0x8800 - 48, 0, 48);
	put(ram_at(USER_SP), PROGRAM + 5);
	put(ram_at(FRAME - 8), 0x77); /* rdi */
	for (unsigned i = 0; i < 6 && at >= pushes[i]; i++) {
		sp -= 8;
		memcpy(ram + ram_at(sp), ram + ram_at(FRAME - 8 + 8 * (5 - i)), 8);
	}
	regs.space.root = at < 7 ? USER_ROOT : KERNEL_ROOT;
	regs.gpr[US_X86_RDI] = at < 4	 ? 0x77
			       : at < 10 ? KERNEL_ROOT
			       : at < 47 ? FRAME - 8
					 : KERNEL + 0x4000;
	unwind(VECTOR + at, sp);
}

/* ... or of a system call. */
static void in_syscall(unsigned at)
{
	put(ram_at(USER_SP), PROGRAM + 10);
	memset(ram + 0x8800 - 48, 0, 48);
	put(0x8800 - 8, at < 20 ? 0 : BY_CALL + 2);
	regs.gpr[US_X86_RCX] = BY_CALL + 2;
	regs.gpr[US_X86_R11] = 0x202;
	regs.gpr[US_X86_RBP] = USER_SP; /* what is known of the stack else */
	regs.space.root = at < 9 ? USER_ROOT : KERNEL_ROOT;
	unwind(SYSCALL + at, at < 6	? USER_SP
			     : at < 19	? KERNEL_ROOT
			     : at == 19 ? STACK_AT
			     : at == 20 ? STACK_AT - 8
					: STACK_AT - 16);
}

static void expect_program(us_gva pc)
{
	assert_true(out.n >= 2);
	assert_int_equal(out.pc[1], pc);
	assert_int_equal(out.flags[1], US_PC_USER); /* behind what entered the kernel */
	assert_int_equal(out.how[1], US_HOW_INTERRUPT);
}

static void at_each_instruction(void **state)
{
	static const unsigned vector[] = { 0,  1,  4,  7,  10, 20, 23,
					   26, 29, 32, 35, 37, 47 };
	static const unsigned by_call[] = { 0, 3, 6, 9, 19, 20, 21, 31 };
	(void)state;
	for (unsigned i = 0; i < sizeof(vector) / sizeof(*vector); i++) {
		in_vector(vector[i]);
		expect_program(BY_INT + 2);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[2], PROGRAM + 5);
	}
	for (unsigned i = 0; i < sizeof(by_call) / sizeof(*by_call); i++) {
		in_syscall(by_call[i]);
		expect_program(BY_CALL + 2);
	}
}

/* What it calls returns to where the kernel is linked, and that leads out. */
static void below_the_handler(void **state)
{
	(void)state;
	in_vector(47);
	put(0x8800 - 56, KERNEL + 0x4007);
	unwind(KERNEL + 0x4100, STACK_AT - 56);
	assert_int_equal(out.pc[1], KERNEL + 0x4007);
	assert_int_equal(out.pc[2], BY_INT + 2);
	assert_int_equal(out.flags[2], US_PC_USER);
}

/* What was found in one address space is not what there is in the other. */
static void the_kernel_itself_is_interrupted(void **state)
{
	(void)state;
	in_vector(0);
	expect_program(BY_INT + 2);
	const uint64_t frame[] = { KERNEL + 0x4100, 0x18, 0x202, STACK_AT - 56, 0x10 };
	put(0x8800 - 56, KERNEL + 0x4007);
	in_vector(47); /* what was broken off was called by the entry */
	put(0x8800 - 56, KERNEL + 0x4007);
	memcpy(ram + 0x8800 - 104, frame, sizeof(frame));
	regs.space.root = KERNEL_ROOT;
	unwind(VECTOR, STACK_AT - 104);
	assert_int_equal(out.pc[1], KERNEL + 0x4100);
	assert_int_equal(out.pc[2], KERNEL + 0x4007);
	assert_int_equal(out.pc[3], BY_INT + 2);
}

/* An entry that leads into the next function, which is what a symbol says. */
static void an_entry_of_one_push(void **state)
{
	(void)state;
	const uint64_t frame[] = { KERNEL + 0x4100, 0x18, 0x202, STACK_AT - 56, 0x10 };
	/* push $64; behind it VECTOR's code would be */
	CODE(GATE + 0x3300, "\x6a\x40");
	CODE(GATE + 0x3302, "\x57\xeb\xfe");
	us_unwinder_set_code(unwinder, &map, &cfi);
	in_vector(47);
	put(0x8800 - 56, KERNEL + 0x4007);
	memcpy(ram + 0x8800 - 104, frame, sizeof(frame));
	unwind(GATE + 0x3300, STACK_AT - 104);
	assert_int_equal(out.pc[1], KERNEL + 0x4100);
	assert_int_equal(out.pc[2], KERNEL + 0x4007);
	assert_int_equal(out.pc[3], BY_INT + 2);
	put(0x8800 - 104 + 24, STACK_AT - 40); /* not where it is */
	unwind(GATE + 0x3300, STACK_AT - 104);
	assert_int_equal(out.n, 1);
}

static void expect_nothing(unsigned at)
{
	in_vector(at);
	assert_int_equal(out.n, 1);
	assert_int_not_equal(out.end, US_END_ROOT);
}

static void what_is_no_program(void **state)
{
	(void)state;
	static const unsigned at[] = { 1, 23 };
	for (unsigned i = 0; i < 2; i++) {
		put_frame(FRAME, BY_INT + 2, 0x8202); /* no flags */
		expect_nothing(at[i]);
		put_frame(FRAME, KERNEL + 0x4100, 0x202); /* the kernel's page */
		expect_nothing(at[i]);
		put_frame(FRAME, 1ULL << 40, 0x202); /* nothing is there */
		expect_nothing(at[i]);
		put_frame(FRAME, BY_INT + 2, 0x202);
		put(ram_at(FRAME) + 24, 1ULL << 40); /* nor is a stack */
		expect_nothing(at[i]);
		put_frame(FRAME, BY_INT + 2, 0x202);
	}
	map.n = 0; /* a function that nobody knows */
	us_unwinder_set_code(unwinder, &map, &cfi);
	expect_nothing(1);
}

/* rcx as syscall left it may be there for long: not believed of a function that
 * returns. */
static void a_function_that_returns(void **state)
{
	(void)state;
	regs.gpr[US_X86_RCX] = BY_CALL + 2;
	regs.gpr[US_X86_R11] = 0x202;
	regs.space.root = KERNEL_ROOT;
	unwind(KERNEL + 0x4100, STACK_AT - 56);
	assert_int_equal(out.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATE_TEST(at_each_instruction),
		GATE_TEST(below_the_handler),
		GATE_TEST(the_kernel_itself_is_interrupted),
		GATE_TEST(an_entry_of_one_push),
		GATE_TEST(what_is_no_program),
		GATE_TEST(a_function_that_returns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
