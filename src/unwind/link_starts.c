/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_starts.c: finds where functions may begin in the code before a place; see
 * link_rule.h. */
#include "unwind/link_flow.h"
#include "unwind/link_rule.h"

#include <string.h>

#define CHUNK 256

static bool takes_room(const struct us_link_machine *m, const struct us_link_insn *insn)
{
	bool writes = insn->kind == US_LINK_STORE || insn->kind == US_LINK_WRITE;
	return insn->base == m->sp &&
	       ((insn->kind == US_LINK_MOVE && insn->reg == m->sp && insn->imm < 0) ||
		(writes && insn->write < 0));
}

/* From high to low addresses: nearest first. */
void us_link_starts(struct us_link_flow *f, us_gva pc, unsigned range,
		    struct us_code_starts *ret)
{
	const struct us_link_machine *m = f->machine;
	uint8_t code[CHUNK + 4] = { 0 };
	struct us_link_insn insn;
	ret->n = 0;
	for (us_gva from = pc; from > CHUNK && pc - from < range;) {
		/* The first bytes of the last chunk may be the rest of an
		 * instruction. */
		memcpy(code + CHUNK, code, 4);
		from -= CHUNK;
		if (!us_paging_read(f->path.paging, f->path.space, from, code, CHUNK))
			return;
		for (size_t at = CHUNK; at > 0 && f->path.budget; f->path.budget--) {
			at -= m->align;
			if (!m->decode(code + at, 4, &insn) || !takes_room(m, &insn))
				continue;
			ret->sure[ret->n] = true;
			ret->pc[ret->n++] = from + at;
			if (ret->n == US_CODE_MAX_STARTS)
				return;
		}
	}
}
