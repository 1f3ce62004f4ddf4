/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vectors.c: does an exception enter the kernel here? See walk.h. */
#include "unwind/walk.h"

/* Arm ARM D1.3.1. */
#define TABLE 2048
#define SLOT  128

/* An entry is a piece of code of its own: it ends with padding, or goes elsewhere. */
static bool is_end(const struct us_link_machine *m, const uint8_t *code)
{
	static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 };
	struct us_link_insn insn;
	if (!memcmp(code, nop, sizeof(nop)))
		return true;
	return m->decode(code, sizeof(nop), &insn) &&
	       (insn.kind == US_LINK_JUMP || insn.kind == US_LINK_JUMP_INDIRECT ||
		insn.kind == US_LINK_RET || insn.kind == US_LINK_EXIT ||
		insn.kind == US_LINK_STOP);
}

static bool is_table(struct us_walk *w, us_gva table)
{
	uint8_t code[4];
	for (us_gva end = table + SLOT; end != table + TABLE + SLOT; end += SLOT)
		if (!us_paging_read(w->paging, w->space, end - sizeof(code), code,
				    sizeof(code)) ||
		    !is_end(w->u->arch->link, code))
			return false;
	return true;
}

bool us_walk_is_entered(struct us_walk *w, const struct us_regs *regs)
{
	const struct us_entered *at = &regs->entered;
	uint8_t code[4];
	if (!at->valid || !at->guessed)
		return at->valid;
	return w->u->arch->link && !(at->user && us_walk_is_upper(at->pc)) &&
	       !us_paging_is_data(w->paging, w->space, regs->pc) &&
	       us_paging_read(w->paging, w->space, at->pc, code, sizeof(code)) &&
	       is_table(w, regs->pc & ~(us_gva)(TABLE - 1));
}
