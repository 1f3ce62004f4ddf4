/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_pages.h: the bytes of a program's file: where the program has them mapped,
 * or, if it has not touched their pages, from the kernel's page cache.
 */
#ifndef US_LINUX_PROGRAM_PAGES_H
#define US_LINUX_PROGRAM_PAGES_H

#include "linux/page_cache.h"
#include "linux/program_elf.h"

struct us_program_pages {
	struct us_paging *p;
	const struct us_space *s; /* the program's page tables */
	const struct us_program_elf *f;
	struct us_page_cache *cache; /* of the file; NULL: none */
};

/* Tell the cache where its pages are mapped; the cache cannot be read before that. */
void us_program_pages_learn(const struct us_program_pages *r);

/* The same from one mapping, before the file's segments are known.  start: where this
 * offset of the file is mapped. */
void us_program_pages_learn_mapping(struct us_paging *p, const struct us_space *s,
				    struct us_page_cache *c, us_gva start, us_gva end,
				    uint64_t offset);

/* Read bytes at an address of the file; false: some are not in memory.  Only segments
 * that the program cannot write to are read from the cache. */
bool us_program_pages_read(const struct us_program_pages *r, uint64_t address,
			   void *buf, size_t len);

/* How many of the `left` bytes from this address on are in its page. */
size_t us_program_pages_part(const struct us_program_pages *r, uint64_t address,
			     size_t left);

/* The segment that contains the address; NULL: none. */
const struct us_program_segment *us_program_segment_at(const struct us_program_elf *f,
						       uint64_t address);

#endif
