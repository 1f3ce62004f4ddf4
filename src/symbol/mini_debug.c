/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mini_debug.c: see mini_debug.h. */
#include "symbol/mini_debug.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>

static const struct us_elf_section *section_of(const struct us_elf_file *f)
{
	const struct us_elf_section *s = us_elf_file_section(f, ".gnu_debugdata");
	return s && s->type != SHT_NOBITS && s->size ? s : NULL;
}

#ifdef US_HAVE_LZMA

#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY (128U << 20) /* of the decoder at most */

/* Unpack in pieces to fd. */
static int unpack(const uint8_t *from, size_t len, int fd, struct us_err *e)
{
	uint8_t piece[65536];
	size_t total = 0;
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&s, MEMORY, 0);
	s.next_in = from;
	s.avail_in = len;
	while (r == LZMA_OK && total <= US_MINI_DEBUG_MOST) {
		s.next_out = piece;
		s.avail_out = sizeof(piece);
		r = lzma_code(&s, LZMA_FINISH);
		size_t n = sizeof(piece) - s.avail_out;
		total += n;
		if (write(fd, piece, n) != (ssize_t)n)
			r = LZMA_MEM_ERROR;
	}
	lzma_end(&s);
	if (r == LZMA_STREAM_END)
		return 0;
	return us_fail(e, -EBADMSG,
		       "unpack .gnu_debugdata: it is damaged, or too large");
}

int us_mini_debug_open(const struct us_elf_file *f, struct us_elf_file *ret,
		       struct us_err *e)
{
	const struct us_elf_section *s = section_of(f);
	char path[64];
	if (!s)
		return us_fail(e, -ENOENT, "no .gnu_debugdata");
	_cleanup_close_ int fd = memfd_create("debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return us_fail(e, -errno, "unpack .gnu_debugdata: %s", strerror(errno));
	int r = unpack(f->bytes + s->offset, s->size, fd, e);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return us_elf_file_open(path, ret, e);
}

#else

int us_mini_debug_open(const struct us_elf_file *f, struct us_elf_file *ret,
		       struct us_err *e)
{
	(void)ret;
	return section_of(f) ? us_fail(e, -ENOTSUP,
				       ".gnu_debugdata: this uniscope was built "
				       "without liblzma")
			     : us_fail(e, -ENOENT, "no .gnu_debugdata");
}

#endif
