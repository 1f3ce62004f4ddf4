/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a stack ends because nobody called, and beside each the look-alike that does
 * not: boot code with a stack of its own, threads with garbage above them, what an
 * exception return entered. */
#include "link-guest.h"

#define OLD_STACK (STACK + 0x800)

static void code(us_gva at, const char *bytes, size_t n)
{
	memcpy(ram + at, bytes, n);
}
#define AT(at, bytes) code(at, bytes, sizeof(bytes) - 1)

static void ends(size_t n, uint8_t end)
{
	assert_int_equal(out.n, n);
	assert_int_equal(out.end, end);
}

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
	code(0x1006, jump, n);
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
		code(0x1000, cases[i].code, cases[i].n);
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
	code(0x1000, bytes, 11);
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
		code(0x1000, THREAD_STAYS, 11);
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

/* --- with a link register --- */

static void words(us_gva at, const uint32_t *code, size_t n)
{
	memcpy(ram + at, code, n * 4);
	start[map.n++] = at;
	us_unwinder_set_code(unwinder, &map, &cfi);
}
#define WORDS(at, ...)                                                                 \
	words(at, (const uint32_t[]){ __VA_ARGS__ },                                   \
	      sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static uint32_t jal(us_gva from, us_gva to)
{
	uint32_t d = (uint32_t)(to - from);
	return (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
	       (d >> 12 & 0xff) << 12 | 1 << 7 | 0x6f;
}

#define RV_FRAME 0xe4061141 /* addi sp,sp,-16; sd ra,8(sp) */
#define RV_UNDO	 0x014160a2 /* ld ra,8(sp); addi sp,sp,16 */
#define RV_RET	 0x00018082 /* ret; nop */
#define RV_LOOP	 0x0000006f
#define RV_MRET	 0x30200073
#define RV_SRET	 0x10200073
#define RV_LA_SP 0x00000117, 0x01010113 /* auipc sp,0; addi sp,sp,16 */
#define RV_KEEP	 0x00253023		/* sd sp,0(a0) */
#define RV_SWAP	 0x14011173		/* csrrw sp,sscratch,sp */
#define RV_PUT	 0x14011073		/* csrw sscratch,sp */

/* main at 0x1000 calls 0x2000, right behind which the next function begins; its frame
 * is at STACK. */
static void riscv_main(bool returns)
{
	map.n = 0;
	if (returns)
		WORDS(0x1000, RV_FRAME, jal(0x1004, 0x2000), RV_UNDO, RV_RET);
	else
		WORDS(0x1000, RV_FRAME, jal(0x1004, 0x2000));
	WORDS(returns ? 0x1010 : 0x1008, RV_RET);
	WORDS(0x2000, RV_RET);
}

static void riscv_entered_by_mret(void **state)
{
	(void)state;
	static const struct {
		uint32_t last;
		uint8_t end;
	} cases[] = { { RV_MRET, US_END_ROOT },
		      { RV_SRET, US_END_ROOT },
		      { RV_RET, US_END_NO_RULE },
		      { RV_LOOP, US_END_NO_RULE } };
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		riscv_main(i & 1);
		WORDS(0x3000, jal(0x3000, 0x4000), RV_LOOP);
		WORDS(0x4000, 0x00000013, cases[i / 2].last);
		put(STACK + 8, 0x3004);
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, cases[i / 2].end);
		/* ... and while it is still, or again, in the register. */
		look_with_link(0x1000, STACK + 16, 0x3004);
		ends(1, cases[i / 2].end);
	}
	/* What is there has left itself. */
	riscv_main(false);
	WORDS(0x3000, jal(0x3000, 0x4000), RV_MRET);
	WORDS(0x4000, RV_RET);
	put(STACK + 8, 0x3004);
	look_with_link(0x2000, STACK, 0x1008);
	ends(2, US_END_ROOT);
}

static void riscv_thread(void **state)
{
	(void)state;
	for (unsigned returns = 0; returns < 2; returns++) {
		riscv_main(returns);
		put(STACK + 8, 0x1000); /* entered by a ret to it */
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, US_END_ROOT);
		put(STACK + 8, 0x777000); /* a program's, or garbage */
		look_with_link(0x2000, STACK, 0x1008);
		ends(2, returns ? US_END_NO_RULE : US_END_ROOT);
	}
}

static void riscv_own_stack(void **state)
{
	(void)state;
	static const struct {
		uint32_t first;
		uint8_t end;
	} cases[] = { { 0x00000013, US_END_ROOT },
		      { RV_KEEP, US_END_NO_RULE },
		      { RV_PUT, US_END_NO_RULE },
		      { RV_SWAP, US_END_NO_RULE } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		map.n = 0;
		WORDS(0x1000, cases[i].first, RV_LA_SP, jal(0x100c, 0x2000), RV_LOOP);
		WORDS(0x2000, RV_RET);
		for (unsigned k = 0; k < 8; k++)
			put(STACK + k * 8, 0x777000);
		look_with_link(0x2000, STACK, 0x1010);
		ends(2, cases[i].end);
	}
}

#define ARM_FRAME 0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define ARM_MOV	  0x910003fd /* mov x29, sp */
#define ARM_LOOP  0x14000000
#define ARM_RET	  0xd65f03c0
#define ARM_ERET  0xd69f03e0

static void arm_entered_by_eret(void **state)
{
	(void)state;
	for (unsigned leaves = 0; leaves < 2; leaves++) {
		map.n = 0;
		WORDS(0x1000, ARM_FRAME, ARM_MOV, bl(0x1008, 0x2000), ARM_LOOP);
		WORDS(0x2000, ARM_RET);
		WORDS(0x3000, bl(0x3000, 0x4000), ARM_LOOP);
		WORDS(0x4000, leaves ? ARM_ERET : ARM_RET);
		put(STACK, 0x1234567);
		put(STACK + 8, 0x3004);
		look_with_link(0x2000, STACK, 0x100c);
		ends(2, leaves ? US_END_ROOT : US_END_NO_RULE);
	}
}

static void arm_own_stack(void **state)
{
	(void)state;
	for (unsigned kept = 0; kept < 2; kept++) {
		map.n = 0;
		/* mov x9, sp; mov sp, x0; bl; b . */
		WORDS(0x1000, kept ? 0x910003e9 : 0xd503201f, 0x9100001f,
		      bl(0x1008, 0x2000), ARM_LOOP);
		WORDS(0x2000, ARM_RET);
		look_with_link(0x2000, STACK, 0x100c);
		ends(2, kept ? US_END_NO_RULE : US_END_ROOT);
	}
}

/* What a new thread begins with has no way back: the switch to it has left what it runs
 * in registers that functions preserve. */
static void arm_thread_starter(void **state)
{
	(void)state;
	enum { MOV = 0xaa1403e0 /* x0, x20 */, BLR = 0xd63f0260 /* x19 */ };
	enum { NOP = 0xd503201f, BACK = 0x17ffffff };
	static const struct {
		uint32_t code[4];
		us_gva fp;
		bool root;
	} cases[] = {
		{ { NOP, MOV, BLR, ARM_LOOP }, 0, true },
		{ { NOP, MOV, BLR, BACK }, 0, true },
		{ { NOP, 0xaa1303e9, 0xd63f0120, BACK }, 0, true }, /* through x9 */
		/* Frames go on. */
		{ { NOP, MOV, BLR, ARM_LOOP }, STACK + 0x100, false },
		/* What its caller gave it, perhaps by way of x19; what it calls itself.
		 */
		{ { NOP, MOV, 0xd63f0020, ARM_LOOP }, 0, false },
		{ { 0xaa0003f3, MOV, BLR, ARM_LOOP }, 0, false },
		{ { NOP, MOV, 0x940003fe, ARM_LOOP }, 0, false },
		/* It keeps the way back, in x21 or in memory: mov, str, str. */
		{ { 0xaa1e03f5, MOV, BLR, ARM_LOOP }, 0, false },
		{ { 0xf900003e, MOV, BLR, ARM_LOOP }, 0, false },
		{ { 0xf9000029, 0xf900003e, BLR, ARM_LOOP }, 0, false },
		/* It may return, or go elsewhere: ret, ret x21, br x1, eret. */
		{ { NOP, MOV, BLR, ARM_RET }, 0, false },
		{ { NOP, MOV, BLR, 0xd65f02a0 }, 0, false },
		{ { NOP, MOV, BLR, 0xd61f0020 }, 0, false },
		{ { NOP, MOV, BLR, ARM_ERET }, 0, false },
		/* cbz x19: another path leads on. */
		{ { 0xb4000073, MOV, BLR, ARM_LOOP }, 0, false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		map.n = 0;
		words(0x1000, cases[i].code, 4);
		WORDS(0x1010, ARM_RET);
		WORDS(0x2000, ARM_RET);
		regs.gpr[US_AARCH64_LR] = 0x100c;
		look(0x2000, STACK, cases[i].fp);
		ends(2, cases[i].root ? US_END_ROOT : US_END_NO_RULE);
	}
	/* It ends with a CALL, and constants are behind it. */
	map.n = 0;
	WORDS(0x1000, MOV, BLR, bl(0x1008, 0x2000), 0x40110800, 0xffffff80);
	WORDS(0x1014, ARM_RET);
	WORDS(0x2000, ARM_RET);
	regs.gpr[US_AARCH64_LR] = 0x1008;
	look(0x2000, STACK, 0);
	ends(2, US_END_ROOT);
	/* Its start is not known. */
	map.n = 0;
	us_unwinder_set_code(unwinder, &map, &cfi);
	look(0x2000, STACK, 0);
	ends(2, US_END_NO_RULE);
}

static void riscv_thread_starter(void **state)
{
	(void)state;
	enum { MV = 0x00098513 /* a0, s3 */, JALR = 0x000900e7 /* s2 */ };
	for (unsigned given = 0; given < 2; given++) {
		map.n = 0;
		/* mv s2, a1: it is not what the switch has left */
		WORDS(0x1000, given ? 0x00000013 : 0x00058913, MV, JALR, RV_LOOP);
		WORDS(0x2000, RV_RET);
		regs.gpr[US_RISCV_RA] = 0x100c;
		look(0x2000, STACK, 0);
		ends(2, given ? US_END_ROOT : US_END_NO_RULE);
	}
}

/* --- programs: the function that the kernel enters --- */

#define FIRST (STACK + 0x100) /* where its arguments are */

/* Two arguments, two variables, the kernel's pairs. */
enum { COUNT, ARGUMENT, LAST = 3, VARIABLE, OVER = 6, PAIR, SIZE = 9, ENTRY = 11 };
static const uint64_t first_stack[] = { 2,  0x8800, 0x8808, 0,	  0x8810, 0x8820, 0,
					33, 0x7000, 6,	    4096, 9,	  0x1000, 0 };
#define N_FIRST (sizeof(first_stack) / sizeof(*first_stack))

static void put_first(void)
{
	for (size_t i = 0; i < N_FIRST; i++)
		put(FIRST + i * 8, first_stack[i]);
	regs.user = true;
}

/* Each has no table and no symbol: its start is not known.  pushed: bytes. */
static void x86_first(unsigned pushed)
{
	map.n = 0;
	/* mov %rsp,%rdi; and $-16,%rsp; call 0x2000 */
	memset(ram + 0x1000, 0xcc, 0x100);
	AT(0x1000, "\x48\x89\xe7\x48\x83\xe4\xf0\xe8\xf4\x0f\x00\x00");
	FUNCTION(0x2000, "\x90\xc3");
	put_first();
	put(FIRST - pushed - 8, 0x100c);
	unwind(0x2000, FIRST - pushed - 8);
}

static void first_of_program(void **state)
{
	(void)state;
	for (unsigned pushed = 0; pushed <= 32; pushed += 8) {
		memset(ram + STACK, 0x77, FIRST - STACK);
		x86_first(pushed);
		ends(2, US_END_ROOT);
		assert_int_equal(out.pc[1], 0x100c);
	}
	x86_first(40);
	ends(2, US_END_NO_RULE);
	/* Variables were taken away, and arguments changed. */
	x86_first(0);
	put(FIRST + VARIABLE * 8 + 8, 0);
	put(FIRST + ARGUMENT * 8, 0x1234567890);
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_ROOT);
}

/* What is not all that the kernel puts there. */
static void not_the_first_of_a_program(void **state)
{
	(void)state;
	static const struct {
		unsigned at;
		uint64_t word;
	} cases[] = {
		{ COUNT, 0 },	       { COUNT, 1 },	   { COUNT, 3 },
		{ COUNT, 1ULL << 40 }, { ARGUMENT, 0 },	   { LAST, 0x8820 },
		{ OVER, 0x8828 },      { PAIR, 0 },	   { PAIR, 0x8828 },
		{ SIZE, 7 },	       { SIZE + 1, 4095 }, { SIZE + 1, 1 << 20 },
		{ ENTRY, 8 },	       { ENTRY + 1, 0 },   { ENTRY + 1, 0x2000 }
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		x86_first(0);
		put(FIRST + cases[i].at * 8, cases[i].word);
		unwind(0x2000, FIRST - 8);
		ends(2, US_END_NO_RULE);
	}
	x86_first(0);
	regs.user = false; /* a kernel's stack has no such thing */
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
	/* No end of the variables. */
	x86_first(0);
	for (us_gva at = FIRST + VARIABLE * 8; at < RAM_SIZE; at += 8)
		put(at, 0x8810);
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
	put(FIRST, 1 << 17); /* or of the memory */
	unwind(0x2000, FIRST - 8);
	ends(2, US_END_NO_RULE);
}

/* Who was called by it is not it: its way back is in between. */
static void second_of_program(void **state)
{
	(void)state;
	x86_first(0);
	/* 0x3000, of which nothing is known: push..; call 0x2000 */
	AT(0x3000, "\x50\xe8\xfa\xef\xff\xff\xff\xe0"); /* jmp *%rax */
	put(FIRST - 8, 0x100c);
	put(FIRST - 16, 0x7777);
	put(FIRST - 24, 0x3006);
	unwind(0x2000, FIRST - 24);
	assert_true(out.n > 2 || out.end != US_END_ROOT);
	assert_int_equal(out.pc[1], 0x3006);
	assert_true(out.n == 2 || out.pc[2] == 0x100c);
}

static void first_by_link(void **state)
{
	(void)state;
	bool arm = regs.arch == US_ARCH_AARCH64;
	for (unsigned bad = 0; bad < 3; bad++) {
		map.n = 0;
		uint32_t call = arm ? bl(0x1004, 0x2000) : jal(0x1004, 0x2000);
		memcpy(ram + 0x1004, &call, 4);
		if (arm)
			WORDS(0x2000, ARM_RET);
		else
			WORDS(0x2000, RV_RET);
		put_first();
		put(FIRST + (ENTRY + 1) * 8, 0x1004);
		regs.user = bad != 1;
		put(FIRST + ENTRY * 8, bad == 2 ? 8 : 9);
		look_with_link(0x2000, FIRST, 0x1008);
		ends(2, bad ? US_END_NO_RULE : US_END_ROOT);
		assert_int_equal(out.pc[1], 0x1008);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		RISCV(riscv_entered_by_mret),
		RISCV(riscv_thread),
		RISCV(riscv_own_stack),
		ARM(arm_entered_by_eret),
		ARM(arm_own_stack),
		ARM(arm_thread_starter),
		RISCV(riscv_thread_starter),
		TEST(first_of_program),
		TEST(not_the_first_of_a_program),
		TEST(second_of_program),
		RISCV(first_by_link),
		ARM(first_by_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
