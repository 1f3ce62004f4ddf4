/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a function does not have its frame by itself: routines that save registers for
 * it, signatures that it makes by any register, and jumps from one thread to another.
 */
#include "link-guest.h"

#define LOW(insn)  ((uint16_t)(insn))
#define HIGH(insn) ((uint16_t)((insn) >> 16))

/* A function of the map.  Ascending. */
#define CODE(at, ...)                                                                  \
	function(at, (const char *)(const uint32_t[]){ __VA_ARGS__ },                  \
		 sizeof((const uint32_t[]){ __VA_ARGS__ }))
#define HALVES(at, ...)                                                                \
	function(at, (const char *)(const uint16_t[]){ __VA_ARGS__ },                  \
		 sizeof((const uint16_t[]){ __VA_ARGS__ }))

/* jal link, to */
static uint32_t jal(unsigned link, us_gva from, us_gva to)
{
	uint32_t off = (uint32_t)(to - from);
	return 0x6f | link << 7 | (off >> 20 & 1) << 31 | (off >> 1 & 0x3ff) << 21 |
	       (off >> 11 & 1) << 20 | (off >> 12 & 0xff) << 12;
}

#define RA 1
#define T0 5

/*
 * gcc -Os -msave-restore: 0x1000, which begins a stack, calls 0x2000, which never
 * returns; its registers are saved by libgcc's __riscv_save_4 and what that runs into.
 */
static void save_restore(void)
{
	HALVES(0x1000, 0x9117, 0x0000, /* auipc sp, 9 */
	       LOW(jal(RA, 0x1004, 0x2000)), HIGH(jal(RA, 0x1004, 0x2000)), 0xa001);
	HALVES(0x2000, LOW(jal(T0, 0x2000, 0x3000)), HIGH(jal(T0, 0x2000, 0x3000)),
	       0x842a, /* mv s0, a0 */
	       LOW(jal(RA, 0x2006, 0x4000)), HIGH(jal(RA, 0x2006, 0x4000)),
	       0xbff5);		       /* j 0x2006 */
	HALVES(0x3000, 0x7159, 0x4311, /* addi sp,-112; li t1,4 */
	       0xe0d2, 0xe4ce, 0xa019, /* sd s4, s3; j 0x300e */
	       0x7159, 0x4315,	       /* __riscv_save_2: addi sp,-112; li t1,5 */
	       0xe8ca, 0xeca6, 0xf0a2, 0xf486, /* sd s2, s1, s0, ra */
	       0x0312, 0x911a, 0x8282);	       /* slli t1,4; add sp,t1; jr t0 */
	HALVES(0x4000, 0x8082);		       /* ret */
}

static void riscv_registers_are_saved_by_a_routine(void **state)
{
	(void)state;
	save_restore();
	/* 112 bytes, of which 64 are given back: ra is the last word of 48. */
	put(STACK + 0x28, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x200a;
	look(0x4000, STACK, 0);
	EXPECT(US_END_ROOT, 0x4000, 0x200a, 0x1008);
	/* Behind the routine, and before it. */
	look(0x2004, STACK, 0);
	EXPECT(US_END_ROOT, 0x2004, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x1008;
	look(0x2000, STACK + 0x30, 0);
	EXPECT(US_END_ROOT, 0x2000, 0x1008);
}

/* In the routine: its caller, where it calls it. */
static void riscv_in_such_a_routine(void **state)
{
	static const us_gva places[] = {
		0x3000, 0x3002, 0x3004, 0x3006, 0x3008, 0x300e,
		0x3010, 0x3012, 0x3014, 0x3016, 0x3018, 0x301a
	};
	const us_gva top = STACK + 0x1030;
	(void)state;
	save_restore();
	regs.gpr[US_RISCV_RA] = 0x1008;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		us_gva pc = places[i];
		put(top - 8, pc > 0x3014 ? 0x1008 : 0x5555);
		regs.gpr[T0] = 0x2004;
		look(pc, pc == 0x3000 ? top : pc == 0x301a ? top - 48 : top - 112, 0);
		EXPECT(US_END_ROOT, pc, 0x2000, 0x1008);
	}
	/* Nobody knows where it returns to: no caller is better than its caller's. */
	regs.valid &= ~(1U << T0);
	look(0x3016, top - 112, 0);
	EXPECT(US_END_NO_RULE, 0x3016);
}

/*
 * __riscv_restore_4 at 0x5000, which runs into __riscv_restore_2 at 0x5006, which loads
 * the return address.  The function at 0x2000 jumps there, behind a call; ra is still
 * that of the call.  libgcc gives each of them a symbol.
 */
static void riscv_restored_by_a_routine(void **state)
{
	static const us_gva places[] = { 0x5000, 0x5002, 0x5004, 0x5006,
					 0x5008, 0x500a, 0x500c };
	static const unsigned given[] = { 0, 0, 0, 16, 16, 16, 32 };
	(void)state;
	save_restore();
	HALVES(0x200a, LOW(jal(0, 0x200a, 0x5000)), HIGH(jal(0, 0x200a, 0x5000)));
	HALVES(0x5000, 0x6402, 0x64a2, /* ld s0,0(sp); ld s1,8(sp) */
	       0x0141,		       /* addi sp,16 */
	       0x6902, 0x60a2,	       /* ld s2,0(sp); ld ra,8(sp) */
	       0x0141, 0x8082);	       /* addi sp,16; ret */
	start[0] = 0x1000;
	start[1] = 0x2000;
	start[2] = 0x3000;
	start[3] = 0x4000;
	start[4] = 0x5000;
	start[5] = 0x5006;
	map.n = 6;
	us_unwinder_set_code(unwinder, &map, &cfi);
	put(STACK + 0x18, 0x1008);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		regs.gpr[US_RISCV_RA] = places[i] > 0x5008 ? 0x1008 : 0x200a;
		look(places[i], STACK + given[i], 0);
		EXPECT(US_END_ROOT, places[i], 0x1008);
	}
}

/* The routine is far away, as without linker relaxation: auipc t1, 1; jalr t0,
 * 0x100(t1), which goes on to 0x3000. */
static void riscv_routine_is_far(void **state)
{
	(void)state;
	save_restore();
	HALVES(0x2000, 0x1317, 0x0000, 0x02e7, 0x1003, 0x842a,
	       LOW(jal(RA, 0x200a, 0x4000)), HIGH(jal(RA, 0x200a, 0x4000)), 0xbff5);
	HALVES(0x3100, LOW(jal(0, 0x3100, 0x3000)), HIGH(jal(0, 0x3100, 0x3000)));
	put(STACK + 0x28, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x200e;
	look(0x4000, STACK, 0);
	EXPECT(US_END_ROOT, 0x4000, 0x200e, 0x1008);
	look(0x2008, STACK, 0);
	EXPECT(US_END_ROOT, 0x2008, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x1008;
	look(0x2004, STACK + 0x30, 0);
	EXPECT(US_END_ROOT, 0x2004, 0x1008);
}

/* A routine that does not come back leaves nothing that is certain. */
static void riscv_routine_that_leads_elsewhere(void **state)
{
	(void)state;
	save_restore();
	static const uint16_t ends[] = {
		0xa001, /* j . */
		0x8302, /* jr t1 */
		0x8082, /* ret */
		0x0000,
	};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		memcpy(ram + 0x301a, &ends[i], 2);
		us_unwinder_set_code(unwinder, &map, &cfi);
		put(STACK + 0x28, 0x1008);
		regs.gpr[US_RISCV_RA] = 0x200a;
		look(0x4000, STACK, 0x1234);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.pc[1], 0x200a);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
}

/* --- a computed goto, to which alone the code behind it owes that it is reached --- */

static void riscv_computed_goto(void **state)
{
	(void)state;
	HALVES(0x1000, 0x9117, 0x0000, /* auipc sp, 9 */
	       LOW(jal(RA, 0x1004, 0x2000)), HIGH(jal(RA, 0x1004, 0x2000)), 0xa001);
	HALVES(0x2000, 0xc111, 0x8782, /* beqz a0, 1f; jr a5, as a call; 1: */
	       0x1141, 0xe406, 0x8782, /* addi sp,-16; sd ra,8(sp); jr a5 */
	       LOW(jal(RA, 0x200a, 0x3000)), HIGH(jal(RA, 0x200a, 0x3000)),
	       0x8782,			/* jr a5 */
	       0x60a2, 0x0141, 0x8082); /* ld ra,8(sp); addi sp,16; ret */
	HALVES(0x3000, 0x8082);
	put(STACK + 8, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x200e;
	look(0x3000, STACK, 0);
	EXPECT(US_END_ROOT, 0x3000, 0x200e, 0x1008);
	look(0x200a, STACK, 0);
	EXPECT(US_END_ROOT, 0x200a, 0x1008);
	/* What is no return address there is none. */
	put(STACK + 8, 0x1006);
	look(0x3000, STACK, 0);
	assert_int_equal(out.n, 2);
	assert_int_not_equal(out.end, US_END_ROOT);
}

static void arm_computed_goto(void **state)
{
	(void)state;
	CODE(0x1000, 0xd2910000, 0x9100001f, /* mov x0, #0x8800; mov sp, x0 */
	     bl(0x1008, 0x2000), 0x14000000);
	CODE(0x2000, 0xa9bf4ffe, 0xd61f0020, /* stp x30, x19, [sp, #-16]!; br x1 */
	     bl(0x2008, 0x3000), 0xd61f0020, 0xa8c14ffe,
	     0xd65f03c0); /* ldp x30, x19, [sp], #16; ret */
	CODE(0x3000, 0xd65f03c0);
	put(STACK, 0x100c);
	regs.gpr[US_AARCH64_LR] = 0x200c;
	look(0x3000, STACK, 0);
	EXPECT(US_END_ROOT, 0x3000, 0x200c, 0x100c);
}

/* clang signs by the instruction that names its registers: pacia x30, sp. */
static void arm_signs_any_register(void **state)
{
	(void)state;
	static const uint32_t signs[] = { 0xdac103fe, 0xdac107fe, 0xdac123fe,
					  0xdac143fe };
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		map.n = 0;
		CODE(0x1000, 0xd2910000, 0x9100001f, /* mov x0, #0x8800; mov sp, x0 */
		     bl(0x1008, 0x2000), 0x14000000);
		CODE(0x2000, signs[i], 0xa9bf4ffe,    /* stp x30, x19, [sp, #-16]! */
		     bl(0x2008, 0x3000), 0x17ffffff); /* it never returns */
		CODE(0x3000, 0xd65f03c0);
		put(STACK, 0x100c | 0x3fULL << 49);
		regs.gpr[US_AARCH64_LR] = 0x200c;
		look(0x3000, STACK, 0);
		EXPECT(US_END_ROOT, 0x3000, 0x200c, 0x100c);
	}
}

/*
 * 0x1000 calls 0x2000, which keeps a thread's registers in memory and jumps to where
 * another was, with its stack.  The first time that is the start of 0x3000: what that
 * finds in the link register is the way back of the thread before.
 */
static void arm_jumps_to_another_thread(void **state)
{
	(void)state;
	CODE(0x1000, 0xa9bf7bfd, bl(0x1004, 0x2000), 0xa8c17bfd, 0xd65f03c0);
	CODE(0x2000, 0x910003e9, 0xa9007809, /* mov x9, sp; stp x9, x30, [x0] */
	     0xa9402829, 0xa9415033,	     /* ldp x9, x10 and x19, x20, [x1] */
	     0x9100013f, 0xd61f0140);	     /* mov sp, x9; br x10 */
	CODE(0x3000, 0xa9be7bfd, bl(0x3004, 0x4000), 0x17ffffff);
	CODE(0x4000, 0xd65f03c0);
	put(STACK, 0);		   /* x29 */
	put(STACK + 8, 0x1008);	   /* x30 */
	put(STACK + 0x28, 0x1008); /* what was on this stack before */
	regs.gpr[US_AARCH64_LR] = 0x3008;
	look(0x4000, STACK, STACK + 0x100);
	EXPECT(US_END_ROOT, 0x4000, 0x3008);
	/* A call by pointer on the same stack, as the last thing, is a call. */
	uint32_t same[] = { 0xd503201f, 0xd61f0140 }; /* nop; br x10 */
	memcpy(ram + 0x2010, same, sizeof(same));
	us_unwinder_set_code(unwinder, &map, &cfi);
	look(0x4000, STACK, STACK + 0x100);
	assert_int_equal(out.pc[2], 0x1008);
}

static void riscv_jumps_to_another_thread(void **state)
{
	(void)state;
	HALVES(0x1000, 0x1141, 0xe406, /* addi sp,-16; sd ra,8(sp) */
	       LOW(jal(RA, 0x1004, 0x2000)), HIGH(jal(RA, 0x1004, 0x2000)), 0x60a2,
	       0x0141, 0x8082);
	CODE(0x2000, 0x00253023, 0x00153423, /* sd sp,0(a0); sd ra,8(a0) */
	     0x0005b103, 0x0085b283,	     /* ld sp,0(a1); ld t0,8(a1) */
	     0x00028067);		     /* jr t0 */
	HALVES(0x3000, 0x1141, 0xe406, LOW(jal(RA, 0x3004, 0x4000)),
	       HIGH(jal(RA, 0x3004, 0x4000)), 0xbff5);
	HALVES(0x4000, 0x8082);
	put(STACK + 8, 0x1008);
	put(STACK + 0x18, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x3008;
	look(0x4000, STACK, 0);
	EXPECT(US_END_ROOT, 0x4000, 0x3008);
}

/* 0x1000 calls 0x2000, which calls 0x3000 on another stack, by a pointer. */
static void x86_other_stack(const char *code, size_t n)
{
	map.n = 0;
	calls(0x1000, 0x2000);
	function(0x2000, code, n);
	FUNCTION(0x3000, "\x90\xc3"); /* nop; ret */
}

/* At each place where 0x3000 may be, and for the other stack above and below. */
static void x86_goes_back(us_gva behind, us_gva room)
{
	static const us_gva stacks[][2] = { { 0x9000, 0xe000 }, { 0xe000, 0x9000 } };
	for (unsigned i = 0; i < 2; i++) {
		us_gva old = stacks[i][0], new = stacks[i][1];
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put(old, 0x1005);
		put(old - 8, 0); /* rbp, where it is kept */
		put(new, old);	 /* where the stack pointer is kept */
		put(new - room - 8, behind);
		regs.gpr[US_X86_RBP] = old - 8;
		for (us_gva pc = 0x3000; pc <= 0x3001; pc++) {
			unwind(pc, new - room - 8);
			assert_int_equal(out.n, 3);
			assert_int_equal(out.pc[1], behind);
			assert_int_equal(out.pc[2], 0x1005);
			assert_int_equal(out.end, US_END_ROOT);
		}
	}
}

/* What Rust's stacker does, and gcc's __morestack: rbp leads back. */
static void x86_calls_on_another_stack_by_rbp(void **state)
{
	(void)state;
	static const char code[] =
		"\x55\x48\x89\xe5\x48\x89\xf4"	   /* push rbp; mov rsp,rbp; rsi,rsp */
		"\x48\x89\xf8\x48\x89\xd7\xff\xd0" /* mov; mov; call *rax */
		"\x48\x89\xec\x5d\xc3";		   /* mov rbp,rsp; pop rbp; ret */
	x86_other_stack(code, sizeof(code) - 1);
	x86_goes_back(0x200f, 0);
}

/* What Linux did for its interrupts: the stack pointer is kept on the other stack. */
static void x86_calls_on_another_stack_by_a_word(void **state)
{
	(void)state;
	static const char code[] =
		"\x48\x89\x26\x48\x89\xf4" /* mov rsp,(rsi); rsi,rsp */
		"\x48\x83\xec\x08"	   /* sub 8,rsp */
		"\xff\xd7"		   /* call *rdi */
		"\x48\x83\xc4\x08"	   /* add 8,rsp */
		"\x5c\xc3";		   /* pop rsp; ret */
	x86_other_stack(code, sizeof(code) - 1);
	x86_goes_back(0x200c, 8);
	static const char by_mov[] = "\x48\x89\x26\x48\x89\xf4\xff\xd7"
				     "\x48\x8b\x24\x24\xc3"; /* mov (rsp),rsp; ret */
	x86_other_stack(by_mov, sizeof(by_mov) - 1);
	x86_goes_back(0x2008, 0);
}

/*
 * The old stack pointer is in a register that functions preserve: rbx or r12.  0x3000,
 * which is called there, leaves it alone, or 0x4000, called from there, has saved it.
 */
static void x86_kept_in(const char *code, size_t n, us_gva behind, unsigned reg,
			const char *leaf, size_t leaf_n)
{
	static const us_gva stacks[][2] = { { 0x9000, 0xe000 }, { 0xe000, 0x9000 } };
	x86_other_stack(code, n);
	memset(ram + 0x3000, 0xcc, 0x100);
	map.n--;
	calls(0x3000, 0x4000);
	function(0x4000, leaf, leaf_n);
	for (unsigned i = 0; i < 2; i++) {
		us_gva old = stacks[i][0], new = stacks[i][1];
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put(old, 0x1005);
		put(new - 8, behind);
		regs.gpr[reg] = old - 8; /* the register itself was pushed */
		unwind(0x3000, new - 8);
		assert_int_equal(out.n, 3);
		put(new - 16, 0x3005);
		unwind(0x4000, new - 16);
		assert_int_equal(out.n, 4);
		put(new - 24, old - 8);
		regs.gpr[reg] = 0x77; /* it is used for other things */
		unwind(0x4000 + leaf_n - 3, new - 24);
		assert_int_equal(out.n, 4);
		assert_int_equal(out.pc[2], behind);
		assert_int_equal(out.pc[3], 0x1005);
		assert_int_equal(out.end, US_END_ROOT);
		/* Not read: the stack is cut, and no frame is wrong. */
		regs.valid &= ~(1U << reg);
		unwind(0x4000, new - 16);
		regs.valid |= 1U << reg;
		assert_int_equal(out.n, 3);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
}

static void x86_calls_on_another_stack_by_a_register(void **state)
{
	(void)state;
	static const char by_rbx[] = "\x53\x48\x89\xe3\x48\x89\xf4" /* push; mov x 2 */
				     "\xff\xd7"			    /* call *rdi */
				     "\x48\x89\xdc\x5b\xc3";	    /* mov; pop; ret */
	static const char rbx[] = "\x53\x31\xdb\x90\x5b\xc3";
	x86_kept_in(by_rbx, sizeof(by_rbx) - 1, 0x2009, US_X86_RBX, rbx, 6);
	static const char by_r12[] = "\x41\x54\x49\x89\xe4\x48\x89\xf4\xff\xd7"
				     "\x4c\x89\xe4\x41\x5c\xc3";
	static const char r12[] = "\x41\x54\x4d\x31\xe4\x41\x5c\xc3";
	static const char by_store[] =
		"\x48\x83\xec\x08\x4c\x89\x24\x24" /* sub 8,rsp; mov r12,(rsp) */
		"\x4d\x31\xe4"			   /* xor r12,r12 */
		"\x4c\x8b\x24\x24\x48\x83\xc4\x08\xc3";
	x86_kept_in(by_r12, sizeof(by_r12) - 1, 0x200a, US_X86_R12, r12, 8);
	x86_other_stack(by_r12, sizeof(by_r12) - 1);
	map.n--;
	function(0x3000, by_store, sizeof(by_store) - 1);
	put(0xe000, 0x1005);
	put(0x8ff8, 0x200a);
	put(0x8ff0, 0xdff8);
	regs.gpr[US_X86_R12] = 0;
	unwind(0x300b, 0x8ff0);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[2], 0x1005);
	assert_int_equal(out.end, US_END_ROOT);
}

static void put_32(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, 4);
}

/* The same in 32-bit code, where esi and edi are preserved, too. */
static void i386_calls_on_another_stack_by_a_register(void **state)
{
	(void)state;
	static const struct {
		const char *code, *leaf;
		unsigned reg;
	} ways[] = {
		/* push; mov esp,it; mov to esp; call *edx; mov it,esp; pop; ret */
		{ "\x53\x89\xe3\x89\xf4\xff\xd2\x89\xdc\x5b\xc3",
		  "\x53\x31\xdb\x90\x5b\xc3", US_X86_RBX },
		{ "\x56\x89\xe6\x89\xfc\xff\xd2\x89\xf4\x5e\xc3",
		  "\x56\xf3\xa4\x90\x5e\xc3", US_X86_RSI }, /* rep movsb */
		{ "\x57\x89\xe7\x89\xf4\xff\xd2\x89\xfc\x5f\xc3",
		  "\x57\xf3\xaa\x90\x5f\xc3", US_X86_RDI }, /* rep stosb */
	};
	regs.bits = 32;
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		map.n = 0;
		calls(0x1000, 0x2000);
		function(0x2000, ways[i].code, 11);
		function(0x3000, ways[i].leaf, 6);
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put_32(0xe000, 0x1005);
		put_32(0x8ffc, 0x2007);
		regs.gpr[ways[i].reg] = 0xdffc;
		unwind(0x3000, 0x8ffc);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[2], 0x1005);
		put_32(0x8ff8, 0xdffc);
		regs.gpr[ways[i].reg] = 0x1234;
		unwind(0x3003, 0x8ff8);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[1], 0x2007);
		assert_int_equal(out.pc[2], 0x1005);
		assert_int_equal(out.end, US_END_ROOT);
	}
}

/* An interrupt breaks off what was called on another stack. */
static void x86_register_below_an_interrupt(void **state)
{
	(void)state;
	static const char by_rbx[] = "\x53\x48\x89\xe3\x48\x89\xf4\xff\xd7"
				     "\x48\x89\xdc\x5b\xc3";
	x86_other_stack(by_rbx, sizeof(by_rbx) - 1);
	FUNCTION(0x4000, "\x50\x53\xe8\xf9\x0f\x00\x00"	      /* push rax, rbx; call */
			 "\x5b\x58\x48\x83\xc4\x08\x48\xcf"); /* pop; add; iretq */
	FUNCTION(0x5000, "\x31\xdb\x90\xc3");
	us_gva old = 0xe000, new = 0x9000, frame = new - 8 - 40;
	put(old, 0x1005);
	put(new - 8, 0x2009);
	put(frame, 0x3000);
	put(frame + 8, 8);
	put(frame + 16, 0x202);
	put(frame + 24, new - 8);
	put(frame + 32, 0x10);
	put(frame - 8, 0);	  /* an error code */
	put(frame - 24, old - 8); /* rbx */
	put(frame - 32, 0x4007);
	/* 0x5000 has not kept what it found; the handler has. */
	unwind(0x5000, frame - 32);
	assert_int_equal(out.n, 5);
	static const us_gva want[] = { 0x5000, 0x4007, 0x3000, 0x2009, 0x1005 };
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(out.pc[i], want[i]);
	assert_int_equal(out.end, US_END_ROOT);
}

/* Links: 0x1000 calls 0x2000, which calls 0x3000 on another stack; that has saved the
 * register, or not. */
static void link_kept_in(us_gva behind, unsigned reg, us_gva low)
{
	unsigned ra = regs.arch == US_ARCH_AARCH64 ? US_AARCH64_LR : US_RISCV_RA;
	static const us_gva stacks[][2] = { { 0x9000, 0xe000 }, { 0xe000, 0x9000 } };
	for (unsigned i = 0; i < 2; i++) {
		us_gva old = stacks[i][0], new = stacks[i][1];
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put(old + 8, 0x1008);
		regs.gpr[reg] = old;
		regs.gpr[ra] = behind;
		look(0x3000, new, 0x55);
		EXPECT(US_END_ROOT, 0x3000, behind, 0x1008);
		put(new - 16, old);
		put(new - 8, behind);
		regs.gpr[reg] = 0x77;
		look(low, new - 16, 0x55);
		EXPECT(US_END_ROOT, low, behind, 0x1008);
		regs.gpr[ra] = behind;
		regs.valid &= ~(1U << reg);
		look(0x3000, new, 0x55);
		regs.valid |= 1U << reg;
		assert_int_equal(out.n, 2);
		assert_int_not_equal(out.end, US_END_ROOT);
	}
}

static void arm_calls_on_another_stack_by_a_register(void **state)
{
	(void)state;
	CODE(0x0ffc, 0xd2910000, 0x9100001f, bl(0x1004, 0x2000), 0x14000000);
	CODE(0x2000, 0xa9bf7bf3,		 /* stp x19, x30, [sp, #-16]! */
	     0x910003f3, 0x9100003f, 0xd63f0000, /* mov x19, sp; sp, x1; blr x0 */
	     0x9100027f, 0xa8c17bf3, 0xd65f03c0);
	CODE(0x3000, 0xa9bf7bf3, 0xd2800013, 0xd503201f, /* stp; mov x19, #0; nop */
	     0xa8c17bf3, 0xd65f03c0);
	link_kept_in(0x2010, 19, 0x3008);
}

static void riscv_calls_on_another_stack_by_a_register(void **state)
{
	(void)state;
	HALVES(0x1000, 0x9117, 0x0000, LOW(jal(RA, 0x1004, 0x2000)),
	       HIGH(jal(RA, 0x1004, 0x2000)), 0xa001);
	HALVES(0x2000, 0x1141, 0xe406, 0xe026, /* addi sp,-16; sd ra,8; s1,0 */
	       0x848a, 0x812e, 0x9502,	       /* mv s1, sp; mv sp, a1; jalr a0 */
	       0x8126, 0x6482, 0x60a2, 0x0141, 0x8082);
	HALVES(0x3000, 0x1141, 0xe406, 0xe026, 0x4481, 0x0001, /* li s1, 0; nop */
	       0x6482, 0x60a2, 0x0141, 0x8082);
	link_kept_in(0x200c, 9, 0x3008);
}

/* The old stack pointer and the way back are words of the other stack. */
static void link_by_words(us_gva behind)
{
	unsigned ra = regs.arch == US_ARCH_AARCH64 ? US_AARCH64_LR : US_RISCV_RA;
	static const us_gva stacks[][2] = { { 0x9000, 0xe000 }, { 0xe000, 0x9000 } };
	for (unsigned i = 0; i < 2; i++) {
		us_gva old = stacks[i][0], new = stacks[i][1];
		memset(ram + STACK, 0, RAM_SIZE - STACK);
		put(new, old);
		put(new + 8, 0x1008);
		regs.gpr[ra] = behind;
		look(0x3000, new, 0x55);
		EXPECT(US_END_ROOT, 0x3000, behind, 0x1008);
	}
}

static void link_calls_on_another_stack_by_words(void **state)
{
	(void)state;
	bool arm = regs.arch == US_ARCH_AARCH64;
	if (arm) {
		CODE(0x0ffc, 0xd2910000, 0x9100001f, bl(0x1004, 0x2000), 0x14000000);
		CODE(0x2000, 0x910003e9, 0xd1004021, /* mov x9, sp; sub x1, x1, #16 */
		     0xa9007829, 0x9100003f,	     /* stp x9, x30, [x1]; mov sp, x1 */
		     0xd63f0000, 0xa9407be9,	     /* blr x0; ldp x9, x30, [sp] */
		     0x9100013f, 0xd65f03c0);	     /* mov sp, x9; ret */
		CODE(0x3000, 0xd65f03c0);
		link_by_words(0x2014);
		return;
	}
	HALVES(0x1000, 0x9117, 0x0000, LOW(jal(RA, 0x1004, 0x2000)),
	       HIGH(jal(RA, 0x1004, 0x2000)), 0xa001);
	CODE(0x2000, 0xff058593, 0x0025b023, /* addi a1, a1, -16; sd sp, 0(a1) */
	     0x0015b423, 0x00058113,	     /* sd ra, 8(a1); mv sp, a1 */
	     0x000500e7, 0x00813083,	     /* jalr a0; ld ra, 8(sp) */
	     0x00013103, 0x00008067);	     /* ld sp, 0(sp); ret */
	HALVES(0x3000, 0x8082);
	link_by_words(0x2014);
}

static us_gva entered_pc;

static bool read_entered(void *ctx, struct us_entered *ret)
{
	(void)ctx;
	*ret = (struct us_entered){ .pc = entered_pc, .valid = true };
	return true;
}

/* An entry that leaves in sepc where it goes back to, while it calls: 0x2000 calls
 * 0x3000, which is broken off. */
static void riscv_entry_leaves_sepc_alone(void **state)
{
	(void)state;
	HALVES(0x1000, 0x9117, 0x0000, LOW(jal(RA, 0x1004, 0x2000)),
	       HIGH(jal(RA, 0x1004, 0x2000)), 0xa001);
	HALVES(0x2000, 0x1141, 0xe406, LOW(jal(RA, 0x2004, 0x3000)),
	       HIGH(jal(RA, 0x2004, 0x3000)), 0x60a2, 0x0141, 0x8082);
	HALVES(0x3000, 0x0001, 0x0001, 0x8082);
	HALVES(0x4000, 0x1101, 0xe006, /* addi sp,-32; sd ra,0(sp) */
	       LOW(jal(RA, 0x4004, 0x5000)), HIGH(jal(RA, 0x4004, 0x5000)), 0x6082,
	       0x6105, 0x0073, 0x1020); /* ld ra,0(sp); addi sp,32; sret */
	HALVES(0x5000, 0x0001, 0x8082);
	put(STACK, 0x2008);
	put(STACK + 32 + 8, 0x1008);
	regs.gpr[US_RISCV_RA] = 0x4008;
	look(0x5000, STACK, 0);
	assert_int_equal(out.n, 2); /* nothing tells sepc */
	entered_pc = 0x3002;
	mem.read_entered = read_entered;
	look(0x5000, STACK, 0);
	EXPECT(US_END_ROOT, 0x5000, 0x4008, 0x3002, 0x2008, 0x1008);
	assert_true(out.flags[2] & US_PC_EXACT);
	/* The handler was broken off itself: of the first time nobody knows. */
	entered_pc = 0x5002;
	us_gva stack = STACK + 0x100;
	put(stack, 0x4008);
	put(stack + 32, 0x2008);
	put(stack + 64 + 8, 0x1008);
	look(0x5000, stack, 0);
	assert_int_equal(out.n, 4);
	assert_int_equal(out.pc[2], 0x5002);
	assert_int_equal(out.pc[3], 0x4008);
	assert_int_not_equal(out.end, US_END_ROOT);
	mem.read_entered = NULL;
}

/* Stacks that lead round: the walk ends, and says that it is not whole. */
static void x86_stacks_lead_round(void **state)
{
	(void)state;
	static const char code[] = "\x48\x89\x26\x48\x89\xf4\xe8\xf5\xff\xff\xff"
				   "\x5c\xc3"; /* it calls itself */
	FUNCTION(0x2000, code);
	put(0x9000, 0x200b);
	put(0x9008, 0x9000);
	unwind(0x2000, 0x9000);
	assert_int_not_equal(out.end, US_END_ROOT);
	assert_in_range(out.n, 2, 2 + US_MAX_SWITCHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RISCV(riscv_registers_are_saved_by_a_routine),
		RISCV(riscv_restored_by_a_routine),
		RISCV(riscv_in_such_a_routine),
		RISCV(riscv_routine_is_far),
		RISCV(riscv_routine_that_leads_elsewhere),
		RISCV(riscv_computed_goto),
		ARM(arm_computed_goto),
		ARM(arm_signs_any_register),
		ARM(arm_jumps_to_another_thread),
		RISCV(riscv_jumps_to_another_thread),
		TEST(x86_calls_on_another_stack_by_rbp),
		TEST(x86_calls_on_another_stack_by_a_word),
		TEST(x86_calls_on_another_stack_by_a_register),
		TEST(i386_calls_on_another_stack_by_a_register),
		TEST(x86_register_below_an_interrupt),
		ARM(arm_calls_on_another_stack_by_a_register),
		RISCV(riscv_calls_on_another_stack_by_a_register),
		ARM(link_calls_on_another_stack_by_words),
		RISCV(link_calls_on_another_stack_by_words),
		RISCV(riscv_entry_leaves_sepc_alone),
		TEST(x86_stacks_lead_round),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
