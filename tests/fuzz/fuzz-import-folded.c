/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz-import-folded.c: any bytes as folded stacks. */
#include "import/import.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

/* Millions of samples would only take time. */
static bool is_short(const uint8_t *data, size_t size)
{
	size_t digits = 0;
	for (size_t i = 0; i < size; i++) {
		digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
		if (digits > 3 && digits < 12)
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int null = -1;
	static const struct us_import_opts o = { .name = "fuzz" };
	struct us_import_result ret;
	struct us_writer *w = NULL;
	struct us_err e = { 0 };
	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (!is_short(data, size))
		return 0;
	uint8_t *copy = malloc(size + 1);
	must(copy && us_writer_open(null, &w, &e) == 0);
	memcpy(copy, data, size);
	int rc = us_import_folded(copy, size, &o, w, &ret, &e);
	must(rc <= 0 && (rc == 0 || (e.code == rc && e.msg[0])));
	must(rc < 0 || us_writer_end(w, &ret.stats, US_RECORD_DONE, "", &e) == 0);
	us_writer_close(w);
	free(copy);
	return 0;
}
