/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_elf.h: what an ELF file says about itself where a program has it mapped: its
 * build-id, its addresses, and its dynamic function symbols.
 *
 * The bytes are the guest's, and any page may not be in its memory: what cannot be read
 * is left out, which is not an error.  Reads 64-bit and 32-bit files.  Sizes and counts
 * are bounded before use.
 */
#ifndef US_LINUX_PROGRAM_ELF_H
#define US_LINUX_PROGRAM_ELF_H

#include "base/err.h"
#include "guest/paging.h"

#define US_PROGRAM_SEGMENTS    16
#define US_PROGRAM_BUILD_ID    20	  /* bytes that are kept */
#define US_PROGRAM_MOST_NAMES  (2U << 20) /* bytes of a file's symbol names */
#define US_PROGRAM_MOST_SYMBOL 65536U	  /* symbols that are read */

struct us_program_elf {
	bool is64;
	uint8_t build_id[US_PROGRAM_BUILD_ID];
	uint8_t build_id_len; /* 0: none, or it cannot be read */
	uint64_t mark; /* hash of the headers and notes: tells builds apart that have no
			  build-id */
	bool go;       /* a note says that it is a Go program */
	bool whole;    /* everything that could hold a build-id was read */
	uint64_t slide;			/* gva minus address of the file */
	uint64_t page;			/* bytes of the guest's pages */
	uint64_t dynamic, dynamic_size; /* an address of the file; 0: none */
	uint64_t frames, frames_size;	/* likewise: of PT_GNU_EH_FRAME */
	uint16_t machine;		/* EM_* */
	struct us_program_segment {
		uint64_t address, size, offset; /* as the file has it; size in memory */
		bool code, written;
	} segment[US_PROGRAM_SEGMENTS]; /* the loaded ones */
	unsigned n_segment;
};

struct us_page_cache;
struct us_program_pages;

/*
 * start: where the first byte of the file is mapped.  s: the program's page tables.
 * cache: of the file, for pages that are not mapped (a forked process may not have
 * touched the header); NULL: none.  false: no ELF file, or it is not in memory.
 */
bool us_program_elf_read(struct us_paging *p, const struct us_space *s, us_gva start,
			 struct us_page_cache *cache, struct us_program_elf *ret);

/* *ret: what to add to the file's addresses, according to a mapping of code.  false:
 * the mapping is none of the file's segments. */
bool us_program_elf_slide(const struct us_program_elf *f, us_gva start, uint64_t offset,
			  uint64_t *ret);

struct us_program_symbol {
	uint64_t address, size; /* of the file; size 0: not known */
	const char *name;	/* 1 to 255 bytes; valid during the call */
};

/*
 * Visit the functions of the dynamic symbol table.  If visit returns nonzero, the
 * search ends with that value.  *ret_missing: bytes that were not in memory.  0;
 * -ENOENT: there is no such table, or it is not in memory; -ENOMEM.
 */
US_MUST_CHECK int
us_program_elf_symbols(const struct us_program_pages *pages,
		       int (*visit)(void *ctx, const struct us_program_symbol *sym),
		       void *ctx, size_t *ret_missing);

#endif
