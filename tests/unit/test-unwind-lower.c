/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: functions that overwrite the word in which their return address was, and return
 * with more on the stack than they were entered with (Linux's error_entry). */
#include "link-guest.h"

#define FRAME	    (STACK + 0x108) /* that the interrupt pushed */
#define INTERRUPTED 0x1147

/* push $-1; call 0x1040; mov %rsp,%rdi; call 0x1080; pop %rbp; pop %rbx; pop %rdx;
 * pop %rsi; pop %rdi; add $8,%rsp; iretq */
#define ENTRY                                                                          \
	"\x6a\xff\xe8\x39\x00\x00\x00\x48\x89\xe7\xe8\x71\x00\x00\x00\x5d\x5b\x5a"     \
	"\x5e\x5f\x48\x83\xc4\x08\x48\xcf"
/* cld; push %rsi; mov 8(%rsp),%rsi; mov %rdi,8(%rsp); push %rdx; push %rbx; push %rbp;
 * push %rsi; ret */
#define SAVES "\xfc\x56\x48\x8b\x74\x24\x08\x48\x89\x7c\x24\x08\x52\x53\x55\x56\xc3"
/* push %rbp; mov %rsp,%rbp; sub %rax,%rsp; nop; leave; ret */
#define FRAMED "\x55\x48\x89\xe5\x48\x29\xc4\x90\xc9\xc3"

static void interrupt(void)
{
	FUNCTION(0x1000, ENTRY);
	FUNCTION(0x1040, SAVES);
	FUNCTION(0x1080, "\x90\xc3");
	FUNCTION(0x1140, FRAMED);
	calls(0x1180, 0x1140);
	for (us_gva at = STACK; at < FRAME; at += 8)
		put(at, 0x7777);
	put(FRAME - 16, 0x1007);
	put(FRAME, INTERRUPTED);
	put(FRAME + 8, 8);
	put(FRAME + 16, 0x202);
	put(FRAME + 24, FRAME + 40);
	put(FRAME + 32, 0x10);
	put(FRAME + 0x48, 0);
	put(FRAME + 0x50, 0x1185);
	regs.gpr[US_X86_RBP] = FRAME + 0x48;
	regs.gpr[US_X86_RSI] = regs.gpr[US_X86_RDI] = 0x1080;
}

static void stopped_at(us_gva pc, us_gva sp)
{
	unwind(pc, sp);
	EXPECT(US_END_ROOT, pc, 0x1007, INTERRUPTED, 0x1185);
}

static void moved_address(void **state)
{
	(void)state;
	interrupt();
	stopped_at(0x1040, FRAME - 16);
	stopped_at(0x1041, FRAME - 16);
	stopped_at(0x1042, FRAME - 24);
	regs.gpr[US_X86_RSI] = 0x1007;
	stopped_at(0x1047, FRAME - 24);
	put(FRAME - 16, 0x1080);
	stopped_at(0x104c, FRAME - 24);
	stopped_at(0x104d, FRAME - 32);
	stopped_at(0x104e, FRAME - 40);
	put(FRAME - 48, FRAME + 0x48);
	stopped_at(0x104f, FRAME - 48);
	put(FRAME - 56, 0x1007);
	stopped_at(0x1050, FRAME - 56);
}

/* In the register is no address of a caller: nothing takes its place. */
static void lost_address(void **state)
{
	(void)state;
	interrupt();
	put(FRAME - 16, 0x1080);
	for (us_gva other = 0; other <= 0x1185; other += 0x1185) {
		regs.gpr[US_X86_RSI] = other;
		unwind(0x104c, FRAME - 24);
		EXPECT(US_END_NO_RULE, 0x104c);
		regs.valid &= ~(1U << US_X86_RSI);
	}
}

/* A word that the function has stored itself is not where a thread's stack ends. */
static void overwritten(void **state)
{
	(void)state;
	static const char *const stores[] = {
		"\x48\x89\x3c\x24\x90\xff\xe0",		/* mov %rdi,(%rsp) */
		"\x48\xc7\x04\x24\0\0\0\0\x90\xff\xe0", /* movq $0,(%rsp) */
		"\x58\x57\x90\xff\xe0",			/* pop %rax; push %rdi */
	};
	static const uint8_t n[] = { 7, 11, 5 }, at[] = { 4, 8, 2 };
	for (unsigned i = 0; i < 3; i++) {
		map.n = 0;
		function(0x1000, stores[i], n[i]);
		unwind(0x1000, STACK);
		EXPECT(US_END_ROOT, 0x1000);
		unwind(0x1000 + at[i], STACK);
		EXPECT(US_END_NO_RULE, 0x1000 + at[i]);
	}
	/* pop %rcx; push %rcx; jmp *%rax: it is there again. */
	map.n = 0;
	FUNCTION(0x1000, "\x59\x51\x90\xff\xe0");
	unwind(0x1002, STACK);
	EXPECT(US_END_ROOT, 0x1002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(moved_address),
		TEST(lost_address),
		TEST(overwritten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
