/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU that waits behind its HLT is told from one that runs behind a byte like it. */
#include "unit.h"

#include "backend/after_hlt.h"

#define PAGE 0x1000
#define AT   0x1800 /* the program counter, unless a test says otherwise */

/* Two pages of code, from PAGE on; what is outside cannot be read. */
static uint8_t code[2 * PAGE];
static us_gva present, beyond;

static bool read_bytes(void *ctx, us_gva at, void *buf, size_t len)
{
	(void)ctx;
	if (at < present || at > beyond || len > beyond - at)
		return false;
	memcpy(buf, code + (at - PAGE), len);
	return true;
}

static struct us_regs regs;

/* This code, whose byte number `end` is at pc, between what compilers fill with. */
static bool waits(const void *bytes, size_t n, size_t end)
{
	memset(code, 0x90, sizeof(code));
	memcpy(code + (regs.pc - PAGE) - end, bytes, n);
	return us_is_after_hlt(&regs, read_bytes, NULL);
}
#define WAITS(bytes, end) waits(bytes, sizeof(bytes) - 1, end)

static int set_up(void **state)
{
	(void)state;
	regs = (struct us_regs){ .arch = US_ARCH_X86_64, .bits = 64, .pc = AT };
	present = PAGE;
	beyond = 3 * PAGE;
	return 0;
}

static void loops_that_wait(void **state)
{
	(void)state;
	for (regs.bits = 16; regs.bits <= 64; regs.bits *= 2) {
		assert_true(WAITS("\xfb\xf4\xfa", 2)); /* sti; hlt; cli */
		assert_true(WAITS("\xf4\xeb\xfd", 1)); /* 1: hlt; jmp 1b */
	}
	regs.bits = 64;
	/* push rbp; mov rsp,rbp; hlt; pop rbp; ret */
	assert_true(WAITS("\x55\x48\x89\xe5\xf4\x5d\xc3", 5));
	assert_true(WAITS("\x0f\x00\x2d\x00\x10\x00\x00\xf4\xc3", 8)); /* verw; hlt */
	assert_false(WAITS("\xfb\xf4\xfa", 1));			       /* at it */
	assert_false(WAITS("\xfb\xf4\xfa", 3)); /* it has gone on */
}

/* The instructions that end in this byte. */
static void operands_are_no_instructions(void **state)
{
	(void)state;
	/* push rbp; mov rsp,rbp; movl 5,-12(rbp); mov -12(rbp),eax; add eax,-12(rbp) */
	static const char locals[] = "\x55\x48\x89\xe5\xc7\x45\xf4\x05\x00\x00\x00"
				     "\x8b\x45\xf4\x01\x45\xf4\x5d\xc3";
	(void)state;
	assert_false(WAITS(locals, 14));
	assert_false(WAITS(locals, 17));
	assert_false(WAITS("\x48\xff\xc9\x48\x01\xc8\x48\x31\xd0\x75\xf4\xc3", 11));
	assert_false(WAITS("\x83\xc0\xf4\xc3", 3));		/* add -12,eax */
	assert_false(WAITS("\xb8\x00\x00\x00\xf4\x89\x07", 5)); /* mov imm,eax */
}

static void programs_do_not_halt(void **state)
{
	(void)state;
	regs.user = true;
	assert_false(WAITS("\xfb\xf4", 2));
	regs.user = false;
	regs.arch = US_ARCH_AARCH64;
	assert_false(WAITS("\xfb\xf4", 2));
}

/* What is not there is not needed, and no byte outside is touched. */
static void code_at_the_edge_of_memory(void **state)
{
	(void)state;
	regs.pc = PAGE + 2;
	assert_true(WAITS("\xfb\xf4\xfa", 2));
	regs.pc = PAGE + 1;
	assert_true(WAITS("\xf4\xeb\xfd", 1));
	assert_false(WAITS("\xf4\x90\x90", 1)); /* nothing shows that it is one */
	beyond = 2 * PAGE;
	regs.pc = 2 * PAGE;
	assert_true(WAITS("\xfb\xf4", 2));
	regs.pc = PAGE;
	assert_false(WAITS("\x90", 0));
	present = PAGE + 0x7ff; /* less than a page */
	regs.pc = AT;
	assert_false(WAITS("\xfb\xf4", 2));
}

/* Nothing lies below 0, and the last byte is there. */
static bool all_hlt(void *ctx, us_gva at, void *buf, size_t len)
{
	(void)ctx;
	memset(buf, 0xf4, len);
	return at + len >= at && len <= 16;
}

static void addresses_that_wrap(void **state)
{
	(void)state;
	for (us_gva pc = 0; pc < 40; pc++) {
		regs.pc = pc - 20;
		us_is_after_hlt(&regs, all_hlt, NULL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(loops_that_wait, set_up),
		cmocka_unit_test_setup(operands_are_no_instructions, set_up),
		cmocka_unit_test_setup(programs_do_not_halt, set_up),
		cmocka_unit_test_setup(code_at_the_edge_of_memory, set_up),
		cmocka_unit_test_setup(addresses_that_wrap, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
