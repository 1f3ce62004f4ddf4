/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GDB remote packets, register descriptions, and peers that misbehave. */
#include "unit.h"

#include "backend/gdb/client.h"
#include "backend/gdb/code.h"
#include "backend/gdb/target.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct us_gdb_parser parser;

static enum us_gdb_event feed(const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	return us_gdb_parse(&parser, &at, at + strlen(text));
}

static void packets_are_decoded(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	assert_int_equal(feed("+"), US_GDB_ACK);
	assert_int_equal(feed("-"), US_GDB_NAK);
	assert_int_equal(feed("$OK#9a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "OK");
	assert_int_equal(feed("$O"), US_GDB_MORE);
	assert_int_equal(feed("K#9"), US_GDB_MORE);
	assert_int_equal(feed("A"), US_GDB_PACKET_END);
	assert_int_equal(feed("%Stop:T02#96"), US_GDB_NOTE);
	assert_int_equal(feed("$#00"), US_GDB_PACKET_END);
	assert_int_equal(parser.len, 0);
}

static void runs_and_escapes_are_undone(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	/* The GDB manual's example: "0* " is "0000". */
	assert_int_equal(feed("$0* #7a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "0000");
	assert_int_equal(feed("$a}\x03"
			      "b#43"),
			 US_GDB_PACKET_END);
	assert_string_equal(parser.body, "a#b");
}

static void broken_packets_are_refused(void **state)
{
	(void)state;
	us_gdb_parser_init(&parser);
	assert_int_equal(feed("$OK#9b"), US_GDB_BAD);
	assert_int_equal(feed("$OK#zz"), US_GDB_BAD);
	assert_int_equal(feed("$* #4a"), US_GDB_BAD); /* a run of nothing */
	assert_int_equal(feed("$lost$OK#9a"), US_GDB_PACKET_END);
	assert_string_equal(parser.body, "OK");

	/* Longer than any packet may be, by bytes and by a bomb of runs. */
	assert_int_equal(feed("$"), US_GDB_MORE);
	for (unsigned i = 0; i <= US_GDB_PACKET / 8; i++)
		assert_int_equal(feed("00000000"), US_GDB_MORE);
	assert_int_equal(feed("#00"), US_GDB_BAD);
	assert_int_equal(feed("$0"), US_GDB_MORE);
	for (unsigned i = 0; i < 2000; i++)
		assert_int_equal(feed("*~"), US_GDB_MORE);
	assert_int_equal(feed("#00"), US_GDB_BAD);
	assert_true(parser.len <= US_GDB_PACKET);
	assert_int_equal(feed("$OK#9a"), US_GDB_PACKET_END);
}

static void stop_replies_are_told(void **state)
{
	(void)state;
	assert_int_equal(us_gdb_stop_kind("T02thread:01;", 13), US_GDB_STOPPED);
	assert_int_equal(us_gdb_stop_kind("S05", 3), US_GDB_STOPPED);
	assert_int_equal(us_gdb_stop_kind("W00", 3), US_GDB_GONE);
	assert_int_equal(us_gdb_stop_kind("X09", 3), US_GDB_GONE);
	assert_int_equal(us_gdb_stop_kind("OK", 2), US_GDB_NOT_STOP);
	assert_int_equal(us_gdb_stop_kind("4350", 4), US_GDB_NOT_STOP);
	assert_int_equal(us_gdb_stop_kind("T", 1), US_GDB_NOT_STOP);
}

/* Register descriptions. */

struct documents {
	const char *target, *included;
};

static int fetch(void *ctx, const char *name, char **ret, size_t *ret_len,
		 struct us_err *e)
{
	const struct documents *d = ctx;
	const char *text = strcmp(name, "target.xml") ? d->included : d->target;
	if (!text)
		return us_fail(e, -ENOENT, "no %s", name);
	*ret = strdup(text);
	*ret_len = strlen(text);
	return *ret ? 0 : -ENOMEM;
}

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

/* Peers. */

struct peer {
	int fd;
	const char *says; /* after each read, again and again */
	int pause_us;
	int times; /* then it hangs up; 0: never */
	char heard[4096];
	size_t n_heard;
	pthread_t thread;
};

static void *peer_main(void *arg)
{
	struct peer *p = arg;
	char buf[512];
	for (int i = 0; !p->times || i < p->times; i++) {
		ssize_t n = recv(p->fd, buf, sizeof(buf),
				 p->pause_us ? MSG_DONTWAIT : 0);
		if (n == 0 || (n < 0 && !p->pause_us))
			break;
		for (ssize_t k = 0; k < n && p->n_heard < sizeof(p->heard) - 1; k++)
			p->heard[p->n_heard++] = buf[k];
		usleep((useconds_t)p->pause_us);
		if (send(p->fd, p->says, strlen(p->says), MSG_NOSIGNAL) < 0)
			break;
	}
	if (p->times)
		shutdown(p->fd, SHUT_RDWR);
	return NULL;
}

static struct us_gdb gdb;

static void peer_start(struct peer *p)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	p->fd = pair[1];
	us_gdb_init(&gdb, pair[0]);
	assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static void peer_end(struct peer *p)
{
	us_gdb_fini(&gdb);
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
}

static void exchanges_are_acknowledged(void **state)
{
	(void)state;
	struct peer p = { .says = "+$OK#9a" };
	peer_start(&p);
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_ask(&gdb, "qC", deadline), 0);
	assert_true(us_gdb_said(&gdb, "OK"));
	assert_int_equal(us_gdb_ask(&gdb, "g", deadline), 0);
	assert_int_equal(us_gdb_wait_ack(&gdb), 0);
	peer_end(&p);
	assert_string_equal(p.heard, "$qC#b4+$g#67");
}

/* QEMU that writes a snapshot hears nothing for as long as that takes. */
static void late_acknowledgements_are_waited_for(void **state)
{
	(void)state;
	struct peer p = { .says = "+", .pause_us = 150000, .times = 1 };
	peer_start(&p);
	gdb.acks = true;
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_put(&gdb, "c"), 0);
	assert_int_equal(us_gdb_flush(&gdb, deadline), 0);
	assert_int_equal(us_gdb_wait_ack(&gdb), 0);
	assert_int_equal(gdb.sent, 0);
	assert_false(gdb.silent);
	peer_end(&p);
}

static void misbehaviour_ends_in_an_error(void **state)
{
	(void)state;
	static const struct {
		struct peer peer;
		int code;
	} cases[] = {
		{ { .says = "" }, -ETIMEDOUT },
		{ { .says = "+$O", .times = 1 }, -ECONNRESET },
		{ { .says = "", .times = 1 }, -ECONNRESET },
		{ { .says = "-" }, -EPROTO },
		{ { .says = "+$OK#00" }, -EPROTO },
		{ { .says = "$", .pause_us = 100 }, -ETIMEDOUT },
		{ { .says = "++++++++++++++++", .pause_us = 100 }, -ETIMEDOUT },
		{ { .says = "%x#78", .pause_us = 10 }, -EPROTO },
		{ { .says = "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n"
			    "<html>no, this is no stub at all</html>" },
		  -EPROTO },
		{ { .says = "SSH-2.0-OpenSSH_9.2p1\r\n" }, -EPROTO },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct peer p = cases[i].peer;
		struct us_err e = { 0 };
		peer_start(&p);
		bool waits = cases[i].code == -ETIMEDOUT;
		uint64_t deadline = us_now_ns() + (waits ? 200 : 60000) * US_NS_PER_MS;
		int r = us_gdb_ask_explain(&gdb, "qSupported", deadline, &e);
		assert_int_equal(r, cases[i].code);
		assert_non_null(strstr(e.msg, "asking the stub \"qSupported\": it"));
		peer_end(&p);
	}
}

static void a_refused_packet_is_sent_again(void **state)
{
	(void)state;
	struct peer p = { .says = "-" };
	peer_start(&p);
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_ask(&gdb, "c", deadline), -EPROTO);
	peer_end(&p);
	assert_string_equal(p.heard, "$c#63$c#63$c#63$c#63");
}

static const char protected_mode[] =
	"\r\nCPU#0\r\nEAX=0 EBX=0 ECX=0 EDX=0\r\nESI=0 EDI=0 EBP=0 ESP=7000\r\n"
	"EIP=00001000 EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=0\r\n"
	"CS =0008 00010000 ffffffff 00009b00 DPL=0 CS16 [-RA]\r\n"
	"SS =0010 00000000 ffffffff 00cf9300 DPL=0 DS   [-WA]\r\n"
	"CR0=00000011 CR2=00000000 CR3=00000000 CR4=00000000\r\n";

/* The packets of a monitor's output: "O" and its bytes, then OK. */
static const char *as_console(const char *text)
{
	static char packets[2048];
	unsigned sum = 'O';
	char *to = packets + sprintf(packets, "$O");
	for (char *from = to; *text; from = to) {
		to += sprintf(to, "%02x", (unsigned char)*text++);
		sum += (unsigned char)from[0] + (unsigned char)from[1];
	}
	sprintf(to, "#%02x$OK#9a", sum & 255);
	return packets;
}

static unsigned times_asked(const struct peer *p)
{
	unsigned n = 0;
	for (const char *at = p->heard; (at = strstr(at, "$qRcmd,")); at++)
		n++;
	return n;
}

/* One vCPU in protected mode at cs:ip; what the stub alone would make of it. */
static us_gva settled(struct us_gdb_codes *c, uint16_t cs, us_gva ip, uint8_t *ret_bits)
{
	struct us_gdb_code code = { .open = true, .mode = 1, .selector = cs, .ip = ip };
	struct us_regs r = { .pc = ip, .bits = 32 };
	uint64_t deadline = us_now_ns() + 60 * US_NS_PER_SEC;
	assert_int_equal(us_gdb_codes_settle(c, &gdb, 1, &code, &r, deadline), 0);
	*ret_bits = r.bits;
	return r.pc;
}

static void code_segments_are_asked_of_the_monitor(void **state)
{
	(void)state;
	struct us_gdb_codes c = { 0 };
	struct us_err e;
	uint8_t bits;
	struct peer p = { .says = as_console(protected_mode) };
	peer_start(&p);
	gdb.no_ack = true;
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000); /* no monitor */
	assert_int_equal(us_gdb_codes_init(&c, 1, &e), 0);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x11000);
	assert_int_equal(bits, 16);
	for (us_gva ip = 1; ip < US_GDB_CODE_TRUST; ip++) /* remembered */
		assert_int_equal(settled(&c, 8, ip, &bits), 0x10000 + ip);
	assert_int_equal(times_asked(&p), 1);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x11000);
	assert_int_equal(times_asked(&p), 2);
	/* The monitor speaks of another moment, or of another vCPU. */
	assert_int_equal(settled(&c, 0x20, 0x5000, &bits), 0x5000);
	assert_int_equal(bits, 32);
	us_gdb_codes_fini(&c);
	peer_end(&p);
}

static void a_stub_without_a_monitor_is_asked_once(void **state)
{
	(void)state;
	struct us_gdb_codes c = { 0 };
	struct us_err e;
	uint8_t bits;
	struct peer p = { .says = "$#00" };
	peer_start(&p);
	gdb.no_ack = true;
	assert_int_equal(us_gdb_codes_init(&c, 1, &e), 0);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000);
	assert_int_equal(settled(&c, 8, 0x1000, &bits), 0x1000);
	assert_int_equal(times_asked(&p), 1);
	us_gdb_codes_fini(&c);
	peer_end(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_are_decoded),
		cmocka_unit_test(runs_and_escapes_are_undone),
		cmocka_unit_test(broken_packets_are_refused),
		cmocka_unit_test(stop_replies_are_told),
		cmocka_unit_test(layout_follows_the_description),
		cmocka_unit_test(real_mode_has_a_segment_base),
		cmocka_unit_test(aarch64_has_registers_apart),
		cmocka_unit_test(riscv_has_names),
		cmocka_unit_test(aarch64_enters_an_exception),
		cmocka_unit_test(aarch64_enters_at_a_higher_level),
		cmocka_unit_test(riscv_enters_a_trap),
		cmocka_unit_test(riscv_enters_a_trap_in_machine_mode),
		cmocka_unit_test(strange_descriptions_are_refused),
		cmocka_unit_test(classical_layouts),
		cmocka_unit_test(a_stub_of_i386),
		cmocka_unit_test(code_segments_are_asked_of_the_monitor),
		cmocka_unit_test(a_stub_without_a_monitor_is_asked_once),
		cmocka_unit_test(exchanges_are_acknowledged),
		cmocka_unit_test(late_acknowledgements_are_waited_for),
		cmocka_unit_test(misbehaviour_ends_in_an_error),
		cmocka_unit_test(a_refused_packet_is_sent_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
