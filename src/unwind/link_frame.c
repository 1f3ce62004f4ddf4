/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_frame.c: see link_frame.h. */
#include "unwind/link_frame.h"

/* The first address above these words, of those that are counted from there. */
static int64_t above_all(const struct us_link_value *word, unsigned n, uint8_t mem)
{
	int64_t top = 0;
	for (unsigned i = 0; i < n; i++)
		if (word[i].sym == mem && word[i].off >= top)
			top = word[i].off + 8;
	return top;
}

/* In words from the CFA; 0: it is not there, or not yet. */
static int8_t word_of(const struct us_link_state *st, struct us_link_value v,
		      uint8_t mem, int64_t cfa)
{
	int64_t words = (v.off - cfa) / 8;
	bool above = mem != US_LSYM_MEM_SP || v.off >= 0;
	bool there = v.sym == mem && v.off % 8 == 0 && words >= INT8_MIN && words < 0 &&
		     above;
	return there && !us_link_state_is_new(st, v) ? (int8_t)words : 0;
}

/* Where the stack pointer of what was broken off is; 0: not known. */
static int8_t sp_word(const struct us_link_state *st, struct us_link_value sp,
		      uint8_t mem, int64_t cfa)
{
	if (sp.sym == US_LSYM_FP)
		return sp.off == 0 ? US_SP_WAS_FP : 0;
	return word_of(st, sp, mem, cfa);
}

bool us_link_frame_rule(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_link_value pc, struct us_code_rule *ret)
{
	struct us_link_value sp = st->reg[m->sp], fp = st->reg[m->fp];
	struct us_link_value ra = st->reg[m->ra];
	uint8_t mem = sp.sym == US_LSYM_FP && fp.sym == US_LSYM_MEM_SP ? fp.sym
								       : sp.sym;
	if ((mem != US_LSYM_MEM_SP && mem != US_LSYM_MEM_FP) || m->banked_sp)
		return false;
	*ret = (struct us_code_rule){ .fp = US_FP_LOST };
	const struct us_link_value words[] = { sp, fp, pc, ra };
	int64_t cfa = above_all(words, 4, mem);
	ret->sp_was = sp_word(st, sp, mem, cfa);
	if (!ret->sp_was || cfa > INT32_MAX ||
	    (pc.sym != mem && pc.sym != US_LSYM_EXIT))
		return true;
	ret->base = mem == US_LSYM_MEM_SP ? US_BASE_SP : US_BASE_FP;
	ret->cfa = (int32_t)cfa;
	ret->ra = US_RA_EXCEPTION;
	if (word_of(st, pc, mem, cfa) && us_code_slot(pc.off - cfa, &ret->ra_at))
		ret->ra = US_RA_SAVED;
	ret->ra_was = ra.sym == US_LSYM_RA ? 1 : word_of(st, ra, mem, cfa);
	if (fp.sym == US_LSYM_FP && fp.off == 0)
		ret->fp = US_FP_SAME;
	else if (word_of(st, fp, mem, cfa) && us_code_slot(fp.off - cfa, &ret->fp_at))
		ret->fp = US_FP_SAVED;
	return true;
}
