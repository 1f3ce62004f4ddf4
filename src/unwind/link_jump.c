/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_jump.c: jumps to an address in a word beside the code; see link_flow.h. */
#include "unwind/link_flow.h"

#define NEAR   64 /* bytes, from a load to a word that belongs to the code */
#define BEFORE 3  /* instructions before a place that set registers for a jump */
#define LEN    4  /* of each */
#define WORD   8

static bool read_word(const struct us_link_flow *f, us_gva at, int64_t *ret)
{
	return us_paging_read(f->path.paging, f->path.space, at, ret, WORD);
}

void us_link_read_beside(const struct us_link_flow *f, us_gva pc,
			 const struct us_link_state *st, struct us_link_insn *insn)
{
	struct us_link_value base = st->reg[insn->base % US_LINK_N_REG];
	bool literal = insn->kind == US_LINK_SET && insn->also == US_LINK_ALSO_LITERAL;
	bool near = insn->kind == US_LINK_LOAD && base.sym == US_LSYM_CONST &&
		    insn->reg2 >= US_LINK_N_REG && !insn->write;
	us_gva at = literal ? pc : (us_gva)base.off;
	int64_t word;
	at += (us_gva)insn->imm;
	if ((!literal && (!near || at - pc >= NEAR)) || !read_word(f, at, &word))
		return;
	insn->kind = US_LINK_CONST;
	insn->imm = word;
}

bool us_link_far_jump(const struct us_link_state *st, const struct us_link_insn *insn,
		      us_gva *ret)
{
	struct us_link_value to = st->reg[insn->reg % US_LINK_N_REG];
	*ret = (us_gva)to.off + (us_gva)insn->imm;
	return to.sym == US_LSYM_CONST;
}

/* Is the instruction at pc one of those that make up such a jump? */
static bool prepares(const struct us_link_flow *f, us_gva pc, struct us_link_state *st)
{
	struct us_link_insn insn;
	uint8_t code[LEN];
	if (!us_paging_read(f->path.paging, f->path.space, pc, code, LEN) ||
	    !f->machine->decode(code, LEN, &insn) || insn.len != LEN)
		return false;
	bool here = insn.also == US_LINK_ALSO_PC || insn.also == US_LINK_ALSO_LITERAL;
	bool load = insn.kind == US_LINK_LOAD;
	us_link_insn_place(&insn, pc);
	us_link_read_beside(f, pc, st, &insn);
	us_link_state_step(st, f->machine, &insn);
	return insn.kind == US_LINK_CONST && (here || load);
}

void us_link_before_place(const struct us_link_flow *f, us_gva pc,
			  struct us_link_state *st)
{
	for (us_gva n = BEFORE; n && pc % LEN == 0; n--) {
		struct us_link_state trial = *st;
		us_gva k = n;
		while (k && pc >= LEN * k && prepares(f, pc - LEN * k, &trial))
			k--;
		if (k)
			continue;
		*st = trial;
		return;
	}
}
