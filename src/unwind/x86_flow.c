/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_flow.c: what all analyses of x86 code share; see x86_flow.h. */
#include "unwind/x86_flow.h"

#include "unwind/x86_rule.h"

#include <stdlib.h>
#include <string.h>

#define MAX_POPS 256 /* instructions of a callee that are searched for its ret */
#define MAX_TRAP 64  /* bytes that a CALL used as a push may skip */

struct us_x86_flow *us_x86_flow_new(void)
{
	struct us_x86_flow *f = calloc(1, sizeof(*f));
	if (f)
		f->want = US_X86_NO_REG;
	return f;
}

void us_x86_flow_free(struct us_x86_flow *f)
{
	free(f);
}

void us_x86_flow_use(struct us_x86_flow *f, struct us_paging *p,
		     const struct us_space *s, unsigned word)
{
	us_code_path_use(&f->path, p, s);
	f->word = (uint8_t)word;
}

void us_x86_flow_allow(struct us_x86_flow *f, unsigned n_insn)
{
	f->path.budget = n_insn;
}

bool us_x86_flow_spent(const struct us_x86_flow *f)
{
	return f->path.budget == 0;
}

bool us_x86_flow_is_away(const struct us_x86_flow *f)
{
	return f->path.away;
}

void us_x86_flow_start(struct us_x86_flow *f)
{
	us_code_path_start(&f->path);
	f->ends.n = 0;
	f->has_table = false;
}

/* --- code --- */

/* Code of n bytes that only speculation reaches, and that holds it there: int3; or
 * pause or lfence, and a jump back. */
static bool is_trap(const struct us_x86_flow *f, const uint8_t *code, size_t n)
{
	static const uint8_t lfence[3] = { 0x0f, 0xae, 0xe8 };
	struct us_x86_insn insn;
	bool stops = false;
	for (size_t at = 0; at < n; at += insn.len) {
		if (!us_x86_decode(code + at, n - at, f->word * 8U, &insn))
			return false;
		size_t to = at + insn.len + (size_t)insn.imm;
		if (insn.kind == US_X86_BREAK || (insn.kind == US_X86_JUMP && to < n))
			stops = true;
		else if (insn.kind != US_X86_NOP &&
			 (insn.len != sizeof(lfence) ||
			  memcmp(code + at, lfence, sizeof(lfence)) != 0))
			return false;
	}
	return stops;
}

bool us_x86_flow_pushes_pc(const struct us_x86_flow *f, us_gva end, int32_t imm)
{
	uint8_t code[MAX_TRAP];
	if (imm <= 0 || imm > MAX_TRAP)
		return imm == 0;
	return us_paging_read(f->path.paging, f->path.space, end, code, (size_t)imm) &&
	       is_trap(f, code, (size_t)imm);
}

/*
 * Does the function take back what the CALL has pushed, and return to its caller's
 * caller?  On some of AMD's processors Linux returns by such a CALL, with ud2 behind it
 * (srso_safe_ret).  left: bytes that are known behind the CALL.
 */
static bool drops_return(const struct us_x86_flow *f, us_gva to, const uint8_t *behind,
			 size_t left)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3 };
	static const uint8_t add[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	static const uint8_t ud2[] = { 0x0f, 0x0b };
	uint8_t code[sizeof(lea)];
	return f->word == 8 && left >= sizeof(ud2) && !memcmp(behind, ud2, 2) &&
	       us_paging_read(f->path.paging, f->path.space, to, code, sizeof(code)) &&
	       (!memcmp(code, lea, sizeof(lea)) || !memcmp(code, add, sizeof(add)));
}

bool us_x86_flow_decode(struct us_x86_flow *f, us_gva pc, struct us_x86_insn *ret)
{
	size_t len;
	const uint8_t *code = us_code_path_bytes(&f->path, pc, US_X86_MAX_INSN, &len);
	if (!us_x86_decode(code, len, f->word * 8U, ret)) {
		f->path.lost = true;
		return false;
	}
	us_gva end = pc + ret->len;
	if (ret->kind == US_X86_CALL &&
	    (us_x86_flow_pushes_pc(f, end, ret->imm) ||
	     drops_return(f, end + (us_gva)(int64_t)ret->imm, code + ret->len,
			  len - ret->len)))
		ret->kind = US_X86_PUSH_PC;
	return true;
}

/* --- the paths --- */

void us_x86_flow_pend(struct us_x86_flow *f, us_gva pc, uint64_t order, bool after_call,
		      const struct us_x86_state *st)
{
	uint8_t slot;
	if (us_code_path_pend(&f->path, pc, order, after_call, &slot))
		f->pending[slot] = *st;
}

us_gva us_x86_flow_target(const struct us_x86_flow *f, us_gva next,
			  const struct us_x86_insn *insn)
{
	us_gva to = next + (us_gva)(int64_t)insn->imm;
	return f->word == 4 ? (uint32_t)to : to;
}

bool us_x86_is_call(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_CALL || insn->kind == US_X86_CALL_INDIRECT;
}

bool us_x86_is_jump(const struct us_x86_insn *insn)
{
	return insn->kind == US_X86_JUMP || insn->kind == US_X86_PUSH_PC;
}

bool us_x86_flow_is_retpoline(const struct us_x86_flow *f,
			      const struct us_x86_insn *insn, us_gva next)
{
	uint8_t code[4];
	if (!us_paging_read(f->path.paging, f->path.space,
			    us_x86_flow_target(f, next, insn), code, sizeof(code)))
		return false;
	const uint8_t *mov = f->word == 8 ? code + 1 : code;
	bool wide = f->word == 4 || (code[0] & 0xfb) == 0x48;
	return wide && mov[0] == 0x89 && (mov[1] & 0xc7) == 0x04 && mov[2] == 0x24;
}

/* How many bytes the function takes off the stack when it returns.  In some conventions
 * of 32-bit code this is the callee's part, and its ret says how many. */
int32_t us_x86_flow_pops(struct us_x86_flow *f, us_gva pc)
{
	struct us_x86_insn insn;
	bool lost = f->path.lost;
	int32_t n = 0;
	for (unsigned i = 0;
	     i < MAX_POPS && f->path.budget && us_x86_flow_decode(f, pc, &insn); i++) {
		f->path.budget--;
		pc += insn.len;
		if (insn.kind == US_X86_RET)
			n = insn.imm;
		else if (insn.kind == US_X86_FAR_RET)
			n = f->word + insn.imm; /* cs was pushed before the CALL */
		else if (us_x86_is_jump(&insn))
			pc = us_x86_flow_target(f, pc, &insn);
		if (insn.kind == US_X86_JUMP_INDIRECT || insn.kind >= US_X86_RET)
			break;
	}
	f->path.lost = lost;
	return n;
}

void us_x86_flow_step(struct us_x86_flow *f, struct us_x86_state *st,
		      const struct us_x86_insn *insn, us_gva next)
{
	static const struct us_x86_insn push = { .kind = US_X86_PUSH,
						 .reg = US_X86_NO_REG,
						 .base = US_X86_NO_REG };
	if (f->word == 4 && insn->kind == US_X86_CALL)
		us_x86_state_drop(
			st, us_x86_flow_pops(f, us_x86_flow_target(f, next, insn)));
	else
		us_x86_state_step(st, insn->kind == US_X86_PUSH_PC ? &push : insn);
}
