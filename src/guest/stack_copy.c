/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stack_copy.c: see stack_copy.h. */
#include "guest/stack_copy.h"

#include <string.h>

/* Chains are read in order, so begin where the last read was. */
static const struct us_frame_copy *find(struct us_stack_copy *c, us_gva va, size_t len)
{
	for (unsigned n = 0; n < c->n_frame; n++) {
		unsigned i = (c->last + n) % c->n_frame;
		uint64_t off = va - c->frame[i].at;
		if (off < sizeof(c->frame[i].word) &&
		    len <= sizeof(c->frame[i].word) - off) {
			c->last = i;
			return &c->frame[i];
		}
	}
	return NULL;
}

bool us_stack_copy_read(struct us_stack_copy *c, us_gva va, void *ret, size_t len)
{
	for (unsigned i = 0; i < c->n_window; i++) {
		const struct us_stack_window *w = &c->window[i];
		uint64_t off = va - w->base;
		if (off >= w->len || len > w->len - off)
			continue;
		memcpy(ret, w->bytes + off, len);
		if (off + len > c->deepest)
			c->deepest = (uint32_t)(off + len);
		c->used |= 1U << i;
		return true;
	}
	const struct us_frame_copy *f = find(c, va, len);
	if (f) {
		memcpy(ret, (const uint8_t *)f->word + (va - f->at), len);
		return true;
	}
	if (!c->missed || us_stack_copy_may_be(va))
		c->missed_at = va;
	c->missed = true;
	return false;
}
