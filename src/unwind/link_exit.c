/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_exit.c: see link_exit.h. */
#include "unwind/link_exit.h"

#define MAX_INSNS 128
#define NOWHERE	  0x000ffffffffff000 /* no memory is there */

static bool has(const struct us_link_exit *x, unsigned reg)
{
	return reg < US_LINK_N_REG && (x->known >> reg & 1);
}

static uint64_t value(const struct us_link_exit *x, unsigned reg)
{
	return has(x, reg) ? x->reg[reg] : 0;
}

static void put(struct us_link_exit *x, unsigned reg, bool known, uint64_t v)
{
	if (reg >= US_LINK_N_REG)
		return;
	x->known &= ~(1U << reg);
	x->known |= (uint32_t)known << reg;
	x->reg[reg] = v;
}

static void load(struct us_link_exit *x, struct us_code_path *path,
		 const struct us_link_insn *i)
{
	us_gva at = value(x, i->base) + (us_gva)i->imm;
	bool based = has(x, i->base);
	uint64_t v = 0, v2 = 0;
	bool ok = based && us_paging_read(path->paging, &x->space, at, &v, 8);
	bool ok2 = based && i->reg2 < US_LINK_N_REG &&
		   us_paging_read(path->paging, &x->space, at + 8, &v2, 8);
	put(x, i->reg, ok, v);
	put(x, i->reg2, ok2, v2);
}

static void compute(struct us_link_exit *x, const struct us_link_insn *i)
{
	uint64_t base = value(x, i->base), v = base + (uint64_t)i->imm;
	bool known = has(x, i->base);
	if (i->kind == US_LINK_SHIFT) {
		v = base << (i->imm & 63);
	} else if (i->kind == US_LINK_ADD) {
		known = known && has(x, i->reg2);
		v = base + (uint64_t)i->imm * value(x, i->reg2);
	} else if (i->kind == US_LINK_INSERT) {
		known = has(x, i->reg) && i->reg2 <= 48;
		v = value(x, i->reg) & ~(0xffffULL << (i->reg2 & 63));
		v |= (uint64_t)i->imm << (i->reg2 & 63);
	}
	if (i->narrow)
		v = (uint64_t)(int64_t)(int32_t)v;
	put(x, i->reg, known, v);
}

/* False: the code does not continue with the next instruction. */
static bool step(struct us_link_exit *x, struct us_code_path *path,
		 const struct us_link_insn *i)
{
	switch (i->kind) {
	case US_LINK_OTHER:
	case US_LINK_WRITE:
	case US_LINK_EXIT_STATE:
		break;
	case US_LINK_SET:
		put(x, i->reg, false, 0);
		break;
	case US_LINK_CONST:
		put(x, i->reg, true, (uint64_t)i->imm);
		break;
	case US_LINK_ASIDE:
		x->aside = value(x, i->reg);
		x->has_aside = has(x, i->reg);
		break;
	case US_LINK_BACK:
		put(x, i->reg, x->has_aside, x->aside);
		break;
	case US_LINK_SWAP: {
		uint64_t v = value(x, i->base);
		bool known = has(x, i->base);
		put(x, i->reg, x->has_aside, x->aside);
		x->aside = v;
		x->has_aside = known;
		break;
	}
	case US_LINK_MOVE:
	case US_LINK_SHIFT:
	case US_LINK_ADD:
	case US_LINK_INSERT:
		compute(x, i);
		break;
	case US_LINK_LOAD:
		load(x, path, i);
		break;
	case US_LINK_EXIT_PC:
		x->pc = value(x, i->reg);
		x->pc_set = true;
		return has(x, i->reg);
	case US_LINK_EXIT_SP:
		x->sp = value(x, i->reg);
		x->sp_set = true;
		return has(x, i->reg);
	case US_LINK_ROOT:
		if (!has(x, i->reg) && i->imm) {
			x->space.root_upper = NOWHERE; /* programs do not use it */
			return true;
		}
		return has(x, i->reg) &&
		       us_space_load(&x->space, i->imm, x->reg[i->reg]);
	default:
		return false;
	}
	if (i->write)
		put(x, i->base, has(x, i->base),
		    value(x, i->base) + (uint64_t)(int64_t)i->write);
	return true;
}

bool us_link_run_exit(const struct us_link_machine *m, struct us_code_path *path,
		      us_gva pc, struct us_link_exit *ret)
{
	struct us_link_insn insn;
	size_t len;
	ret->pc_set = ret->sp_set = ret->has_aside = false;
	for (unsigned k = 0; k < MAX_INSNS && path->budget; k++) {
		const uint8_t *code = us_code_path_bytes(path, pc, 4, &len);
		path->budget--;
		if (pc % m->align || !m->decode(code, len, &insn))
			return false;
		us_link_insn_place(&insn, pc);
		if (insn.kind == US_LINK_EXIT)
			return true;
		if (insn.kind == US_LINK_JUMP)
			pc += (us_gva)insn.imm;
		else if (insn.kind == US_LINK_JUMP_INDIRECT && has(ret, insn.reg))
			pc = ret->reg[insn.reg] + (us_gva)insn.imm;
		else if (!step(ret, path, &insn))
			return false;
		else
			pc += insn.len;
	}
	return false;
}
