/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen/pages.c: see xen/pages.h. */
#include "backend/xen/pages.h"

#include <string.h>

#define N_SET	(US_XEN_PAGES / US_XEN_WAYS)
#define STEP_NS (US_XEN_PAGE_NS / US_XEN_PAGES)

void us_xen_pages_init(struct us_xen_pages *p, const struct us_xen_calls *calls,
		       void *handle, uint32_t domain)
{
	memset(p, 0, sizeof(*p));
	p->calls = calls;
	p->handle = handle;
	p->domain = domain;
	p->settled_ns = us_now_ns();
}

static void drop(struct us_xen_pages *p, struct us_xen_page *page)
{
	if (!page->bytes)
		return;
	p->calls->unmap(p->handle, page->bytes, 1);
	page->bytes = NULL;
	p->n--;
	p->n_change++;
}

void us_xen_pages_fini(struct us_xen_pages *p)
{
	for (unsigned i = 0; i < US_XEN_PAGES; i++)
		drop(p, &p->page[i]);
}

static struct us_xen_page *set_of(struct us_xen_pages *p, uint64_t frame)
{
	return &p->page[(frame ^ frame >> 8 ^ frame >> 16) % N_SET * US_XEN_WAYS];
}

/* A free entry, or the one that was unused for the longest time. */
static struct us_xen_page *place_in(const struct us_xen_pages *p,
				    struct us_xen_page *set)
{
	struct us_xen_page *best = set;
	for (unsigned i = 0; i < US_XEN_WAYS; i++) {
		if (!set[i].bytes)
			return &set[i];
		if (p->settled - set[i].used > p->settled - best->used)
			best = &set[i];
	}
	return best;
}

static bool map(struct us_xen_pages *p, struct us_xen_page *page, uint64_t frame,
		uint64_t now_ns)
{
	const void *bytes = p->calls->map(p->handle, p->domain, &frame, 1);
	drop(p, page);
	if (!bytes)
		return false;
	*page = (struct us_xen_page){
		.bytes = bytes,
		.frame = frame,
		.since_ns = now_ns,
		.used = p->settled,
	};
	p->n++;
	p->n_change++;
	return true;
}

struct us_xen_page *us_xen_pages_find(struct us_xen_pages *p, us_gpa pa)
{
	uint64_t frame = pa / US_XEN_PAGE;
	struct us_xen_page *set = set_of(p, frame);
	for (unsigned i = 0; i < US_XEN_WAYS; i++) {
		if (!set[i].bytes || set[i].frame != frame)
			continue;
		us_xen_page_use(p, &set[i]);
		return &set[i];
	}
	if (p->n_maps >= US_XEN_MAX_MAPS && p->alone)
		us_xen_pages_settle(p, us_now_ns());
	if (p->n_maps >= US_XEN_MAX_MAPS)
		return NULL;
	p->n_maps++;
	struct us_xen_page *page = place_in(p, set);
	if (!map(p, page, frame, us_now_ns()))
		return NULL;
	page->touched = true;
	return page;
}

const uint8_t *us_xen_pages_get(void *ctx, us_gpa pa)
{
	struct us_xen_page *page = us_xen_pages_find(ctx, pa);
	return page ? page->bytes : NULL;
}

bool us_xen_pages_read(void *ctx, us_gpa pa, void *buf, size_t len)
{
	struct us_xen_pages *p = ctx;
	uint64_t frame[US_XEN_RUN];
	uint8_t *to = buf;
	while (len) {
		size_t at = pa % US_XEN_PAGE, n = sizeof(frame) / sizeof(*frame);
		size_t most = n * US_XEN_PAGE - at, some = len < most ? len : most;
		n = (at + some + US_XEN_PAGE - 1) / US_XEN_PAGE;
		for (size_t i = 0; i < n; i++)
			frame[i] = pa / US_XEN_PAGE + i;
		const uint8_t *bytes = p->calls->map(p->handle, p->domain, frame,
						     (unsigned)n);
		if (!bytes)
			return false;
		memcpy(to, bytes + at, some);
		p->calls->unmap(p->handle, bytes, (unsigned)n);
		pa += some;
		to += some;
		len -= some;
	}
	return true;
}

static void renew(struct us_xen_pages *p, struct us_xen_page *page, uint64_t now_ns)
{
	if (!page->bytes || now_ns < page->since_ns + US_XEN_PAGE_NS)
		return;
	uint32_t used = page->used;
	if (!page->touched || p->alone) /* the next read maps it again */
		drop(p, page);
	else if (map(p, page, page->frame, now_ns))
		page->used = used;
}

void us_xen_pages_settle(struct us_xen_pages *p, uint64_t now_ns)
{
	uint64_t since = now_ns > p->settled_ns ? now_ns - p->settled_ns : 0;
	uint64_t steps = since / STEP_NS;
	/* The rest of the time counts at the next call. */
	p->settled_ns += steps * STEP_NS;
	if (steps > US_XEN_PAGES)
		steps = US_XEN_PAGES;
	for (; steps; steps--) {
		renew(p, &p->page[p->hand], now_ns);
		p->hand = (p->hand + 1) % US_XEN_PAGES;
	}
	p->settled++;
	p->n_maps = 0;
}
