/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_cache.h: the pages of a file in a Linux guest's page cache, mapped by a program
 * or not.
 *
 * A file's xarray (lib/xarray.c) leads to the struct page of each page.  The struct
 * pages form an array, indexed by page frame.  uniscope computes where that array
 * begins from pages that a program has mapped: at least two, and all must agree; else
 * nothing is read.  The xarray can change while it is read.  It still leads only to
 * pages of the guest, which are no more hostile than others.
 */
#ifndef US_LINUX_PAGE_CACHE_H
#define US_LINUX_PAGE_CACHE_H

#include "guest/paging.h"
#include "linux/kernel_btf.h"

/* Where a kernel keeps what is read; offsets in bytes. */
struct us_page_cache_layout {
	uint32_t mapping; /* of a file */
	uint32_t head;	  /* in what mapping points to: the xarray's root */
	uint32_t shift, slots, n_slot; /* in a node; n_slot is a power of two */
	uint32_t index, page_size;     /* in a struct page; the size of one */
};

/* false: this kernel's types lack some of these members. */
bool us_page_cache_layout(const struct us_btf *b, struct us_page_cache_layout *ret);

struct us_page_cache {
	const struct us_page_cache_layout *l;
	struct us_paging *p;
	const struct us_space *s; /* the kernel's own page tables */
	uint64_t page;		  /* bytes of a page */
	uint64_t head;		  /* the root's entry */
	us_gva base;		  /* where the array of struct page begins, if known */
	unsigned n_learned;	  /* pages that agree on base */
	bool torn;		  /* some pages do not agree */
};

/* file: address of a struct file.  false: it cannot be read. */
bool us_page_cache_open(struct us_page_cache *c, const struct us_page_cache_layout *l,
			struct us_paging *p, const struct us_space *s, us_gva file);
/* base: where the array begins according to pages of another file; one page of this
 * file then has to agree.  0: not known.  Forgets what was learned before. */
void us_page_cache_expect(struct us_page_cache *c, us_gva base);
/* Where the array begins, for us_page_cache_expect() with other files; 0: too few pages
 * agree. */
us_gva us_page_cache_base(const struct us_page_cache *c);
/* The index-th page of the file is at this address. */
void us_page_cache_learn(struct us_page_cache *c, uint64_t index, us_gpa at);
/* Read bytes of the file; false: some are not in memory, or too few pages were
 * learned. */
bool us_page_cache_read(struct us_page_cache *c, uint64_t offset, void *buf,
			size_t len);

#endif
