/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Anything that may come from a socket where a QEMU monitor should be. */
#include "backend/qmp/reply.h"
#include "vmm/qmp_parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void registers(const char *text)
{
	struct us_qmp_vcpu vcpu;
	uint8_t bytes[64];
	for (const char *at = text; us_qmp_next_vcpu(&at, &vcpu) != 0;)
		if (at < text || at > text + strlen(text))
			abort();
	us_qmp_read_dump(text, bytes, sizeof(bytes));
}

static void hot(const char *msg, size_t len)
{
	static char text[4096];
	const char *value;
	size_t value_len;
	enum us_qmp_kind kind = us_qmp_scan(msg, len, &value, &value_len);
	if (kind == US_QMP_STRANGE)
		return;
	if (value < msg || value + value_len > msg + len)
		abort();
	long n = us_qmp_unquote(value, value_len, text, sizeof(text));
	if (n >= 0 && strlen(text) != (size_t)n)
		abort();
	if (n >= 0)
		registers(text);
	if (us_qmp_event(value, value_len) != US_QMP_OTHER &&
	    us_qmp_runs(value, value_len))
		abort();
	us_qmp_n_vcpus(value, value_len);
	us_qmp_migrates(value, value_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of its own size, so that a read past the end is seen. */
	char *copy = malloc(size + 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	copy[size] = '\0';
	registers(copy);
	struct us_qmp_framer f = { 0 };
	for (size_t from = 0; from < size; from += f.at) {
		f = (struct us_qmp_framer){ 0 };
		if (us_qmp_frame(&f, copy + from, size - from) <= 0)
			break;
		enum us_qmp_kind kind;
		json_t *msg;
		char *exact = malloc(f.at);
		if (!exact)
			abort();
		memcpy(exact, copy + from, f.at);
		hot(exact, f.at);
		if (us_qmp_parse(exact, f.at, &kind, &msg) == 0)
			json_decref(msg);
		free(exact);
	}
	free(copy);
	return 0;
}
