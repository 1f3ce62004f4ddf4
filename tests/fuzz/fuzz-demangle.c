/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-demangle.c: any bytes as a name: a text that fits, the same each time, or none.
 */
#include "symbol/demangle.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check(const char *raw, enum us_name_form form, size_t room)
{
	char *dst = malloc(room ? room : 1); /* its end is watched by the sanitizer */
	static char again[US_DEMANGLED_MAX];
	must(dst != NULL);
	if (us_demangle(raw, form, dst, room)) {
		must(memchr(dst, '\0', room) && *dst);
		must(us_demangle(raw, form, again, sizeof(again)) &&
		     !strcmp(again, dst));
		us_demangled_case(dst, raw);
		must(strlen(dst) == strlen(again) && !strcasecmp(again, dst));
	}
	free(dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 5000)
		return 0;
	char *raw = malloc(size);
	must(raw != NULL);
	memcpy(raw, data + 1, size - 1);
	raw[size - 1] = '\0';
	check(raw, data[0] & 1 ? US_NAME_LONG : US_NAME_SHORT,
	      data[0] & 2 ? data[0] : US_DEMANGLED_MAX);
	free(raw);
	return 0;
}
