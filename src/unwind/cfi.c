/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi.c: look up rules; see cfi.h. */
#include "unwind/cfi.h"

#include "unwind/cfi_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_MASK    0x000ffffffffff000ULL /* the same as in site.c */
#define BORDER_WORDS 128 /* words of 64 rows, searched for a function's start */

void us_cfi_table_free(struct us_cfi_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_part; i++) {
		free(t->part[i].off);
		free(t->part[i].rule);
		free(t->part[i].bucket);
		free(t->part[i].border);
		free(t->part[i].entry);
		free(t->part[i].rules);
	}
	free(t->part);
	free(t->saved);
	free(t);
}

void us_cfi_table_info(const struct us_cfi_table *t, struct us_cfi_table_info *ret)
{
	*ret = (struct us_cfi_table_info){ .word = t->word,
					   .untrusted = t->untrusted,
					   .n_left_out = t->n_left_out };
	ret->bytes = sizeof(*t) + t->n_saved * sizeof(*t->saved);
	for (size_t i = 0; i < t->n_part; i++) {
		const struct us_cfi_part *p = &t->part[i];
		ret->n_row += p->n;
		ret->n_rule += p->n_rule;
		ret->bytes += sizeof(*p) + p->n * (sizeof(*p->off) + sizeof(*p->rule)) +
			      (p->n_bucket + 1ULL) * sizeof(*p->bucket) +
			      2 * ((p->n + 63ULL) / 64) * sizeof(*p->border) +
			      p->n_rule * sizeof(*p->rules);
	}
	if (t->n_part) {
		ret->start = t->part[0].start;
		ret->end = t->part[t->n_part - 1].end;
	}
}

/* --- one table --- */

/* The last row at or below off; row 0 is at 0. */
static uint32_t find_row(const struct us_cfi_part *p, uint32_t off)
{
	uint32_t k = off >> p->shift;
	if (k >= p->n_bucket)
		k = p->n_bucket - 1;
	uint32_t low = p->bucket[k], left = p->bucket[k + 1] - low;
	while (left) {
		uint32_t half = left / 2;
		bool up = p->off[low + half] <= off;
		low = up ? low + half + 1 : low;
		left = up ? left - half - 1 : half;
	}
	return low - 1;
}

/* Where the function of that row is entered; 0: not known. */
static uint64_t find_start(const struct us_cfi_part *p, uint32_t row)
{
	uint32_t at = row / 64;
	if (!p->has_entry)
		return 0;
	uint64_t bits = p->border[at] & (~0ULL >> (63 - row % 64));
	for (unsigned i = 0; !bits; i++) {
		if (at == 0 || i == BORDER_WORDS)
			return 0;
		bits = p->border[--at];
	}
	unsigned bit = 63 - (unsigned)__builtin_clzll(bits);
	if (!(p->entry[at] >> bit & 1))
		return 0;
	return p->start + p->off[at * 64 + bit];
}

static const struct us_cfi_part *find_part(const struct us_cfi_table *t, uint64_t addr)
{
	for (size_t i = 0; i < t->n_part; i++)
		if (addr >= t->part[i].start && addr < t->part[i].end)
			return &t->part[i];
	return NULL;
}

bool us_cfi_table_find(const struct us_cfi_table *t, uint64_t addr,
		       struct us_cfi_row *ret)
{
	const struct us_cfi_part *p = find_part(t, addr);
	if (!p)
		return false;
	uint64_t off = addr - p->start;
	uint32_t row = find_row(p, off < UINT32_MAX ? (uint32_t)off : UINT32_MAX);
	if (p->rule[row] == US_CFI_PART_GAP)
		return false;
	ret->rule = &p->rules[p->rule[row]];
	ret->saved = ret->rule->n_saved ? t->saved + ret->rule->first : NULL;
	ret->start = find_start(p, row);
	ret->word = t->word;
	ret->untrusted = t->untrusted;
	return true;
}

/* --- all tables of a guest --- */

/* How many places start at or below va. */
static size_t count_below(const struct us_cfi *c, us_gva va)
{
	size_t low = 0, left = c->n;
	while (left) {
		size_t half = left / 2;
		bool up = c->place[low + half].start <= va;
		low = up ? low + half + 1 : low;
		left = up ? left - half - 1 : half;
	}
	return low;
}

static bool find_in(const struct us_cfi *c, us_gpa root, us_gva pc,
		    struct us_cfi_row *ret)
{
	for (size_t i = count_below(c, pc); i && c->place[i - 1].reach > pc; i--) {
		const struct us_cfi_place *at = &c->place[i - 1];
		bool here = at->root == US_CFI_ANY_ROOT ||
			    ((at->root ^ root) & ROOT_MASK) == 0;
		if (pc >= at->end || !here ||
		    !us_cfi_table_find(at->table, pc - at->bias, ret))
			continue;
		if (ret->start)
			ret->start += at->bias;
		return true;
	}
	return false;
}

bool us_cfi_find(const struct us_cfi *c, us_gpa root, us_gva pc, struct us_cfi_row *ret)
{
	for (; c; c = c->next)
		if (find_in(c, root, pc, ret))
			return true;
	return false;
}

static void set_reach(struct us_cfi *c)
{
	us_gva reach = 0;
	for (size_t i = 0; i < c->n; i++) {
		if (c->place[i].end > reach)
			reach = c->place[i].end;
		c->place[i].reach = reach;
	}
}

int us_cfi_place(struct us_cfi *c, const struct us_cfi_table *t, uint64_t bias,
		 us_gpa root)
{
	struct us_cfi_table_info info;
	us_cfi_table_info(t, &info);
	if (info.start == info.end)
		return 0;
	us_gva start = info.start + bias, end = info.end + bias;
	if (end <= start)
		return -ERANGE;
	if (c->n == US_CFI_MAX_PLACES)
		return -ENOSPC;
	size_t at = count_below(c, start);
	memmove(&c->place[at + 1], &c->place[at], (c->n - at) * sizeof(*c->place));
	c->place[at] = (struct us_cfi_place){
		.start = start, .end = end, .root = root, .bias = bias, .table = t
	};
	c->n++;
	set_reach(c);
	return 0;
}

void us_cfi_remove(struct us_cfi *c, const struct us_cfi_table *t)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->n; i++)
		if (c->place[i].table != t)
			c->place[kept++] = c->place[i];
	c->n = kept;
	set_reach(c);
}
