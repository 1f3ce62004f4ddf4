/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_bits.c: see code_bits.h. */
#include "cmd/record/code_bits.h"

static void count(_Atomic uint32_t *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static uint32_t counted(const _Atomic uint32_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

void us_code_bits_add(struct us_code_bits *b, const struct us_regs *regs,
		      enum us_unwind_end end)
{
	if (regs->arch != US_ARCH_X86_64)
		return;
	if (regs->bits == 32 || regs->bits == 64)
		count(&b->n[regs->user][regs->bits == 64]);
	if (regs->bits == 16)
		count(&b->of_16[regs->user]);
	if (end == US_END_MODE)
		count(&b->not_unwound[regs->bits == 16]);
}

/* 16-bit code is run on the way to wider code, which files are packed for. */
static uint8_t bits_of(const struct us_code_bits *b, unsigned user)
{
	uint32_t narrow = counted(&b->n[user][0]), wide = counted(&b->n[user][1]);
	if (!narrow && !wide)
		return counted(&b->of_16[user]) ? 16 : 0;
	return wide > narrow ? 64 : 32;
}

static uint8_t bits_not_unwound(const struct us_code_bits *b)
{
	uint32_t wide = counted(&b->not_unwound[0]), n16 = counted(&b->not_unwound[1]);
	return n16 > wide ? 16 : wide ? 32 : 0;
}

int us_code_bits_write(struct us_code_bits *b, struct us_writer *w, struct us_err *e)
{
	const struct {
		const char *key;
		uint8_t bits;
	} fact[] = { { US_FACT_CODE_BITS, bits_of(b, 0) },
		     { US_FACT_PROGRAM_BITS, bits_of(b, 1) },
		     { US_FACT_MODE_BITS, bits_not_unwound(b) } };
	for (unsigned i = 0; i < sizeof(fact) / sizeof(fact[0]); i++) {
		uint8_t bits = fact[i].bits;
		if (!bits || bits == b->written[i])
			continue;
		int r = us_writer_fact(w, fact[i].key,
				       bits == 64   ? "64"
				       : bits == 32 ? "32"
						    : "16",
				       e);
		if (r < 0)
			return r;
		b->written[i] = bits;
	}
	return 0;
}
