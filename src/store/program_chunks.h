/* SPDX-License-Identifier: GPL-2.0-or-later */
/* program_chunks.h: encodes the chunks of a guest's programs (docs/format.md). */
#ifndef US_STORE_PROGRAM_CHUNKS_H
#define US_STORE_PROGRAM_CHUNKS_H

#include "store/format.h"
#include "store/store.h"

/* Write to p, which has space for US_CHUNK_WRITE_MAX bytes; returns the number of
 * bytes, 0: the values are invalid. */
size_t us_pack_program_file(const struct us_program_file *f, uint8_t *p);
size_t us_pack_mapping(const struct us_mapping *m, uint8_t *p);
/* Encodes the names from *i on, up to n, that fit; *i is set to the first one left.  Of
 * more than most bytes: left out. */
size_t us_pack_program_names(const struct us_program_name *v, size_t n, size_t *i,
			     size_t most, uint8_t *p);

#endif
