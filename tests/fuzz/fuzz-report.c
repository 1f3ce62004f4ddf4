/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz-report.c: any bytes as a recording, reported in every format.
 *
 * The chunks' sums are set right first, or nothing behind them would be reached.
 * Images are not opened: paths are made to lead nowhere.
 */
#include "report/report.h"
#include "store/crc32c.h"
#include "store/format.h"
#include "store/varint.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void set_right(uint8_t *p, size_t size)
{
	for (size_t at = US_STORE_HEAD; at + US_CHUNK_HEAD <= size;) {
		uint8_t *head = p + at;
		uint32_t len = us_get_le32(head + 4);
		if (len > size - at - US_CHUNK_HEAD)
			break;
		uint32_t sum = us_crc32c(0, head, 8);
		us_put_le32(head + 8, us_crc32c(sum, head + US_CHUNK_HEAD, len));
		at += US_CHUNK_HEAD + len;
	}
}

static void check(const struct us_profile *p)
{
	size_t n;
	const struct us_profile_node *v = us_profile_nodes(p, &n);
	uint64_t self = 0;
	for (size_t i = 0; i < n; i++) {
		must(i == 0 || v[i].parent < i);
		must(v[i].self <= v[i].total);
		must(v[i].low <= v[i].high);
		self += v[i].self;
	}
	must(self == us_profile_summary(p)->running);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static FILE *null;
	struct us_profile *p = NULL;
	struct us_err e;
	if (fd < 0) {
		fd = memfd_create("fuzz-report", MFD_CLOEXEC);
		null = fopen("/dev/null", "w");
	}
	uint8_t *copy = malloc(size + 1);
	must(fd >= 0 && null && copy);
	memcpy(copy, data, size);
	for (size_t i = 0; i < size; i++)
		if (copy[i] == '/')
			copy[i] = '\\';
	set_right(copy, size);
	must(!ftruncate(fd, 0) && pwrite(fd, copy, size, 0) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
	struct us_profile_opts o = { .focus = size & 1 ? "0x" : NULL,
				     .host = size & 2 };
	if (us_profile_read(fd, &o, &p, &e) == 0) {
		check(p);
		for (size_t i = 0; us_formats[i]; i++)
			must(us_report(p, us_formats[i], NULL, null, &e) == 0);
	}
	us_profile_free(p);
	free(copy);
	return 0;
}
