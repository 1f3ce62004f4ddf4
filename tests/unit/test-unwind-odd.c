/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks that begin at any address: by tables, through interrupts, in 32-bit code, on
 * architectures with a link register.  Where they begin must change nothing. */
#include "flat-guest.h"

#define BELOW 64 /* bytes, for what an interrupt pushes */

/* push rbp; mov rbp, rsp; call itself; pop rbp; ret */
#define RECURSIVE    "\x55\x48\x89\xe5\xe8\xf7\xff\xff\xff\x5d\xc3"
#define RECURSIVE_32 "\x55\x89\xe5\xe8\xf8\xff\xff\xff\x5d\xc3"
#define LEAF	     "\x90\x90\x90\xc3"

/* All stack pointers of two words of 8 bytes, with a border of a page in them. */
#define FOR_ALL_STACKS(at)                                                             \
	for (us_gva at = STACK + 0xff0; clear_stack() && at <= STACK + 0x1000; at++)

static bool clear_stack(void)
{
	memset(ram + STACK, 0, RAM_SIZE - STACK);
	return true;
}

static void put_32(us_gva at, uint32_t word)
{
	memcpy(ram + at, &word, 4);
}

static void expect(size_t n, const us_gva *want)
{
	assert_int_equal(out.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(out.pc[i], want[i]);
	assert_int_equal(out.end, US_END_ROOT);
}
#define EXPECT(...)                                                                    \
	expect(sizeof((const us_gva[]){ __VA_ARGS__ }) / 8,                            \
	       (const us_gva[]){ __VA_ARGS__ })

/* The first by rsp, the second by the rbp that it saved. */
static void by_tables(void **state)
{
	static const struct us_cfi_saved rbp = { -16, US_X86_RBP, US_CFI_AT_CFA, 0 };
	struct us_cfi_rule rule = { .cfa_reg = US_X86_RSP,
				    .cfa_off = 24,
				    .pc = US_CFI_AT_CFA,
				    .pc_off = -8,
				    .n_saved = 1 };
	(void)state;
	FUNCTION(0x1000, "\x90\x90\x90\x90\x90\xc3");
	calls(0x2000, 0x1000);
	calls(0x3000, 0x2000);
	row(0x1000, rule, &rbp);
	rule.cfa_reg = US_X86_RBP;
	rule.cfa_off = 16;
	row(0x2000, rule, &rbp);
	row(0x3000, (struct us_cfi_rule){ .cfa_reg = US_X86_RSP, .pc = US_CFI_LOST },
	    NULL);
	finish_table();
	FOR_ALL_STACKS(at)
	{
		put(at + 8, at + 0x43);
		put(at + 16, 0x2005);
		put(at + 0x43 + 8, 0x3005);
		unwind(0x1001, at);
		EXPECT(0x1001, 0x2005, 0x3005);
		assert_int_equal(out.how[1], US_HOW_CFI);
		assert_int_equal(out.how[2], US_HOW_CFI);
	}
}

/* A frame of 0x3000, interrupted at sp; what the processor pushed ends at the multiple
 * of 16 below.  Where that is. */
static us_gva interrupted(us_gva sp)
{
	us_gva frame = (sp & ~15ULL) - 40;
	put(sp, sp + 16);
	put(sp + 8, 0x3009);
	put(frame, 0x3004);
	put(frame + 8, 8);
	put(frame + 16, 0x202);
	put(frame + 24, sp);
	put(frame + 32, 0x10);
	regs.gpr[US_X86_RBP] = sp;
	return frame;
}

/* push rax; call 0x1000; pop rax; iretq */
static void through_interrupts(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x50\xe8\xfa\xef\xff\xff\x58\x48\xcf");
	FUNCTION(0x3000, RECURSIVE);
	FOR_ALL_STACKS(at)
	{
		us_gva frame = interrupted(at + BELOW);
		put(frame - 16, 0x2006);
		unwind(0x1000, frame - 16);
		EXPECT(0x1000, 0x2006, 0x3004, 0x3009);
		assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	}
}

/* call 0x1000; mov rsp, rax; iretq: no rule says where the frame is, and the handler
 * has moved rsp by any number of bytes. */
static void through_interrupts_by_looks(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\xe8\xfb\xef\xff\xff\x48\x89\xc4\x48\xcf");
	FUNCTION(0x3000, RECURSIVE);
	FOR_ALL_STACKS(at)
	{
		us_gva frame = interrupted(at + 2 * BELOW);
		for (unsigned moved = 0; moved < 24; moved++) {
			memset(ram + frame - 48, 0, 48);
			put(frame - moved - 8, 0x2005);
			unwind(0x1000, frame - moved - 8);
			EXPECT(0x1000, 0x2005, 0x3004, 0x3009);
			assert_int_equal(out.how[2], US_HOW_INTERRUPT);
		}
	}
}

/* sub rsp, 512; call 0x1000; jz 1f; mov rsp, rax; iretq; 1: add rsp, 512; iretq: one of
 * two ways out tells where the frame is, which is too far away to be found by looks. */
static void through_interrupts_by_the_second_way(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x48\x81\xec\x00\x02\x00\x00\xe8\xf4\xef\xff\xff"
			 "\x74\x05\x48\x89\xc4\x48\xcf"
			 "\x48\x81\xc4\x00\x02\x00\x00\x48\xcf");
	FUNCTION(0x3000, RECURSIVE);
	us_gva frame = interrupted(STACK + 0x1000);
	put(frame - 512 - 8, 0x200c);
	unwind(0x1000, frame - 512 - 8);
	EXPECT(0x1000, 0x200c, 0x3004, 0x3009);
	assert_int_equal(out.how[2], US_HOW_INTERRUPT);
}

/* push ax; push rbp; call 0x1000; pop rbp; pop ax; ret: rbp is saved where no word
 * begins, and the caller's frame is found by it alone.  At 0x3000: push rbp;
 * mov rbp, rsp; and rsp, -16; call 0x2000; leave; ret */
static void pushes_of_two_bytes(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x66\x50\x55\xe8\xf8\xef\xff\xff\x5d\x66\x58\xc3");
	FUNCTION(0x3000,
		 "\x55\x48\x89\xe5\x48\x83\xe4\xf0\xe8\xf3\xef\xff\xff\xc9\xc3");
	calls(0x4000, 0x3000);
	FOR_ALL_STACKS(at)
	{
		us_gva frame = at + 2 * BELOW;
		put(at, 0x2008);
		put(at + 8, frame);
		put(at + 18, 0x300d);
		put(frame + 8, 0x4005);
		regs.gpr[US_X86_RBP] = 0x1234;
		unwind(0x1001, at);
		EXPECT(0x1001, 0x2008, 0x300d, 0x4005);
		/* And from between the two pushes. */
		regs.gpr[US_X86_RBP] = frame;
		unwind(0x2002, at + 16);
		EXPECT(0x2002, 0x300d, 0x4005);
	}
}

static void narrow_frames(void **state)
{
	(void)state;
	FUNCTION(0x1000, RECURSIVE_32);
	regs.bits = 32;
	FOR_ALL_STACKS(at)
	{
		for (unsigned i = 0; i < 20; i++) {
			put_32(at + i * 8U, (uint32_t)(at + (i + 1) * 8U));
			put_32(at + i * 8U + 4, i < 19 ? 0x1008 : 0);
		}
		regs.gpr[US_X86_RBP] = at;
		unwind(0x1003, at);
		assert_int_equal(out.n, 20);
		assert_int_equal(out.end, US_END_ROOT);
		regs.gpr[US_X86_RBP] = at + 8;
		unwind(0x1000, at + 4); /* before the push */
		assert_int_equal(out.n, 20);
	}
}

/* lea 4(%esp),%ecx; and $-16,%esp; push -4(%ecx); push %ebp; mov %esp,%ebp; push %ecx;
 * lea 8(%esp),%ecx; call leaf; pop %ecx; pop %ebp; lea -4(%ecx),%esp; ret */
#define ALIGNED_32                                                                     \
	"\x8d\x4c\x24\x04\x83\xe4\xf0\xff\x71\xfc\x55\x89\xe5\x51\x8d\x4c\x24\x08"     \
	"\xe8\xe9\xef\xff\xff\x59\x5d\x8d\x61\xfc\xc3"

/* What aligns its own stack was called on one that was not. */
static void narrow_aligned_anew(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, ALIGNED_32);
	FUNCTION(0x3000, "\x83\xec\x0c\xe8\xf8\xef\xff\xff\x83\xc4\x0c\xc3");
	regs.bits = 32;
	FOR_ALL_STACKS(at)
	{
		us_gva copy = (at + BELOW) & ~15ULL, cfa = at + BELOW + 4;
		put_32(copy - 16, 0x2017);
		put_32(copy - 12, (uint32_t)cfa); /* ecx */
		put_32(copy - 4, 0x3008);
		put_32(cfa - 4, 0x3008);
		regs.gpr[US_X86_RBP] = copy - 8;
		unwind(0x1000, copy - 16);
		EXPECT(0x1000, 0x2017, 0x3008);
	}
}

/* pusha; call handler; popa; iret, at any place: nothing is aligned there. */
static void narrow_interrupts(void **state)
{
	(void)state;
	FUNCTION(0x1000, LEAF);
	FUNCTION(0x2000, "\x60\xe8\xfa\xef\xff\xff\x61\xcf");
	FUNCTION(0x3000, RECURSIVE_32);
	regs.bits = 32;
	FOR_ALL_STACKS(at)
	{
		put_32(at, 0x2006);
		put_32(at + 36, 0x3003); /* eip, cs, eflags */
		put_32(at + 40, 0x10);
		put_32(at + 44, 0x202);
		put_32(at + 48, (uint32_t)at + 56);
		put_32(at + 52, 0x3008);
		regs.gpr[US_X86_RBP] = at + 48;
		unwind(0x1000, at);
		EXPECT(0x1000, 0x2006, 0x3003, 0x3008);
		assert_int_equal(out.how[2], US_HOW_INTERRUPT);
	}
}

/* The callee takes two bytes off the stack: ret $2.
 * push %ebx; sub $2,%esp; call 0x1000; jmp . */
static void narrow_callee_pops(void **state)
{
	(void)state;
	FUNCTION(0x1000, "\xc2\x02\0");
	FUNCTION(0x2000, "\x53\x83\xec\x02\xe8\xf7\xef\xff\xff\xeb\xfe");
	calls(0x3000, 0x2000);
	regs.bits = 32;
	FOR_ALL_STACKS(at)
	{
		put_32(at + 4, 0x3005);
		unwind(0x2009, at);
		EXPECT(0x2009, 0x3005);
	}
}

/* 0x3000 calls 0x1000, which calls a leaf: the words of both but for the CALL. */
static void link_register(enum us_arch arch, const uint32_t caller[6], uint32_t call,
			  uint32_t ret)
{
	bool arm = arch == US_ARCH_AARCH64;
	us_unwinder_free(unwinder);
	assert_int_equal(us_unwinder_new(arch, NULL, NULL, &unwinder), 0);
	memset(ram, 0, STACK);
	memcpy(ram + 0x1000, caller, 24);
	memcpy(ram + 0x2000, &ret, 4);
	memcpy(ram + 0x3000, caller, 24);
	memcpy(ram + 0x3008, &call, 4);
	regs.arch = arch;
	regs.valid = UINT32_MAX;
	regs.pc = 0x2000;
	regs.gpr[arm ? US_AARCH64_LR : US_RISCV_RA] = 0x100c;
	FOR_ALL_STACKS(at)
	{
		put(at + 40, 0x300c);
		regs.sp = regs.gpr[arm ? US_AARCH64_SP : US_RISCV_SP] = at;
		us_paging_new_sample(&paging);
		us_unwind(unwinder, &paging, &regs, &out);
		EXPECT(0x2000, 0x100c, 0x300c);
	}
}

/* sp is checked by the hardware only if SCTLR_ELx.SA is set. */
static void aarch64(void **state)
{
	/* sub sp, sp, #48; str x30, [sp, #40]; bl 0x2000; ldr x30, [sp, #40];
	 * add sp, sp, #48; ret */
	static const uint32_t caller[] = { 0xd100c3ff, 0xf90017fe, 0x940003fe,
					   0xf94017fe, 0x9100c3ff, 0xd65f03c0 };
	(void)state;
	link_register(US_ARCH_AARCH64, caller, 0x97fff7fe, 0xd65f03c0);
}

/* sp is a register as any other: only the ABI aligns it. */
static void riscv64(void **state)
{
	/* addi sp,sp,-48; sd ra,40(sp); jal 0x2000; ld ra,40(sp); addi sp,sp,48; ret */
	static const uint32_t caller[] = { 0xfd010113, 0x02113423, 0x7f9000ef,
					   0x02813083, 0x03010113, 0x00008067 };
	(void)state;
	link_register(US_ARCH_RISCV64, caller, 0xff9fd0ef, 0x00008067);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(by_tables),
		TEST(through_interrupts),
		TEST(through_interrupts_by_looks),
		TEST(through_interrupts_by_the_second_way),
		TEST(pushes_of_two_bytes),
		TEST(narrow_frames),
		TEST(narrow_aligned_anew),
		TEST(narrow_interrupts),
		TEST(narrow_callee_pops),
		TEST(aarch64),
		TEST(riscv64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
