/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Register descriptions of GDB stubs, and what registers are made of them. */
#include "gdb-documents.h"

#include <errno.h>

static const char target_xml[] =
	"<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target>"
	"<architecture>i386:x86-64</architecture><xi:include href=\"a.xml\"/></target>";
static const char included_xml[] =
	"<feature name='x'><!-- <reg name=\"no\" bitsize=\"64\"/> -->"
	"<flags id=\"f\" size=\"4\"><field name=\"PG\" start=\"31\" "
	"end=\"31\"/></flags>"
	"<reg name=\"rax\" bitsize=\"64\" type=\"int64\" regnum=\"0\"/>"
	"<reg name='rsp' bitsize='64'/><reg name=\"rip\" bitsize=\"64\"/>"
	"<reg name=\"eflags\" bitsize=\"32\"/><reg name=\"cs\" bitsize=\"32\"/>"
	"<reg name=\"cr0\" bitsize=\"64\"/><reg name=\"cr3\" bitsize=\"64\"/>"
	"<reg name=\"cr4\" bitsize=\"64\"/><reg name=\"efer\" "
	"bitsize=\"64\"/></feature>";

static void layout_follows_the_description(void **state)
{
	(void)state;
	struct documents d = { target_xml, included_xml };
	struct us_gdb_layout l;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	assert_true(l.wide && l.controls);
	assert_int_equal(l.reg[US_GDB_PC].at, 16);
	assert_int_equal(l.reg[US_GDB_CS].at, 28);
	assert_int_equal(l.reg[US_GDB_CR0].at, 32);
	assert_int_equal(l.reg[US_GDB_EFER].at, 56);

	/* rax 1, rsp, rip, eflags, cs; PG and PE; CR3; PAE; LMA and LME. */
	const char *g = "0100000000000000"
			"a8cf1080ffffffff1b101080ffffffff0200000008000000"
			"11000080000000000060110000000000200600000000000000050000"
			"00000000";
	struct us_regs r;
	struct us_gdb_code code;
	assert_int_equal(us_gdb_decode(&l, g, strlen(g), &r, &code), 0);
	assert_int_equal(r.pc, 0xffffffff8010101b);
	assert_int_equal(r.sp, 0xffffffff8010cfa8);
	assert_int_equal(r.space.mode, US_PAGING_X86_4);
	assert_int_equal(r.space.root, 0x116000);
	assert_int_equal(r.bits, 64);
	assert_false(code.open);
	assert_int_equal(r.valid, 1 << US_X86_RAX | 1 << US_X86_RSP);
	assert_false(r.user);
	assert_int_equal(us_gdb_decode(&l, g, strlen(g) - 2, &r, &code), -EPROTO);
	assert_int_equal(us_gdb_decode(&l, "", 0, &r, &code), -EPROTO);
}

static void real_mode_has_a_segment_base(void **state)
{
	(void)state;
	struct documents d = { target_xml, included_xml };
	struct us_gdb_layout l;
	struct us_regs r;
	struct us_gdb_code code;
	char g[129];
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	memset(g, '0', 128);
	g[128] = '\0';
	memcpy(g + 32, "f0ff", 4); /* ip fff0 */
	memcpy(g + 56, "00f0", 4); /* cs f000 */
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.bits, 16);
	assert_int_equal(r.space.mode, US_PAGING_OFF);
	assert_true(us_x86_at_reset(&r));
	memcpy(g + 32, "3412", 4);
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.pc, 0xf1234);
	assert_false(us_x86_at_reset(&r));
	assert_false(code.open);
	/* Protected mode, and long mode below 4 GiB: the descriptor decides. */
	g[64 + 1] = '1';
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.bits, 32);
	assert_int_equal(r.pc, 0x1234);
	assert_true(code.open);
	assert_int_equal(code.selector, 0xf000);
	memcpy(g + 112, "0005", 4);
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.bits, 64);
	assert_true(code.open);
	/* Control registers that the stub will not show: the mode is not known. */
	memset(g + 80, 'x', 16);
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.space.mode, US_PAGING_UNKNOWN);
}

/* As QEMU shows it before CPU_ON, and behind CPU_OFF; a halted vCPU that
 * waits for an interrupt has a stack, or has looked which vCPU it is. */
static void aarch64_is_off(void **state)
{
	struct us_regs r = { .arch = US_ARCH_AARCH64, .valid = 0x7fffffff };
	(void)state;
	assert_true(us_aarch64_is_off(&r));
	r.pc = 0x40080000;
	assert_true(us_aarch64_is_off(&r));
	r.sp = 0x400aff80;
	assert_false(us_aarch64_is_off(&r));
	r.gpr[0] = 0x84000002;
	assert_true(us_aarch64_is_off(&r));
	r.user = true;
	assert_false(us_aarch64_is_off(&r));
	r = (struct us_regs){ .arch = US_ARCH_AARCH64, .valid = 0x7fffffff };
	r.gpr[30] = 0x40080058;
	assert_false(us_aarch64_is_off(&r));
	r.gpr[30] = 0;
	r.valid = 0x3fffffff; /* not all of them are known */
	assert_false(us_aarch64_is_off(&r));
	r.valid = 0x7fffffff;
	r.arch = US_ARCH_RISCV64;
	assert_false(us_aarch64_is_off(&r));
}

/* As QEMU 7.2 has it; system registers come one by one, by their numbers. */
static void aarch64_has_registers_apart(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>aarch64</architecture>"
		"<reg name='x0' bitsize='64'/><reg name='x29' bitsize='64'/>"
		"<reg name='x30' bitsize='64'/><reg name='sp' bitsize='64'/>"
		"<reg name='pc' bitsize='64'/><reg name='cpsr' bitsize='32'/>"
		"<reg name='SCTLR' bitsize='64' regnum='92'/>"
		"<reg name='TTBR0_EL1' bitsize='64' regnum='171'/>"
		"<reg name='TCR_EL1' bitsize='64' regnum='174'/>"
		"<reg name='TTBR1_EL1' bitsize='64' regnum='175'/></target>";
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	assert_int_equal(l.arch, US_ARCH_AARCH64);
	assert_true(l.controls);
	assert_int_equal(l.reg[US_GDB_TCR].at, 174);
	const char *g = "0100000000000000"
			"90ff0a4000000000"
			"5800084000000000"
			"80ff0a4000000000"
			"2800084000000000"
			"c5030020";
	struct us_regs r;
	struct us_gdb_code code;
	assert_int_equal(us_gdb_decode(&l, g, strlen(g), &r, &code), 0);
	assert_int_equal(r.pc, 0x40080028);
	assert_int_equal(r.sp, 0x400aff80);
	assert_int_equal(r.fp, 0x400aff90);
	assert_int_equal(r.gpr[US_AARCH64_LR], 0x40080058);
	assert_int_equal(r.valid, 1U | 7U << 29);
	assert_int_equal(r.bits, 64);
	assert_false(r.user);
	assert_int_equal(r.space.mode, US_PAGING_UNKNOWN);

	static const char *const apart[] = { "0010000000007700", "0020000000000000",
					     "1900100080000000", "0100000000000000" };
	struct us_gdb_apart a = { 0 };
	for (unsigned i = 0; i < 4; i++) {
		us_gdb_set_space(&l, &a, &code, &r);
		assert_int_equal(r.space.mode, US_PAGING_UNKNOWN);
		us_gdb_decode_apart(&l, i, "E01", 3, &a);
		us_gdb_decode_apart(&l, i, apart[i], 16, &a);
	}
	us_gdb_set_space(&l, &a, &code, &r);
	assert_int_equal(r.space.mode, US_PAGING_AARCH64);
	assert_int_equal(r.space.root, 0x1000); /* the ASID is gone */
	assert_int_equal(r.space.root_upper, 0x2000);
	assert_int_equal(us_aarch64_va_bits(&r.space, false), 39);
	code.mode = 2; /* EL2 has tables of its own */
	r.space.mode = US_PAGING_UNKNOWN;
	us_gdb_set_space(&l, &a, &code, &r);
	assert_int_equal(r.space.mode, US_PAGING_UNKNOWN);
}

static void riscv_has_names(void **state)
{
	(void)state;
	static const char target[] =
		"<target><architecture>riscv:rv64</architecture>"
		"<reg name='ra' bitsize='64'/><reg name='sp' bitsize='64'/>"
		"<reg name='fp' bitsize='64'/><reg name='pc' bitsize='64'/>"
		"<reg name='priv' bitsize='64' regnum='65'/>"
		"<reg name='satp' bitsize='64' regnum='450'/>"
		"<reg name='other' bitsize='64' regnum='4161'/></target>";
	struct documents d = { target, NULL };
	struct us_gdb_layout l;
	assert_int_equal(us_gdb_layout_read(fetch, &d, &l, NULL), 0);
	assert_int_equal(l.arch, US_ARCH_RISCV64);
	const char *g = "3a00008000000000"
			"5010018000000000"
			"6010018000000000"
			"1e00008000000000";
	struct us_regs r;
	struct us_gdb_code code;
	assert_int_equal(us_gdb_decode(&l, g, strlen(g), &r, &code), 0);
	assert_int_equal(r.gpr[US_RISCV_RA], 0x8000003a);
	assert_int_equal(r.sp, 0x80011050);
	assert_int_equal(r.fp, 0x80011060);
	assert_int_equal(r.valid, 1U | 3U << 1 | 1U << 8);
	struct us_gdb_apart a = { 0 };
	us_gdb_decode_apart(&l, US_GDB_SATP - US_GDB_APART, "3412000000000080", 16, &a);
	us_gdb_decode_apart(&l, US_GDB_PRIV - US_GDB_APART, "0000000000000000", 16, &a);
	us_gdb_set_space(&l, &a, &code, &r);
	assert_int_equal(r.space.mode, US_PAGING_RISCV_39);
	assert_int_equal(r.space.root, 0x1234000);
	assert_true(r.user);
	us_gdb_decode_apart(&l, US_GDB_PRIV - US_GDB_APART, "0300000000000000", 16, &a);
	us_gdb_set_space(&l, &a, &code, &r);
	assert_int_equal(r.space.mode, US_PAGING_OFF); /* M-mode */
	assert_false(r.user);
}

static void strange_descriptions_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *target;
		int code;
	} cases[] = {
		{ "", -ENODATA },
		{ "<target><architecture>i386:x86-64</architecture></target>",
		  -ENODATA },
		{ "<architecture>arm</architecture><reg name='r0' bitsize='32'/>",
		  -ENOTSUP },
		{ "<architecture>aarch64</architecture><reg name='x0' bitsize='64'/>",
		  -EPROTO },
		{ "<reg name='rip' bitsize='64'/>", -EPROTO },
		{ "<reg name='rip'/>", -EPROTO },
		{ "<reg name='rip' bitsize='-1'/>", -EPROTO },
		{ "<reg name='rip' bitsize='64' regnum='65000'/>", -EPROTO },
		{ "<xi:include href='target.xml'/>", -EPROTO },
		{ "<xi:include href='gone.xml'/>", -ENOENT },
		{ "<reg name='rip' bitsize='64", -ENODATA },
		{ "<!-- <reg name='rip' bitsize='64'/>", -ENODATA },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct documents d = { cases[i].target, NULL };
		struct us_gdb_layout l;
		struct us_err e = { 0 };
		assert_int_equal(us_gdb_layout_read(fetch, &d, &l, &e), cases[i].code);
		assert_true(e.msg[0]);
	}
}

static void classical_layouts(void **state)
{
	(void)state;
	struct us_gdb_layout l;
	us_gdb_layout_classic(true, &l);
	assert_int_equal(l.reg[US_X86_RBP].at, 48);
	assert_int_equal(l.reg[US_GDB_PC].at, 128);
	assert_int_equal(l.reg[US_GDB_CS].at, 140);
	assert_false(l.controls);
	us_gdb_layout_classic(false, &l);
	assert_int_equal(l.reg[US_X86_RSP].at, 16);
	assert_int_equal(l.reg[US_GDB_PC].at, 32);
	assert_int_equal(l.reg[US_GDB_CS].at, 40);
	assert_int_equal(l.reg[US_GDB_SS].at, 44);
}

/* A stub of i386 without control registers: four bytes each, and memory is read by
 * virtual address. */
static void a_stub_of_i386(void **state)
{
	(void)state;
	struct us_gdb_layout l;
	struct us_regs r;
	struct us_gdb_code code;
	char g[2 * 64 + 1];
	us_gdb_layout_classic(false, &l);
	memset(g, '0', 128);
	g[128] = '\0';
	memcpy(g + 8, "78563412", 8);	   /* ecx */
	memcpy(g + 8 * 4, "603f00d0", 8);  /* esp */
	memcpy(g + 8 * 5, "a83f00d0", 8);  /* ebp */
	memcpy(g + 8 * 8, "40f010c0", 8);  /* eip */
	memcpy(g + 8 * 10, "23000000", 8); /* cs: ring 3 */
	assert_int_equal(us_gdb_decode(&l, g, 128, &r, &code), 0);
	assert_int_equal(r.bits, 32);
	assert_int_equal(r.pc, 0xc010f040);
	assert_int_equal(r.sp, 0xd0003f60);
	assert_int_equal(r.fp, 0xd0003fa8);
	assert_int_equal(r.gpr[US_X86_RCX], 0x12345678);
	assert_int_equal(r.valid, 0xff);
	assert_int_equal(r.space.mode, US_PAGING_UNKNOWN);
	assert_true(r.user);
	assert_false(code.open);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_follows_the_description),
		cmocka_unit_test(real_mode_has_a_segment_base),
		cmocka_unit_test(aarch64_is_off),
		cmocka_unit_test(aarch64_has_registers_apart),
		cmocka_unit_test(riscv_has_names),
		cmocka_unit_test(strange_descriptions_are_refused),
		cmocka_unit_test(classical_layouts),
		cmocka_unit_test(a_stub_of_i386),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
