/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_frame.c: see link_frame.h. */
#include "unwind/link_frame.h"

#include "unwind/link_flow.h"

/* The first address above those of the words that are counted from mem. */
static int64_t above_all(const struct us_link_value *word, unsigned n, uint8_t mem)
{
	int64_t top = 0;
	for (unsigned i = 0; i < n; i++)
		if (word[i].sym == mem && word[i].off >= top)
			top = word[i].off + 8;
	return top;
}

/* Where v is saved, in words from the CFA; 0: it is not there, or not yet. */
static int8_t word_of(const struct us_link_state *st, struct us_link_value v,
		      uint8_t mem, int64_t cfa)
{
	int64_t words = (v.off - cfa) / 8;
	bool above = mem != US_LSYM_MEM_SP || v.off >= 0;
	bool there = v.sym == mem && v.off % 8 == 0 && words >= INT8_MIN && words < 0 &&
		     above;
	return there && !us_link_state_is_new(st, v) ? (int8_t)words : 0;
}

/* Where the interrupted code's stack pointer is; 0: not known. */
static int8_t sp_word(const struct us_link_state *st, struct us_link_value sp,
		      uint8_t mem, int64_t cfa)
{
	if (sp.sym == US_LSYM_FP)
		return sp.off == 0 ? US_SP_WAS_FP : 0;
	if (sp.sym == US_LSYM_REG)
		return US_SP_WAS_SP;
	return word_of(st, sp, mem, cfa);
}

bool us_link_frame_rule(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_link_value pc, struct us_code_rule *ret)
{
	struct us_link_value sp = st->reg[m->sp], fp = st->reg[m->fp];
	struct us_link_value ra = st->reg[m->ra];
	uint8_t mem = sp.sym == US_LSYM_FP && fp.sym == US_LSYM_MEM_SP ? fp.sym
								       : sp.sym;
	if (sp.sym == US_LSYM_REG && sp.off == m->sp)
		mem = US_LSYM_MEM_SP;
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

void us_link_near_frame(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_code_rule *rule)
{
	struct us_link_value fp = st->reg[m->fp], ra = st->reg[m->ra];
	if (us_link_state_is_new(st, st->reg[m->sp]) ||
	    us_link_state_is_new(st, st->exit_pc)) {
		rule->base = US_BASE_NONE;
		return;
	}
	rule->ra_was = ra.sym == US_LSYM_RA ? 1 : 0;
	if (ra.sym == US_LSYM_MEM_SP && ra.off >= 0 && ra.off % 8 == 0 &&
	    ra.off / 8 < INT8_MAX && !us_link_state_is_new(st, ra))
		rule->ra_was = (int8_t)(-1 - ra.off / 8);
	if (fp.sym == US_LSYM_MEM_SP && fp.off >= 0 && !us_link_state_is_new(st, fp) &&
	    us_code_slot(fp.off, &rule->fp_at))
		rule->fp = US_FP_SAVED;
}

/* Instructions that give a handler its arguments, including the frame. */
#define ARGUMENTS 16 /* bytes */
#define CALL_MAX  8  /* auipc and jalr */

/* Does the code from pc straight on to end pass the stack pointer as the argument?  The
 * first instruction must set it, and none may change it. */
static bool gives_sp(struct us_link_flow *f, us_gva pc, us_gva end)
{
	const struct us_link_machine *m = f->machine;
	struct us_link_state st;
	us_link_state_init(&st, m);
	for (bool first = true; pc < end; first = false) {
		uint8_t code[4] = { 0 };
		struct us_link_insn insn;
		size_t n = end - pc < sizeof(code) ? end - pc : sizeof(code);
		if (!us_paging_read(f->path.paging, f->path.space, pc, code, n) ||
		    !m->decode(code, n, &insn) || insn.kind >= US_LINK_CALL ||
		    !f->path.budget)
			return false;
		f->path.budget--;
		us_link_state_step(&st, m, &insn);
		struct us_link_value given = st.reg[m->result], sp = st.reg[m->sp];
		pc += insn.len;
		if (sp.sym != US_LSYM_SP || sp.off || given.sym != sp.sym || given.off)
			return false;
		if (first && insn.reg != m->result)
			return false;
	}
	return pc == end;
}

static bool given_before(struct us_link_flow *f, us_gva end)
{
	for (unsigned n = 2; n <= ARGUMENTS && end > n; n += 2)
		if (gives_sp(f, end - n, end))
			return true;
	return false;
}

bool us_link_given_sp(struct us_link_flow *f, us_gva pc, bool behind_call)
{
	static const uint8_t calls[] = { 4, 2, CALL_MAX };
	if (!behind_call)
		return given_before(f, pc);
	for (unsigned i = 0; i < sizeof(calls); i++)
		if (given_before(f, pc - calls[i]))
			return true;
	return false;
}

#define WAY_OUT 160 /* bytes from the handler's CALL to where its frame is left */

static bool is_behind_call(const struct us_link_flow *f, us_gva pc)
{
	uint8_t before[8];
	int32_t imm;
	bool direct;
	return us_paging_read(f->path.paging, f->path.space, pc - sizeof(before),
			      before, sizeof(before)) &&
	       f->machine->call_before(before, &direct, &imm);
}

/* Does the code from pc lead straight to end, and keep the result of the CALL? */
static bool keeps_result(struct us_link_flow *f, us_gva pc, us_gva end)
{
	const struct us_link_machine *m = f->machine;
	struct us_link_state st;
	us_link_state_init(&st, m);
	while (pc < end) {
		uint8_t code[4];
		struct us_link_insn insn;
		if (!us_paging_read(f->path.paging, f->path.space, pc, code,
				    sizeof(code)) ||
		    !m->decode(code, sizeof(code), &insn) ||
		    insn.kind >= US_LINK_CALL || !f->path.budget)
			return false;
		f->path.budget--;
		us_link_state_step(&st, m, &insn);
		struct us_link_value v = st.reg[m->result];
		if (v.sym != US_LSYM_REG || v.off != m->result)
			return false;
		pc += insn.len;
	}
	return pc == end;
}

bool us_link_has_result(struct us_link_flow *f, us_gva pc)
{
	const struct us_link_machine *m = f->machine;
	for (us_gva at = pc; pc - at <= WAY_OUT && at > 8; at -= m->align)
		if (is_behind_call(f, at) && keeps_result(f, at, pc))
			return us_link_given_sp(f, at, true);
	return false;
}
