/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_source.h: copies parts of a file to memory.  What is copied stays as it is,
 * whatever becomes of the file: a mapping would change with it, and end the process by
 * SIGBUS once the file is truncated in place.
 */
#ifndef US_SYMBOL_ELF_SOURCE_H
#define US_SYMBOL_ELF_SOURCE_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct us_elf_source {
	int fd; /* owned */
	uint8_t *bytes;
	uint64_t size;
	struct timespec modified;
	atomic_bool changed; /* since it was opened; a part was refused for that */
};

/* Bytes of the file, at their offset. */
struct us_elf_part {
	uint64_t offset, size;
};

/* Takes fd in any case.  bytes: room for the whole file, zeroed, which the caller
 * unmaps. */
US_MUST_CHECK int us_elf_source_new(int fd, uint8_t *bytes, uint64_t size,
				    struct us_elf_source **ret, struct us_err *e);
void us_elf_source_free(struct us_elf_source *s); /* accepts NULL */

/* Copy a part to its place.  0; -ESTALE: the file is no longer what was opened, so what
 * was copied is of no use; or an error of pread(2).  The part must be in the file. */
US_MUST_CHECK int us_elf_source_read(struct us_elf_source *s, struct us_elf_part p,
				     struct us_err *e);
/* The same for many, which may overlap; each byte is read once.  Sorts them.
 * -EFBIG: more than 4 GiB together. */
US_MUST_CHECK int us_elf_source_read_all(struct us_elf_source *s, struct us_elf_part *p,
					 size_t n, struct us_err *e);

#endif
