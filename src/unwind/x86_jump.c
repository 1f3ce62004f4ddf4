/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_jump.c: jumps to where a register says that was set just before; see x86_flow.h.
 */
#include "unwind/x86_flow.h"

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
