/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link-guest.h: flat-guest.h for processors whose calls leave the return address in a
 * register: aarch64 and RISC-V. */
#ifndef US_TEST_LINK_GUEST_H
#define US_TEST_LINK_GUEST_H

#include "flat-guest.h"
#include "unwind/walk.h"

/* Not valid, where there is no code. */
static inline int fresh_link(void **state, enum us_arch arch)
{
	int r = fresh(state);
	us_unwinder_free(unwinder);
	memset(ram, 0, STACK);
	regs.arch = arch;
	regs.valid = UINT32_MAX;
	return r || us_unwinder_new(arch, NULL, NULL, &unwinder);
}

static inline int fresh_arm(void **state)
{
	return fresh_link(state, US_ARCH_AARCH64);
}

static inline int fresh_riscv(void **state)
{
	return fresh_link(state, US_ARCH_RISCV64);
}

#define ARM(f)	 cmocka_unit_test_setup_teardown(f, fresh_arm, done)
#define RISCV(f) cmocka_unit_test_setup_teardown(f, fresh_riscv, done)

static inline uint32_t bl(us_gva from, us_gva to)
{
	return 0x94000000 | (((uint32_t)(to - from) / 4) & 0x3ffffff);
}

static inline void look(us_gva pc, us_gva sp, us_gva fp)
{
	bool arm = regs.arch == US_ARCH_AARCH64;
	regs.pc = pc;
	regs.sp = regs.gpr[arm ? US_AARCH64_SP : US_RISCV_SP] = sp;
	regs.fp = regs.gpr[arm ? US_AARCH64_FP : US_RISCV_FP] = fp;
	us_paging_new_sample(&paging);
	us_unwind(unwinder, &paging, &regs, &out);
}

/* With a return address in the link register, and no frame pointer. */
static inline void look_with_link(us_gva pc, us_gva sp, us_gva link)
{
	regs.gpr[regs.arch == US_ARCH_AARCH64 ? US_AARCH64_LR : US_RISCV_RA] = link;
	look(pc, sp, 0x1234567);
}

static inline void expect(size_t n, const us_gva *want, uint8_t end)
{
	assert_int_equal(out.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(out.pc[i], want[i]);
	assert_int_equal(out.end, end);
}
#define EXPECT(end, ...)                                                               \
	expect(sizeof((const us_gva[]){ __VA_ARGS__ }) / 8,                            \
	       (const us_gva[]){ __VA_ARGS__ }, end)

/* The stack ends behind n frames, in this way. */
static inline void ends(size_t n, uint8_t end)
{
	assert_int_equal(out.n, n);
	assert_int_equal(out.end, end);
}

#endif
