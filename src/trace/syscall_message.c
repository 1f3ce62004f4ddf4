/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_message.c: see syscall_message.h. */
#include "trace/syscall_message.h"

#include "store/varint.h"

#define HAS_NUMBER 1U
#define HAS_REGS   2U
#define CUT	   0x80U

static uint8_t *put_texts(uint8_t *p, const struct us_syscall_message *m)
{
	for (unsigned i = 0; i < m->n_text && i < US_SYSCALL_TEXTS; i++) {
		const struct us_syscall_text *t = &m->text[i];
		uint16_t n = t->n < US_SYSCALL_TEXT ? t->n : US_SYSCALL_TEXT;
		*p++ = (uint8_t)(t->arg | (t->cut ? CUT : 0));
		p = us_varint_put(p, n);
		if (n)
			memcpy(p, t->bytes, n);
		p += n;
	}
	return p;
}

size_t us_syscall_message_put(const struct us_syscall_message *m,
			      uint8_t ret[static US_SYSCALL_MESSAGE])
{
	uint8_t *p = ret;
	*p++ = m->type;
	*p++ = m->abi;
	*p++ = (uint8_t)((m->has_number ? HAS_NUMBER : 0) |
			 (m->has_regs ? HAS_REGS : 0));
	p = us_varint_put(p, m->pc);
	p = us_varint_put(p, m->sp);
	p = us_varint_put(p, m->root);
	p = us_varint_put(p, m->thread);
	if (m->type == US_SYSCALL_ENTERED) {
		p = us_varint_put(p, m->number);
		for (unsigned i = 0; i < US_SYSCALL_ARGS; i++)
			p = us_varint_put(p, m->arg[i]);
	} else {
		p = us_varint_put(p, m->stack);
	}
	if (m->type == US_SYSCALL_RETURNED) {
		p = us_varint_put(p, m->value);
		p = us_varint_put(p, m->number);
	}
	return (size_t)(put_texts(p, m) - ret);
}

static bool get_texts(const uint8_t *p, const uint8_t *end,
		      struct us_syscall_message *m)
{
	while (p && p < end) {
		struct us_syscall_text t = { .arg = *p & (uint8_t)~CUT,
					     .cut = *p & CUT };
		uint64_t n;
		p = us_varint_get(p + 1, end, &n);
		if (!p || n > (uint64_t)(end - p) || n > US_SYSCALL_TEXT ||
		    t.arg >= US_SYSCALL_ARGS || m->n_text == US_SYSCALL_TEXTS)
			return false;
		t.n = (uint16_t)n;
		t.bytes = p;
		p += n;
		m->text[m->n_text++] = t;
	}
	return p;
}

bool us_syscall_message_get(const uint8_t *p, size_t n, struct us_syscall_message *ret)
{
	const uint8_t *end = p + n;
	*ret = (struct us_syscall_message){ 0 };
	if (n < 3 || p[0] < US_SYSCALL_ENTERED || p[0] > US_SYSCALL_LEFT ||
	    p[1] >= US_N_ABI)
		return false;
	ret->type = p[0];
	ret->abi = p[1];
	ret->has_number = p[2] & HAS_NUMBER;
	ret->has_regs = p[2] & HAS_REGS;
	p = us_varint_get(p + 3, end, &ret->pc);
	p = us_varint_get(p, end, &ret->sp);
	p = us_varint_get(p, end, &ret->root);
	p = us_varint_get(p, end, &ret->thread);
	if (ret->type == US_SYSCALL_ENTERED) {
		p = us_varint_get(p, end, &ret->number);
		for (unsigned i = 0; i < US_SYSCALL_ARGS; i++)
			p = us_varint_get(p, end, &ret->arg[i]);
	} else {
		p = us_varint_get(p, end, &ret->stack);
	}
	if (ret->type == US_SYSCALL_RETURNED) {
		p = us_varint_get(p, end, &ret->value);
		p = us_varint_get(p, end, &ret->number);
	}
	return get_texts(p, end, ret);
}
