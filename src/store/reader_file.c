/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reader_file.c: the bytes of a recording, and its chunks one after another. */
#include "base/cleanup.h"
#include "base/packed.h"
#include "store/crc32c.h"
#include "store/format.h"
#include "store/reader_priv.h"
#include "store/varint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BUFFER (128U << 10)

/* ---- Bytes ---- */

/* Make room behind the n bytes of buf.  The buffer grows only when it is full of bytes
 * that were really read, so a chunk's claimed size alone costs no memory. */
static int make_room(struct reader *r)
{
	if (r->at) {
		memmove(r->buf, r->buf + r->at, r->n - r->at);
		r->n -= r->at;
		r->at = 0;
	}
	if (r->cap && r->n <= r->cap / 2)
		return 0;
	size_t bigger = r->cap ? 2 * r->cap : FIRST_BUFFER;
	uint8_t *p = realloc(r->buf, bigger);
	if (!p)
		return us_fail(r->e, -ENOMEM, "read a recording: out of memory");
	r->buf = p;
	r->cap = bigger;
	return 0;
}

static ssize_t read_some(int fd, void *buf, size_t len)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = read(fd, buf, len);
		if (n >= 0)
			return n;
		if (errno == EAGAIN && (poll(&p, 1, -1) >= 0 || errno == EINTR))
			continue;
		if (errno != EINTR)
			return -errno;
	}
}

static int copy_out(struct reader *r, const uint8_t *p, size_t len)
{
	while (r->copy_fd >= 0 && len) {
		ssize_t n = write(r->copy_fd, p, len);
		if (n < 0 && errno != EINTR)
			return us_fail(r->e, -errno,
				       "keep a recording to read it twice: %s",
				       strerror(errno));
		p += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Have len bytes at buf[at]. 1: yes, 0: the file ends before, negative: an error. */
static int have(struct reader *r, size_t len)
{
	while (r->n - r->at < len) {
		if (r->n == r->cap && make_room(r))
			return -ENOMEM;
		ssize_t n = read_some(r->fd, r->buf + r->n, r->cap - r->n);
		if (n < 0)
			return us_fail(
				r->e, (int)n, "read a recording at byte %llu: %s",
				(unsigned long long)r->offset, strerror((int)-n));
		if (n == 0)
			return 0;
		int rc = copy_out(r, r->buf + r->n, (size_t)n);
		if (rc)
			return rc;
		r->n += (size_t)n;
	}
	return 1;
}

static void use(struct reader *r, size_t len)
{
	r->at += len;
	r->offset += len;
}

/* ---- The file ---- */

/* Nobody wrote to it.  What is to be done depends on who should have. */
static int tell_empty(const struct reader *r)
{
	struct stat st;
	bool is_file = fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode);
	us_fail(r->e, -ENOEXEC, "read a recording: %s",
		is_file ? "the file is empty" : "nothing came in");
	us_hint(r->e, is_file ? "see whether the disk is full, and record again"
			      : "see what the command before the pipe says");
	return -ENOEXEC;
}

static int header(struct reader *r)
{
	int got = have(r, US_STORE_HEAD);
	if (got < 0)
		return got;
	const uint8_t *p = r->buf + r->at;
	size_t left = r->n - r->at;
	if (!left)
		return tell_empty(r);
	if (memcmp(p, US_STORE_MAGIC, left < 8 ? left : 8)) {
		const char *unpacker = us_unpacker(p, left);
		us_fail(r->e, -ENOEXEC,
			"read a recording: this is no recording of uniscope");
		if (unpacker)
			us_hint(r->e, "it is compressed: %s it", unpacker);
		return -ENOEXEC;
	}
	if (!got)
		return us_fail(r->e, -ENOEXEC,
			       "read a recording: the file has only %zu bytes", left);
	uint32_t version = us_get_le32(p + 8), flags = us_get_le32(p + 12);
	if (version != US_STORE_VERSION || flags)
		return us_fail(
			r->e, -ENOTSUP,
			"read a recording: it has format %u with flags %#x, this "
			"program reads format %u with flags 0",
			version, flags, US_STORE_VERSION);
	use(r, US_STORE_HEAD);
	return 0;
}

/* 1: delivered, 0: there is no valid chunk here. */
static int chunk(struct reader *r)
{
	int got = have(r, US_CHUNK_HEAD);
	if (got <= 0)
		return got;
	const uint8_t *head = r->buf + r->at;
	uint32_t size = us_get_le32(head + 4);
	r->broken = size > US_CHUNK_READ_MAX;
	if (r->broken)
		return 0;
	got = have(r, US_CHUNK_HEAD + size);
	if (got <= 0)
		return got;
	head = r->buf + r->at;
	const uint8_t *payload = head + US_CHUNK_HEAD;
	uint32_t sum = us_crc32c(us_crc32c(0, head, 8), payload, size);
	r->broken = sum != us_get_le32(head + 8);
	if (r->broken)
		return 0;
	r->type = us_get_le32(head);
	int rc = us_reader_deliver(r, payload, size);
	if (rc < 0)
		return rc;
	use(r, US_CHUNK_HEAD + size);
	return 1;
}

/* Of two recordings in one file, only the first is read.  A pipe may stay open. */
static bool is_followed(const struct reader *r)
{
	struct stat st;
	off_t at = lseek(r->fd, 0, SEEK_CUR);
	return r->n > r->at || (at >= 0 && fstat(r->fd, &st) == 0 &&
				S_ISREG(st.st_mode) && at < st.st_size);
}

static int read_all(struct reader *r, struct us_reader_result *ret)
{
	int rc = make_room(r);
	if (!rc)
		rc = header(r);
	if (rc)
		return rc;
	while (!r->ended && (rc = chunk(r)) > 0)
		;
	ret->bytes = r->offset;
	ret->ended = r->ended;
	ret->more = r->ended && is_followed(r);
	ret->cut = rc == 0 && !r->ended && r->n > r->at;
	return rc < 0 ? rc : 0;
}

int us_read(int fd, const struct us_reader_ops *ops, void *ctx,
	    struct us_reader_result *ret, struct us_err *e)
{
	return us_read_copy(fd, -1, ops, ctx, ret, e);
}

static void init(struct reader *r, int fd, const struct us_reader_ops *ops, void *ctx)
{
	*r = (struct reader){ .ops = ops,
			      .ctx = ctx,
			      .fd = fd,
			      .copy_fd = -1,
			      .guest = { .n = 1, .max_depth = US_MAX_FRAMES },
			      .host = { .n = 1, .max_depth = US_MAX_HOST_FRAMES } };
}

static void fini(struct reader *r)
{
	free(r->buf);
	free(r->guest.depth);
	free(r->host.depth);
	free(r->hosts.v);
	us_event_unpacker_free(r->unpacker);
	free(r->flags);
}

int us_read_copy(int fd, int copy_fd, const struct us_reader_ops *ops, void *ctx,
		 struct us_reader_result *ret, struct us_err *e)
{
	struct us_err spare;
	struct reader r;
	init(&r, fd, ops, ctx);
	r.copy_fd = copy_fd;
	r.e = e ? e : &spare;
	*ret = (struct us_reader_result){ 0 };
	*r.e = (struct us_err){ 0 };
	int rc = read_all(&r, ret);
	if (rc < 0 && !r.e->code)
		us_fail(r.e, rc, "read a recording: %s", strerror(-rc));
	fini(&r);
	return rc;
}

/* ---- A file that grows ---- */

struct us_reader {
	struct reader r;
};

int us_reader_open(int fd, const struct us_reader_ops *ops, void *ctx,
		   struct us_reader **ret, struct us_err *e)
{
	struct us_reader *f = malloc(sizeof(*f));
	if (!f)
		return us_fail(e, -ENOMEM, "read a recording: out of memory");
	init(&f->r, fd, ops, ctx);
	*ret = f;
	return 0;
}

void us_reader_close(struct us_reader *f)
{
	if (f)
		fini(&f->r);
	free(f);
}

/* 1: it is read, 0: it is not there yet. */
static int begin(struct reader *r)
{
	int rc = r->cap ? 0 : make_room(r);
	if (!rc && !r->begun) {
		rc = have(r, US_STORE_HEAD);
		if (rc <= 0)
			return rc;
		rc = header(r);
		r->begun = !rc;
	}
	return rc ? rc : 1;
}

int us_reader_follow(struct us_reader *f, struct us_reader_result *ret,
		     struct us_err *e)
{
	struct us_err spare;
	struct reader *r = &f->r;
	r->e = e ? e : &spare;
	*r->e = (struct us_err){ 0 };
	int rc = begin(r);
	while (rc > 0 && !r->ended)
		rc = chunk(r);
	if (rc >= 0 && r->broken)
		rc = us_fail(r->e, -EBADMSG,
			     "read a recording: what follows its first %llu bytes is "
			     "damaged",
			     (unsigned long long)r->offset);
	if (rc < 0 && !r->e->code)
		us_fail(r->e, rc, "read a recording: %s", strerror(-rc));
	*ret = (struct us_reader_result){ .bytes = r->offset, .ended = r->ended };
	return rc < 0 ? rc : 0;
}
