/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_unpack.h: what perf record -z packed: one zstd stream, in pieces, of records
 * that go on from one piece to the next.
 *
 * What was unpacked stays where it is until the end: samples are read again.
 */
#ifndef US_IMPORT_PERF_UNPACK_H
#define US_IMPORT_PERF_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_PERF_MAX_UNPACKED (2ULL << 30) /* bytes, of a file */

struct us_perf_unpack {
	struct ZSTD_DCtx_s *zstd;
	struct us_perf_piece *last; /* the others follow it */
	uint64_t bytes;		    /* of all */
	size_t kept;		    /* of the last one's, the bytes not yet used */
};

/*
 * The next n bytes: from *ret to *ret_end is what they give, behind what was kept of
 * those before.  -EBADMSG: they are no zstd data; -EFBIG, -ENOMEM; -ENOTSUP: this
 * program was made without zstd.  *e is filled but for -EBADMSG.
 */
US_MUST_CHECK int us_perf_unpack(struct us_perf_unpack *u, const uint8_t *bytes,
				 size_t n, const uint8_t **ret, const uint8_t **ret_end,
				 struct us_err *e);
/* From at on it belongs to what comes with the next ones. */
void us_perf_unpack_keep(struct us_perf_unpack *u, const uint8_t *at);
/* Is something left that nothing followed? */
bool us_perf_unpack_is_cut(const struct us_perf_unpack *u);
void us_perf_unpack_fini(struct us_perf_unpack *u); /* accepts a zeroed one */

#endif
