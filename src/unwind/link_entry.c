/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_entry.c: see link_entry.h. */
#include "unwind/link_entry.h"

#include <string.h>

#define MAX_INSNS 256

/* Registers whose values the code itself gives. */
struct numbers {
	uint64_t value[US_LINK_N_REG];
	uint32_t known;
	uint32_t loaded; /* bit n: it is a word of the entry's memory */
	uint8_t word[US_LINK_N_REG];
};

static bool has(const struct numbers *n, unsigned reg)
{
	return reg < US_LINK_N_REG && (n->known >> reg & 1);
}

static void put(struct numbers *n, struct us_link_entry *e, unsigned reg, bool known,
		uint64_t value)
{
	if (reg >= US_LINK_N_REG)
		return;
	e->changed |= 1U << reg;
	n->loaded &= ~(1U << reg);
	n->known &= ~(1U << reg);
	n->known |= (uint32_t)known << reg;
	n->value[reg] = value;
}

/* The word's number; false: it is elsewhere, and so not the entry's. */
static bool word_at(const struct numbers *n, struct us_link_entry *e,
		    const struct us_link_insn *i, uint8_t *ret)
{
	if (!has(n, i->base))
		return false;
	if (!e->words)
		e->base = n->value[i->base];
	us_gva off = n->value[i->base] + (us_gva)i->imm - e->base;
	*ret = (uint8_t)(off / 8);
	if (off % 8 || off / 8 >= US_LINK_ENTRY_WORDS)
		return false;
	e->words |= 1ULL << *ret;
	return true;
}

static void store(const struct numbers *n, struct us_link_entry *e,
		  const struct us_link_insn *i)
{
	uint8_t k;
	bool old = i->reg < US_LINK_N_REG && !(e->changed >> i->reg & 1);
	if (!word_at(n, e, i, &k))
		return;
	for (unsigned r = 0; r < US_LINK_N_REG; r++)
		if ((e->saved >> r & 1) && e->at[r] == k)
			e->saved &= ~(1U << r);
	if (!old || (e->saved >> i->reg & 1))
		return;
	e->saved |= 1U << i->reg;
	e->at[i->reg] = k;
}

static void load(const struct us_link_machine *m, struct numbers *n,
		 struct us_link_entry *e, const struct us_link_insn *i)
{
	uint8_t k;
	bool there = word_at(n, e, i, &k);
	put(n, e, i->reg, false, 0);
	if (there && i->reg < US_LINK_N_REG) {
		n->loaded |= 1U << i->reg;
		n->word[i->reg] = k;
	}
	if (i->reg == m->sp) {
		e->sp_loaded = there;
		e->sp_at = there ? k : 0;
	}
}

/* False: the code does not continue with the next instruction. */
static bool step(const struct us_link_machine *m, struct numbers *n,
		 struct us_link_entry *e, const struct us_link_insn *i)
{
	bool based = has(n, i->base);
	uint64_t base = based ? n->value[i->base] : 0, v = 0;
	switch (i->kind) {
	case US_LINK_STORE:
		store(n, e, i);
		return i->reg2 >= US_LINK_N_REG && !i->write;
	case US_LINK_LOAD:
		load(m, n, e, i);
		return i->reg2 >= US_LINK_N_REG && !i->write;
	case US_LINK_CONST:
		v = (uint64_t)i->imm;
		put(n, e, i->reg, true, v);
		break;
	case US_LINK_MOVE:
		v = base + (uint64_t)i->imm;
		if (i->narrow)
			v = (uint64_t)(int64_t)(int32_t)v;
		put(n, e, i->reg, based, v);
		break;
	case US_LINK_SHIFT:
		v = base << (i->imm & 63);
		put(n, e, i->reg, based, v);
		break;
	case US_LINK_SET:
	case US_LINK_BACK:
	case US_LINK_SWAP:
	case US_LINK_ADD:
	case US_LINK_INSERT:
		put(n, e, i->reg, false, 0);
		break;
	case US_LINK_OTHER:
	case US_LINK_EXIT_STATE:
	case US_LINK_ASIDE:
	case US_LINK_ROOT:
		return true;
	default:
		return false;
	}
	if (i->reg == m->sp)
		e->sp_loaded = false;
	return true;
}

bool us_link_read_entry(const struct us_link_machine *m, struct us_code_path *path,
			us_gva start, us_gva pc, struct us_link_entry *ret)
{
	struct numbers n = { 0 };
	struct us_link_insn insn;
	size_t len;
	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; k < MAX_INSNS && start < pc && path->budget; k++) {
		const uint8_t *code = us_code_path_bytes(path, start, 4, &len);
		path->budget--;
		if (start % m->align || !m->decode(code, len, &insn))
			return false;
		start += insn.len;
		bool calls = insn.kind == US_LINK_CALL ||
			     insn.kind == US_LINK_CALL_INDIRECT;
		if (calls && start == pc)
			ret->changed |= 1U << m->ra;
		else if (!step(m, &n, ret, &insn))
			return false;
	}
	return start == pc;
}

bool us_link_read_jump(const struct us_link_machine *m, struct us_code_path *path,
		       us_gva start, struct us_link_entry *ret)
{
	struct numbers n = { 0 };
	struct us_link_insn insn;
	size_t len;
	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; k < MAX_INSNS && path->budget; k++) {
		const uint8_t *code = us_code_path_bytes(path, start, 4, &len);
		path->budget--;
		if (start % m->align || !m->decode(code, len, &insn))
			return false;
		start += insn.len;
		if (insn.kind == US_LINK_JUMP_INDIRECT) {
			bool loaded = insn.reg < US_LINK_N_REG && !insn.imm &&
				      (n.loaded >> insn.reg & 1);
			ret->jump_at = loaded ? n.word[insn.reg] : 0;
			return loaded;
		}
		if (!step(m, &n, ret, &insn))
			return false;
	}
	return false;
}
