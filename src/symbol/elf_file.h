/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_file.h: copies an ELF file to memory, reads its headers once and checks them
 * against its size.
 *
 * The result is safe to use: every section and segment is within the file, and no
 * address wraps round.  A section of which that is not so is left out, as one without
 * bytes; any other lie is an error.  32-bit and 64-bit files look alike.  System V
 * gABI, chapters 4 and 5.
 *
 * What was copied does not change with the file (elf_source.h).  The debug sections,
 * most of a large file, are copied only when they are needed, which fails if the file
 * was written to meanwhile.  Writers that rename a new file over it, as linkers do, are
 * harmless.
 */
#ifndef US_SYMBOL_ELF_FILE_H
#define US_SYMBOL_ELF_FILE_H

#include "base/err.h"
#include "symbol/elf_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct us_elf_section {
	const char *name; /* NUL-terminated, the file's bytes: hostile; never NULL */
	uint32_t type, link;
	uint64_t flags, addr, size, entsize;
	uint64_t offset; /* of its bytes in the file; none if type is SHT_NOBITS */
	bool unread;	 /* its bytes are zeros until us_elf_file_need() */
	bool bad;	 /* its header lies, so it is SHT_NOBITS here: left out */
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
	/* The header's first 64 KiB, the tables, sections and segments; zeros elsewhere
	 * and for at least a page after the end. */
	const uint8_t *bytes;
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
	struct us_elf_source *source; /* NULL: no section is unread */
	char damage[200]; /* which sections were left out and why; "": none */
};

#define US_ELF_SPARE 4096

/* -ENOEXEC: not an ELF file that a guest can run; -EINVAL: big-endian; -EBADMSG:
 * malformed; -ESTALE: written to meanwhile; -EFBIG: too large; or an error of open(2),
 * mmap(2) or pread(2). */
US_MUST_CHECK int us_elf_file_open(const char *path, struct us_elf_file *ret,
				   struct us_err *e);
/* The same for a file that need not be a linked image: dwz's are object files. */
US_MUST_CHECK int us_elf_file_open_part(const char *path, struct us_elf_file *ret,
					struct us_err *e);
/* For its build-id and what us_elf_bytes() gives: if it has sections, only notes are
 * read at once. */
US_MUST_CHECK int us_elf_file_open_notes(const char *path, struct us_elf_file *ret,
					 struct us_err *e);
void us_elf_file_close(struct us_elf_file *f); /* accepts a zeroed one */

/* Read the bytes of a section of f that are unread.  0; -ESTALE: the file was written
 * to since it was opened, so they are lost; or an error of pread(2). */
US_MUST_CHECK int us_elf_file_need(const struct us_elf_file *f,
				   const struct us_elf_section *s);
/* Were bytes lost so? */
bool us_elf_file_changed(const struct us_elf_file *f);

/* First section of that name, or NULL. */
const struct us_elf_section *us_elf_file_section(const struct us_elf_file *f,
						 const char *name);
/* The code that covers addr, or NULL. */
const struct us_elf_code *us_elf_file_code(const struct us_elf_file *f, uint64_t addr);

#endif
