/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hostile call frame information: made into a table, and looked up in it.
 *
 * Input: a byte for the machine and the class, two for how much of the rest is
 * .eh_frame (at EH_ADDR); what is left is .debug_frame, packed if the second bit is
 * set.  The code is from CODE to EH_ADDR.
 */
#include "symbol/elf_cfi.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CODE	0x1000
#define EH_ADDR 0x100000
#define PROBES	64

static volatile uint64_t sink;

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void look(const struct us_cfi_table *t, uint64_t addr)
{
	struct us_cfi_row row;
	if (!us_cfi_table_find(t, addr, &row))
		return;
	check(row.rule->n_saved <= US_CFI_MAX_SAVED);
	check(row.start <= addr);
	for (unsigned i = 0; i < row.rule->n_saved; i++) {
		check(row.saved[i].reg < US_CFI_MAX_SAVED);
		check(row.saved[i].how <= US_CFI_BAD);
		sink += (uint64_t)row.saved[i].off;
	}
	sink += (uint64_t)row.rule->cfa_off + row.rule->pc;
}

static void look_everywhere(const struct us_cfi_table *t)
{
	struct us_cfi_table_info info;
	struct us_cfi c = { 0 };
	struct us_cfi_row row;
	us_cfi_table_info(t, &info);
	check(info.start <= info.end && info.start < EH_ADDR && info.end <= EH_ADDR);
	for (uint64_t at = CODE; at < CODE + PROBES; at++)
		look(t, at);
	for (uint64_t i = 0; i < PROBES; i++)
		look(t, CODE + i * ((EH_ADDR - CODE) / PROBES));
	look(t, info.start);
	look(t, info.end);
	if (us_cfi_place(&c, t, UINT64_MAX << 32, US_CFI_ANY_ROOT) == 0)
		sink += us_cfi_find(&c, 0, info.start + (UINT64_MAX << 32), &row);
}

static void read_tables(const struct us_elf_file *f)
{
	struct us_cfi_table *t;
	struct us_elf_cfi_stats stats;
	struct us_err e;
	if (us_elf_cfi_read(f, NULL, &t, &stats, &e) < 0)
		return;
	look_everywhere(t);
	us_cfi_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machine[] = { EM_X86_64, EM_386, EM_AARCH64, EM_RISCV };
	if (size < 3)
		return 0;
	size_t len = data[1] | (size_t)data[2] << 8;
	if (len > size - 3)
		len = size - 3;
	struct us_elf_code code = { .start = CODE, .end = EH_ADDR };
	struct us_elf_section section[3] = {
		{ .name = "" },
		{ .name = ".eh_frame",
		  .type = SHT_PROGBITS,
		  .addr = EH_ADDR,
		  .offset = 3,
		  .size = len },
		{ .name = ".debug_frame",
		  .type = SHT_PROGBITS,
		  .flags = data[0] & 2 ? SHF_COMPRESSED : 0,
		  .offset = 3 + len,
		  .size = size - 3 - len },
	};
	struct us_elf_file f = { .bytes = data,
				 .size = size,
				 .is64 = !(data[0] & 1),
				 .machine = machine[data[0] >> 2 & 3],
				 .section = section,
				 .n_section = 3,
				 .code = &code,
				 .n_code = 1 };
	read_tables(&f);
	return 0;
}
