/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Anything that may come from a socket where a GDB stub should be. */
#include "backend/gdb/client.h"
#include "backend/gdb/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	const uint8_t *bytes;
	size_t len;
};

/* Every document that is asked for is the same one: it may include itself. */
static int fetch(void *ctx, const char *name, char **ret, size_t *ret_len,
		 struct us_err *e)
{
	const struct text *t = ctx;
	(void)name;
	(void)e;
	*ret = malloc(t->len + 1);
	if (!*ret)
		abort();
	memcpy(*ret, t->bytes, t->len);
	(*ret)[t->len] = '\0';
	*ret_len = t->len;
	return 0;
}

static void decode(const struct us_gdb_layout *l, const struct us_gdb_parser *p)
{
	struct us_regs regs;
	struct us_gdb_code code;
	if (us_gdb_decode(l, p->body, p->len, &regs, &code) == 0)
		us_x86_at_reset(&regs);
}

/* The packets in a stream, cut into reads of any length. */
static void packets(const uint8_t *data, size_t size, size_t step)
{
	static struct us_gdb_parser p;
	struct us_gdb_layout wide, narrow;
	us_gdb_layout_classic(true, &wide);
	us_gdb_layout_classic(false, &narrow);
	us_gdb_parser_init(&p);
	for (const uint8_t *end = data; size; size -= step) {
		const uint8_t *at = end;
		step = step < size ? step : size;
		end += step;
		while (at < end) {
			enum us_gdb_event event = us_gdb_parse(&p, &at, end);
			if (event != US_GDB_PACKET_END && event != US_GDB_NOTE)
				continue;
			if (p.len > US_GDB_PACKET || p.body[p.len])
				abort();
			us_gdb_stop_kind(p.body, p.len);
			decode(&wide, &p);
			decode(&narrow, &p);
		}
	}
}

/* A target.xml, and registers in the layout that it gives. */
static void description(const uint8_t *data, size_t size)
{
	static char zeros[4096];
	struct text t = { data, size };
	struct us_gdb_layout l;
	struct us_regs regs;
	struct us_gdb_code code;
	if (us_gdb_layout_read(fetch, &t, &l, NULL) < 0)
		return;
	memset(zeros, '0', sizeof(zeros));
	if (us_gdb_decode(&l, zeros, sizeof(zeros), &regs, &code) < 0)
		return;
	struct us_gdb_apart apart = { 0 };
	for (unsigned i = 0; i < US_GDB_N_APART; i++)
		us_gdb_decode_apart(&l, i, (const char *)data, size < 16 ? size : 16,
				    &apart);
	us_gdb_set_space(&l, &apart, &code, &regs);
	us_gdb_set_entered(&l, &apart, &regs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == '<')
		description(data, size);
	else
		packets(data + 1, size - 1, data[0] % 64u + 1);
	return 0;
}
