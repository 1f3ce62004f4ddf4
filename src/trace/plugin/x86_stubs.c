/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_stubs.c: see x86_stubs.h. */
#include "trace/plugin/x86_stubs.h"

#include "unwind/x86_decode.h"

#include <string.h>

#define MIN_STUBS  4  /* that jump out of the searched part, or begin it */
#define MIN_INSIDE 16 /* others may be the cases of a switch: push $1; jmp; ... */
#define MAX_LEAD   48 /* bytes of padding, and of what precedes a stub's last push */
#define MAX_ALIGN  64

/* How each stub ends: it pushes its number and jumps. */
struct ending {
	size_t at, end;
	int64_t target; /* relative to the code */
	uint8_t number; /* its low byte: Linux pushes vectors as negative numbers */
};

static size_t push_number(const uint8_t *p, size_t n)
{
	int32_t number;
	if (n >= 2 && p[0] == 0x6a)
		return 2;
	if (n < 5 || p[0] != 0x68)
		return 0;
	memcpy(&number, p + 1, sizeof(number));
	return number >= -512 && number < 1024 ? 5 : 0; /* no address */
}

static bool ending_at(const struct us_stub_code *c, size_t at, struct ending *ret)
{
	size_t push = push_number(c->v + at, c->to - at);
	const uint8_t *jump = c->v + at + push;
	size_t left = c->to - at - push;
	int32_t distance;
	if (push && left >= 2 && jump[0] == 0xeb) {
		distance = (int8_t)jump[1];
		ret->end = at + push + 2;
	} else if (push && left >= 5 && jump[0] == 0xe9) {
		memcpy(&distance, jump + 1, sizeof(distance));
		ret->end = at + push + 5;
	} else {
		return false;
	}
	ret->at = at;
	ret->target = (int64_t)ret->end + distance;
	ret->number = c->v[at + 1];
	return true;
}

/* The length of an instruction that may precede that push, or of padding; 0: it is
 * neither. */
static size_t lead_length(const uint8_t *p, size_t n)
{
	/* int3 and zeros are padding; cli, cld; push of segment registers; pusha. */
	static const uint8_t single[] = { 0xcc, 0,    0xfa, 0xfc, 0x06,
					  0x0e, 0x16, 0x1e, 0x60 };
	struct us_x86_insn x;
	size_t push = push_number(p, n);
	if (push)
		return push;
	if (memchr(single, *p, sizeof(single)))
		return 1;
	if (n >= 3 && p[0] == 0x0f && p[1] == 0x01 && p[2] == 0xca) /* clac */
		return 3;
	if (!us_x86_decode(p, n, 64, &x))
		return 0;
	/* As padding in 32-bit code: lea and mov of a register to itself. */
	bool pads = p[0] == 0x8d || (n >= 2 && p[0] == 0x89 && p[1] == 0xf6);
	bool push_reg = (p[0] & 0xf8) == 0x50 ||
			(p[0] == 0x41 && (p[1] & 0xf8) == 0x50);
	return pads || push_reg || x.kind == US_X86_NOP || x.kind == US_X86_ENDBR
		       ? x.len
		       : 0;
}

/* The bytes after `from` at which instructions begin, up to the last push of the stub
 * there, as bits.  0: it is no stub. */
static uint64_t lead_of(const struct us_stub_code *c, size_t from, struct ending *ret)
{
	uint64_t begins = 0;
	for (size_t at = from; at < c->to && at - from < MAX_LEAD;) {
		begins |= 1ULL << (at - from);
		if (ending_at(c, at, ret))
			return begins;
		size_t n = lead_length(c->v + at, c->to - at);
		if (!n)
			return 0;
		at += n;
	}
	return 0;
}

struct table {
	unsigned n;
	struct ending stub[US_STUBS_MAX];
	/* Where each may begin, from the end of the one before it; 0 for the
	 * first: it does not begin with the searched part. */
	uint64_t lead[US_STUBS_MAX];
};

/* Numbers go up or down by one, and all jump to the same place. */
static void follow(const struct us_stub_code *c, struct table *t)
{
	uint8_t step = 0;
	while (t->n < US_STUBS_MAX) {
		const struct ending *last = &t->stub[t->n - 1];
		struct ending next;
		uint64_t lead = lead_of(c, last->end, &next);
		uint8_t by = (uint8_t)(next.number - last->number);
		if (!lead || next.target != last->target ||
		    (step ? by != step : by != 1 && by != UINT8_MAX))
			return;
		step = by;
		t->stub[t->n] = next;
		t->lead[t->n++] = lead;
	}
}

/* A program's table of links to libraries has the same form.  What its entries jump to
 * pushes a word of memory first. */
static bool is_plt(const struct us_stub_code *c, const struct table *t)
{
	int64_t at = t->stub[0].target;
	if (at < 0 || (uint64_t)at + 2 > c->n)
		return false;
	const uint8_t *p = c->v + at;
	return p[0] == 0xff && (p[1] == 0x35 || p[1] == 0xb3);
}

static bool is_table(const struct us_stub_code *c, const struct table *t)
{
	int64_t target = t->stub[0].target;
	bool inside = target >= (int64_t)c->from && target < (int64_t)c->to;
	return t->n >= (inside && !t->lead[0] ? MIN_INSIDE : MIN_STUBS) &&
	       !is_plt(c, t);
}

/* The first of these places that is aligned so; 64: none. */
static unsigned aligned(uint64_t pc, uint64_t lead, uint64_t align)
{
	for (unsigned i = 0; i < 64; i++)
		if (lead >> i & 1 && (pc + i) % align == 0)
			return i;
	return 64;
}

/* The alignment of all stubs, as far as padding is there to make it.  Nothing else
 * tells padding from a stub's own first instructions. */
static uint64_t alignment(const struct us_stub_code *c, const struct table *t)
{
	for (uint64_t align = MAX_ALIGN; align > 1; align /= 2) {
		unsigned i = 1;
		while (i < t->n &&
		       aligned(c->pc + t->stub[i - 1].end, t->lead[i], align) < 64)
			i++;
		if (i == t->n)
			return align;
	}
	return 1;
}

/* The first stub of a table in the middle of other code begins like the second. */
static uint64_t first_start(const struct us_stub_code *c, const struct table *t,
			    uint64_t second)
{
	size_t at = t->stub[0].at, own = t->stub[1].at - (size_t)(second - c->pc);
	bool alike = own <= at - c->from &&
		     !memcmp(c->v + at - own, c->v + t->stub[1].at - own, own);
	return c->pc + at - (alike ? own : 0);
}

static void set_starts(const struct us_stub_code *c, const struct table *t,
		       struct us_stubs *ret)
{
	uint64_t align = alignment(c, t);
	ret->n = t->n;
	ret->end = c->pc + t->stub[t->n - 1].end;
	ret->target = c->pc + (uint64_t)t->stub[0].target;
	ret->first = t->lead[0];
	for (unsigned i = 1; i < t->n; i++) {
		uint64_t end = c->pc + t->stub[i - 1].end;
		ret->start[i] = end + aligned(end, t->lead[i], align);
	}
	unsigned skip = t->lead[0] ? aligned(c->pc + c->from, t->lead[0], align) : 64;
	ret->start[0] = skip < 64 ? c->pc + c->from + skip
				  : first_start(c, t, ret->start[1]);
}

bool us_x86_find_stubs(const struct us_stub_code *c, struct us_stubs *ret)
{
	struct table t = { .n = 1 };
	/* The table begins with the part, or anywhere in it. */
	t.lead[0] = c->from < c->to ? lead_of(c, c->from, &t.stub[0]) : 0;
	for (size_t at = t.lead[0] ? t.stub[0].at : c->from; at < c->to; at++) {
		if (!ending_at(c, at, &t.stub[0]))
			continue;
		t.n = 1;
		follow(c, &t);
		if (is_table(c, &t)) {
			set_starts(c, &t, ret);
			return true;
		}
		at = t.stub[t.n - 1].end - 1;
		t.lead[0] = 0;
	}
	return false;
}
