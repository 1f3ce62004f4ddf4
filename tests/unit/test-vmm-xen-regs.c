/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers as Xen hands them out, in each mode of a vCPU. */
#include "unit.h"

#include "vmm/xen/regs.h"

#include <xen/xen.h>

#include <xen/foreign/arm64.h>
#include <xen/hvm/save.h>

#define CR0_PG	 (1u << 31)
#define CR4_PAE	 (1u << 5)
#define EFER_LME (1u << 8)
#define EFER_LMA (1u << 10)
#define CODE64	 0xa9b /* G, L, P, S, execute and read */
#define CODE32	 0xc9b
#define CODE16	 0x09b
#define DATA32	 0xc93
#define DATA16	 0x093
#define RING3	 (3u << 5)

static void long_mode_of_pvh(void **state)
{
	(void)state;
	struct hvm_hw_cpu c = { .rip = 0xffffffff80101234,
				.rsp = 0xffff888000001000,
				.rbp = 0xffff888000002000,
				.r15 = 15,
				.rdx = 1,
				.rcx = 2,
				.cr0 = CR0_PG | 1,
				.cr3 = 0x12345003,
				.cr4 = CR4_PAE,
				.msr_efer = EFER_LME | EFER_LMA,
				.cs_base = 0x666, /* of no effect there */
				.cs_arbytes = CODE64,
				.ss_arbytes = DATA32 };
	struct us_regs r;
	us_xen_regs_of_hvm(&c, &r);
	assert_int_equal(r.pc, c.rip);
	assert_int_equal(r.sp, c.rsp);
	assert_int_equal(r.fp, c.rbp);
	assert_int_equal(r.gpr[US_X86_R15], 15);
	assert_int_equal(r.gpr[US_X86_RDX], 1);
	assert_int_equal(r.gpr[US_X86_RCX], 2);
	assert_int_equal(r.gpr[US_X86_RSP], c.rsp);
	assert_int_equal(r.valid, UINT16_MAX);
	assert_int_equal(r.bits, 64);
	assert_false(r.user);
	assert_int_equal(r.space.root, c.cr3);
	assert_int_equal(r.space.mode, US_PAGING_X86_4);
	c.ss_arbytes |= RING3;
	us_xen_regs_of_hvm(&c, &r);
	assert_true(r.user);
	c.cs_arbytes = CODE32; /* compatibility mode */
	us_xen_regs_of_hvm(&c, &r);
	assert_int_equal(r.bits, 32);
	assert_int_equal(r.space.mode, US_PAGING_X86_4);
}

static void narrow_modes_have_bases(void **state)
{
	(void)state;
	struct hvm_hw_cpu c = { .rip = 0xfff0,
				.rsp = 0x123451000,
				.rbp = 0x1100,
				.cs_base = 0xffff0000,
				.ss_base = 0x10000,
				.cs_arbytes = CODE16,
				.ss_arbytes = DATA16 };
	struct us_regs r;
	us_xen_regs_of_hvm(&c, &r);
	assert_int_equal(r.bits, 16);
	assert_int_equal(r.pc, 0xfffffff0);
	assert_int_equal(r.sp, 0x11000);
	assert_int_equal(r.fp, 0x11100);
	assert_int_equal(r.space.mode, US_PAGING_OFF);
	c.cs_arbytes = CODE32;
	c.ss_arbytes = DATA32;
	c.cr0 = CR0_PG;
	us_xen_regs_of_hvm(&c, &r);
	assert_int_equal(r.bits, 32);
	assert_int_equal(r.sp, 0x23461000);
	assert_int_equal(r.space.mode, US_PAGING_X86_32);
	c.cr4 = CR4_PAE;
	us_xen_regs_of_hvm(&c, &r);
	assert_int_equal(r.space.mode, US_PAGING_X86_PAE);
}

static void kernel_and_program_of_pv(void **state)
{
	(void)state;
	struct vcpu_guest_context *c = test_calloc(1, sizeof(*c));
	struct us_regs r;
	c->flags = VGCF_in_kernel;
	c->user_regs.rip = 0xffffffff81000000;
	c->user_regs.rsp = 0xffffc90000001000;
	c->user_regs.rbp = 7;
	c->user_regs.r8 = 8;
	c->user_regs.cs = FLAT_RING3_CS64; /* the kernel runs in ring 3 */
	c->ctrlreg[1] = 0x555000;
	c->ctrlreg[3] = 0x180000000000 | 0x3;
	us_xen_regs_of_pv(c, &r);
	assert_int_equal(r.pc, c->user_regs.rip);
	assert_int_equal(r.sp, c->user_regs.rsp);
	assert_int_equal(r.fp, 7);
	assert_int_equal(r.gpr[US_X86_R8], 8);
	assert_int_equal(r.bits, 64);
	assert_false(r.user);
	assert_int_equal(r.space.root, 0x180000000000);
	assert_int_equal(r.space.mode, US_PAGING_X86_4);
	c->flags = 0;
	us_xen_regs_of_pv(c, &r);
	assert_true(r.user);
	assert_int_equal(r.bits, 64);
	c->user_regs.cs = FLAT_RING3_CS32;
	us_xen_regs_of_pv(c, &r);
	assert_int_equal(r.bits, 32);
	test_free(c);
}

static void modes_of_arm64(void **state)
{
	(void)state;
	struct vcpu_guest_context_arm64 c = { .sctlr = 1,
					      .ttbcr = 16 | 16 << 16,
					      .ttbr0 = 0x41000000,
					      .ttbr1 = 0x42000000 };
	struct us_regs r;
	c.user_regs.pc64 = 0xffff800008010000;
	c.user_regs.x0 = 100;
	c.user_regs.x29 = 0xffff800008020000;
	c.user_regs.x30 = 130;
	c.user_regs.sp_el0 = 1;
	c.user_regs.sp_el1 = 2;
	c.user_regs.cpsr = 0x600003c5; /* EL1h */
	us_xen_regs_of_arm64(&c, &r);
	assert_int_equal(r.arch, US_ARCH_AARCH64);
	assert_int_equal(r.pc, c.user_regs.pc64);
	assert_int_equal(r.sp, 2);
	assert_int_equal(r.fp, c.user_regs.x29);
	assert_int_equal(r.gpr[0], 100);
	assert_int_equal(r.gpr[US_AARCH64_LR], 130);
	assert_int_equal(r.gpr[US_AARCH64_SP], 2);
	assert_int_equal(r.bits, 64);
	assert_false(r.user);
	assert_int_equal(r.space.mode, US_PAGING_AARCH64);
	assert_int_equal(r.space.root, 0x41000000);
	assert_int_equal(r.space.root_upper, 0x42000000);
	c.user_regs.cpsr = 0; /* EL0t */
	c.sctlr = 0;
	us_xen_regs_of_arm64(&c, &r);
	assert_true(r.user);
	assert_int_equal(r.sp, 1);
	assert_int_equal(r.space.mode, US_PAGING_OFF);
	c.user_regs.cpsr = 0x10; /* aarch32 */
	us_xen_regs_of_arm64(&c, &r);
	assert_int_equal(r.bits, 0);
}

/* What was broken off is told at the first instruction of an entry only. */
static void entries_of_arm64(void **state)
{
	(void)state;
	static const struct {
		uint64_t pc, cpsr, spsr;
		bool entered, user;
	} at[] = {
		{ 0xffff800008012c00, 0x600003c5, 0x80000000, true, true },
		{ 0xffff800008012c80, 0x600003c5, 0x80001000, true, true },
		{ 0xffff800008012a80, 0x600003c5, 0x60000005, true, false },
		{ 0xffff800008012880, 0x600003c5, 0x60000004, true, false },
		{ 0xffff800008012c04, 0x600003c5, 0, false, false }, /* the next one */
		{ 0xffff800008012a00, 0x600003c5, 0, false, false }, /* other group */
		{ 0xffff800008012c00, 0x600000c5, 0, false,
		  false }, /* not all masked */
		{ 0xffff800008012c00, 0x600003c0, 0, false, false }, /* of a program */
		{ 0xffff800008012e00, 0x600003c5, 0x10, false, false }, /* AArch32 */
	};
	struct vcpu_guest_context_arm64 c = { .sctlr = 1, .ttbcr = 16 | 16 << 16 };
	struct us_regs r;
	c.user_regs.sp_el0 = 0x1000;
	c.user_regs.sp_el1 = 0x2000;
	c.user_regs.elr_el1 = 0x3000;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		c.user_regs.pc64 = at[i].pc;
		c.user_regs.cpsr = at[i].cpsr;
		c.user_regs.spsr_el1 = at[i].spsr;
		us_xen_regs_of_arm64(&c, &r);
		assert_int_equal(r.entered.valid, at[i].entered);
		assert_int_equal(r.entered.user, at[i].user);
		assert_int_equal(r.entered.guessed, at[i].entered);
		assert_int_equal(r.entered.pc, at[i].entered ? 0x3000 : 0);
		if (at[i].entered)
			assert_int_equal(r.entered.sp,
					 (at[i].spsr & 15) == 5 ? 0x2000 : 0x1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_mode_of_pvh),
		cmocka_unit_test(narrow_modes_have_bases),
		cmocka_unit_test(kernel_and_program_of_pv),
		cmocka_unit_test(modes_of_arm64),
		cmocka_unit_test(entries_of_arm64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
