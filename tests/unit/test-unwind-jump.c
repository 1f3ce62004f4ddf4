/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jumps whose target the instruction does not say: by what was written on the stack for
 * a nested function, by a pushed address; and a stack that changes places with a
 * register. */
#include "flat-guest.h"

#define ALT 0xc000 /* another stack */

static void expect(size_t n, const us_gva *want)
{
	assert_int_equal(out.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(out.pc[i], want[i]);
}
#define EXPECT(...)                                                                    \
	expect(sizeof((const us_gva[]){ __VA_ARGS__ }) / 8,                            \
	       (const us_gva[]){ __VA_ARGS__ })

/* --- what gcc writes on the stack to call a nested function by pointer --- */

#define TRAMPOLINE 0x9000 /* no image has it */

/* 0x3000 calls 0x2000, which calls it by pointer, to get to 0x1000. */
static void nested(void)
{
	FUNCTION(0x1000, "\x53\x90\x5b\xc3");	  /* push rbx; nop; pop; ret */
	FUNCTION(0x2000, "\x50\xff\xd7\x59\xc3"); /* push; call *rdi; pop; ret */
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\xc3"); /* push; call 0x2000 */
	map.text_start = 0x1000;
	map.text_end = 0x3007;
	us_unwinder_set_code(unwinder, &map, &cfi);
}

/* Each of its instructions, as sampled there. */
static void at_each(const uint8_t *code, size_t n, const size_t *at, size_t n_at)
{
	memset(ram + TRAMPOLINE - 64, 0, 128);
	memcpy(ram + TRAMPOLINE, code, n);
	for (size_t i = 0; i < n_at; i++) {
		put(STACK, 0x2003);
		put(STACK + 16, 0x3006);
		unwind(TRAMPOLINE + at[i], STACK);
		EXPECT(TRAMPOLINE + at[i], 0x2003, 0x3006);
	}
	/* What no CALL is before is no return address. */
	put(STACK, 0x2002);
	unwind(TRAMPOLINE + at[0], STACK);
	assert_int_equal(out.n, 1);
}
#define AT_EACH(code, ...)                                                             \
	at_each((const uint8_t *)(code), sizeof(code) - 1,                             \
		(const size_t[]){ __VA_ARGS__ },                                       \
		sizeof((const size_t[]){ __VA_ARGS__ }) / sizeof(size_t))

static void through_a_trampoline(void **state)
{
	(void)state;
	nested();
	/* mov $0x1000, r11d; movabs $.., r10; jmp *r11 */
	AT_EACH("\x41\xbb\x00\x10\x00\x00\x49\xba\x00\x80\0\0\0\0\0\0\x49\xff\xe3", 0,
		6, 16);
	/* The same with endbr64, and with addresses of 64 bits. */
	us_unwinder_set_code(unwinder, &map, &cfi);
	AT_EACH("\xf3\x0f\x1e\xfa\x49\xbb\x00\x10\0\0\0\0\0\0"
		"\x49\xba\x00\x80\0\0\0\0\0\0\x49\xff\xe3",
		0, 4, 14, 24);
}

/* Something between that is no constant, or another register: nobody knows. */
static void through_no_trampoline(void **state)
{
	static const char *const codes[] = {
		/* mov $0x1000, r11d; mov (rax), r11; jmp *r11 */
		"\x41\xbb\x01\x10\x01\x01\x4c\x8b\x18\x90\x90\x90\x49\xff\xe3",
		/* mov $.., r11d; mov $.., r10d; jmp *rax */
		"\x41\xbb\x01\x10\x01\x01\x41\xba\x01\x80\x01\x01\xff\xe0\xcc",
	};
	(void)state;
	nested();
	for (size_t i = 0; i < 2; i++) {
		memset(ram + TRAMPOLINE - 64, 0, 128);
		memcpy(ram + TRAMPOLINE, codes[i], 15);
		us_unwinder_set_code(unwinder, &map, &cfi);
		put(STACK, 0x2003);
		put(STACK + 16, 0x3006);
		regs.gpr[US_X86_RBP] = 0;
		unwind(TRAMPOLINE, STACK);
		assert_int_equal(out.n, 1);
	}
}

/* --- retpolines within a function --- */

/*
 * push rbx; call 1f; 2: pause; lfence; jmp 2b; 1: mov rax, (rsp); ret; and behind,
 * where only that jump leads: call 0x1000; pop rbx; ret
 */
#define INLINE_THUNK                                                                   \
	"\x53\xe8\x07\0\0\0\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"           \
	"\xe8\xe9\xef\xff\xff\x5b\xc3"

static void behind_a_retpoline(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x90\xc3");
	FUNCTION(0x2000, INLINE_THUNK);
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x58\xc3");
	put(STACK, 0x2017);
	put(STACK + 8, 0x2017); /* rbx, which looks like one */
	put(STACK + 16, 0x3006);
	unwind(0x1000, STACK);
	EXPECT(0x1000, 0x2017, 0x3006);
	/* gcc's table forgets that the pushed address is gone: it is 8 bytes off. */
	put(STACK + 8, 0x7700);
	struct us_cfi_rule rule = {
		.cfa_reg = US_X86_RSP, .cfa_off = 8, .pc = US_CFI_AT_CFA, .pc_off = -8
	};
	row(0x2012, rule, NULL);
	row(0x2018, (struct us_cfi_rule){ .cfa_reg = US_X86_RSP, .pc = US_CFI_LOST },
	    NULL);
	finish_table();
	unwind(0x1000, STACK);
	EXPECT(0x1000, 0x2017, 0x3006);
}

/*
 * push rbx; jmp 4f; 3: call 1f; 2: pause; lfence; jmp 2b; 1: mov rax, (rsp); ret;
 * 4: call 3b; pop rbx; ret
 */
#define INLINE_CALL                                                                    \
	"\x53\xeb\x11\xe8\x07\0\0\0\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"   \
	"\xe8\xea\xff\xff\xff\x5b\xc3"

/* At each of its instructions the function is no caller of itself. */
static void a_call_through_a_retpoline(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x90\xc3");
	FUNCTION(0x2000, INLINE_CALL);
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x58\xc3");
	put(STACK, 0x2008); /* pushed by the retpoline */
	put(STACK + 8, 0x2019);
	put(STACK + 16, 0x2019); /* rbx, which looks like one */
	put(STACK + 24, 0x3006);
	unwind(0x2003, STACK + 8);
	EXPECT(0x2003, 0x3006);
	unwind(0x200f, STACK);
	EXPECT(0x200f, 0x3006);
	put(STACK, 0x1000);
	unwind(0x2013, STACK);
	EXPECT(0x2013, 0x3006);
	unwind(0x1000, STACK + 8);
	EXPECT(0x1000, 0x2019, 0x3006);
	unwind(0x2019, STACK + 16);
	EXPECT(0x2019, 0x3006);
}

/* call 1f; 2: pause; lfence; jmp 2b; 1: mov rax, (rsp); ret */
#define THUNK "\xe8\x07\0\0\0\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x89\x04\x24\xc3"

/* That it was called through the thunk before takes nothing from the jump to it. */
static void a_jump_to_a_thunk_that_was_called(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x90\xc3");
	FUNCTION(0x1800, THUNK);
	/* push rbx; call 0x1800; pop rbx; jmp 0x1800 */
	FUNCTION(0x2000, "\x53\xe8\xfa\xf7\xff\xff\x5b\xe9\xf4\xf7\xff\xff");
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x58\xc3");
	put(STACK, 0x3006);
	unwind(0x1000, STACK);
	EXPECT(0x1000, 0x3006);
	put(STACK, 0x2006);
	put(STACK + 16, 0x3006);
	unwind(0x1000, STACK);
	EXPECT(0x1000, 0x2006, 0x3006);
	/* What only calls through it leaves by its own return. */
	AT(0x2000, "\x53\xe8\xfa\xf7\xff\xff\x5b\xc3\xcc\xcc\xcc\xcc");
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK, 0x3006);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 1);
}

/* --- xchg --- */

/* push r15; mov rsi, r15; xchg rsp, r15; call *rdi; xchg r15, rsp; pop r15; ret */
#define PIVOT "\x41\x57\x49\x89\xf7\x49\x87\xe7\xff\xd7\x4c\x87\xfc\x41\x5f\xc3"

static void stack_changes_places(void **state)
{
	(void)state;
	/* push r15; xor r15d, r15d; pop r15; ret */
	FUNCTION(0x1000, "\x41\x57\x45\x31\xff\x41\x5f\xc3");
	FUNCTION(0x2000, PIVOT);
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x58\xc3");
	put(ALT, 0x200a);
	put(STACK, 0x4321); /* r15 */
	put(STACK + 8, 0x3006);
	regs.gpr[15] = STACK;
	unwind(0x1000, ALT);
	EXPECT(0x1000, 0x200a, 0x3006);
	/* Where it is saved. */
	put(ALT - 8, STACK);
	regs.gpr[15] = 0;
	unwind(0x1005, ALT - 8);
	EXPECT(0x1005, 0x200a, 0x3006);
	/* Back on its own. */
	unwind(0x200d, STACK);
	EXPECT(0x200d, 0x3006);
}

/* --- 32-bit code, which has the other stack on this one --- */

static void put_32(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, 4);
}

static const struct {
	const char *code;
	size_t n;
	unsigned ret, reg;
} narrow[] = {
	/* push ebp; mov esp, ebp; mov 12(ebp), esp; call *eax; leave; ret */
	{ "\x55\x89\xe5\x8b\x65\x0c\xff\xd0\xc9\xc3", 10, 8, US_X86_RBP },
	/* push ebx; mov esp, ebx; mov 12(esp), esp; call *eax; mov ebx, esp; pop ebx;
	 * ret
	 */
	{ "\x53\x89\xe3\x8b\x64\x24\x0c\xff\xd0\x89\xdc\x5b\xc3", 13, 9, US_X86_RBX },
	/* push esi; mov 12(esp), esi; xchg esp, esi; call *eax; xchg esi, esp; pop esi;
	 * ret */
	{ "\x56\x8b\x74\x24\x0c\x87\xe6\xff\xd0\x87\xf4\x5e\xc3", 13, 9, US_X86_RSI },
};

static void goes_back(void)
{
	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++) {
		memset(ram + 0x2000, 0xcc, 0x40);
		memcpy(ram + 0x2000, narrow[i].code, narrow[i].n);
		us_unwinder_set_code(unwinder, &map, &cfi);
		put_32(ALT, 0x2000 + narrow[i].ret);
		put_32(STACK, 0x4321);
		put_32(STACK + 4, 0x3006);
		put_32(STACK + 12, ALT + 4);
		regs.gpr[narrow[i].reg] = STACK;
		unwind(0x1000, ALT);
		EXPECT(0x1000, 0x2000 + narrow[i].ret, 0x3006);
		regs.gpr[narrow[i].reg] = 0;
	}
}

static void narrow_stack_is_an_argument(void **state)
{
	(void)state;
	regs.bits = 32;
	FUNCTION(0x1000, "\x90\xc3");
	FUNCTION(0x2000, "");
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x58\xc3");
	goes_back();
	/* The callee has a table, whose registers have other numbers. */
	us_cfi_builder_free(builder);
	assert_int_equal(us_cfi_builder_new(4, &builder), 0);
	row(0x1000,
	    (struct us_cfi_rule){ .cfa_reg = 4, /* esp */
				  .cfa_off = 4,
				  .pc = US_CFI_AT_CFA,
				  .pc_off = -4 },
	    NULL);
	finish_table();
	goes_back();
	assert_int_equal(out.how[1], US_HOW_CFI);
}

/* --- a return in two instructions: pop reg; jmp *reg --- */

/* push rbx; nop; pop rbx; pop rcx; lfence; jmp *rcx */
#define POPS "\x53\x90\x5b\x59\x0f\xae\xe8\xff\xe1"

/* At each instruction of 0x2000, called by 0x3000 or by 0x4000, in turns. */
static void at_each_of_pops(us_gva caller)
{
	static const struct {
		uint8_t at, depth; /* words on the stack, below those of the caller */
	} places[] = { { 0, 1 }, { 1, 2 }, { 2, 2 }, { 3, 1 }, { 4, 0 }, { 7, 0 } };
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		put(STACK + 24, caller);
		put(STACK + 32, 0x5555); /* what the caller has pushed */
		put(STACK + 40, 0);
		regs.gpr[US_X86_RCX] = places[i].depth ? 0x4006 : caller;
		unwind(0x2000 + places[i].at, STACK + 32 - places[i].depth * 8U);
		EXPECT(0x2000U + places[i].at, caller);
	}
}

static void by_a_pop_and_a_jump(void **state)
{
	(void)state;
	FUNCTION(0x2000, POPS);
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x59\xc3"); /* push; call 0x2000 */
	FUNCTION(0x4000, "\x50\xe8\xfa\xdf\xff\xff\x59\xc3");
	for (unsigned turn = 0; turn < 4; turn++)
		at_each_of_pops(turn % 2 ? 0x3006 : 0x4006);
	map.n = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	for (unsigned turn = 0; turn < 2; turn++)
		at_each_of_pops(turn ? 0x3006 : 0x4006);
	/* Another value is no return address, whatever lies on the stack. */
	regs.gpr[US_X86_RCX] = 0x3005;
	put(STACK, 0x3006);
	put(STACK + 8, 0x4006);
	unwind(0x2007, STACK);
	assert_int_equal(out.n, 1);
	/* Nor is a register that is not known. */
	regs.gpr[US_X86_RCX] = 0x3006;
	regs.valid &= (uint32_t) ~(1U << US_X86_RCX);
	unwind(0x2007, STACK);
	assert_int_equal(out.n, 1);
}

/* In 32-bit code: push ebx; nop; pop ebx; pop ecx; jmp *ecx. */
static void narrow_by_a_pop_and_a_jump(void **state)
{
	(void)state;
	regs.bits = 32;
	FUNCTION(0x2000, "\x53\x90\x5b\x59\xff\xe1");
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x59\xc3");
	for (unsigned at = 2; at < 5; at++) {
		unsigned depth = at == 2 ? 2 : at == 3;
		put(STACK + 12, 0x3006);
		regs.gpr[US_X86_RCX] = at == 4 ? 0x3006 : 0;
		unwind(0x2000 + at, STACK + 16 - depth * 4);
		assert_true(out.n > 1);
		assert_int_equal(out.pc[1], 0x3006);
	}
}

/* A function that the code behind `push %cs; call` enters, as a far CALL does:
 * push ebx; nop; pop ebx; lret. */
static void narrow_by_a_far_return(void **state)
{
	(void)state;
	static const uint32_t stack[] = { 0, 0x2007, 8, 0, 0x3006 };
	regs.bits = 32;
	FUNCTION(0x1000, "\x53\x90\x5b\xcb");
	FUNCTION(0x2000, "\x53\x0e\xe8\xf9\xef\xff\xff\x5b\xc3");
	FUNCTION(0x3000, "\x50\xe8\xfa\xef\xff\xff\x59\xc3");
	memcpy(ram + STACK, stack, sizeof(stack));
	for (unsigned k = 0; k < 8; k++) {
		unsigned at = k % 4;
		if (k == 4) /* and where functions begin is not known */
			us_unwinder_set_code(unwinder, NULL, NULL);
		unwind(0x1000 + at, at == 1 || at == 2 ? STACK : STACK + 4);
		assert_true(out.n >= 3);
		assert_int_equal(out.pc[1], 0x2007);
		assert_int_equal(out.how[1], US_HOW_CODE);
		assert_int_equal(out.pc[2], 0x3006);
	}
}

/* The far ret goes on in the function: to what lea loads, or, as mov does not tell,
 * anywhere in it.
 * push rbx; push 8; lea 1f(%rip), %rax or mov $.., %rax; push rax; lretq;
 * 1: mov %eax, %ebx; pop rbx; ret */
static void on_behind_a_far_return(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\x53\x6a\x08\x48\x8d\x05\x03\0\0\0\x50\x48\xcb"
			 "\x89\xc3\x5b\xc3");
	FUNCTION(0x1100, "\x53\x6a\x08\x48\xc7\xc0\x0d\x11\0\0\x50\x48\xcb"
			 "\x89\xc3\x5b\xc3");
	FUNCTION(0x2000, "\x50\xe8\xfa\xef\xff\xff\x59\xe8\xf4\xf0\xff\xff");
	/* Where each instruction is, and how much is pushed before it. */
	static const unsigned at[][2] = { { 0, 0 },  { 1, 1 },	{ 3, 2 },  { 10, 2 },
					  { 11, 3 }, { 13, 1 }, { 15, 1 }, { 16, 0 } };
	put(STACK + 64, 0x2006);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		unwind(0x1000 + at[i][0], STACK + 64 - 8 * at[i][1]);
		assert_int_equal(out.pc[1], 0x2006);
		assert_int_equal(out.how[1], US_HOW_CODE);
	}
	us_unwinder_set_code(unwinder, NULL, NULL);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		unwind(0x1000 + at[i][0], STACK + 64 - 8 * at[i][1]);
		assert_int_equal(out.pc[1], 0x2006);
		assert_int_equal(out.how[1], US_HOW_CODE);
	}
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 64, 0x200c);
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		unwind(0x1100 + at[i][0], STACK + 64 - 8 * at[i][1]);
		assert_int_equal(out.pc[1], 0x200c);
		assert_int_equal(out.how[1], US_HOW_CODE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(through_a_trampoline),
		TEST(through_no_trampoline),
		TEST(by_a_pop_and_a_jump),
		TEST(narrow_by_a_pop_and_a_jump),
		TEST(a_call_through_a_retpoline),
		TEST(behind_a_retpoline),
		TEST(a_jump_to_a_thunk_that_was_called),
		TEST(stack_changes_places),
		TEST(narrow_stack_is_an_argument),
		TEST(narrow_by_a_far_return),
		TEST(on_behind_a_far_return),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
