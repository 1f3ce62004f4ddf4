/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: from the entry of a system call that was made in ring 0, at each of its
 * instructions and from what it calls, to the code that made it. */
#include "flat-guest.h"

#define HANDLER 0x1000
#define ENTRY	0x2000
#define APP	0x3000 /* push rbp; mov rsp, rbp; syscall; pop rbp; ret */
#define BEHIND	(APP + 6)
#define LEAF	0x3100 /* syscall; ret */
#define MAIN	0x4000 /* calls APP */
#define POINTER 0x4100 /* call *rax; ret */
#define APP_SP	(STACK + 0x200)
#define OWN	(STACK + 0x800) /* the kernel's stack */

#define NOPS "\x90\x90\x90\x90\xc3"

/* sub $64, rsp; push rcx; push r11; push rbx; mov rsp, rbx; and $-16, rsp; xor ecx,
 * ecx; call HANDLER; mov rbx, rsp; pop rbx; pop r11; pop rcx; lea 64(rsp), rsp;
 * jmp *rcx */
#define SAME_STACK                                                                     \
	"\x48\x83\xec\x40\x51\x41\x53\x53\x48\x89\xe3\x48\x83\xe4\xf0\x31\xc9"         \
	"\xe8\xea\xef\xff\xff\x48\x89\xdc\x5b\x41\x5b\x59\x48\x8d\x64\x24\x40\xff\xe1"

/* swapgs; mov rsp, gs:0; mov gs:8, rsp; push gs:0; push rcx; push r11; call HANDLER;
 * pop r11; pop rcx; pop rsp; push r11; popf; jmp *rcx */
#define OTHER_STACK                                                                    \
	"\x0f\x01\xf8\x65\x48\x89\x24\x25\x00\x00\x00\x00"                             \
	"\x65\x48\x8b\x24\x25\x08\x00\x00\x00\x65\xff\x34\x25\x00\x00\x00\x00"         \
	"\x51\x41\x53\xe8\xdb\xef\xff\xff\x41\x5b\x59\x5c\x41\x53\x9d\xff\xe1"

static void entry_is(const char *code, size_t n)
{
	FUNCTION(HANDLER, NOPS);
	function(ENTRY, code, n);
	FUNCTION(APP, "\x55\x48\x89\xe5\x0f\x05\x5d\xc3");
	FUNCTION(LEAF, "\x0f\x05\xc3");
	calls(MAIN, APP);
	FUNCTION(POINTER, "\xff\xd0\xc3");
	regs.gpr[US_X86_RBP] = APP_SP;
	put(APP_SP, APP_SP + 0x100);
	put(APP_SP + 8, MAIN + 5);
}
#define ENTRY_IS(code) entry_is(code, sizeof(code) - 1)

/* What the pushes have left, and what is in rcx. */
static void same_stack(us_gva made_by)
{
	put(APP_SP - 72, made_by);
	put(APP_SP - 80, 0x202);
	put(APP_SP - 88, 0x77);
	put(APP_SP - 104, ENTRY + 0x16);
	regs.gpr[US_X86_RBX] = APP_SP - 88;
	regs.gpr[US_X86_RCX] = made_by;
}

static void other_stack(us_gva made_by)
{
	put(OWN - 8, APP_SP);
	put(OWN - 16, made_by);
	put(OWN - 24, 0x202);
	put(OWN - 32, ENTRY + 0x25);
	regs.gpr[US_X86_RCX] = made_by;
}

/* Behind the instruction, as behind a CALL, and in the kernel. */
static void expect(unsigned at, us_gva made_by, us_gva caller)
{
	assert_true(out.n >= at + 2);
	assert_int_equal(out.pc[at], made_by);
	assert_int_equal(out.how[at], US_HOW_INTERRUPT);
	assert_int_equal(out.flags[at], 0);
	assert_int_equal(out.pc[at + 1], caller);
}

static void expect_nothing(unsigned n)
{
	assert_int_equal(out.n, n);
	assert_int_not_equal(out.end, US_END_ROOT);
}

struct place {
	unsigned at;
	int sp;
	bool lost; /* rcx has another value there */
};

static void at_each_instruction(void **state)
{
	static const struct place places[] = {
		{ 0, 0, false },      { 4, -64, false },   { 5, -72, false },
		{ 7, -80, false },    { 8, -88, false },   { 11, -88, false },
		{ 15, -96, false },   { 17, -96, true },   { 0x16, -96, true },
		{ 0x19, -88, true },  { 0x1a, -80, true }, { 0x1c, -72, true },
		{ 0x1d, -64, false }, { 0x22, 0, false },
	};
	(void)state;
	ENTRY_IS(SAME_STACK);
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		same_stack(BEHIND);
		if (places[i].lost)
			regs.gpr[US_X86_RCX] = 0;
		if (places[i].at < 11 || places[i].at > 0x19)
			regs.gpr[US_X86_RBX] = 0x77;
		unwind(ENTRY + places[i].at, APP_SP + (us_gva)(int64_t)places[i].sp);
		expect(1, BEHIND, MAIN + 5);
	}
}

static void from_what_the_entry_calls(void **state)
{
	(void)state;
	ENTRY_IS(SAME_STACK);
	same_stack(BEHIND);
	regs.gpr[US_X86_RCX] = 0;
	unwind(HANDLER, APP_SP - 104);
	assert_int_equal(out.pc[1], ENTRY + 0x16);
	expect(2, BEHIND, MAIN + 5);
}

/* The entry's frame is known by rbx, also behind the jump of a switch. */
static void from_a_switch(void **state)
{
	(void)state;
	ENTRY_IS(SAME_STACK);
	same_stack(BEHIND);
	/* jmp *0(, rdi, 8); nop; ret */
	memcpy(ram + HANDLER, "\xff\x24\xfd\x00\x00\x00\x00\x90\xc3", 9);
	unwind(HANDLER + 7, APP_SP - 104);
	assert_int_equal(out.pc[1], ENTRY + 0x16);
	expect(2, BEHIND, MAIN + 5);
	/* push rbx; xor ebx, ebx; jmp *0(, rdi, 8); pop rbx; ret */
	memcpy(ram + HANDLER, "\x53\x31\xdb\xff\x24\xfd\x00\x00\x00\x00\x5b\xc3", 12);
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(APP_SP - 112, APP_SP - 88);
	regs.gpr[US_X86_RBX] = 0;
	unwind(HANDLER + 10, APP_SP - 112);
	assert_int_equal(out.pc[1], ENTRY + 0x16);
	expect(2, BEHIND, MAIN + 5);
}

/* The word that seems to be the entry's return address is that of the function that has
 * made the system call; which a CALL by pointer does not rule out. */
static void a_leaf_that_was_called_by_pointer(void **state)
{
	(void)state;
	ENTRY_IS(SAME_STACK);
	same_stack(LEAF + 2);
	put(APP_SP, POINTER + 2);
	unwind(HANDLER, APP_SP - 104);
	assert_int_equal(out.pc[1], ENTRY + 0x16);
	expect(2, LEAF + 2, POINTER + 2);
	regs.gpr[US_X86_RBX] = 0x77;
	unwind(ENTRY, APP_SP);
	expect(1, LEAF + 2, POINTER + 2);
}

/* The kernel's stack is known by memory alone. */
static void on_a_stack_of_its_own(void **state)
{
	static const struct place places[] = {
		{ 0, 0, false },     { 3, 0, false },	  { 0x25, -24, true },
		{ 0x27, -16, true }, { 0x28, -8, false },
	};
	(void)state;
	ENTRY_IS(OTHER_STACK);
	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		us_gva base = places[i].at < 12 ? APP_SP : OWN;
		other_stack(BEHIND);
		if (places[i].lost)
			regs.gpr[US_X86_RCX] = 0;
		unwind(ENTRY + places[i].at, base + (us_gva)(int64_t)places[i].sp);
		expect(1, BEHIND, MAIN + 5);
	}
	unwind(ENTRY + 0x29, APP_SP);
	expect(1, BEHIND, MAIN + 5);
	unwind(HANDLER, OWN - 32);
	assert_int_equal(out.pc[1], ENTRY + 0x25);
	expect(2, BEHIND, MAIN + 5);
}

/* Words that no system call has left there. */
static void what_is_not_behind_a_syscall(void **state)
{
	static const us_gva words[] = { APP + 4, APP + 7, BEHIND - 1, 1, 0x123456789 };
	(void)state;
	ENTRY_IS(SAME_STACK);
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		same_stack(words[i]);
		unwind(HANDLER, APP_SP - 104);
		expect_nothing(2);
	}
	same_stack(BEHIND);
	regs.user = true; /* a program has no such entry */
	unwind(HANDLER, APP_SP - 104);
	expect_nothing(2);
}

/* A function that follows one that exits. */
static void where_a_function_begins(void **state)
{
	(void)state;
	FUNCTION(HANDLER, NOPS);
	FUNCTION(ENTRY, SAME_STACK);
	FUNCTION(APP, "\x0f\x05");
	FUNCTION(APP + 2, NOPS);
	same_stack(APP + 2);
	put(APP_SP, APP_SP + 0x100);
	put(APP_SP + 8, MAIN + 5);
	unwind(HANDLER, APP_SP - 104);
	expect_nothing(2);
}

/* rcx may have been left by a system call long ago. */
static void other_functions(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		unsigned at;
		int sp;
	} f[] = {
#define F(code, at, sp) { code, sizeof(code) - 1, at, sp }
		/* push rcx; pop rcx; je 1f; jmp *rcx; 1: ret */
		F("\x51\x59\x74\x02\xff\xe1\xc3", 1, -8),
		/* push rbx; pop rbx; pop rcx; jmp *rcx: a return */
		F("\x53\x5b\x59\xff\xe1", 1, -8),
		F("\x53\x5b\x59\xff\xe1", 2, 0),
		/* mov (rdi), rcx; jmp *rcx: a call as the last step */
		F("\x48\x8b\x0f\xff\xe1", 0, 0),
		F("\x48\x8b\x0f\xff\xe1", 3, 0),
		/* push rcx; pop rax; jmp *rax */
		F("\x51\x58\xff\xe0", 1, -8),
		/* push rcx; hlt; jmp back */
		F("\x51\xf4\xeb\xfd", 1, -8),
		/* push rcx; call HANDLER; pop rcx; ret */
		F("\x51\xe8\xfa\xef\xff\xff\x59\xc3", 1, -8),
	};
	(void)state;
	for (unsigned i = 0; i < sizeof(f) / sizeof(*f); i++) {
		map.n = 0;
		memset(ram + ENTRY, 0xcc, 64);
		entry_is(f[i].code, f[i].n);
		put(APP_SP - 8, BEHIND);
		put(APP_SP, BEHIND);
		regs.gpr[US_X86_RCX] = BEHIND;
		unwind(ENTRY + f[i].at, APP_SP + (us_gva)(int64_t)f[i].sp);
		for (unsigned k = 1; k < out.n; k++)
			assert_int_not_equal(out.pc[k], BEHIND);
	}
}

/* A function whose start nobody states may be any. */
static void an_entry_without_a_symbol(void **state)
{
	(void)state;
	ENTRY_IS(SAME_STACK);
	map.n = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	same_stack(BEHIND);
	unwind(ENTRY, APP_SP);
	for (unsigned k = 1; k < out.n; k++)
		assert_int_not_equal(out.pc[k], BEHIND);
}

/* The entry calls the code that makes the system call, on the same stack again. */
static void a_circle_ends(void **state)
{
	(void)state;
	ENTRY_IS(OTHER_STACK);
	other_stack(BEHIND);
	put(OWN - 8, OWN - 40);
	put(OWN - 40, OWN - 40);
	put(OWN - 32, ENTRY + 0x25);
	int32_t to = APP - (ENTRY + 0x25);
	memcpy(ram + ENTRY + 0x21, &to, sizeof(to));
	regs.gpr[US_X86_RBP] = OWN - 40;
	unwind(BEHIND, OWN - 40);
	assert_true(out.n > 2 && out.n <= US_MAX_FRAMES);
	assert_int_not_equal(out.end, US_END_ROOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(at_each_instruction),
		TEST(from_what_the_entry_calls),
		TEST(from_a_switch),
		TEST(a_leaf_that_was_called_by_pointer),
		TEST(on_a_stack_of_its_own),
		TEST(what_is_not_behind_a_syscall),
		TEST(where_a_function_begins),
		TEST(other_functions),
		TEST(an_entry_without_a_symbol),
		TEST(a_circle_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
