/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * protobuf.h: writes messages in the wire format of Protocol Buffers, field by field
 * (protobuf.dev/programming-guides/encoding): the part that files for other programs
 * need.
 *
 *	struct us_protobuf m = { 0 };
 *	us_protobuf_u64(&m, 1, 42);
 *	us_protobuf_str(&m, 2, "name");
 *	... m.v, m.n; m.failed: out of memory ...
 *	us_protobuf_free(&m);
 */
#ifndef US_BASE_PROTOBUF_H
#define US_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct us_protobuf {
	uint8_t *v;
	size_t n, cap;
	bool failed; /* a field had no memory: the message is incomplete */
};

/* Empty the message but keep its memory.  Returns m. */
static inline struct us_protobuf *us_protobuf_clear(struct us_protobuf *m)
{
	m->n = 0;
	m->failed = false;
	return m;
}

void us_protobuf_free(struct us_protobuf *m);
/* (u)int32, (u)int64, enum, bool; pass negative ones as uint64_t. */
void us_protobuf_u64(struct us_protobuf *m, uint32_t field, uint64_t value);
void us_protobuf_bytes(struct us_protobuf *m, uint32_t field, const void *v, size_t n);
void us_protobuf_str(struct us_protobuf *m, uint32_t field, const char *text);
/* If inner has failed, m fails too. */
void us_protobuf_message(struct us_protobuf *m, uint32_t field,
			 const struct us_protobuf *inner);

#endif
