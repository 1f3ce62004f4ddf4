/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protobuf.c: see protobuf.h. */
#include "base/protobuf.h"

#include <stdlib.h>
#include <string.h>

#define VARINT_MAX 10
#define FIRST	   256

enum wire_type { VARINT = 0, LENGTH = 2 };

void us_protobuf_free(struct us_protobuf *m)
{
	free(m->v);
	*m = (struct us_protobuf){ 0 };
}

static bool make_room(struct us_protobuf *m, size_t n)
{
	size_t cap = m->cap ? m->cap : FIRST;
	while (cap - m->n < n && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap != m->cap) {
		uint8_t *v = cap - m->n < n ? NULL : realloc(m->v, cap);
		m->failed = m->failed || !v;
		if (!v)
			return false;
		m->v = v;
		m->cap = cap;
	}
	return !m->failed;
}

static void put(struct us_protobuf *m, uint64_t v)
{
	while (v >= 0x80) {
		m->v[m->n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	m->v[m->n++] = (uint8_t)v;
}

static void put_tag(struct us_protobuf *m, uint32_t field, enum wire_type type)
{
	put(m, (uint64_t)field << 3 | type);
}

void us_protobuf_u64(struct us_protobuf *m, uint32_t field, uint64_t value)
{
	if (!make_room(m, 2 * VARINT_MAX))
		return;
	put_tag(m, field, VARINT);
	put(m, value);
}

void us_protobuf_bytes(struct us_protobuf *m, uint32_t field, const void *v, size_t n)
{
	if (n > SIZE_MAX / 4 || !make_room(m, 2 * VARINT_MAX + n)) {
		m->failed = true;
		return;
	}
	put_tag(m, field, LENGTH);
	put(m, n);
	if (n)
		memcpy(m->v + m->n, v, n);
	m->n += n;
}

void us_protobuf_str(struct us_protobuf *m, uint32_t field, const char *text)
{
	us_protobuf_bytes(m, field, text, strlen(text));
}

void us_protobuf_message(struct us_protobuf *m, uint32_t field,
			 const struct us_protobuf *inner)
{
	us_protobuf_bytes(m, field, inner->v, inner->n);
	m->failed = m->failed || inner->failed;
}
