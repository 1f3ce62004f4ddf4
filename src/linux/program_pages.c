/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_pages.c: see program_pages.h. */
#include "linux/program_pages.h"

#define PAGE	    4096U /* a guest's may be larger */
#define MOST_LOOKED 4096U /* pages */
#define MOST_NEEDED 8U	  /* pages that agree */

const struct us_program_segment *us_program_segment_at(const struct us_program_elf *f,
						       uint64_t address)
{
	for (unsigned k = 0; k < f->n_segment; k++)
		if (address - f->segment[k].address < f->segment[k].size)
			return &f->segment[k];
	return NULL;
}

/* A segment that is written to may differ from the file. */
static bool read_cached(const struct us_program_pages *r, uint64_t address, void *buf,
			size_t len)
{
	const struct us_program_segment *s = us_program_segment_at(r->f, address);
	return r->cache && s && !s->written &&
	       len <= s->size - (address - s->address) &&
	       us_page_cache_read(r->cache, s->offset + (address - s->address), buf,
				  len);
}

bool us_program_pages_read(const struct us_program_pages *r, uint64_t address,
			   void *buf, size_t len)
{
	us_gva va = address + r->f->slide;
	if (!(va >> 63) && us_paging_read(r->p, r->s, va, buf, len))
		return true;
	return read_cached(r, address, buf, len);
}

static void learn(struct us_paging *p, const struct us_space *s,
		  struct us_page_cache *c, us_gva va, uint64_t index)
{
	us_gpa at;
	if (!(va >> 63) && us_paging_translate(p, s, va, &at, NULL))
		us_page_cache_learn(c, index, at);
}

void us_program_pages_learn(const struct us_program_pages *r)
{
	unsigned left = MOST_LOOKED;
	for (unsigned k = 0; r->cache && k < r->f->n_segment; k++) {
		const struct us_program_segment *s = &r->f->segment[k];
		const uint64_t page = r->cache->page;
		uint64_t skew = s->address % page,
			 n = (s->size + skew + page - 1) / page;
		if (s->written || s->offset % page != skew)
			continue;
		for (uint64_t i = 0; i < n && left; i++, left--) {
			us_gva va = s->address - skew + r->f->slide + i * page;
			learn(r->p, r->s, r->cache, va, s->offset / page + i);
		}
	}
}

void us_program_pages_learn_mapping(struct us_paging *p, const struct us_space *s,
				    struct us_page_cache *c, us_gva start, us_gva end,
				    uint64_t offset)
{
	for (uint64_t i = 0;
	     i < MOST_LOOKED && c->n_learned < MOST_NEEDED && start + i * c->page < end;
	     i++)
		learn(p, s, c, start + i * c->page, offset / c->page + i);
}

size_t us_program_pages_part(const struct us_program_pages *r, uint64_t address,
			     size_t left)
{
	size_t part = PAGE - (size_t)((address + r->f->slide) % PAGE);
	return part < left ? part : left;
}
