/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_bits.c: see code_bits.h. */
#include "cmd/record/code_bits.h"

void us_code_bits_add(struct us_code_bits *b, const struct us_regs *regs)
{
	if (regs->arch == US_ARCH_X86_64 && (regs->bits == 32 || regs->bits == 64))
		atomic_fetch_add_explicit(&b->n[regs->user][regs->bits == 64], 1,
					  memory_order_relaxed);
}

int us_code_bits_write(struct us_code_bits *b, struct us_writer *w, struct us_err *e)
{
	static const char *const keys[] = { US_FACT_CODE_BITS, US_FACT_PROGRAM_BITS };
	for (unsigned user = 0; user < 2; user++) {
		uint32_t narrow = atomic_load_explicit(&b->n[user][0],
						       memory_order_relaxed);
		uint32_t wide = atomic_load_explicit(&b->n[user][1],
						     memory_order_relaxed);
		uint8_t bits = wide > narrow ? 64 : 32;
		if ((!wide && !narrow) || bits == b->written[user])
			continue;
		int r = us_writer_fact(w, keys[user], bits == 64 ? "64" : "32", e);
		if (r < 0)
			return r;
		b->written[user] = bits;
	}
	return 0;
}
