/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_match.c: does the guest run this ELF?  Its text against the guest's memory. */
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <string.h>

#define PIECE	   128 /* bytes */
#define MAX_PIECES 64
#define ENOUGH	   8
#define MAX_TRIES  (1U << 20) /* places looked at for a piece */

/*
 * A function of Linux differs from its file in the 5 bytes of its ftrace call, in its
 * patched return and in each relocated address; code of another build agrees by
 * chance in about every tenth byte.  3/4 stands well clear of both.
 */
static bool mostly(size_t part, size_t whole)
{
	return part * 4 >= whole * 3;
}

static bool tells_nothing(const uint8_t *p, size_t len)
{
	return !memcmp(p, p + 1, len - 1);
}

/* A comparison under way. */
struct match {
	const struct us_elf_file *f;
	uint64_t bias;
	struct us_paging *p;
	const struct us_space *s;
	struct us_image_match m;
	unsigned tries; /* sections may overlap: their sizes bound nothing */
};

static void compare_piece(struct match *t, const uint8_t *want, size_t len, us_gva va)
{
	uint8_t have[PIECE];
	size_t equal = 0;
	if (!us_paging_read(t->p, t->s, va, have, len)) {
		t->m.unmapped++;
		return;
	}
	for (size_t i = 0; i < len; i++)
		equal += have[i] == want[i];
	t->m.compared++;
	t->m.equal += mostly(equal, len);
}

/* The piece at byte `from` of a run of code, or the next one that tells something
 * before byte `to`. */
static void compare_in(struct match *t, const struct us_elf_code *c, uint64_t from,
		       uint64_t to)
{
	const uint8_t *text = t->f->bytes + c->offset;
	for (; from < to && t->tries < MAX_TRIES; from += PIECE, t->tries++) {
		size_t len = to - from < PIECE ? to - from : PIECE;
		if (len < PIECE / 2 && from > 0)
			return; /* a crumb at the end */
		if (len < 2 || tells_nothing(text + from, len))
			continue;
		compare_piece(t, text + from, len, c->start + from + t->bias);
		return;
	}
}

static uint64_t held(const struct us_elf_code *c)
{
	return c->filesz < c->end - c->start ? c->filesz : c->end - c->start;
}

/* Around the address where the guest is at work: mapped for certain. */
static void compare_at(struct match *t, us_gva at)
{
	const struct us_elf_code *c = us_elf_file_code(t->f, at - t->bias);
	if (!at || !c)
		return;
	uint64_t from = (at - t->bias - c->start) & ~(uint64_t)(PIECE - 1);
	uint64_t to = from + PIECE < held(c) ? from + PIECE : held(c);
	compare_in(t, c, from, to);
}

/* Steps of equal size through all runs of code laid end to end; a step takes its
 * piece only from what is its own, so that no piece is compared twice. */
static void compare_spread(struct match *t)
{
	uint64_t total = 0, pos = 0, next = 0;
	for (size_t k = 0; k < t->f->n_code; k++)
		total += held(&t->f->code[k]);
	uint64_t step = total / MAX_PIECES;
	step = step < PIECE ? PIECE : (step + PIECE - 1) & ~(uint64_t)(PIECE - 1);
	for (size_t k = 0; k < t->f->n_code; k++) {
		const struct us_elf_code *c = &t->f->code[k];
		for (; next < pos + held(c); next += step) {
			uint64_t from = (next - pos) & ~(uint64_t)(PIECE - 1);
			uint64_t to = held(c) - from < step ? held(c) : from + step;
			compare_in(t, c, from, to);
		}
		pos += held(c);
	}
}

bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same)
{
	struct match t = { .f = us_elf_image_file(i), .bias = bias, .p = p, .s = s };
	compare_at(&t, at);
	compare_spread(&t);
	*ret = t.m;
	if (!t.m.compared || (t.m.compared < ENOUGH && t.m.unmapped))
		return false;
	*ret_same = mostly(t.m.equal, t.m.compared);
	/* A difference in the few pieces that are mapped tells little: the guest may
	 * still be in its firmware, without the page tables of its kernel. */
	return *ret_same || t.m.compared >= t.m.unmapped;
}
