/* SPDX-License-Identifier: GPL-2.0-or-later */
/* classes.c: see classes.h. */
#include "classes.h"

#include "unwind/x86_decode.h"

#define NEAR 64 /* words */
#define RET  0xc3

const struct us_class_info us_classes[US_N_CLASS] = {
	[US_CLASS_EQUAL] = { "equal", US_FAULT_NONE,
			     "the same frames, and both know the end" },
	[US_CLASS_EQUAL_ROOT_OURS] = { "equal, root known to us", US_FAULT_NONE,
				       "the same frames; the outermost function has no "
				       "table, so libdwfl fails where we know the "
				       "end" },
	[US_CLASS_LONGER_NO_CFI] = { "ours longer: no table", US_FAULT_NONE,
				     "libdwfl stops in code without a table; our "
				     "next frame is behind a CALL, or an interrupt's" },
	[US_CLASS_LONGER_INTERRUPT] = { "ours longer: interrupt", US_FAULT_NONE,
					"the table ends the stack at an entry from "
					"outside; we cross the processor's frame" },
	[US_CLASS_LONGER_REGISTER] = { "ours longer: register", US_FAULT_NONE,
				       "behind an interrupt libdwfl has lost a "
				       "register that calls may destroy (r10), which "
				       "the "
				       "table counts from; our next frame is a CALL to "
				       "this function" },
	[US_CLASS_LONGER_PAST_END] = { "ours longer: past the end", US_FAULT_NONE,
				       "the table says that nobody calls this "
				       "function; our next frame is a CALL to it" },
	[US_CLASS_DWFL_PAST_ROOT] = { "dwfl longer: past the root", US_FAULT_NONE,
				      "libdwfl goes on by rbp past a function "
				      "without a table that nobody called; what it "
				      "gives is behind no CALL" },
	[US_CLASS_DWFL_GUESS_WRONG] = { "dwfl wrong: no table", US_FAULT_NONE,
					"libdwfl follows rbp in code without a table, "
					"and what it gives is behind no CALL" },
	[US_CLASS_DWFL_GUESS_SKIPS] = { "dwfl skips: no table", US_FAULT_NONE,
					"libdwfl follows rbp in code without a table, "
					"which is still the caller's: it leaves out "
					"frames that we have" },
	[US_CLASS_DWFL_GUESS_ELSEWHERE] = { "dwfl astray: no table", US_FAULT_NONE,
					    "libdwfl follows rbp in code without a "
					    "table, to a CALL that leads elsewhere; "
					    "ours "
					    "leads here, or is an interrupt's" },
	[US_CLASS_TABLE_WRONG] = { "table wrong", US_FAULT_NONE,
				   "what the table gives is behind no CALL; our frame "
				   "is" },
	[US_CLASS_TABLE_BELOW] = { "table wrong: below the stack", US_FAULT_NONE,
				   "an interrupt came at a RET where the table has "
				   "rbp below the stack pointer, in what the "
				   "interrupt has overwritten; our frame is behind a "
				   "CALL" },
	[US_CLASS_DEPTH] = { "depth", US_FAULT_CUT,
			     "we stop at the greatest number of frames" },
	[US_CLASS_CUT_AT_ROOT] = { "end unknown to us", US_FAULT_CUT,
				   "the same frames, but we do not know that the last "
				   "is the outermost" },
	[US_CLASS_CUT] = { "ours cut", US_FAULT_CUT,
			   "we stop where the table would lead on" },
	[US_CLASS_CUT_LATER] = { "ours cut later", US_FAULT_CUT,
				 "libdwfl leaves the path for want of a table; we go "
				 "on, but not to the end" },
	[US_CLASS_CUT_BOTH] = { "both cut", US_FAULT_CUT,
				"the same frames, and neither goes on" },
	[US_CLASS_CUT_WHERE_GUESS] = { "ours cut: no table", US_FAULT_CUT,
				       "libdwfl follows rbp in code without a table; "
				       "we stop within the next frame" },
	[US_CLASS_THREAD_BEGINS] = { "thread begins", US_FAULT_NONE,
				     "a switch to a thread that has not run: above is "
				     "the start of its function, and 0: nobody called; "
				     "counted neither as whole nor as cut" },
	[US_CLASS_EARLY_ROOT] = { "root too early", US_FAULT_BLIND,
				  "we take rbp = 0 for the end of the stack; a table "
				  "knows of callers" },
	[US_CLASS_UNEXPLAINED] = { "unexplained", US_FAULT_UNKNOWN,
				   "no rule knows it" },
};

static bool behind_call(const struct pair *p, us_gva pc)
{
	uint8_t before[8];
	bool direct;
	int32_t imm;
	return pc >= 8 &&
	       us_paging_read(p->paging, &p->regs->space, pc - 8, before, 8) &&
	       us_x86_call_before(before, &direct, &imm);
}

/* Start of the function that pc is in; 0: none. */
static us_gva start_of(const struct pair *p, us_gva pc)
{
	const struct us_code_map *m = p->map;
	size_t lo = 0, hi = m->n;
	if (pc < m->text_start || pc >= m->text_end)
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (m->start[mid] <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? m->start[lo - 1] : 0;
}

/* Where the CALL before pc leads; 0: not known. */
static us_gva call_target(const struct pair *p, us_gva pc)
{
	uint8_t before[8];
	bool direct;
	int32_t imm;
	if (pc < 8 || !us_paging_read(p->paging, &p->regs->space, pc - 8, before, 8) ||
	    !us_x86_call_before(before, &direct, &imm) || !direct)
		return 0;
	return pc + (us_gva)(int64_t)imm;
}

/* Our last frame has no table, and not far above rsp is the start of a function, with
 * nothing to return to. */
static bool thread_begins(const struct pair *p)
{
	us_gva word[2], at = p->regs->sp;
	if (p->ours->end != US_END_NO_RULE ||
	    dwfl_walk_has_cfi(p->walk, p->ours->pc[p->ours->n - 1]))
		return false;
	for (unsigned i = 0; i < NEAR; i++, at += 8)
		if (us_paging_read(p->paging, &p->regs->space, at, word, 16) &&
		    word[0] && !word[1] && start_of(p, word[0]) == word[0])
			return true;
	return false;
}

/* Has the code of libdwfl's frame i a table? */
static bool has_cfi(const struct pair *p, unsigned i)
{
	const struct dwfl_stack *d = p->dwfl;
	return dwfl_walk_has_cfi(p->walk, d->pc[i] - !d->exact[i]);
}

static enum us_class same_frames(const struct pair *p)
{
	bool ours = p->ours->end == US_END_ROOT;
	if (ours && p->dwfl->whole)
		return US_CLASS_EQUAL;
	if (ours)
		return has_cfi(p, p->same - 1) ? US_CLASS_UNEXPLAINED
					       : US_CLASS_EQUAL_ROOT_OURS;
	if (p->ours->end == US_END_DEPTH)
		return US_CLASS_DEPTH;
	if (p->dwfl->whole)
		return US_CLASS_CUT_AT_ROOT;
	return US_CLASS_CUT_BOTH;
}

/* Is our frame i a CALL to the function of the frame below? */
static bool calls_here(const struct pair *p, unsigned i)
{
	us_gva start = start_of(p, p->ours->pc[i - 1]);
	return start && call_target(p, p->ours->pc[i]) == start;
}

static enum us_class ours_longer(const struct pair *p)
{
	bool crossed = p->ours->how[p->same] == US_HOW_INTERRUPT;
	if (!crossed && !behind_call(p, p->ours->pc[p->same]))
		return US_CLASS_UNEXPLAINED;
	if (!p->dwfl->whole && !has_cfi(p, p->same - 1))
		return US_CLASS_LONGER_NO_CFI;
	if (crossed)
		return US_CLASS_LONGER_INTERRUPT;
	if (!calls_here(p, p->same))
		return US_CLASS_UNEXPLAINED;
	if (p->dwfl->whole)
		return US_CLASS_LONGER_PAST_END;
	return p->same > 1 && p->dwfl->exact[p->same - 1] ? US_CLASS_LONGER_REGISTER
							  : US_CLASS_UNEXPLAINED;
}

static enum us_class dwfl_longer(const struct pair *p)
{
	if (p->ours->end == US_END_DEPTH)
		return US_CLASS_DEPTH;
	if (p->ours->end != US_END_ROOT)
		return US_CLASS_CUT;
	bool call = behind_call(p, p->dwfl->pc[p->same]);
	if (has_cfi(p, p->same - 1))
		return call ? US_CLASS_EARLY_ROOT : US_CLASS_UNEXPLAINED;
	return call ? US_CLASS_UNEXPLAINED : US_CLASS_DWFL_PAST_ROOT;
}

static bool comes_later(const struct pair *p, us_gva pc)
{
	for (unsigned i = p->same + 1; i < p->ours->n; i++)
		if (p->ours->pc[i] == pc)
			return true;
	return false;
}

/* libdwfl had no table, and took what rbp leads to. */
static enum us_class guess_differs(const struct pair *p)
{
	us_gva theirs = p->dwfl->pc[p->same];
	us_gva start = start_of(p, p->dwfl->pc[p->same - 1]);
	us_gva leads = call_target(p, theirs);
	bool sure = p->ours->how[p->same] == US_HOW_INTERRUPT || calls_here(p, p->same);
	if (!behind_call(p, theirs))
		return US_CLASS_DWFL_GUESS_WRONG;
	if (comes_later(p, theirs))
		return US_CLASS_DWFL_GUESS_SKIPS;
	if (start && sure && leads && leads != start)
		return US_CLASS_DWFL_GUESS_ELSEWHERE;
	return p->ours->end == US_END_ROOT ? US_CLASS_UNEXPLAINED
					   : US_CLASS_CUT_WHERE_GUESS;
}

/* In a recursion a frame that is left out shows only at its end: is there code without
 * a table further in, from which on all of libdwfl's frames are ours, shifted? */
static bool skipped_before(const struct pair *p)
{
	unsigned n = p->dwfl->n, by = p->ours->n - n, i = n;
	if (p->ours->n <= n)
		return false;
	while (i > 0 && p->dwfl->pc[i - 1] == p->ours->pc[i - 1 + by])
		i--;
	for (unsigned k = i ? i - 1 : 0; k < p->same; k++)
		if (!has_cfi(p, k))
			return true;
	return false;
}

static enum us_class frame_differs(const struct pair *p)
{
	us_gva theirs = p->dwfl->pc[p->same];
	if (!has_cfi(p, p->same - 1))
		return guess_differs(p);
	if (!behind_call(p, theirs) && !p->dwfl->exact[p->same] &&
	    behind_call(p, p->ours->pc[p->same]))
		return US_CLASS_TABLE_WRONG;
	return skipped_before(p) ? US_CLASS_DWFL_GUESS_SKIPS : US_CLASS_UNEXPLAINED;
}

static enum us_class compare_frames(struct pair *p)
{
	unsigned n = p->ours->n < p->dwfl->n ? p->ours->n : p->dwfl->n, i = 0;
	while (i < n && p->ours->pc[i] == p->dwfl->pc[i])
		i++;
	p->same = i;
	if (i == 0)
		return US_CLASS_UNEXPLAINED;
	if (i < n)
		return frame_differs(p);
	if (p->ours->n > n)
		return ours_longer(p);
	return p->dwfl->n > n ? dwfl_longer(p) : same_frames(p);
}

/* clang's tables have rbp still on the stack at the RET behind its POP. */
static bool has_lost_rbp(const struct pair *p)
{
	uint8_t byte;
	for (unsigned i = 1; i < p->same; i++)
		if (p->dwfl->exact[i] &&
		    us_paging_read(p->paging, &p->regs->space, p->dwfl->pc[i], &byte,
				   1) &&
		    byte == RET && dwfl_walk_saves_rbp(p->walk, p->dwfl->pc[i]))
			return true;
	return false;
}

enum us_class classify(struct pair *p)
{
	enum us_class class = compare_frames(p);
	if (class == US_CLASS_UNEXPLAINED && p->same < p->ours->n &&
	    behind_call(p, p->ours->pc[p->same]) && has_lost_rbp(p))
		class = US_CLASS_TABLE_BELOW;
	if (class == US_CLASS_UNEXPLAINED || p->ours->end == US_END_ROOT)
		return class;
	if (thread_begins(p))
		return US_CLASS_THREAD_BEGINS;
	/* Right as far as it goes? */
	return us_classes[class].fault == US_FAULT_NONE ? US_CLASS_CUT_LATER : class;
}
