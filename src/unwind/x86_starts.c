/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_starts.c: finds where functions may begin in the code before a place; see
 * x86_rule.h.
 *
 * The code is decoded in one sweep that has to come to the place itself.  A sweep that
 * begins in the middle of an instruction is in step with the code after a few
 * instructions.
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

#include <string.h>

#define CHUNK	 1024
#define SHIFTS	 4 /* starts of a sweep that are tried */
#define STRAIGHT 8 /* instructions from the start until room is taken */

/* A run of code without jumps, from where a function may begin. */
struct run {
	us_gva start;
	unsigned n; /* instructions in it */
	bool open;  /* it has not taken room yet */
	bool sure;  /* no code falls through into it, nor does a CALL return to it */
};

size_t us_x86_before(const struct us_x86_flow *f, us_gva pc, uint8_t *code,
		     size_t range)
{
	size_t n = 0, part;
	for (; n < range && n < pc; n += part) {
		part = (pc - n) % CHUNK ? (pc - n) % CHUNK : CHUNK;
		part = part < range - n ? part : range - n;
		if (!us_paging_read(f->path.paging, f->path.space, pc - n - part,
				    code + range - n - part, part))
			break;
	}
	return n;
}

static bool ends_flow(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_RET || insn->kind == US_X86_JUMP ||
	       insn->kind == US_X86_JUMP_INDIRECT || insn->kind == US_X86_STOP ||
	       insn->kind == US_X86_FAR_RET || insn->kind == US_X86_IRET ||
	       insn->kind == US_X86_SYSRET;
}

static bool takes_room(const struct us_x86_insn *insn)
{
	bool down = insn->kind == US_X86_MOVE && insn->reg == US_X86_CODE_RSP &&
		    insn->base == US_X86_CODE_RSP && insn->imm < 0;
	return down || insn->kind == US_X86_ENTER ||
	       (insn->kind == US_X86_PUSH && insn->reg < US_X86_N_CODE && !insn->half);
}

static void begin(struct run *r, us_gva at, bool sure)
{
	*r = (struct run){ .start = at, .open = true, .sure = sure };
}

static void add(struct us_code_starts *s, const struct run *r)
{
	unsigned last = s->n < US_CODE_MAX_STARTS ? s->n++ : US_CODE_MAX_STARTS - 1;
	memmove(s->pc + 1, s->pc, last * sizeof(*s->pc));
	memmove(s->sure + 1, s->sure, last * sizeof(*s->sure));
	s->pc[0] = r->start;
	s->sure[0] = r->sure;
}

/* Take the next instruction of a sweep. */
static void go_on(struct run *r, us_gva pc, const struct us_x86_insn *insn,
		  struct us_code_starts *ret)
{
	us_gva next = pc + insn->len;
	bool pads = insn->kind == US_X86_NOP || insn->kind == US_X86_BREAK;
	if (ends_flow(insn)) {
		begin(r, next, true);
	} else if (insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT) {
		begin(r, next, false);
	} else if (pads && r->open && r->n == 0) {
		begin(r, next, true);
	} else if (r->open && takes_room(insn)) {
		add(ret, r);
		r->open = false;
	} else if (insn->kind == US_X86_BRANCH || ++r->n == STRAIGHT) {
		r->open = false;
	}
}

/* Sweep from there to the place; false: it does not come there, or the budget is
 * spent. */
static bool sweep(struct us_x86_flow *f, const uint8_t *code, size_t n, us_gva pc,
		  struct us_code_starts *ret)
{
	struct run run = { 0 };
	struct us_x86_insn insn;
	size_t at = 0;
	for (; at < n && f->path.budget; at += insn.len, f->path.budget--) {
		if (!us_x86_decode(code + at, n - at, f->word * 8U, &insn))
			return false;
		go_on(&run, pc - n + at, &insn, ret);
	}
	if (run.open && run.sure && at == n)
		add(ret, &run);
	return at == n;
}

void us_x86_starts(struct us_x86_flow *f, us_gva pc, unsigned range,
		   struct us_code_starts *ret)
{
	uint8_t code[US_CODE_MAX_RANGE];
	size_t n = us_x86_before(f, pc, code, range);
	for (unsigned shift = 0; shift < SHIFTS && shift < n; shift++) {
		ret->n = 0;
		if (sweep(f, code + range - n + shift, n - shift, pc, ret))
			return;
	}
	ret->n = 0;
}
