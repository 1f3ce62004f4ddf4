/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_unpack.h: decompresses the output of perf record -z: one zstd stream, in pieces,
 * whose records continue from one piece to the next.
 *
 * Decompressed data stays in place until the end: samples are read again.
 */
#ifndef US_IMPORT_PERF_UNPACK_H
#define US_IMPORT_PERF_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PERF_MAX_UNPACKED (2ULL << 30) /* most bytes of a file */

struct us_perf_unpack {
	struct ZSTD_DCtx_s *zstd;
	struct us_perf_piece *last; /* the others follow it */
	uint64_t bytes;		    /* total */
	size_t kept;		    /* bytes of the last piece that are not used yet */
};

/*
 * Decompress the next n bytes.  The result is from *ret to *ret_end, after the bytes
 * kept from earlier pieces.  -EBADMSG: not zstd data; -EFBIG, -ENOMEM; -ENOTSUP: this
 * program was built without zstd.  *e is filled in, except for -EBADMSG.
 */
US_MUST_CHECK int us_perf_unpack(struct us_perf_unpack *u, const uint8_t *bytes,
				 size_t n, const uint8_t **ret, const uint8_t **ret_end,
				 struct us_err *e);
/* Keep the bytes from `at` on: they belong to the next piece. */
void us_perf_unpack_keep(struct us_perf_unpack *u, const uint8_t *at);
/* Are kept bytes left at the end? */
bool us_perf_unpack_is_cut(const struct us_perf_unpack *u);
void us_perf_unpack_fini(struct us_perf_unpack *u); /* accepts a zeroed one */

#endif
