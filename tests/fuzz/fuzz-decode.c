/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first byte chooses the width; the rest is code: lengths, kinds, and what the
 * state becomes. */
#include "unwind/x86_state.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct us_x86_insn *i, size_t n)
{
	bool reg = i->reg < 16 || i->reg == US_X86_NO_REG;
	bool base = i->base < 16 || i->base == US_X86_NO_REG;
	if (i->len == 0 || i->len > n || i->len > US_X86_MAX_INSN ||
	    i->kind > US_X86_BREAK || !reg || !base)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	unsigned bits = data[0] & 1 ? 32 : 64;
	struct us_x86_state st = { .word = bits / 8,
				   .sp = { -(int)bits / 8, US_SYM_SP },
				   .fp = { 0, US_SYM_FP } };
	for (size_t at = 1; at < size;) {
		struct us_x86_insn i;
		if (us_x86_decode(data + at, size - at, bits, &i)) {
			check(&i, size - at);
			us_x86_state_step(&st, &i);
			at += i.len;
		} else {
			at++;
		}
		bool direct;
		int32_t imm;
		if (size - at >= 8 && us_x86_call_before(data + at, &direct, &imm) &&
		    direct && data[at + 3] != 0xe8)
			abort();
	}
	if (st.sp.sym != US_SYM_NONE && st.sp.sym != US_SYM_SP &&
	    st.sp.sym != US_SYM_FP && st.sp.sym != US_SYM_WORD)
		abort();
	return 0;
}
