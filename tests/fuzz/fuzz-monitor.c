/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Anything that may come from a socket where a monitor should be. */
#include "vmm/qmp_parse.h"
#include "vmm/ram_layout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the client reads out of a message. */
static void use(const char *buf, size_t len)
{
	enum us_qmp_kind kind;
	json_t *msg;
	if (us_qmp_parse(buf, len, &kind, &msg) < 0)
		return;
	if (kind == US_QMP_RETURN && !json_object_get(msg, "return"))
		abort();
	if (kind == US_QMP_ERROR &&
	    !json_string_value(json_object_get(json_object_get(msg, "error"), "desc")))
		abort();
	json_decref(msg);
}

/* Messages of a stream that arrives in pieces of step bytes. */
static void messages(const char *buf, size_t size, size_t step)
{
	struct us_qmp_framer f = { 0 };
	size_t from = 0, to = 0;
	while (to < size) {
		to = size - to < step ? size : to + step;
		int r;
		while ((r = us_qmp_frame(&f, buf + from, to - from)) > 0) {
			if (!f.at || f.at > to - from || f.depth || f.in_string)
				abort();
			use(buf + from, f.at);
			from += f.at;
			f = (struct us_qmp_framer){ 0 };
		}
		if (r < 0)
			return;
		if (f.at != to - from)
			abort();
	}
}

/* What the human monitor says of memory. */
static void memory(const char *text)
{
	static struct us_ram_layout l;
	unsigned n = us_ram_parse_mtree(text, &l);
	us_gpa at = 0;
	if (n > US_RAM_PIECES)
		abort();
	for (unsigned i = 0; i < n; i++) {
		if (l.piece[i].gpa < at || !l.piece[i].size)
			abort();
		at = l.piece[i].gpa + l.piece[i].size;
	}
	us_ram_parse_hva(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* A copy of just this size, so that a byte too many is seen. */
	char *text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] == 'm')
		memory(text);
	else
		messages(text, size - 1, data[0] % 64u + 1);
	free(text);
	return 0;
}
