/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscall_text.c: see syscall_text.h. */
#include "trace/plugin/syscall_text.h"

#include <string.h>

#define N_NUMBER 512U
#define N_OPEN	 4096U /* a power of two */
#define PIECE	 128U  /* bytes of a path that are read at a time */
#define PAGE	 4096U

/* Which arguments of a call are addresses, and of what; kind 0: no more. */
struct plan {
	struct {
		char kind; /* as in syscall_table.h */
		uint8_t arg;
	} text[US_SYSCALL_TEXTS];
};

struct open_call {
	uint64_t pc, sp, root, number;
	uint64_t arg[US_SYSCALL_ARGS];
	uint8_t abi;
	uint8_t read; /* bits: arguments whose texts were reported */
};

static struct plan plans[US_N_ABI][N_NUMBER];
static struct open_call calls[N_OPEN];
static unsigned limit;

static struct plan plan_of(const char *args)
{
	struct plan p = { 0 };
	unsigned n = 0;
	for (uint8_t i = 0; args && args[i] && i < US_SYSCALL_ARGS; i++)
		if (strchr("sbB", args[i]) && n < US_SYSCALL_TEXTS) {
			p.text[n].kind = args[i];
			p.text[n++].arg = i;
		}
	return p;
}

void us_syscall_texts_init(unsigned bytes)
{
	limit = bytes < US_SYSCALL_TEXT ? bytes : US_SYSCALL_TEXT;
	for (unsigned abi = 0; abi < US_N_ABI; abi++)
		for (unsigned i = 0; i < N_NUMBER; i++)
			plans[abi][i] = plan_of(us_syscall_args(abi, i));
}

static const struct plan *plan_for(const struct us_syscall_message *m)
{
	static const struct plan none;
	return m->has_number && m->number < N_NUMBER ? &plans[m->abi][m->number]
						     : &none;
}

/* A path: up to its end, or as far as it can be read.  False: not at all. */
static bool read_path(const struct us_program_regs *r, uint64_t gva, uint8_t *dst,
		      struct us_syscall_text *t)
{
	size_t at = 0;
	while (at < US_SYSCALL_TEXT) {
		size_t n = PAGE - (gva + at) % PAGE;
		n = n < PIECE ? n : PIECE;
		n = n < US_SYSCALL_TEXT - at ? n : US_SYSCALL_TEXT - at;
		if (!us_program_memory_read(r, gva + at, dst + at, n))
			break;
		const uint8_t *end = memchr(dst + at, 0, n);
		if (end) {
			t->n = (uint16_t)(end - dst);
			return true;
		}
		at += n;
	}
	t->n = (uint16_t)at;
	t->cut = true;
	return at;
}

static bool read_bytes(const struct us_program_regs *r, uint64_t gva, uint64_t n,
		       uint8_t *dst, struct us_syscall_text *t)
{
	t->n = (uint16_t)(n < limit ? n : limit);
	t->cut = n > limit;
	return !t->n || us_program_memory_read(r, gva, dst, t->n);
}

static void add_text(struct us_syscall_texts *texts, const struct us_program_regs *r,
		     struct us_syscall_message *m, char kind, uint8_t arg, uint64_t n)
{
	uint8_t *dst = texts->bytes[m->n_text];
	struct us_syscall_text t = { .arg = arg, .bytes = dst };
	uint64_t gva = m->arg[arg];
	if (kind == 's' ? gva && read_path(r, gva, dst, &t)
			: limit && read_bytes(r, gva, n, dst, &t))
		m->text[m->n_text++] = t;
}

static uint64_t length_of(const struct us_syscall_message *m, uint8_t arg)
{
	return arg + 1U < US_SYSCALL_ARGS ? m->arg[arg + 1] : 0;
}

void us_syscall_texts_before(struct us_syscall_texts *t,
			     const struct us_program_regs *r,
			     struct us_syscall_message *m)
{
	const struct plan *p = plan_for(m);
	for (unsigned i = 0; i < US_SYSCALL_TEXTS && p->text[i].kind; i++) {
		uint8_t arg = p->text[i].arg;
		if (p->text[i].kind != 'B')
			add_text(t, r, m, p->text[i].kind, arg, length_of(m, arg));
	}
}

static uint64_t root_of(const struct us_syscall_message *m)
{
	return m->root & US_SYSCALL_ROOT_MASK;
}

static struct open_call *slot_of(const struct us_syscall_message *m)
{
	uint64_t h = (m->pc ^ m->sp >> 3 ^ root_of(m) >> 7) * 0x9e3779b97f4a7c15;
	return &calls[h >> 33 & (N_OPEN - 1)];
}

void us_syscall_texts_remember(const struct us_syscall_message *m)
{
	struct open_call *c = slot_of(m);
	*c = (struct open_call){ .pc = m->pc,
				 .sp = m->sp,
				 .root = root_of(m),
				 .number = m->number,
				 .abi = m->abi };
	memcpy(c->arg, m->arg, sizeof(c->arg));
	for (unsigned i = 0; i < m->n_text; i++)
		c->read |= (uint8_t)(1U << m->text[i].arg);
}

void us_syscall_texts_recall(struct us_syscall_message *m)
{
	const struct open_call *c = slot_of(m);
	m->has_number = c->pc == m->pc && c->sp == m->sp && c->root == root_of(m) &&
			c->abi == m->abi;
	m->number = m->has_number ? c->number : 0;
	if (m->has_number)
		memcpy(m->arg, c->arg, sizeof(m->arg));
}

void us_syscall_texts_after(struct us_syscall_texts *t, const struct us_program_regs *r,
			    struct us_syscall_message *m)
{
	const struct plan *p = plan_for(m);
	uint8_t read = m->has_number ? slot_of(m)->read : 0;
	int64_t n = (int64_t)m->value;
	for (unsigned i = 0; i < US_SYSCALL_TEXTS && p->text[i].kind; i++) {
		uint8_t arg = p->text[i].arg;
		if (p->text[i].kind == 'B' && n >= 0)
			add_text(t, r, m, 'B', arg, (uint64_t)n);
		/* It was not in memory before the call, which was the first to touch
		 * it. */
		else if (p->text[i].kind != 'B' && !(read >> arg & 1))
			add_text(t, r, m, p->text[i].kind, arg, length_of(m, arg));
	}
}
