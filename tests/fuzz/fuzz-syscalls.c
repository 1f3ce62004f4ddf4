/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of system calls that no plugin has written: each call is entered once, left
 * once, in order, and can be printed. */
#include "backend/backend.h"
#include "report/syscall_text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VCPUS 3

struct seen {
	uint64_t n_open, n, n_left;
	uint32_t threads;
	FILE *out;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void print(const struct seen *x, const struct us_syscall *c)
{
	char name[US_SYSCALL_NAME];
	unsigned n = us_syscall_n_before(c);
	must(us_syscall_shown_name(c, name) && n <= us_syscall_n_args(c) &&
	     us_syscall_n_args(c) <= US_SYSCALL_ARGS);
	us_syscall_print_args(x->out, c, 0, n);
	us_syscall_print_args(x->out, c, n, US_SYSCALL_ARGS);
	us_syscall_print_result(x->out, c);
}

static void check_texts(const struct us_syscall *c)
{
	must(c->n_text <= 2 * US_SYSCALL_TEXTS);
	for (unsigned i = 0; i < c->n_text; i++)
		must(c->text[i].n <= US_SYSCALL_TEXT &&
		     c->text[i].arg < US_SYSCALL_ARGS);
}

static int enter(void *ctx, const struct us_syscall *c)
{
	struct seen *x = ctx;
	must(c->end == US_SYSCALL_OPEN && !c->end_ns && c->vcpu < VCPUS);
	must(c->thread <= x->threads + 1);
	if (c->thread > x->threads)
		x->threads = c->thread;
	x->n++;
	x->n_open++;
	check_texts(c);
	print(x, c);
	return 0;
}

static int leave(void *ctx, const struct us_syscall *c)
{
	struct seen *x = ctx;
	must(x->n_open-- > 0 && c->end > US_SYSCALL_OPEN && c->end_ns >= c->begin_ns);
	must(c->end <= US_SYSCALL_UNFINISHED);
	x->n_left++;
	check_texts(c);
	print(x, c);
	return 0;
}

static const struct us_syscalls_ops ops = { enter, leave };

/* Six bytes: few different values, so that they match each other. */
static size_t make(const uint8_t *b, uint8_t ret[static US_SYSCALL_MESSAGE])
{
	struct us_syscall_message m = {
		.type = (uint8_t)(1 + b[0] % 4),
		.abi = b[0] / 4 % US_N_ABI,
		.has_number = b[0] & 0x20,
		.has_regs = !(b[0] & 0x40),
		.pc = 0x1000 + (b[1] & 3),
		.sp = 0x2000 + (b[1] >> 2 & 1),
		.root = (uint64_t)(1 + (b[1] >> 3 & 3)) << 12,
		.thread = b[1] >> 5 & 1,
		.number = b[2],
		.stack = (uint64_t)(b[3] & 7) << 9,
		.value = b[4] & 1 ? (uint64_t) - (int64_t)b[4] : b[4] >> 4,
	};
	for (unsigned i = 0; i < US_SYSCALL_ARGS; i++)
		m.arg[i] = (uint64_t)b[5] << (i * 9);
	if (b[3] & 0x80)
		m.text[m.n_text++] = (struct us_syscall_text){ b[3] >> 4 & 3, b[3] & 8,
							       6, b };
	return us_syscall_message_put(&m, ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct us_syscalls *s;
	static FILE *null;
	if (!null)
		null = fopen("/dev/null", "w");
	struct seen seen = { .out = null };
	uint64_t t_ns = 0;
	must(null && !us_syscalls_new(&ops, &seen, &s));
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint8_t bytes[US_SYSCALL_MESSAGE];
		size_t n = data[at] & 0x80 ? size - at - 2 : make(data + at + 2, bytes);
		n = n < sizeof(bytes) ? n : sizeof(bytes);
		if (data[at] & 0x80)
			memcpy(bytes, data + at + 2, n);
		t_ns += data[at + 1];
		must(!us_syscalls_add(s, data[at] % VCPUS, t_ns, t_ns * 3, bytes, n));
		must(seen.n_open <= US_SYSCALLS_OPEN);
	}
	must(!us_syscalls_end(s, t_ns));
	must(!seen.n_open && seen.n == seen.n_left && seen.n == us_syscalls_n(s));
	us_syscalls_free(s);
	return 0;
}
