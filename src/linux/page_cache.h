/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_cache.h: pages of a file that a Linux guest has in its memory, whether a program
 * has them mapped or not.
 *
 * A file's pages are in an xarray (lib/xarray.c), each by its struct page; these are an
 * array by page frame.  Where that begins is not asked for: pages that a program has
 * mapped tell it, two at least, and all of them have to agree; else nothing is read.
 * The array is read while it changes: a page that it leads to is one of the guest's in
 * any case, and so no more hostile than others.
 */
#ifndef US_LINUX_PAGE_CACHE_H
#define US_LINUX_PAGE_CACHE_H

#include "guest/paging.h"
#include "linux/kernel_btf.h"

#define US_CACHE_PAGE 4096U /* of guests with others nothing is read */

/* Where a kernel has what is read; offsets in bytes. */
struct us_page_cache_layout {
	uint32_t mapping; /* of a file */
	uint32_t head;	  /* of what that points to: the root of its xarray */
	uint32_t shift, slots, n_slot; /* of a node; n_slot a power of two */
	uint32_t index, page_size;     /* of a struct page; its size */
};

/* false: this kernel's types do not say all of it. */
bool us_page_cache_layout(const struct us_btf *b, struct us_page_cache_layout *ret);

struct us_page_cache {
	const struct us_page_cache_layout *l;
	struct us_paging *p;
	const struct us_space *s; /* the kernel's own page tables */
	uint64_t head;		  /* the root's entry */
	us_gva base;	    /* of the array of struct page, as far as it is known */
	unsigned n_learned; /* pages that agree on it */
	bool torn;	    /* some do not */
};

/* file: a struct file of the kernel's.  false: it cannot be read. */
bool us_page_cache_open(struct us_page_cache *c, const struct us_page_cache_layout *l,
			struct us_paging *p, const struct us_space *s, us_gva file);
/* Where pages of another file say that the array begins, of which one of this one's has
 * to agree; 0: nowhere.  What was learned before is forgotten. */
void us_page_cache_expect(struct us_page_cache *c, us_gva base);
/* The same for others; 0: too few pages say it. */
us_gva us_page_cache_base(const struct us_page_cache *c);
/* The index-th page of the file is the one at this address. */
void us_page_cache_learn(struct us_page_cache *c, uint64_t index, us_gpa at);
/* Bytes of the file; false: some are not in memory, or too little was learned. */
bool us_page_cache_read(struct us_page_cache *c, uint64_t offset, void *buf,
			size_t len);

#endif
