/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz-import-perf.c: any bytes as a perf.data.  The last byte chooses the options.
 * Images are not opened: paths are made to lead nowhere.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int null = -1;
	struct us_import_result ret;
	struct us_writer *w = NULL;
	struct us_err e = { 0 };
	uint8_t way = size ? data[size - 1] : 0;
	struct us_import_opts o = { .name = "fuzz", .all = way & 1, .pid = way & 2 };
	if (null < 0)
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint8_t *copy = malloc(size + 1);
	must(copy && us_writer_open(null, &w, &e) == 0);
	memcpy(copy, data, size);
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '/')
			copy[i] = '\\';
	int rc = us_import_perf(copy, size, &o, w, &ret, &e);
	must(rc <= 0 && (rc == 0 || (e.code == rc && e.msg[0])));
	must(rc < 0 || (ret.samples && ret.stats.running == ret.samples));
	must(rc < 0 || us_writer_end(w, &ret.stats, US_RECORD_DONE, "", &e) == 0);
	us_writer_close(w);
	free(copy);
	return 0;
}
