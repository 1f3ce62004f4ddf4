/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_elf.h: what an ELF file says of itself where a program has it mapped: which
 * build it is, where it lies, and the functions that it offers to others.
 *
 * The bytes are the guest's, and any of their pages may be out of its memory: what
 * cannot be read is missing, not an error.  64-bit and 32-bit files alike.  Sizes and
 * counts are bounded before they are used.
 */
#ifndef US_LINUX_PROGRAM_ELF_H
#define US_LINUX_PROGRAM_ELF_H

#include "base/err.h"
#include "guest/paging.h"

#define US_PROGRAM_SEGMENTS    16
#define US_PROGRAM_BUILD_ID    20	  /* bytes that are kept */
#define US_PROGRAM_MOST_NAMES  (2U << 20) /* bytes of the names of a file's symbols */
#define US_PROGRAM_MOST_SYMBOL 65536U	  /* symbols that are looked at */

struct us_program_elf {
	bool is64;
	uint8_t build_id[US_PROGRAM_BUILD_ID];
	uint8_t build_id_len; /* 0: none, or it cannot be read */
	bool go;	      /* a note says that it is a program of Go */
	bool whole;	      /* all that would say a build-id could be read */
	uint64_t slide;	      /* of its addresses to where they are mapped */
	uint64_t dynamic, dynamic_size; /* an address of the file; 0: none */
	uint64_t frames, frames_size;	/* likewise: of PT_GNU_EH_FRAME */
	uint16_t machine;		/* EM_* */
	struct us_program_segment {
		uint64_t address, size, offset; /* as the file has it; size in memory */
		bool code, written;
	} segment[US_PROGRAM_SEGMENTS]; /* those that are loaded */
	unsigned n_segment;
};

struct us_page_cache;
struct us_program_pages;

/*
 * start: where the first byte of the file is mapped.  s: the program's page tables.
 * cache: of the file, for what is not mapped: a process that was forked has not touched
 * its header; NULL: none.  false: there is no ELF file, or it is not in memory.
 */
bool us_program_elf_read(struct us_paging *p, const struct us_space *s, us_gva start,
			 struct us_page_cache *cache, struct us_program_elf *ret);

/* What is to be added to the file's addresses, of a mapping of code; false: it is none
 * of its segments. */
bool us_program_elf_slide(const struct us_program_elf *f, us_gva start, uint64_t offset,
			  uint64_t *ret);

struct us_program_symbol {
	uint64_t address, size; /* the file's; size 0: not said */
	const char *name;	/* 1 to 255 bytes; valid during the call */
};

/*
 * The functions of its table of dynamic symbols.  visit: nonzero ends it. *ret_missing:
 * bytes that were not in memory.  0; -ENOENT: there is no such table, or it is not in
 * memory; -ENOMEM; or what visit said.
 */
US_MUST_CHECK int
us_program_elf_symbols(const struct us_program_pages *pages,
		       int (*visit)(void *ctx, const struct us_program_symbol *sym),
		       void *ctx, size_t *ret_missing);

#endif
