/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile table of Go's functions, as a guest's memory has it. */
#include "symbol/go_table.h"

#include <stdlib.h>
#include <string.h>

static volatile size_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct us_go_table t;
	struct us_go_function f;
	uint8_t *bytes = malloc(size + 1);
	memcpy(bytes, data, size);
	if (us_go_table_open(bytes, size, &t) == 0)
		for (uint32_t k = 0; k < t.n && k < 4096; k++)
			if (us_go_table_function(&t, k, &f))
				sink += strlen(f.name) + (size_t)f.size;
	free(bytes);
	return 0;
}
