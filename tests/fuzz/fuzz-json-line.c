/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where something stands in a text that need be no JSON: a file of boot --compare. */
#include "base/json_line.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const members[] = { "name", "command", "", NULL };
	/* Not a byte behind it is read. */
	char *text = malloc(size ? size : 1);
	size_t lines = 1;
	if (!text)
		return 0;
	for (size_t i = 0; i < size; i++) {
		text[i] = (char)data[i];
		lines += data[i] == '\n';
	}
	for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
		for (size_t i = 0; i < 4; i++) {
			size_t element = i < 3 ? i : SIZE_MAX;
			size_t line = us_json_line(text, size, "variants", element,
						   members[k]);
			if (line < 1 || line > lines)
				abort();
		}
	free(text);
	return 0;
}
