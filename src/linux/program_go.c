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

/* Find the head of a table in one page. */
static bool find_in_page(const uint8_t *bytes, size_t len, uint64_t address,
			 uint64_t *ret)
{
	size_t at = (size_t)(-address & (US_GO_ALIGN - 1));
	for (; at + HEAD_NEEDED <= len; at += US_GO_ALIGN)
		if (us_go_table_is(bytes + at, HEAD_NEEDED)) {
			*ret = address + at;
			return true;
		}
	return false;
}

static bool find(const struct us_program_pages *r, uint64_t *ret)
{
	uint8_t page[PAGE];
	unsigned left = MOST_PAGES;
	for (unsigned k = 0; k < r->f->n_segment; k++) {
		const struct us_program_segment *s = &r->f->segment[k];
		for (uint64_t at = 0; !s->code && at < s->size && left; left--) {
			size_t all = s->size - at < PAGE ? (size_t)(s->size - at)
							 : PAGE;
			size_t len = us_program_pages_part(r, s->address + at, all);
			if (us_program_pages_read(r, s->address + at, page, len) &&
			    find_in_page(page, len, s->address + at, ret))
				return true;
			at += len;
		}
	}
	return false;
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
	uint64_t address;
	size_t size;
	*ret_missing = 0;
	if (!r->f->go)
		return -ENOENT;
	us_program_pages_learn(r);
	if (!find(r, &address))
		return -ENOENT;
	_cleanup_free_ uint8_t *bytes = read_table(r, address, &size, ret_missing);
	if (!bytes)
		return -ENOMEM;
	if (us_go_table_open(bytes, size, &t) < 0 || !t.has_text)
		return -ENOENT;
	return visit_all(r, &t, visit, ctx);
}
