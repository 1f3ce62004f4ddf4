/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_find.c: see image_find.h. */
#include "symbol/image_find.h"

#include "symbol/elf_file.h"

#include <string.h>

#define PAGE	     4096U
#define MAX_TRIES    (1U << 21) /* comparisons of a whole window */
#define ANCHOR	     8		/* bytes that are searched for exactly ... */
#define ANCHOR_STEP  16		/* ... one in so many bytes of a window */
#define MAX_ANCHORS  (US_FIND_WINDOWS * US_FIND_WINDOW / ANCHOR_STEP)
#define FILTER_BITS  12
#define LEAST_SPREAD 16 /* different bytes in a useful window */

/* Of one window: the bias at which its bytes are in the file. */
struct vote {
	uint64_t bias;
	unsigned n; /* biases; 2: more than one */
};

struct search {
	const struct us_elf_file *f;
	const struct us_find_window *w;
	size_t n;
	struct vote vote[US_FIND_WINDOWS];
	unsigned tries; /* left */
	uint64_t bytes; /* of text, left: sections may overlap */
};

static bool tells_something(const uint8_t *p)
{
	bool seen[256] = { false };
	unsigned n = 0;
	for (unsigned i = 0; i < US_FIND_WINDOW; i++) {
		n += !seen[p[i]];
		seen[p[i]] = true;
	}
	return n >= LEAST_SPREAD;
}

bool us_find_window_read(struct us_find_window *w, struct us_paging *p,
			 const struct us_space *s, us_gva pc)
{
	us_gva page = pc & ~(us_gva)(PAGE - 1);
	us_gva at = pc - page < US_FIND_WINDOW / 2 ? page : pc - US_FIND_WINDOW / 2;
	if (at > page + PAGE - US_FIND_WINDOW)
		at = page + PAGE - US_FIND_WINDOW;
	w->start = at;
	return us_paging_read(p, s, at, w->bytes, sizeof(w->bytes)) &&
	       tells_something(w->bytes);
}

static uint64_t held(const struct us_elf_code *c)
{
	return c->filesz < c->end - c->start ? c->filesz : c->end - c->start;
}

static bool similar(const uint8_t *a, const uint8_t *b)
{
	unsigned equal = 0;
	for (unsigned i = 0; i < US_FIND_WINDOW; i++)
		equal += a[i] == b[i];
	return equal * 4 >= US_FIND_WINDOW * 3;
}

/* Window k at this offset of a run of code: a vote if its bytes are there. */
static void try_at(struct search *s, size_t k, const struct us_elf_code *c,
		   uint64_t offset)
{
	struct vote *v = &s->vote[k];
	uint64_t bias = s->w[k].start - (c->start + offset);
	if (!s->tries || v->n > 1 || (v->n && v->bias == bias))
		return;
	s->tries--;
	if (!similar(s->f->bytes + c->offset + offset, s->w[k].bytes))
		return;
	v->bias = bias;
	v->n++;
}

static void search_pages(struct search *s, const struct us_elf_code *c, uint64_t len)
{
	for (size_t k = 0; k < s->n; k++) {
		uint64_t first = (s->w[k].start - c->start) & (PAGE - 1);
		for (uint64_t at = first; at + US_FIND_WINDOW <= len; at += PAGE)
			try_at(s, k, c, at);
	}
}

/* All anchors of all windows, for one pass through the text. */
struct anchors {
	uint8_t filter[1U << FILTER_BITS]; /* by hash: index + 1 of the first */
	struct anchor {
		uint64_t bytes;
		uint8_t window, at; /* at: in the window, in steps */
		uint8_t next;	    /* index + 1 of another with this hash */
	} v[MAX_ANCHORS];
	unsigned n;
};
_Static_assert(MAX_ANCHORS < 257, "an index + 1 has 8 bits");

static unsigned hash_of(uint64_t bytes)
{
	return (unsigned)(bytes * 0x9e3779b97f4a7c15ULL >> (64 - FILTER_BITS));
}

static void add_anchor(struct anchors *a, size_t window, unsigned at, uint64_t bytes)
{
	if (bytes == (bytes & 0xff) * 0x0101010101010101ULL || a->n == MAX_ANCHORS - 1)
		return; /* padding is everywhere */
	uint8_t *first = &a->filter[hash_of(bytes)];
	a->v[a->n] = (struct anchor){ .bytes = bytes,
				      .window = (uint8_t)window,
				      .at = (uint8_t)(at / ANCHOR_STEP),
				      .next = *first };
	*first = (uint8_t)++a->n;
}

static void make_anchors(const struct search *s, struct anchors *a)
{
	memset(a, 0, sizeof(*a));
	for (size_t k = 0; k < s->n; k++)
		for (unsigned at = 0; at + ANCHOR <= US_FIND_WINDOW;
		     at += ANCHOR_STEP) {
			uint64_t bytes;
			memcpy(&bytes, s->w[k].bytes + at, sizeof(bytes));
			add_anchor(a, k, at, bytes);
		}
}

static void try_anchors(struct search *s, const struct anchors *a, unsigned first,
			const struct us_elf_code *c, uint64_t len, uint64_t at,
			uint64_t bytes)
{
	for (unsigned k = first; k; k = a->v[k - 1].next) {
		const struct anchor *n = &a->v[k - 1];
		uint64_t before = (uint64_t)n->at * ANCHOR_STEP;
		if (n->bytes == bytes && at >= before &&
		    at - before + US_FIND_WINDOW <= len)
			try_at(s, n->window, c, at - before);
	}
}

static void search_bytes(struct search *s, const struct anchors *a,
			 const struct us_elf_code *c, uint64_t len)
{
	const uint8_t *text = s->f->bytes + c->offset;
	uint64_t bytes;
	for (uint64_t at = 0; at + ANCHOR <= len && s->tries; at++) {
		memcpy(&bytes, text + at, sizeof(bytes));
		unsigned first = a->filter[hash_of(bytes)];
		if (first)
			try_anchors(s, a, first, c, len, at, bytes);
	}
}

static void count_votes(const struct search *s, struct us_image_found *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t k = 0; k < s->n; k++) {
		unsigned votes = 0;
		for (size_t j = 0; j < s->n && s->vote[k].n == 1; j++)
			votes += s->vote[j].n == 1 &&
				 s->vote[j].bias == s->vote[k].bias;
		if (votes > ret->votes) {
			ret->votes = votes;
			ret->bias = s->vote[k].bias;
			ret->ambiguous = false;
		} else if (votes && votes == ret->votes) {
			ret->ambiguous |= s->vote[k].bias != ret->bias;
		}
	}
	for (size_t k = 0; k < s->n; k++)
		ret->others += s->vote[k].n == 1 && s->vote[k].bias != ret->bias;
}

bool us_elf_image_search(const struct us_elf_image *i, const struct us_find_window *w,
			 size_t n, bool anywhere, struct us_image_found *ret)
{
	struct search s = { .f = us_elf_image_file(i),
			    .w = w,
			    .n = n < US_FIND_WINDOWS ? n : US_FIND_WINDOWS,
			    .tries = MAX_TRIES,
			    .bytes = US_FIND_MOST };
	struct anchors a;
	if (anywhere)
		make_anchors(&s, &a);
	for (size_t k = 0; k < s.f->n_code && s.bytes && s.tries; k++) {
		const struct us_elf_code *c = &s.f->code[k];
		uint64_t len = held(c) < s.bytes ? held(c) : s.bytes;
		s.bytes -= len;
		if (anywhere)
			search_bytes(&s, &a, c, len);
		else
			search_pages(&s, c, len);
	}
	/* The search was cut short, so a window that was found once may occur twice. */
	if (!s.tries || !s.bytes)
		for (size_t k = 0; k < s.n; k++)
			s.vote[k].n = 0;
	count_votes(&s, ret);
	return ret->votes > 0;
}
