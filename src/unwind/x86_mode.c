/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_mode.c: where code begins behind a far jump into another mode.
 *
 * Boot code is entered in 16-bit or 32-bit mode, and goes on in a wider one under the
 * same symbol.  What is before the jump cannot be decoded as the code behind it, so no
 * path leads from the symbol to there; the processor begins anew.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

#define RANGE 4096 /* bytes before the place */

static bool is_selector(uint16_t cs)
{
	return cs >= 8 && !(cs & 7); /* of the GDT, for ring 0 */
}

/* ljmp $cs,$to, as it is in 16-bit and 32-bit code, and push $to; lret.  Returns its
 * bytes, 0: it is none. */
static size_t far_jump(const uint8_t *code, size_t n, unsigned word, us_gva *ret_to)
{
	uint32_t to;
	uint16_t cs, near_;
	if (n < 7)
		return 0;
	memcpy(&to, code + 1, sizeof(to));
	memcpy(&cs, code + 5, sizeof(cs));
	*ret_to = to;
	if (code[0] == 0xea && is_selector(cs))
		return 7;
	if (code[0] == 0x68 && code[5] == 0xcb)
		return 6;
	memcpy(&near_, code + 1, sizeof(near_));
	memcpy(&cs, code + 3, sizeof(cs));
	*ret_to = near_;
	return word == 4 && code[0] == 0xea && is_selector(cs) ? 5 : 0;
}

us_gva us_x86_behind_mode_switch(const struct us_x86_flow *f,
				 const struct us_code_place *at)
{
	uint8_t code[RANGE];
	us_gva pc = at->pc - at->after_call, to, last = 0;
	size_t range = at->start && pc - at->start < RANGE ? pc - at->start : RANGE;
	if (pc > UINT32_MAX || at->start > pc)
		return 0;
	size_t n = us_x86_before(f, pc, code, RANGE);
	n = n < range ? n : range;
	for (size_t i = RANGE - n; i < RANGE; i++) {
		size_t len = far_jump(code + i, RANGE - i, f->word, &to);
		if (len && to >= pc - RANGE + i + len && to <= pc && to > last)
			last = to;
	}
	return last;
}
