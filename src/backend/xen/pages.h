/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/pages.h: pages of a Xen domain, mapped when they are first read and then kept.
 *
 * A mapping costs a hypercall and changes to our page tables; reading a mapped page
 * costs nothing.  At most US_XEN_PAGES are kept, in sets; the least recently used one
 * is replaced.  Frames are those of xen/calls.h.
 *
 * A mapping shows the memory that was behind a frame when it was made.  A domain can
 * put other memory there (ballooning), and Xen cannot free what we have mapped.  Each
 * mapping is therefore renewed after US_XEN_PAGE_NS if it was used since, else dropped;
 * both while the domain runs.
 */
#ifndef US_BACKEND_XEN_PAGES_H
#define US_BACKEND_XEN_PAGES_H

#include "base/clock.h"
#include "guest/memory.h"
#include "vmm/xen/calls.h"

#define US_XEN_WAYS	4
#define US_XEN_PAGES	1024
#define US_XEN_PAGE_NS	US_NS_PER_SEC
#define US_XEN_MAX_MAPS 128 /* between two us_xen_pages_settle(): bounds a sample */

struct us_xen_pages {
	const struct us_xen_calls *calls;
	void *handle;
	uint32_t domain;
	struct us_xen_page {
		const uint8_t *bytes; /* NULL: free */
		uint64_t frame;
		uint64_t since_ns; /* mapped */
		uint32_t used;	   /* number of settlements when it was last used */
		bool touched;	   /* used since it was mapped */
	} page[US_XEN_PAGES];
	unsigned n, n_maps; /* mapped now; map calls since the last settlement */
	uint32_t n_change;  /* number of mappings made or dropped so far; if it is
			       unchanged, all pages are where they were */
	uint32_t settled;
	bool alone;    /* no sample waits for it: it settles on its own */
	unsigned hand; /* clock hand of the search for old ones */
	uint64_t settled_ns;
};

void us_xen_pages_init(struct us_xen_pages *p, const struct us_xen_calls *calls,
		       void *handle, uint32_t domain);
/* Unmap all: a domain that has ended cannot be freed before. */
void us_xen_pages_fini(struct us_xen_pages *p);

/* us_mem.page; ctx is the struct. */
const uint8_t *us_xen_pages_get(void *ctx, us_gpa pa);

/* The page that holds pa.  It stays valid until n_change changes; call
 * us_xen_page_use() at each use.  NULL: there is none. */
struct us_xen_page *us_xen_pages_find(struct us_xen_pages *p, us_gpa pa);

/* Note that the page was read. */
static inline void us_xen_page_use(const struct us_xen_pages *p,
				   struct us_xen_page *page)
{
	page->used = p->settled;
	page->touched = true;
}

/* us_mem.read, for long pieces that are read once: one hypercall for US_XEN_RUN pages,
 * none of which is kept.  Not while a sample waits. */
bool us_xen_pages_read(void *ctx, us_gpa pa, void *buf, size_t len);

/* While the domain runs: renew or drop old mappings.  The work is bounded by the time
 * since the last call. */
void us_xen_pages_settle(struct us_xen_pages *p, uint64_t now_ns);

#endif
