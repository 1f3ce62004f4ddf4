/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hostile ORC tables, compiled and looked up: places first, then entries. */
#include "linux/orc.h"

#include <stdint.h>
#include <string.h>

#define AT 0xffffffff8b000000ULL

static volatile uint64_t sink;

static void compile(const struct us_orc *o, const struct us_orc_format *f)
{
	struct us_cfi_builder *b;
	struct us_cfi_table *t;
	struct us_cfi_row row;
	if (us_cfi_builder_new(8, &b) < 0)
		return;
	if (us_orc_compile(o, f, b) == 0 && us_cfi_builder_finish(b, &t) == 0) {
		for (size_t k = 0; k < o->n; k++) {
			if (!us_cfi_table_find(t, us_orc_place(o, k), &row))
				continue;
			if (row.rule->n_saved > US_CFI_MAX_SAVED)
				__builtin_trap();
			for (unsigned s = 0; s < row.rule->n_saved; s++)
				sink += (uint64_t)row.saved[s].off;
		}
		us_cfi_table_free(t);
	}
	us_cfi_builder_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct us_orc_format f;
	if (size < 1 + 10 || size > 4096)
		return 0;
	struct us_orc o = { .ip_at = AT, .n = (size - 1) / 10 };
	o.ip = data + 1;
	o.entry = o.ip + 4 * o.n;
	f.types_of_64 = data[0] & 1;
	f.signal_bit = data[0] & 2;
	f.registers_of_7 = data[0] & 4;
	compile(&o, &f);
	if (us_orc_detect(&o, &f))
		compile(&o, &f);
	return 0;
}
