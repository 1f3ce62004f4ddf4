/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code without a symbol that takes a stack of its own and calls what runs on it, as
 * firmware begins; and beside each what goes back to another stack. */
#include "flat-guest.h"

#define TOP (STACK + 0x1000)

static bool named; /* what takes the stack has a symbol, at 0x1000 */

/* Before 0x1000, and there: what takes the stack, a CALL of 0x2000, and what is behind.
 * below: where rsp is behind the CALL, from TOP. */
static void look(const char *before, const char *takes, size_t n, const char *behind,
		 size_t n_behind, unsigned below)
{
	us_gva at = 0x1000 + n + 5, sp = TOP - below;
	int32_t off = (int32_t)(0x2000 - at);
	memset(ram + 0xe00, 0xcc, 0x300);
	ram[0xfff] = (uint8_t)before[0];
	memcpy(ram + 0x1000, takes, n);
	ram[at - 5] = 0xe8;
	memcpy(ram + at - 4, &off, 4);
	memcpy(ram + at, behind, n_behind);
	memset(ram + STACK, 0x77, 0x2000);
	map.n = 0;
	if (named)
		function(0x1000, takes, n);
	FUNCTION(0x2000, "\x90\xc3");
	if (regs.bits == 64)
		put(sp - 8, at);
	else
		memcpy(ram + sp - 4, &(uint32_t){ (uint32_t)at }, 4);
	regs.gpr[US_X86_RBP] = TOP + 0x100;
	unwind(0x2000, sp - (regs.bits == 64 ? 8 : 4));
	assert_int_equal(out.n, 2);
	assert_int_equal(out.pc[1], at);
}

#define ENDS(end_, before, takes, behind, below)                                       \
	do {                                                                           \
		look(before, takes, sizeof(takes) - 1, behind, sizeof(behind) - 1,     \
		     below);                                                           \
		assert_int_equal(out.end, end_);                                       \
		us_unwind(unwinder, &paging, &regs, &out);                             \
		assert_int_equal(out.end, end_); /* as remembered */                   \
	} while (0)
#define ROOT(...) ENDS(US_END_ROOT, __VA_ARGS__)
#define CUT(...)  ENDS(US_END_NO_RULE, __VA_ARGS__)

#define AWAY "\xff\xe0" /* jmp *%rax */
#define LOOP "\xeb\xfe" /* jmp . */
#define RET  "\xc3"
#define NOP  "\x90"

#define CONSTANT "\xbc\x00\x90\x00\x00" /* mov $TOP,%esp */

static void by_a_constant(void **state)
{
	(void)state;
	ROOT(RET, CONSTANT, AWAY, 0);
	ROOT(RET, CONSTANT, LOOP, 0);
	CUT(RET, CONSTANT, AWAY, 8);		    /* it is not there */
	ROOT(RET, "\xbc\x00\x10\x00\x00", AWAY, 0); /* was moved, as pages are */
	ROOT(RET, CONSTANT "\x48\x83\xec\x20", AWAY, 32);
	ROOT(RET, CONSTANT "\x6a\x00\x50", AWAY, 16);	     /* push $0; push %rax */
	ROOT(RET, CONSTANT "\x50\x58\x48\x89\xe7", AWAY, 0); /* mov %rsp,%rdi */
	CUT(RET, CONSTANT "\x48\x89\xdc", AWAY, 0);	     /* mov %rbx,%rsp */
	CUT(RET, CONSTANT "\x48\x83\xe4\xf0", AWAY, 0);	     /* and $-16,%rsp */
	CUT(RET, CONSTANT AWAY, AWAY, 0);		     /* another piece of code */
	/* Wherever its function begins, whatever was done before. */
	ROOT(NOP, "\x48\x89\xe3" CONSTANT, AWAY, 0);
}

static void that_goes_back(void **state)
{
	(void)state;
	CUT(RET, CONSTANT, "\x48\x89\xdc" AWAY, 0);	/* mov %rbx,%rsp */
	CUT(RET, CONSTANT, "\x48\x8b\x63\x08" AWAY, 0); /* mov 8(%rbx),%rsp */
	CUT(RET, CONSTANT, "\x85\xc0\x5c" AWAY, 0);	/* pop %rsp */
	CUT(RET, CONSTANT, "\xc9" AWAY, 0);		/* leave */
	CUT(RET, CONSTANT, "\x48\x8d\x65\xf0" AWAY, 0); /* lea -16(%rbp),%rsp */
	CUT(RET, CONSTANT, "\x48\x87\xdc" AWAY, 0);	/* xchg %rbx,%rsp */
	CUT(RET, CONSTANT, "\x74\x02" AWAY "\x48\x89\xdc" AWAY, 0); /* jz behind */
	CUT(RET, CONSTANT, "\xeb\x02" AWAY "\x48\x89\xdc" AWAY, 0); /* jmp behind */
	/* Of a function of its own, behind it. */
	ROOT(RET, CONSTANT, "\x55\x48\x89\xe5\xc9" AWAY, 0);
	/* The next stack of its kind. */
	ROOT(RET, CONSTANT, CONSTANT "\x48\x89\xdc" AWAY, 0);
}

#define RESULT "\xe8\xfb\x0f\x00\x00\x48\x89\xc4" /* call 0x2000; mov %rax,%rsp */

/* Where nothing says where it is, the code must never leave. */
static void by_a_register(void **state)
{
	(void)state;
	ROOT(NOP, "\x48\x89\xe7" RESULT, LOOP, 8);
	CUT(NOP, "\x48\x89\xe7" RESULT, AWAY, 8);
	CUT(NOP, "\x48\x89\xe7\x48\x89\xc4", LOOP, 8); /* no CALL made it */
	ROOT(RET, "\x48\x89\xcc", LOOP, 8);	       /* mov %rcx,%rsp, at once */
	CUT(RET, "\x48\x89\xcc", AWAY, 8);
	CUT(RET, "\x48\x89\xe3\x48\x89\xcc", LOOP, 8);
	/* Moved by nobody knows how much: lea (%rsp,%rax),%rsp; and $-16,%rsp */
	ROOT(RET, "\x48\x89\xcc\x48\x8d\x24\x04\x48\x83\xe4\xf0", LOOP, 8);
	ROOT(RET, CONSTANT "\x48\x8d\x24\x04", LOOP, 8);
	CUT(RET, CONSTANT "\x48\x8d\x24\x04", AWAY, 8);
	CUT(NOP, CONSTANT "\x48\x8d\x24\x04", LOOP, 8);
	CUT(NOP, "\x48\x89\xcc", LOOP, 8); /* who knows what was before */
}

static void in_32_bits(void **state)
{
	(void)state;
	regs.bits = 32;
	ROOT(RET, CONSTANT "\x6a\x00", AWAY, 4);
	CUT(RET, CONSTANT, AWAY, 4);
	ROOT(RET, "\x89\xc4", LOOP, 4); /* mov %eax,%esp */
	CUT(RET, CONSTANT "\x6a\x00", "\x89\xdc" AWAY, 4);
}

#define PUSHES	"\x50\x51\x52\x53" /* of rax, rcx, rdx, rbx */
#define RSP_RDI "\x48\x89\xe7"	   /* mov %rsp,%rdi */
#define UD2	"\x0f\x0b"

/* An entry that saves the registers, and whose handler returns elsewhere. */
static void that_saves_registers(void **state)
{
	(void)state;
	CUT(RET, PUSHES CONSTANT, UD2, 0);
	CUT(RET, PUSHES RSP_RDI CONSTANT, UD2, 0);
	CUT(RET, "\x50" RSP_RDI CONSTANT, UD2, 0);
	CUT(RET, PUSHES RSP_RDI RESULT, UD2, 0);
	CUT(RET, CONSTANT PUSHES RSP_RDI CONSTANT, UD2, 0); /* to a stack of its own */
	ROOT(RET, "\x50" CONSTANT, UD2, 0);
	ROOT(RET, "\x6a\x00\x9d" CONSTANT, UD2, 0);	       /* push $0; popf */
	ROOT(RET, PUSHES "\x48\x83\xc4\x20" CONSTANT, UD2, 0); /* add $32,%rsp */
	ROOT(RET, CONSTANT "\x48\x83\xec\x20" CONSTANT, UD2, 0);
	regs.bits = 32;
	CUT(RET, "\x60\x89\xe0" CONSTANT, UD2, 0); /* pusha; mov %esp,%eax */
	ROOT(RET, "\x60\x61" CONSTANT, UD2, 0);	   /* pusha; popa */
}

/* With a symbol, its first stack is somebody's if it keeps anything of it. */
static void that_is_known(void **state)
{
	(void)state;
	named = true;
	ROOT(NOP, CONSTANT, UD2, 0);
	ROOT(NOP, "\x6a\x00\x9d" CONSTANT, UD2, 0);
	ROOT(NOP, CONSTANT RSP_RDI CONSTANT, UD2, 0);
	ROOT(NOP, "\xe8\xfb\x0f\x00\x00" CONSTANT, UD2, 0); /* call 0x2000 */
	CUT(NOP, "\x50" CONSTANT, UD2, 0);
	CUT(NOP, RSP_RDI CONSTANT, UD2, 0);
	CUT(NOP, "\x48\x83\xec\x20" CONSTANT, UD2, 0);
	CUT(NOP, "\x65\x48\x89\x24\x25\x08\x00\x00\x00" CONSTANT, UD2, 0); /* in %gs */
	/* jmp over ud2: what it jumps to is not all that the function does. */
	CUT(NOP, "\x50\xeb\x02" UD2 CONSTANT, UD2, 0);
	named = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_a_constant), TEST(that_goes_back),	 TEST(by_a_register),
		TEST(in_32_bits),    TEST(that_saves_registers), TEST(that_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
