/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_source.c: see elf_source.h. */
#include "symbol/elf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST (4ULL << 30) /* bytes of a file that are copied at once */

int us_elf_source_new(int fd, uint8_t *bytes, uint64_t size, struct us_elf_source **ret,
		      struct us_err *e)
{
	struct us_elf_source *s = calloc(1, sizeof(*s));
	struct stat st;
	int r = s ? 0 : us_fail(e, -ENOMEM, "out of memory");
	if (r == 0 && fstat(fd, &st) < 0)
		r = us_fail(e, -errno, "stat: %s", strerror(errno));
	if (!s || r < 0) {
		close(fd);
		free(s);
		return r;
	}
	s->fd = fd;
	s->bytes = bytes;
	s->size = size;
	s->modified = st.st_mtim;
	*ret = s;
	return 0;
}

void us_elf_source_free(struct us_elf_source *s)
{
	if (!s)
		return;
	close(s->fd);
	free(s);
}

static int stale(struct us_elf_source *s, struct us_err *e)
{
	atomic_store(&s->changed, true);
	us_fail(e, -ESTALE, "it was changed while it was in use");
	us_hint(e, "Do it again once the file is written; mv a new file over the old "
		   "one, which leaves the old one to its users.");
	return -ESTALE;
}

static int copy(struct us_elf_source *s, struct us_elf_part p, struct us_err *e)
{
	while (p.size) {
		ssize_t n = pread(s->fd, s->bytes + p.offset, p.size, (off_t)p.offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return us_fail(e, -errno, "read: %s", strerror(errno));
		if (n == 0)
			return stale(s, e);
		p.offset += (uint64_t)n;
		p.size -= (uint64_t)n;
	}
	return 0;
}

/* Renaming, or removing the file, does not count: its bytes stay as they are. */
static int check(struct us_elf_source *s, struct us_err *e)
{
	struct stat st;
	if (fstat(s->fd, &st) < 0)
		return us_fail(e, -errno, "stat: %s", strerror(errno));
	if ((uint64_t)st.st_size != s->size ||
	    st.st_mtim.tv_sec != s->modified.tv_sec ||
	    st.st_mtim.tv_nsec != s->modified.tv_nsec)
		return stale(s, e);
	return 0;
}

int us_elf_source_read(struct us_elf_source *s, struct us_elf_part p, struct us_err *e)
{
	int r = copy(s, p, e);
	return r < 0 ? r : check(s, e);
}

static int by_offset(const void *a, const void *b)
{
	const struct us_elf_part *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Into parts that do not overlap, which begin at p; their number. */
static size_t join(struct us_elf_part *p, size_t n)
{
	size_t last = 0;
	qsort(p, n, sizeof(*p), by_offset);
	for (size_t i = 1; i < n; i++) {
		uint64_t end = p[last].offset + p[last].size;
		uint64_t other = p[i].offset + p[i].size;
		if (p[i].offset > end)
			p[++last] = p[i];
		else if (other > end)
			p[last].size = other - p[last].offset;
	}
	return n ? last + 1 : 0;
}

int us_elf_source_read_all(struct us_elf_source *s, struct us_elf_part *p, size_t n,
			   struct us_err *e)
{
	uint64_t sum = 0;
	int r = 0;
	n = join(p, n);
	for (size_t i = 0; i < n; i++)
		sum += p[i].size;
	if (sum > MOST)
		return us_fail(e, -EFBIG,
			       "more than 4 GiB of it are not debug information");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = copy(s, p[i], e);
	return r < 0 ? r : check(s, e);
}
