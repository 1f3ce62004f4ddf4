/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of arm64 hosts: page-table roots are believed while they stay, waiting is told by the
 * code, and exits by their class. */
#include "unit.h"

#include "backend/bpf/roots.h"
#include "backend/bpf/wait.h"

#define TCR    (16ULL | 16ULL << 16 | 2ULL << 30) /* 48 bits, 4 KiB */
#define UPPER  0xffff800000001000ULL
#define LOWER  0x401000ULL
#define ENOUGH 16
#define WFI    0xd503207f

static uint8_t ram[0x2000];
static struct us_region region = { .size = sizeof(ram), .host = ram };
static struct us_mem mem;
static struct us_regs regs;

static struct us_bpf_roots roots;
static struct us_bpf_sample a_look;
static struct us_stack_copy window;

static int no_roots(void **state)
{
	(void)state;
	memset(&roots, 0, sizeof(roots));
	a_look = (struct us_bpf_sample){
		.flags = US_BPF_OLD_EL1,
		.arm = { .tcr = TCR, .sctlr = 1, .ttbr0 = 0x10000, .ttbr1 = 0x20000 },
	};
	mem = (struct us_mem){ .region = &region, .n_region = 1 };
	us_mem_init(&mem);
	regs = (struct us_regs){ .bits = 64, .space.mode = US_PAGING_OFF };
	return 0;
}

/* n looks, before each of which the thread gave its CPU up. */
static void see(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		a_look.arm.saves++;
		us_bpf_roots_see(&roots, a_look.row, &a_look);
	}
}

/* Bits that are left of the code at pc, windows that are left of the stack at sp. */
static void doubt(us_gva pc, us_gva sp, uint8_t bits, unsigned n_window)
{
	regs.arch = US_ARCH_AARCH64;
	regs.bits = 64;
	regs.space = us_aarch64_space(0x10000, 0x20000, TCR, 1);
	regs.pc = pc;
	regs.sp = regs.fp = sp;
	window.n_window = 1;
	us_bpf_roots_doubt(&roots, &a_look, &regs, &window);
	assert_int_equal(regs.bits, bits);
	assert_int_equal(window.n_window, n_window);
}

static void nothing_is_believed_at_first(void **state)
{
	(void)state;
	see(1 + ENOUGH - 1); /* the first is compared with nothing */
	doubt(UPPER, UPPER, 0, 0);
	/* Looks without a moment in between tell nothing new. */
	for (unsigned i = 0; i < 100; i++)
		us_bpf_roots_see(&roots, a_look.row, &a_look);
	assert_true(us_bpf_roots_need_more(&roots));
	see(1);
	assert_false(us_bpf_roots_need_more(&roots));
	doubt(UPPER, UPPER, 64, 1);
	doubt(LOWER, LOWER, 64, 1);
}

/* One look at each of many vCPUs compares nothing. */
static void first_looks_are_not_compared(void **state)
{
	(void)state;
	for (a_look.row = 0; a_look.row < ENOUGH; a_look.row++)
		see(1);
	assert_true(us_bpf_roots_need_more(&roots));
	assert_false(us_bpf_roots_known(&roots, true));
}

static void halves_are_apart(void **state)
{
	(void)state;
	see(1 + ENOUGH);
	a_look.arm.ttbr0 |= 7ULL << 48; /* another ASID */
	see(1);
	doubt(LOWER, LOWER, 64, 1);
	a_look.arm.ttbr0 = 0x30000;
	see(ENOUGH);
	doubt(UPPER, UPPER, 64, 1);
	doubt(LOWER, LOWER, 0, 0);
	doubt(UPPER, LOWER, 64, 0);
	/* A vCPU of its own may have its own. */
	a_look.row = 1;
	a_look.arm.ttbr1 = 0x40000;
	see(1);
	doubt(UPPER, UPPER, 64, 1);
	a_look.arm.ttbr1 = 0x50000;
	see(1);
	doubt(UPPER, UPPER, 0, 0);
	a_look.row = US_MAX_VCPUS; /* of no vCPU */
	see(1);
}

static void long_after_it_is_believed_again(void **state)
{
	(void)state;
	see(1 + ENOUGH);
	a_look.arm.ttbr1 = 0x40000;
	see(1 + 511);
	doubt(UPPER, UPPER, 0, 0);
	see(1);
	doubt(UPPER, UPPER, 64, 1);
}

static void new_ones_are_believed(void **state)
{
	(void)state;
	a_look.flags = 0;
	doubt(UPPER, UPPER, 64, 1);
}

static void waiting_is_told_by_code(void **state)
{
	static struct us_bpf_wait wait;
	uint32_t wfi = WFI;
	(void)state;
	memcpy(ram + 0x1000, &wfi, sizeof(wfi));
	us_bpf_wait_init(&wait, &mem);
	regs.arch = US_ARCH_AARCH64;
	for (unsigned i = 0; i < 2; i++) { /* found, and remembered */
		regs.pc = 0x1004;
		assert_true(us_bpf_wait_is(&wait, &regs, false));
		assert_false(us_bpf_wait_is(&wait, &regs, true));
		regs.pc = 0x1000;
		assert_false(us_bpf_wait_is(&wait, &regs, false));
		assert_true(us_bpf_wait_is(&wait, &regs, true));
	}
	memset(ram + 0x1000, 0, sizeof(wfi));
	us_bpf_wait_forget(&wait);
	assert_false(us_bpf_wait_is(&wait, &regs, true));
	regs.pc = sizeof(ram) + 4; /* not to be read */
	assert_false(us_bpf_wait_is(&wait, &regs, false));
	assert_true(us_bpf_wait_is(&wait, &regs, true));
	regs.bits = 0;
	assert_true(us_bpf_wait_is(&wait, &regs, true));
}

static void exits_have_classes(void **state)
{
	(void)state;
	assert_int_equal(us_exit_of_arm64(0x01U << 26), US_EXIT_HALT);
	assert_int_equal(us_exit_of_arm64(0x16U << 26), US_EXIT_HYPERCALL);
	assert_int_equal(us_exit_of_arm64(0x18U << 26 | 0xffff), US_EXIT_MSR);
	assert_int_equal(us_exit_of_arm64(0x24U << 26), US_EXIT_MEMORY);
	assert_int_equal(us_exit_of_arm64(0), US_EXIT_OTHER);
	assert_int_equal(us_exit_of_arm64(UINT32_MAX), US_EXIT_OTHER);
}

#define TEST(f) cmocka_unit_test_setup(f, no_roots)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_believed_at_first),
		TEST(halves_are_apart),
		TEST(first_looks_are_not_compared),
		TEST(long_after_it_is_believed_again),
		TEST(new_ones_are_believed),
		TEST(waiting_is_told_by_code),
		TEST(exits_have_classes),
	};
	return cmocka_run_group_tests_name("backend-bpf-roots", tests, NULL, NULL);
}
