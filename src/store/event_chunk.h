/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_chunk.h: the records of a trace as stored in the file: docs/format.md, EVNT.
 *
 * A record has a kind (bits 63 to 61), a number (60 to 41) and a clock (kind 7 has its
 * own clock); trace/events.h defines them.  Since consecutive clocks are close
 * together, the file has the differences of the clocks, compressed with zstd if that is
 * available.
 */
#ifndef US_STORE_EVENT_CHUNK_H
#define US_STORE_EVENT_CHUNK_H

#include "base/err.h"
#include "store/format.h"

struct us_event_packer;

/* -ENOMEM. */
US_MUST_CHECK int us_event_packer_new(struct us_event_packer **ret);
void us_event_packer_free(struct us_event_packer *p); /* accepts NULL */
/* Pack as many of the n records as fit; n > 0.  Returns the size in bytes of the
 * payload; *ret_taken: the number of records, at least one. */
size_t us_event_pack(struct us_event_packer *p, unsigned vcpu, const uint64_t *record,
		     size_t n, uint8_t payload[static US_CHUNK_WRITE_MAX],
		     size_t *ret_taken);

struct us_event_unpacker;

US_MUST_CHECK int us_event_unpacker_new(struct us_event_unpacker **ret);
void us_event_unpacker_free(struct us_event_unpacker *u); /* accepts NULL */
/* Decode the records of a payload; *ret is valid until the next call.  -EBADMSG: it is
 * invalid; -ENOTSUP: it is compressed, and this program was built without zstd. */
US_MUST_CHECK int us_event_unpack(struct us_event_unpacker *u, const uint8_t *payload,
				  size_t size, unsigned *ret_vcpu, const uint64_t **ret,
				  size_t *ret_n);

#endif
