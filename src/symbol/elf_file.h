/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_file.h: maps an ELF file, reads its headers once and checks them against its
 * size.
 *
 * The result is safe to use: every section and segment is within the file, and no
 * address wraps round.  32-bit and 64-bit files look alike.  System V gABI, chapters 4
 * and 5.
 *
 * The file must not be truncated in place while it is open (SIGBUS); writers that
 * rename a new file over it, as linkers do, are harmless.
 */
#ifndef US_SYMBOL_ELF_FILE_H
#define US_SYMBOL_ELF_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct us_elf_section {
	const char *name; /* NUL-terminated, the file's bytes: hostile; never NULL */
	uint32_t type, link;
	uint64_t flags, addr, size, entsize;
	uint64_t offset; /* of its bytes in the file; none if type is SHT_NOBITS */
};

struct us_elf_segment {
	uint32_t type, flags;
	uint64_t vaddr, memsz, align;
	uint64_t offset, filesz; /* filesz 0: the file does not hold it */
	uint64_t paddr;		 /* physical load address; not checked */
};

/* A run of machine code. */
struct us_elf_code {
	uint64_t start, end; /* addresses; start < end */
	uint64_t offset;     /* in the file */
	uint64_t filesz;     /* bytes of it in the file; 0 in a .debug file */
};

struct us_elf_file {
	const uint8_t *bytes; /* followed by at least a page of zeros */
	size_t size;
	bool is64;
	bool part;	  /* its type was not checked: us_elf_file_open_part() */
	uint16_t machine; /* EM_* */
	struct us_elf_section *section;
	size_t n_section;
	struct us_elf_segment *segment;
	size_t n_segment;
	/* The executable sections, or, without any, segments; sorted by start. */
	struct us_elf_code *code;
	size_t n_code;
	uint8_t *area; /* the whole mapping: before the file is a page of US_ELF_SPARE
			  bytes, zeroed and writable, for a generated header */
	size_t area_size;
};

#define US_ELF_SPARE 4096

/* -ENOEXEC: not an ELF file that a guest can run; -EINVAL: big-endian; -EBADMSG:
 * malformed; or an error of open(2) or mmap(2). */
US_MUST_CHECK int us_elf_file_open(const char *path, struct us_elf_file *ret,
				   struct us_err *e);
/* The same for a file that need not be a linked image: dwz's are object files. */
US_MUST_CHECK int us_elf_file_open_part(const char *path, struct us_elf_file *ret,
					struct us_err *e);
void us_elf_file_close(struct us_elf_file *f); /* accepts a zeroed one */

/* First section of that name, or NULL. */
const struct us_elf_section *us_elf_file_section(const struct us_elf_file *f,
						 const char *name);
/* The code that covers addr, or NULL. */
const struct us_elf_code *us_elf_file_code(const struct us_elf_file *f, uint64_t addr);

#endif
