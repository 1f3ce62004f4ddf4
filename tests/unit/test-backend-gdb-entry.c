/* SPDX-License-Identifier: GPL-2.0-or-later */
/* At the first instruction of an exception's entry, what GDB's registers tell of what
 * was interrupted. */
#include "gdb-documents.h"

#include <inttypes.h>

static void answer(const struct us_gdb_layout *l, unsigned reg, uint64_t v,
		   struct us_gdb_apart *a)
{
	char text[17];
	snprintf(text, sizeof(text), "%016" PRIx64, __builtin_bswap64(v));
	us_gdb_decode_apart(l, reg - US_GDB_APART, text, 16, a);
}

/* At the first instruction of an entry, the registers tell what was broken off. */
static void aarch64_enters_an_exception(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>aarch64</architecture>"
		"<reg name='sp' bitsize='64'/><reg name='pc' bitsize='64'/>"
		"<reg name='VBAR' bitsize='64' regnum='100'/>"
		"<reg name='ELR_EL1' bitsize='64' regnum='101'/>"
		"<reg name='SPSR_EL1' bitsize='64' regnum='102'/>"
		"<reg name='SP_EL0' bitsize='64' regnum='103'/></target>";
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	struct us_gdb_apart a = { 0 };
	struct us_regs r = { .pc = 0xffff000000080280,
			     .sp = 0xffff000000100000,
			     .bits = 64 };
	r.space.mode = US_PAGING_AARCH64;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	assert_true(us_gdb_may_be_entering(&l, &r));
	answer(&l, US_GDB_VBAR, 0xffff000000080000, &a);
	answer(&l, US_GDB_ELR, 0xffff000000012344, &a);
	answer(&l, US_GDB_SP_EL0, 0x7ffffff0, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid); /* not all that is needed is known */
	answer(&l, US_GDB_SPSR, 0x3c5, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && !r.entered.user);
	assert_int_equal(r.entered.pc, 0xffff000000012344);
	assert_int_equal(r.entered.sp, r.sp);
	answer(&l, US_GDB_SPSR, 0, &a); /* from a program */
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && r.entered.user);
	assert_int_equal(r.entered.sp, 0x7ffffff0);
	r.entered.valid = false;
	answer(&l, US_GDB_SPSR, 0x10, &a); /* 32-bit code */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	answer(&l, US_GDB_SPSR, 0, &a);
	r.space.mode = US_PAGING_OFF; /* EL1 that translates nothing yet */
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid);
	r.entered.valid = false;
	r.space.mode = US_PAGING_UNKNOWN; /* EL2 */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	r.space.mode = US_PAGING_AARCH64;
	r.pc = 0xffff000000080800; /* behind the entries */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	r.pc = 0xffff000000080284; /* behind the first instruction */
	assert_false(us_gdb_may_be_entering(&l, &r));
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	/* Within an entry from programs, once it is known where these are. */
	r.valid = UINT32_MAX;
	r.pc = 0xffff00000008041c;
	assert_false(us_gdb_may_be_entering(&l, &r));
	us_gdb_learn_entry(&l, &r); /* nothing was entered */
	assert_false(us_gdb_may_be_entering(&l, &r));
	r.pc = 0xffff000000080400;
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && r.valid & 1U << US_AARCH64_LR);
	for (unsigned k = 0; k < 2 * US_GDB_TABLES; k++) /* once is enough */
		us_gdb_learn_entry(&l, &r);
	assert_int_equal(l.n_table, 1);
	r.pc = 0xffff00000008041c;
	assert_true(us_gdb_may_be_entering(&l, &r));
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && r.entered.user);
	assert_int_equal(r.entered.pc, 0xffff000000012344);
	assert_false(r.valid & 1U << US_AARCH64_LR); /* it may be used by then */
	a.v[US_GDB_TPIDRRO - US_GDB_APART] = 0x401234;
	r.valid = UINT32_MAX;
	us_gdb_set_entered(&l, &a, &r);
	assert_int_equal(r.gpr[US_AARCH64_LR], 0x401234);
	assert_true(r.valid & 1U << US_AARCH64_LR);
	answer(&l, US_GDB_SPSR, 0x3c5, &a); /* not from one */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	answer(&l, US_GDB_SPSR, 0, &a);
	r.user = true;
	assert_false(us_gdb_may_be_entering(&l, &r));
	r.user = false;
	r.pc = 0xffff000000080c00;
	assert_true(us_gdb_may_be_entering(&l, &r)); /* by where it is */
	r.pc += 4;
	assert_false(us_gdb_may_be_entering(&l, &r));
	r.pc = 0xffff000000080284;
	/* Wherever it is, this is what it has left. */
	struct us_entered left;
	assert_true(us_gdb_get_left(&l, &a, &r, &left) && left.user);
	assert_int_equal(left.pc, 0xffff000000012344);
	assert_int_equal(left.sp, 0x7ffffff0);
	answer(&l, US_GDB_SPSR, 0x10, &a);
	assert_false(us_gdb_get_left(&l, &a, &r, &left));
}

/* EL2 and EL3 have registers of their own, and are not asked for those of EL1. */
static void aarch64_enters_at_a_higher_level(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>aarch64</architecture>"
		"<reg name='sp' bitsize='64'/><reg name='pc' bitsize='64'/>"
		"<reg name='cpsr' bitsize='32'/>"
		"<reg name='VBAR' bitsize='64' regnum='100'/>"
		"<reg name='ELR_EL1' bitsize='64' regnum='101'/>"
		"<reg name='SPSR_EL1' bitsize='64' regnum='102'/>"
		"<reg name='SP_EL0' bitsize='64' regnum='103'/>"
		"<reg name='VBAR_EL2' bitsize='64' regnum='104'/>"
		"<reg name='ELR_EL2' bitsize='64' regnum='105'/>"
		"<reg name='SPSR_EL2' bitsize='64' regnum='106'/>"
		"<reg name='VBAR_EL3' bitsize='64' regnum='107'/>"
		"<reg name='ELR_EL3' bitsize='64' regnum='108'/>"
		"<reg name='SPSR_EL3' bitsize='64' regnum='109'/></target>";
	static const struct {
		const char *g;
		unsigned vbar, elr, spsr;
		uint64_t h, t;
	} at[] = {
		{ "0000104000000000800a204000000000c9030000", US_GDB_VBAR_EL2,
		  US_GDB_ELR_EL2, US_GDB_SPSR_EL2, 0x20000209, 0x208 },
		{ "0000104000000000800a204000000000cd030000", US_GDB_VBAR_EL3,
		  US_GDB_ELR_EL3, US_GDB_SPSR_EL3, 0x2000020d, 0x20c },
	};
	static const uint64_t below[] = { 0, 0x204, 0x205, 0x10, 0x1d };
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct us_gdb_apart a = { 0 };
		struct us_gdb_code code;
		struct us_regs r;
		struct us_entered left;
		assert_int_equal(us_gdb_decode(&l, at[i].g, strlen(at[i].g), &r, &code),
				 0);
		assert_true(us_gdb_may_be_entering(&l, &r));
		answer(&l, US_GDB_VBAR, 0x40200800, &a); /* these say nothing there */
		answer(&l, US_GDB_ELR, 0x1234, &a);
		answer(&l, US_GDB_SPSR, 0x3c5, &a);
		answer(&l, US_GDB_SP_EL0, 0x40180000, &a);
		us_gdb_set_entered(&l, &a, &r);
		assert_false(r.entered.valid);
		assert_int_equal(us_gdb_entry_needs(&l, &r),
				 1ULL << (at[i].vbar - US_GDB_APART) |
					 1ULL << (at[i].elr - US_GDB_APART) |
					 1ULL << (at[i].spsr - US_GDB_APART) |
					 1ULL << (US_GDB_SP_EL0 - US_GDB_APART));
		answer(&l, at[i].vbar, 0x40200800, &a);
		answer(&l, at[i].elr, 0x40200ff8, &a);
		answer(&l, at[i].spsr, at[i].h, &a);
		us_gdb_set_entered(&l, &a, &r);
		assert_true(r.entered.valid && !r.entered.user && !r.entered.other_sp);
		assert_int_equal(r.entered.pc, 0x40200ff8);
		assert_int_equal(r.entered.sp, 0x40100000);
		assert_int_equal(r.entered.vector, 0x40200800);
		answer(&l, at[i].spsr, at[i].t, &a);
		us_gdb_set_entered(&l, &a, &r);
		assert_true(r.entered.valid && !r.entered.user && r.entered.other_sp);
		assert_int_equal(r.entered.sp, 0x40180000);
		assert_true(us_gdb_get_left(&l, &a, &r, &left));
		assert_int_equal(left.pc, 0x40200ff8);
		r.entered.valid = false;
		for (unsigned k = 0; k < sizeof(below) / sizeof(*below); k++) {
			answer(&l, at[i].spsr, below[k], &a);
			us_gdb_set_entered(&l, &a, &r);
			assert_false(r.entered.valid);
			assert_false(us_gdb_get_left(&l, &a, &r, &left));
		}
		answer(&l, at[i].spsr, at[i ^ 1].h, &a); /* of another level */
		us_gdb_set_entered(&l, &a, &r);
		assert_false(r.entered.valid);
		answer(&l, at[i].spsr, at[i].h, &a);
		r.pc += 4; /* behind the first instruction */
		us_gdb_set_entered(&l, &a, &r);
		assert_false(r.entered.valid);
	}
}

static void riscv_enters_a_trap(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>riscv:rv64</architecture>"
		"<reg name='sp' bitsize='64'/><reg name='pc' bitsize='64'/>"
		"<reg name='sstatus' bitsize='64' regnum='322'/>"
		"<reg name='stvec' bitsize='64' regnum='327'/>"
		"<reg name='sepc' bitsize='64' regnum='387'/></target>";
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	struct us_gdb_apart a = { 0 };
	struct us_regs r = { .pc = 0x80001000,
			     .sp = 0x80010000,
			     .bits = 64,
			     .space.mode = US_PAGING_UNKNOWN };
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	answer(&l, US_GDB_STVEC, 0x80001000, &a);
	answer(&l, US_GDB_SEPC, 0x10234, &a);
	answer(&l, US_GDB_SSTATUS, 0x20, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid); /* how it translates is not known */
	r.space.mode = US_PAGING_RISCV_48;
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && r.entered.user);
	assert_int_equal(r.entered.pc, 0x10234);
	assert_int_equal(r.entered.sp, r.sp);
	answer(&l, US_GDB_SSTATUS, 0x120, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.user);
	/* An entry for each interrupt, if it says so. */
	r.entered.valid = false;
	r.pc += 4 * 5;
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	answer(&l, US_GDB_STVEC, 0x80001001, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid);
	struct us_entered left;
	r.pc = 0x80002002;
	assert_true(us_gdb_get_left(&l, &a, &r, &left) && !left.user);
	assert_int_equal(left.pc, 0x10234);
	r.space.mode = US_PAGING_OFF;
	assert_true(us_gdb_get_left(&l, &a, &r, &left) && !left.user);
	r.machine = true; /* the stub has nothing of M-mode */
	assert_false(us_gdb_get_left(&l, &a, &r, &left));
}

static void riscv_enters_a_trap_in_machine_mode(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>riscv:rv64</architecture>"
		"<reg name='sp' bitsize='64'/><reg name='pc' bitsize='64'/>"
		"<reg name='priv' bitsize='64' regnum='65'/>"
		"<reg name='satp' bitsize='64' regnum='450'/>"
		"<reg name='stvec' bitsize='64' regnum='327'/>"
		"<reg name='mstatus' bitsize='64' regnum='834'/>"
		"<reg name='mtvec' bitsize='64' regnum='839'/>"
		"<reg name='mepc' bitsize='64' regnum='899'/></target>";
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	struct us_gdb_apart a = { 0 };
	struct us_gdb_code code = { 0 };
	struct us_regs r = { .pc = 0x80001000, .sp = 0x80010000, .bits = 64 };
	struct us_entered left;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	answer(&l, US_GDB_PRIV, 3, &a);
	answer(&l, US_GDB_SATP, 0x8000000000080000, &a);
	us_gdb_set_space(&l, &a, &code, &r);
	assert_true(r.machine && r.space.mode == US_PAGING_OFF);
	/* What is asked for is that mode's alone. */
	assert_true(us_gdb_entry_needs(&l, &r) >> (US_GDB_MEPC - US_GDB_APART) & 1);
	assert_false(us_gdb_entry_needs(&l, &r) >> (US_GDB_SEPC - US_GDB_APART) & 1);
	answer(&l, US_GDB_MTVEC, 0x80001000, &a);
	answer(&l, US_GDB_MEPC, 0x80000234, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);		/* from which mode? */
	answer(&l, US_GDB_MSTATUS, 0x0880, &a); /* S-mode, whose space is another */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	assert_true(us_gdb_get_left(&l, &a, &r, &left) && left.below && !left.user);
	assert_int_equal(left.pc, 0x80000234);
	answer(&l, US_GDB_MSTATUS, 0x0080, &a); /* a program's, too */
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	assert_true(us_gdb_get_left(&l, &a, &r, &left) && left.below && left.user);
	answer(&l, US_GDB_MSTATUS, 0x1080, &a); /* there is none */
	assert_false(us_gdb_get_left(&l, &a, &r, &left));
	answer(&l, US_GDB_MSTATUS, 0x1880, &a);
	us_gdb_set_entered(&l, &a, &r);
	assert_true(r.entered.valid && !r.entered.user);
	assert_int_equal(r.entered.pc, 0x80000234);
	assert_int_equal(r.entered.sp, r.sp);
	r.entered.valid = false;
	r.pc += 4;
	us_gdb_set_entered(&l, &a, &r);
	assert_false(r.entered.valid);
	assert_true(us_gdb_get_left(&l, &a, &r, &left));
	answer(&l, US_GDB_PRIV, 1, &a);
	us_gdb_set_space(&l, &a, &code, &r);
	assert_false(r.machine);
	assert_int_equal(r.space.mode, US_PAGING_RISCV_39);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(aarch64_enters_an_exception),
		cmocka_unit_test(aarch64_enters_at_a_higher_level),
		cmocka_unit_test(riscv_enters_a_trap),
		cmocka_unit_test(riscv_enters_a_trap_in_machine_mode),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
