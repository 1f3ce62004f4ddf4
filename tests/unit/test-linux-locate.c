/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a Linux kernel lies, by the page tables alone: tables made by hand. */
#include "paged-guest.h"

#include "linux/image.h"

#define MIB	    (1ULL << 20)
#define BLOCK_SIZE  (2 * MIB)
#define X86_TABLE   3ULL
#define X86_LARGE   0x83ULL
#define ARM_TABLE   3ULL
#define ARM_BLOCK   1ULL
#define ARM_TCR	    ((64ULL - 39) | (64ULL - 48) << 16 | 2ULL << 30 | 5ULL << 32)
#define RISCV_TABLE 1ULL
#define RISCV_LEAF  0xbULL

enum {
	TOP = 0x1000,
	SECOND = 0x2000,
	THIRD = 0x3000,
};

static bool locate(enum us_arch arch, struct us_space s, us_gva pc, bool user,
		   struct us_linux_place *ret)
{
	const struct us_regs r = {
		.pc = pc, .space = s, .arch = arch, .bits = 64, .user = user
	};
	return us_linux_locate(&paging, &r, ret);
}

static void expect_place(const struct us_linux_place *p, us_gva start, uint64_t size,
			 us_gpa phys)
{
	assert_true(p->physical && p->arch);
	assert_int_equal(p->start, start);
	assert_int_equal(p->size, size);
	assert_int_equal(p->phys, phys);
}

/* At 0xffffffff8a200000: three blocks, one that was freed, one more; and another piece
 * of memory behind. */
static void x86(void **state)
{
	(void)state;
	const struct us_space s = { .root = TOP, .mode = US_PAGING_X86_4 };
	const unsigned first = 0xa200000 / BLOCK_SIZE;
	struct us_linux_place p;
	put64(TOP, 511, SECOND | X86_TABLE);
	put64(SECOND, 510, THIRD | X86_TABLE);
	assert_false(locate(US_ARCH_X86_64, s, 0x400000, true, &p));
	for (unsigned k = 0; k < 5; k++)
		if (k != 3)
			put64(THIRD, first + k,
			      (0x6000000 + k * BLOCK_SIZE) | X86_LARGE);
	put64(THIRD, first + 9, 0x10000000 | X86_LARGE);
	us_paging_new_sample(&paging);
	assert_true(locate(US_ARCH_X86_64, s, 0x400000, true, &p));
	expect_place(&p, 0xffffffff8a200000, 5 * BLOCK_SIZE, 0x6000000);
}

/* No block behind the one before it, as in a PV domain: around a vCPU that is there. */
static void x86_scattered(void **state)
{
	(void)state;
	const struct us_space s = { .root = TOP, .mode = US_PAGING_X86_4 };
	struct us_regs r = {
		.space = s, .arch = US_ARCH_X86_64, .bits = 64, .scattered = true
	};
	struct us_linux_place p;
	put64(TOP, 511, SECOND | X86_TABLE);
	put64(SECOND, 510, THIRD | X86_TABLE);
	for (unsigned k = 0; k < 4; k++)
		put64(THIRD, 8 + k, X86_LARGE); /* all the same one */
	r.pc = US_LINUX_LINKED_AT + 3 * MIB;
	assert_true(us_linux_locate(&paging, &r, &p));
	assert_false(p.physical);
	assert_int_equal(p.start, US_LINUX_LINKED_AT);
	assert_int_equal(p.size, 4 * BLOCK_SIZE);
	r.pc = 0x400000;
	assert_false(us_linux_locate(&paging, &r, &p));
}

/* Anywhere in the upper half: around a vCPU that is there. */
static void aarch64(void **state)
{
	(void)state;
	const us_gva kernel = 0xffffc9758b400000;
	struct us_space s = us_aarch64_space(0, TOP, ARM_TCR, 1);
	struct us_linux_place p;
	us_gva at = kernel - 0xffff000000000000;
	unsigned first = at >> 21 & 511;
	put64(TOP, at >> 39 & 511, SECOND | ARM_TABLE);
	put64(SECOND, at >> 30 & 511, THIRD | ARM_TABLE);
	for (unsigned k = 0; k < 8; k++)
		if (k != 3 && k != 4)
			put64(THIRD, first + k,
			      (0x40000000 + k * BLOCK_SIZE) | ARM_BLOCK);
	put64(THIRD, first - 1, 0x50000000 | ARM_BLOCK); /* is mapped beside it */
	put64(THIRD, first + 8, 0x52000000 | ARM_BLOCK);
	assert_true(locate(US_ARCH_AARCH64, s, kernel + 5 * MIB, false, &p));
	expect_place(&p, kernel, 8 * BLOCK_SIZE, 0x40000000);
	assert_true(locate(US_ARCH_AARCH64, s, kernel + 11 * MIB, false, &p));
	expect_place(&p, kernel, 8 * BLOCK_SIZE, 0x40000000);
	/* Not in the kernel, or not mapped: nothing is known then. */
	assert_false(locate(US_ARCH_AARCH64, s, kernel + 5 * MIB, true, &p));
	assert_false(locate(US_ARCH_AARCH64, s, kernel + 7 * MIB, false, &p));
	assert_false(locate(US_ARCH_AARCH64, s, 0x400000, false, &p));
	s.mode = US_PAGING_OFF;
	assert_false(locate(US_ARCH_AARCH64, s, kernel + 5 * MIB, false, &p));
}

/* All of the upper half is one piece: no more is taken than an image may be. */
static void endless(void **state)
{
	(void)state;
	struct us_space s = us_aarch64_space(0, TOP, ARM_TCR, 1);
	struct us_linux_place p;
	put64(TOP, 0, SECOND | ARM_TABLE);
	for (unsigned k = 0; k < 512; k++)
		put64(SECOND, k, (uint64_t)k << 30 | ARM_BLOCK);
	assert_true(locate(US_ARCH_AARCH64, s, 0xffff001234567890, false, &p));
	assert_true(p.size > 200 * MIB && p.size <= US_LINUX_MAX_IMAGE + MIB);
	assert_int_equal(p.phys, p.start - 0xffff000000000000);
}

static void riscv(void **state)
{
	(void)state;
	struct us_space s = us_riscv_space(8ULL << 60 | TOP >> 12, false);
	struct us_linux_place p;
	put64(TOP, 510, SECOND >> 12 << 10 | RISCV_TABLE);
	for (unsigned k = 0; k < 6; k++)
		put64(SECOND, k,
		      (0x80200000 + k * BLOCK_SIZE) >> 12 << 10 | RISCV_LEAF);
	assert_true(locate(US_ARCH_RISCV64, s, 0xffffffff80345678, false, &p));
	expect_place(&p, 0xffffffff80000000, 6 * BLOCK_SIZE, 0x80200000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(x86),     TEST(x86_scattered), TEST(aarch64),
		TEST(endless), TEST(riscv),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
