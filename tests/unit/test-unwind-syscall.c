/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86: from a kernel that was entered by `syscall` to the program. */
#include "flat-guest.h"

#define NOPS "\x90\x90\x90\x90\x90\xc3"

/* call handler; pop r11; pop rcx; pop rbp; pop rsp; sysretq */
#define SYSCALL "\xe8\xfb\xef\xff\xff\x41\x5b\x59\x5d\x5c\x48\x0f\x07"

static void a_system_call_leads_to_the_program(void **state)
{
	(void)state;
	FUNCTION(0x1000, NOPS);
	FUNCTION(0x2000, SYSCALL);
	FUNCTION(0x3000, "\x55\x48\x89\xe5\x0f\x05\x5d\xc3"); /* syscall in a frame */
	calls(0x4000, 0x3000);
	put(STACK, 0x2005);
	put(STACK + 8, 0x202);
	put(STACK + 16, 0x3006);
	put(STACK + 24, STACK + 0x300);
	put(STACK + 32, STACK + 0x300);
	put(STACK + 0x308, 0x4005);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 4);
	assert_int_equal(out.pc[2], 0x3006);
	/* Behind the instruction, as behind a CALL. */
	assert_int_equal(out.flags[2], US_PC_USER);
	assert_int_equal(out.pc[3], 0x4005);
	assert_int_equal(out.flags[3], US_PC_USER);
	put(STACK + 32, 0); /* a stack that is nowhere */
	put(STACK + 24, 0);
	unwind(0x1000, STACK);
	assert_int_equal(out.n, 3);
}

#define KERNEL 0xffff800000000000

/* Page tables: the same 64 KiB in both halves; and a program that calls the kernel. */
static void both_halves(void)
{
	static const struct us_region upper = { .start = 0,
						.size = RAM_SIZE,
						.host = ram };
	put(0xc000, 0xd003);
	put(0xc000 + 256 * 8, 0xd003);
	put(0xd000, 0xe003);
	put(0xe000, 0xf003);
	for (unsigned i = 0; i < 12; i++)
		put(0xf000 + 8 * i, i << 12 | 3);
	mem.region = &upper;
	regs.space = (struct us_space){ .root = 0xc000, .mode = US_PAGING_X86_4 };
	FUNCTION(0x3000, "\x55\x48\x89\xe5\x0f\x05\x5d\xc3"); /* syscall in a frame */
	calls(0x4000, 0x3000);
}

/* At its first instruction the stack is still the program's. */
static void a_system_call_that_just_began(void **state)
{
	(void)state;
	const us_gva kernel = KERNEL;
	both_halves();
	FUNCTION(kernel + 0x2000, "");
	memcpy(ram + 0x2000, "\x0f\x01\xf8" SYSCALL, sizeof(SYSCALL) + 2);
	put(STACK, STACK + 0x100);
	put(STACK + 8, 0x4005);
	regs.gpr[US_X86_RCX] = 0x3006;
	regs.gpr[US_X86_RBP] = STACK;
	unwind(kernel + 0x2000, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], 0x3006);
	assert_int_equal(out.flags[1], US_PC_USER);
	assert_int_equal(out.pc[2], 0x4005);
	/* The same by a table, which has no frame of the processor's to show. */
	struct us_cfi_rule entry = { .cfa_reg = US_X86_RSP,
				     .pc = US_CFI_IN_REG,
				     .pc_off = US_X86_RCX,
				     .flags = US_CFI_SIGNAL };
	row(kernel + 0x2000, entry, NULL);
	finish_table();
	unwind(kernel + 0x2000, STACK);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.flags[1], US_PC_USER);
	assert_int_equal(out.pc[2], 0x4005);
	us_unwinder_set_code(unwinder, &map, NULL);
	regs.gpr[US_X86_RCX] = 0x3005; /* not behind a system call */
	unwind(kernel + 0x2000, STACK);
	assert_int_equal(out.n, 1);
	/* The kernel's stack already, and nothing saved yet. */
	regs.gpr[US_X86_RCX] = 0x3006;
	unwind(kernel + 0x2000, kernel + STACK + 0x800);
	assert_int_equal(out.n, 3);
	assert_int_equal(out.pc[1], 0x3006);
	assert_int_equal(out.flags[1], US_PC_USER);
	assert_int_equal(out.pc[2], 0x4005);
	regs.gpr[US_X86_RCX] = 0x13006; /* not there to be read */
	unwind(kernel + 0x2000, kernel + STACK + 0x800);
	assert_int_equal(out.n, 1);
}

/* The same in a kernel in the lower half, whose pages programs may not use. */
static void a_kernel_in_the_lower_half(void **state)
{
	(void)state;
	for (unsigned users = 0; users < 2; users++) {
		map.n = 0;
		both_halves();
		FUNCTION(0x6000, "\x0f\x01\xf8" SYSCALL);
		for (us_gva page = 0; page < 12; page++) {
			bool kernels = !users && page == 6;
			put(0xf000 + 8 * page, page << 12 | (kernels ? 3 : 7));
		}
		us_paging_init(&paging, &mem);
		put(STACK, STACK + 0x100);
		put(STACK + 8, 0x4005);
		regs.gpr[US_X86_RCX] = 0x3006;
		regs.gpr[US_X86_RBP] = STACK;
		unwind(0x6000, STACK);
		if (users) { /* not a kernel's page */
			assert_int_equal(out.n, 1);
			continue;
		}
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[1], 0x3006);
		assert_int_equal(out.flags[1], US_PC_USER);
		assert_int_equal(out.pc[2], 0x4005);
	}
}

/* sub $32, %rsp; mov %rcx, 16(%rsp); mov %rbp, (%rsp); call handler; mov (%rsp), %rbp;
 * mov 16(%rsp), %rcx; mov %gs:8, %rsp; swapgs; sysretq */
static void a_system_call_that_keeps_rcx_by_mov(void **state)
{
	(void)state;
	both_halves();
	FUNCTION(0x5000, "\x0f\x05\xc3"); /* another one, before */
	FUNCTION(KERNEL + 0x1000, "");
	FUNCTION(KERNEL + 0x2000, "");
	memcpy(ram + 0x1000, NOPS, 2);
	memcpy(ram + 0x2000,
	       "\x48\x83\xec\x20\x48\x89\x4c\x24\x10\x48\x89\x2c\x24\xe8\xee\xef"
	       "\xff\xff\x48\x8b\x2c\x24\x48\x8b\x4c\x24\x10\x65\x48\x8b\x24\x25"
	       "\x08\x00\x00\x00\x0f\x01\xf8\x48\x0f\x07",
	       42);
	put(STACK, STACK + 0x100);
	put(STACK + 8, 0x4005);
	regs.gpr[US_X86_RBP] = STACK;
	const us_gva top = KERNEL + STACK + 0x800;
	static const uint8_t at[] = { 0, 4, 9, 13, 18, 22, 27 };
	for (unsigned i = 0; i < sizeof(at); i++) {
		bool kept = at[i] >= 9;
		/* What is there before is of the system call before. */
		put(STACK + 0x800 - 0x20, kept ? STACK : STACK + 0x300);
		put(STACK + 0x800 - 0x10, kept ? 0x3006 : 0x5002);
		regs.gpr[US_X86_RCX] = kept && at[i] < 27 ? 0 : 0x3006;
		unwind(KERNEL + 0x2000 + at[i], at[i] ? top - 0x20 : top);
		assert_int_equal(out.n, 3);
		assert_int_equal(out.pc[1], 0x3006);
		assert_int_equal(out.flags[1], US_PC_USER);
		assert_int_equal(out.pc[2], 0x4005);
	}
	put(STACK + 0x800 - 0x28, KERNEL + 0x2012);
	unwind(KERNEL + 0x1000, top - 0x28);
	assert_int_equal(out.n, 4);
	assert_int_equal(out.pc[2], 0x3006);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_system_call_leads_to_the_program),
		TEST(a_system_call_that_just_began),
		TEST(a_kernel_in_the_lower_half),
		TEST(a_system_call_that_keeps_rcx_by_mov),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
