/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/pages.h: pages of a Xen domain, mapped when they are first read and then kept.
 *
 * A mapping costs a hypercall and changes of our page tables; a read of a mapped page
 * costs nothing.  At most US_XEN_PAGES are kept, in sets; the one that was not used for
 * the longest time makes room.  Frames are those of xen/calls.h.
 *
 * A mapping shows the memory that was behind a frame when it was made.  A domain can
 * put other memory there (ballooning), and Xen cannot free what we have mapped.  So
 * each mapping is made anew after US_XEN_PAGE_NS if it was used since, else dropped;
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
	uint32_t
		n_change; /* mapped or dropped so far: the others are where they were */
	uint32_t settled;
	bool alone;    /* no sample waits for it: it settles by itself */
	unsigned hand; /* of the clock that looks for old ones */
	uint64_t settled_ns;
};

void us_xen_pages_init(struct us_xen_pages *p, const struct us_xen_calls *calls,
		       void *handle, uint32_t domain);
/* Unmap them all: a domain that has ended cannot go before. */
void us_xen_pages_fini(struct us_xen_pages *p);

/* us_mem.page; ctx is the struct. */
const uint8_t *us_xen_pages_get(void *ctx, us_gpa pa);

/* The page that holds pa, which is also good until n_change is another, with
 * us_xen_page_use() at each use; NULL: there is none. */
struct us_xen_page *us_xen_pages_find(struct us_xen_pages *p, us_gpa pa);

/* It was read. */
static inline void us_xen_page_use(const struct us_xen_pages *p,
				   struct us_xen_page *page)
{
	page->used = p->settled;
	page->touched = true;
}

/* us_mem.read, for what is read once and is long: a hypercall for US_XEN_RUN pages, and
 * none of them is kept.  No sample may wait for it. */
bool us_xen_pages_read(void *ctx, us_gpa pa, void *buf, size_t len);

/* While the domain runs: renew or drop what is old. Bounded by the time since the last
 * time. */
void us_xen_pages_settle(struct us_xen_pages *p, uint64_t now_ns);

#endif
