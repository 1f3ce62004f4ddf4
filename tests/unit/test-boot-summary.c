/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several boots have in common, and the entries of a kernel. */
#include "unit.h"

#include "boot/entry.h"
#include "boot/summary.h"

#include <elf.h>

#define MS 1000000

static const struct us_boot_plan plan = {
	.point = { { .kind = US_BOOT_LAUNCH, .name = "launch" },
		   { .kind = US_BOOT_SYMBOL, .name = "late" },
		   { .kind = US_BOOT_SYMBOL, .name = "early" },
		   { .kind = US_BOOT_TEXT, .name = "never" },
		   { .kind = US_BOOT_SERIAL, .name = "sometimes" } },
	.n = 5,
};

static void pass(struct us_boot_run *r, size_t point, uint64_t ms, uint64_t insns)
{
	r->at[point] = (struct us_boot_moment){
		.wall_ns = ms * MS, .cpu_ns = ms * MS / 2, .insns = insns, .seen = true
	};
}

static void rows_are_in_the_order_of_time(void **state)
{
	static struct us_boot_run run[3];
	struct us_boot_summary s;
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		pass(&run[i], 0, 0, 0);
		pass(&run[i], 1, 100 + 10 * i, 1000);
		pass(&run[i], 2, 50 + i, 400);
	}
	pass(&run[1], 4, 300, 0);
	assert_int_equal(us_boot_summarize(&plan, run, 3, &s), 0);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.row[0].point, 0);
	assert_int_equal(s.row[1].point, 2);
	assert_int_equal(s.row[2].point, 1);
	assert_int_equal(s.row[3].point, 4);
	assert_true(s.row[1].at.value == 51.0 * MS);
	assert_true(s.row[1].cpu.value == 25.5 * MS);
	assert_true(s.row[1].insns.value == 400);
	assert_false(s.row[1].at.sure);
	/* Phases: 50, 59, 68. */
	assert_true(s.row[2].phase.value == 59.0 * MS);
	assert_int_equal(s.row[3].n_seen, 1);
	assert_true(s.row[3].phase.value == 190.0 * MS);
}

static void nothing_was_seen(void **state)
{
	static struct us_boot_run run[1];
	struct us_boot_summary s;
	struct us_estimate e;
	(void)state;
	assert_int_equal(us_boot_summarize(&plan, run, 1, &s), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(us_boot_summarize(&plan, run, 0, &s), 0);
	assert_int_equal(us_boot_difference(run, 1, 1, run, 1, 1, &e), 0);
	assert_false(us_rank_differs(&e));
}

/* ---- A kernel's entries ---- */

struct kernel {
	Elf64_Ehdr header;
	uint32_t multiboot[8];
	uint32_t note[5];
};

static size_t entries_of(const struct kernel *k, uint64_t ret[US_BOOT_MAX_ENTRY])
{
	struct us_elf_segment segment[] = {
		{ .type = PT_LOAD,
		  .vaddr = 0xffffffff81000000,
		  .memsz = 0x1000,
		  .paddr = 0x1000000 },
		{ .type = PT_NOTE,
		  .offset = offsetof(struct kernel, note),
		  .filesz = sizeof(k->note) },
	};
	struct us_elf_file f = { .bytes = (const uint8_t *)k,
				 .size = sizeof(*k),
				 .is64 = true,
				 .segment = segment,
				 .n_segment = 2 };
	return us_boot_entries(&f, ret);
}

static void all_entries_are_found(void **state)
{
	uint64_t at[US_BOOT_MAX_ENTRY];
	uint32_t flags = 1U << 16;
	struct kernel k = {
		.header.e_entry = 0xffffffff81000040,
		.multiboot = { 0x1BADB002, flags, -(0x1BADB002 + flags), 0, 0, 0, 0,
			       0x100020 },
		.note = { 4, 4, 18, 0x006e6558, 0x100080 },
	};
	(void)state;
	assert_int_equal(entries_of(&k, at), 4);
	assert_true(at[0] == 0xffffffff81000040 && at[1] == 0x1000040);
	assert_true(at[2] == 0x100020 && at[3] == 0x100080);
}

static void false_headers_are_left(void **state)
{
	uint64_t at[US_BOOT_MAX_ENTRY];
	struct kernel k = {
		.header.e_entry = 0x100000,
		.multiboot = { 0x1BADB002, 1U << 16, 1, 0, 0, 0, 0, 0x100020 },
		.note = { 4, 0xfffffff0, 18, 0x00585858, 0x100080 },
	};
	(void)state;
	assert_int_equal(entries_of(&k, at), 1);
	assert_true(at[0] == 0x100000);
	k.note[0] = UINT32_MAX;
	assert_int_equal(entries_of(&k, at), 1);
}

/* One for a BIOS, behind a tag of another size, and two for EFI, which come last. */
static void all_entries_of_multiboot2_are_found(void **state)
{
	struct {
		Elf64_Ehdr header;
		uint32_t words[20];
	} k = {
		.header.e_entry = 0x100000,
		.words = { 0xE85250D6, 0,  80,	     -(0xE85250D6 + 80),
			   1,	       12, 6,	     0,
			   3,	       12, 0x100020, 0,
			   9,	       12, 0x100040, 0,
			   8,	       12, 0x100060, 0 },
	};
	const struct us_elf_file f = { .bytes = (const uint8_t *)&k,
				       .size = sizeof(k),
				       .is64 = true };
	uint64_t at[US_BOOT_MAX_ENTRY];
	(void)state;
	assert_int_equal(us_boot_entries(&f, at), 4);
	assert_true(at[0] == 0x100000 && at[1] == 0x100020 && at[2] == 0x100040 &&
		    at[3] == 0x100060);
	assert_int_equal(us_boot_entries_plain(&f, at), 2);
	/* Not behind the end tag, nor behind a tag of no size. */
	k.words[4] = 0;
	k.words[5] = 8;
	assert_int_equal(us_boot_entries(&f, at), 1);
	k.words[4] = 1;
	k.words[5] = 0;
	assert_int_equal(us_boot_entries(&f, at), 1);
	k.words[5] = UINT32_MAX;
	assert_int_equal(us_boot_entries(&f, at), 1);
	/* Another processor's; a false sum. */
	k.words[1] = 4;
	assert_int_equal(us_boot_entries(&f, at), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_in_the_order_of_time),
		cmocka_unit_test(nothing_was_seen),
		cmocka_unit_test(all_entries_are_found),
		cmocka_unit_test(false_headers_are_left),
		cmocka_unit_test(all_entries_of_multiboot2_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
