/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a boot image holds in compressed form, and where its header says that it is. */
#include "symbol/payload.h"

#include <sys/stat.h>
#include <unistd.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stat st;
	int fd = us_payload_unpack(data, size);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || st.st_size > US_PAYLOAD_MOST)
		abort();
	close(fd);
	return 0;
}
