/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_match.c: does the guest run this ELF?  Its text against the guest's memory. */
#include "symbol/elf_file.h"
#include "symbol/elf_image.h"

#include <string.h>

#define PIECE	   128 /* bytes */
#define MAX_PIECES 64
#define ENOUGH	   8

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

static void compare_piece(const uint8_t *want, size_t len, us_gva va,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *m)
{
	uint8_t have[PIECE];
	size_t equal = 0;
	if (!us_paging_read(p, s, va, have, len)) {
		m->unmapped++;
		return;
	}
	for (size_t i = 0; i < len; i++)
		equal += have[i] == want[i];
	m->compared++;
	m->equal += mostly(equal, len);
}

/* The piece at byte `from` of a run of code, or the next one that tells something
 * before byte `to`. */
static bool piece_in(const struct us_elf_image *i, const struct us_elf_code *c,
		     uint64_t from, uint64_t to, uint64_t bias, struct us_paging *p,
		     const struct us_space *s, struct us_image_match *m)
{
	const uint8_t *text = us_elf_image_file(i)->bytes + c->offset;
	for (; from < to; from += PIECE) {
		size_t len = to - from < PIECE ? to - from : PIECE;
		if (len < PIECE / 2 && from > 0)
			return false; /* a crumb at the end */
		if (len < 2 || tells_nothing(text + from, len))
			continue;
		compare_piece(text + from, len, c->start + from + bias, p, s, m);
		return true;
	}
	return false;
}

static uint64_t held(const struct us_elf_code *c)
{
	return c->filesz < c->end - c->start ? c->filesz : c->end - c->start;
}

/* Around the address where the guest is at work: mapped for certain. */
static bool compare_at(const struct us_elf_image *i, uint64_t bias, us_gva at,
		       struct us_paging *p, const struct us_space *s,
		       struct us_image_match *m)
{
	const struct us_elf_code *c = us_elf_file_code(us_elf_image_file(i), at - bias);
	if (!at || !c)
		return false;
	uint64_t from = (at - bias - c->start) & ~(uint64_t)(PIECE - 1);
	uint64_t to = from + PIECE < held(c) ? from + PIECE : held(c);
	return piece_in(i, c, from, to, bias, p, s, m);
}

/* Steps of equal size through all the code laid end to end; a step may take its piece
 * only from what is its own, so that no piece is compared twice. */
static void compare_spread(const struct us_elf_image *i, uint64_t bias,
			   struct us_paging *p, const struct us_space *s,
			   struct us_image_match *m)
{
	const struct us_elf_file *f = us_elf_image_file(i);
	uint64_t total = 0;
	for (size_t k = 0; k < f->n_code; k++)
		total += held(&f->code[k]);
	uint64_t step = total / MAX_PIECES;
	step = step < PIECE ? PIECE : (step + PIECE - 1) & ~(uint64_t)(PIECE - 1);
	for (size_t k = 0; k < f->n_code; k++) {
		const struct us_elf_code *c = &f->code[k];
		/* A hostile table of many tiny sections must not mean many reads. */
		for (uint64_t from = 0; from < held(c); from += step) {
			uint64_t to = held(c) - from < step ? held(c) : from + step;
			if (m->compared + m->unmapped >= 2 * MAX_PIECES)
				return;
			piece_in(i, c, from, to, bias, p, s, m);
		}
	}
}

bool us_elf_image_compare(const struct us_elf_image *i, uint64_t bias, us_gva at,
			  struct us_paging *p, const struct us_space *s,
			  struct us_image_match *ret, bool *ret_same)
{
	struct us_image_match m = { 0 };
	compare_at(i, bias, at, p, s, &m);
	compare_spread(i, bias, p, s, &m);
	*ret = m;
	if (!m.compared || (m.compared < ENOUGH && m.unmapped))
		return false;
	*ret_same = mostly(m.equal, m.compared);
	return true;
}
