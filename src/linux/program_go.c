/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_go.c: see program_go.h. */
#include "linux/program_go.h"

#include "base/cleanup.h"
#include "symbol/go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	    4096U
#define MOST_PAGES  16384U /* in which the table is looked for */
#define MOST_NAME   255U
#define HEAD_NEEDED 16U /* bytes that identify a table */

/* What is looked for: the table, or, with t, the description of the program. */
struct search {
	const struct us_program_pages *r;
	uint64_t table; /* its address */
	struct us_go_table *t;
};

/* Find the head of a table in one page. */
static bool has_table(struct search *s, const uint8_t *page, size_t len,
		      uint64_t address)
{
	size_t at = (size_t)(-address & (US_GO_ALIGN - 1));
	for (; at + HEAD_NEEDED <= len; at += US_GO_ALIGN)
		if (us_go_table_is(page + at, HEAD_NEEDED)) {
			s->table = address + at;
			return true;
		}
	return false;
}

/* Does the program's description begin in the page, with the table's address? */
static bool has_module(struct search *s, const uint8_t *page, size_t len,
		       uint64_t address)
{
	uint64_t word[US_GO_MODULE_WORDS], v;
	for (size_t at = -address & 7; at + 8 <= len; at += 8) {
		memcpy(&v, page + at, sizeof(v));
		if (v == s->table + s->r->f->slide &&
		    us_program_pages_read(s->r, address + at, word, sizeof(word)) &&
		    us_go_table_take_module(s->t, word))
			return true;
	}
	return false;
}

static bool find(struct search *s, bool (*has)(struct search *s, const uint8_t *page,
					       size_t len, uint64_t address))
{
	const struct us_program_pages *r = s->r;
	uint8_t page[PAGE];
	unsigned left = MOST_PAGES;
	for (unsigned k = 0; k < r->f->n_segment; k++) {
		const struct us_program_segment *g = &r->f->segment[k];
		for (uint64_t at = 0; !g->code && at < g->size && left; left--) {
			size_t all = g->size - at < PAGE ? (size_t)(g->size - at)
							 : PAGE;
			size_t len = us_program_pages_part(r, g->address + at, all);
			if (us_program_pages_read(r, g->address + at, page, len) &&
			    has(s, page, len, g->address + at))
				return true;
			at += len;
		}
	}
	return false;
}

/* The table does not say where the code begins, since Go 1.26.  64-bit programs. */
static bool find_text(struct search *s, struct us_go_table *t)
{
	s->t = t;
	return t->word == 8 && find(s, has_module);
}

/* Read from there to the end of the segment.  Missing pages are zero. */
static uint8_t *read_table(const struct us_program_pages *r, uint64_t address,
			   size_t *ret_size, size_t *ret_missing)
{
	const struct us_program_segment *s = us_program_segment_at(r->f, address);
	uint64_t left = s->size - (address - s->address);
	size_t size = left < US_PROGRAM_MOST_GO ? (size_t)left : US_PROGRAM_MOST_GO;
	uint8_t *bytes = calloc(1, size);
	for (size_t done = 0; bytes && done < size;) {
		size_t len = us_program_pages_part(r, address + done, size - done);
		if (!us_program_pages_read(r, address + done, bytes + done, len)) {
			memset(bytes + done, 0, len);
			*ret_missing += len;
		}
		done += len;
	}
	*ret_size = size;
	return bytes;
}

static bool is_code(const struct us_program_elf *f, const struct us_go_function *g)
{
	const struct us_program_segment *s = us_program_segment_at(f, g->start);
	return s && s->code && g->size <= s->size - (g->start - s->address);
}

static int visit_all(const struct us_program_pages *r, const struct us_go_table *t,
		     int (*visit)(void *ctx, const struct us_program_symbol *sym),
		     void *ctx)
{
	int e = 0;
	for (uint32_t k = 0; e == 0 && k < t->n; k++) {
		struct us_go_function g;
		if (!us_go_table_function(t, k, &g))
			continue;
		g.start -= r->f->slide; /* the loader has relocated it */
		size_t len = strnlen(g.name, MOST_NAME + 1);
		if (len <= MOST_NAME && is_code(r->f, &g))
			e = visit(ctx, &(struct us_program_symbol){ g.start, g.size,
								    g.name });
	}
	return e;
}

int us_program_go_symbols(const struct us_program_pages *r,
			  int (*visit)(void *ctx, const struct us_program_symbol *sym),
			  void *ctx, size_t *ret_missing)
{
	struct us_go_table t;
	struct search s = { .r = r };
	size_t size;
	*ret_missing = 0;
	if (!r->f->go)
		return -ENOENT;
	us_program_pages_learn(r);
	if (!find(&s, has_table))
		return -ENOENT;
	_cleanup_free_ uint8_t *bytes = read_table(r, s.table, &size, ret_missing);
	if (!bytes)
		return -ENOMEM;
	if (us_go_table_open(bytes, size, &t) < 0 ||
	    (!t.has_text && !find_text(&s, &t)))
		return -ENOENT;
	return visit_all(r, &t, visit, ctx);
}
