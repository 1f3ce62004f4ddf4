/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_jump.c: jumps through a register that was set right before; see x86_flow.h. */
#include "unwind/x86_flow.h"
#include "unwind/x86_rule.h"

#include <string.h>

bool us_x86_far_jump(struct us_x86_flow *f, const struct us_x86_insn before[2],
		     const struct us_x86_insn *insn, us_gva *ret)
{
	size_t len;
	unsigned by = before[0].general == insn->general ? 0 : 1;
	bool kept = by == 0 || before[0].general != US_X86_NO_REG;
	if (insn->general == US_X86_NO_REG || before[by].general != insn->general ||
	    !kept)
		return false;
	*ret = before[by].value;
	us_code_path_bytes(&f->path, *ret, 1, &len);
	f->path.away |= len == 0;
	return len != 0;
}

#define PUSH_VALUE 5 /* bytes: push $value */
#define LEA	   7 /* lea disp(%rip), reg */

bool us_x86_far_ret_to(const struct us_x86_flow *f, us_gva pc, us_gva *ret)
{
	uint8_t code[LEA + 2]; /* up to pc; a push with REX is 2 bytes */
	int32_t value;
	if (pc < sizeof(code) || !us_paging_read(f->path.paging, f->path.space,
						 pc - sizeof(code), code, sizeof(code)))
		return false;
	const uint8_t *push = code + sizeof(code) - PUSH_VALUE;
	if (push[0] == 0x68) {
		memcpy(&value, push + 1, sizeof(value));
		*ret = f->word == 4 ? (uint32_t)value : (us_gva)(int64_t)value;
		return true;
	}
	bool high = code[sizeof(code) - 2] == 0x41; /* r8 to r15 */
	uint8_t low = code[sizeof(code) - 1] - 0x50;
	const uint8_t *lea = code + !high;
	if (f->word != 8 || low > 7 || lea[0] != (high ? 0x4c : 0x48) ||
	    lea[1] != 0x8d || lea[2] != (low << 3 | 5))
		return false;
	memcpy(&value, lea + 3, sizeof(value));
	*ret = pc - 1 - high + (us_gva)(int64_t)value;
	return true;
}

/* movabs $value, reg is the longest, mov $value, reg32 the shortest. */
#define SET_MAX 10
#define SET_MIN 5

static bool sets_constant(const struct us_x86_flow *f, const uint8_t *code, size_t n,
			  struct us_x86_insn *ret)
{
	return us_x86_decode(code, n, f->word * 8U, ret) &&
	       ret->general != US_X86_NO_REG && ret->kind != US_X86_JUMP_INDIRECT;
}

void us_x86_before_place(struct us_x86_flow *f, us_gva pc, struct us_x86_insn before[2])
{
	uint8_t code[2 * SET_MAX];
	struct us_x86_insn insn[2];
	for (size_t n = 2 * SET_MAX; n >= SET_MIN && pc >= n; n--) {
		size_t first, second = 0;
		if (!us_paging_read(f->path.paging, f->path.space, pc - n, code, n) ||
		    !sets_constant(f, code, n, &insn[0]))
			continue;
		first = insn[0].len;
		if (first < n && sets_constant(f, code + first, n - first, &insn[1]))
			second = insn[1].len;
		if (first + second != n)
			continue;
		before[0] = insn[second != 0];
		if (second)
			before[1] = insn[0];
		return;
	}
}

/* Jumps have the processor's register numbers, pops those of the state. */
bool us_x86_jumps_to(const struct us_x86_flow *f, const struct us_x86_insn *insn,
		     uint8_t reg)
{
	return insn->kind == US_X86_JUMP_INDIRECT && insn->general < US_X86_N_CODE &&
	       us_x86_any_number(f, insn->general) == us_x86_any_number(f, reg);
}

bool us_x86_jumps_back(const struct us_x86_flow *f, const struct us_x86_state *st,
		       const struct us_x86_insn *insn)
{
	return st->popped.sym != US_SYM_NONE &&
	       us_x86_jumps_to(f, insn, st->popped_reg);
}

#define POP_MAX	 2 /* bytes, with REX */
#define FENCE	 3 /* lfence */
#define JUMP_MAX 3 /* jmp *reg, with REX */

static bool is_lfence(const uint8_t *code)
{
	static const uint8_t lfence[FENCE] = { 0x0f, 0xae, 0xe8 };
	return !memcmp(code, lfence, FENCE);
}

/* Is it pop reg; jmp *reg, perhaps with a fence in between?  *ret: the pop. */
static bool is_pop_and_jump(const struct us_x86_flow *f, const uint8_t *code, size_t n,
			    struct us_x86_insn *ret)
{
	struct us_x86_insn jump;
	if (!us_x86_decode(code, n, f->word * 8U, ret) || ret->kind != US_X86_POP ||
	    ret->half || ret->reg >= US_X86_N_CODE)
		return false;
	size_t at = ret->len;
	if (n - at >= FENCE && is_lfence(code + at))
		at += FENCE;
	return us_x86_decode(code + at, n - at, f->word * 8U, &jump) &&
	       us_x86_jumps_to(f, &jump, ret->reg);
}

void us_x86_pop_before(struct us_x86_flow *f, us_gva pc, struct us_x86_state *st)
{
	uint8_t code[POP_MAX + FENCE + JUMP_MAX];
	struct us_x86_insn pop;
	for (size_t n = 1; n <= POP_MAX + FENCE && pc >= n; n++) {
		if (n == FENCE) /* inside the fence */
			continue;
		if (!us_paging_read(f->path.paging, f->path.space, pc - n, code,
				    sizeof(code)) ||
		    !is_pop_and_jump(f, code, sizeof(code), &pop) ||
		    (n != pop.len && n != pop.len + (size_t)FENCE))
			continue;
		st->popped = (struct us_x86_value){ -st->word, US_SYM_SP };
		st->popped_reg = pop.reg;
		return;
	}
}

/* --- CALLs through a register --- */

#define NAMED 128 /* bytes before the end of the CALL, in which the register is set */

/* call *reg: its length; 0: it is none. */
static size_t call_by(const uint8_t *end, size_t n, uint8_t *ret_reg)
{
	bool rex = n >= 3 && (end[-3] & 0xf1) == 0x41;
	if (n < 2 || end[-2] != 0xff || (end[-1] & 0xf8) != 0xd0)
		return 0;
	*ret_reg = (end[-1] & 7) | (rex ? 8 : 0);
	return rex ? 3 : 2;
}

/* Is this straight code of n bytes, in which nothing may set reg? */
static bool is_kept(const uint8_t *code, size_t n, uint8_t reg)
{
	struct us_x86_insn insn;
	for (size_t at = 0; at < n; at += insn.len) {
		if (!us_x86_decode(code + at, n - at, 64, &insn) ||
		    insn.general == reg || insn.reg == reg || insn.kind >= US_X86_JUMP)
			return false;
		bool call = insn.kind == US_X86_CALL ||
			    insn.kind == US_X86_CALL_INDIRECT;
		if (call && !us_x86_is_preserved(64, reg))
			return false;
	}
	return true;
}

bool us_x86_named_call(const struct us_x86_flow *f, us_gva pc, us_gva *ret)
{
	uint8_t code[NAMED], reg = 0;
	size_t n = us_x86_before(f, pc, code, NAMED);
	const uint8_t *end = code + NAMED;
	size_t len = call_by(end, n, &reg);
	struct us_x86_insn insn;
	for (size_t back = len + SET_MIN; len && f->word == 8 && back <= n; back++) {
		if (!sets_constant(f, end - back, back, &insn) || insn.general != reg ||
		    insn.len + len > back ||
		    !is_kept(end - back + insn.len, back - insn.len - len, reg))
			continue;
		*ret = insn.value;
		return true;
	}
	return false;
}
