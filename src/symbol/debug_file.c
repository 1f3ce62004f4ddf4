/* SPDX-License-Identifier: GPL-2.0-or-later */
/* debug_file.c: see debug_file.h. */
#include "symbol/debug_file.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "symbol/beside.h"
#include "symbol/build_id.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define SYSTEM_DIR "/usr/lib/debug"
#define MAX_ID	   64

struct search {
	const struct us_debug_wanted *w;
	char id[2 * MAX_ID + 1]; /* "" if it has none */
	char link[256];		 /* base name; "" if it names none */
	uint32_t crc;
	char folder[US_DEBUG_PATH]; /* of the image */
	struct us_elf_file *ret;
	char *path;
	struct us_err *e;
	int code; /* so far */
};

static void put_id(char *dst, const uint8_t *id, size_t len)
{
	dst[0] = '\0';
	for (size_t i = 0; i < len && len <= MAX_ID; i++)
		sprintf(dst + 2 * i, "%02x", id[i]);
}

/* A name without folders, a NUL, padding to 4, and the CRC (GDB's manual). */
static void read_link(struct search *s)
{
	const struct us_elf_file *f = s->w->file;
	const struct us_elf_section *sec = us_elf_file_section(f, ".gnu_debuglink");
	if (!sec || sec->type == SHT_NOBITS || sec->size < 8 ||
	    (sec->flags & SHF_COMPRESSED))
		return;
	const char *name = (const char *)f->bytes + sec->offset;
	size_t len = strnlen(name, sec->size);
	size_t crc_at = (len + 4) & ~(size_t)3;
	if (len >= sizeof(s->link) || !len || sec->size < crc_at + 4 ||
	    memchr(name, '/', len))
		return;
	memcpy(s->link, name, len + 1);
	memcpy(&s->crc, name + crc_at, sizeof(s->crc));
}

/* Of the whole file, most of which is not in memory.  CRC-32 as of zlib (RFC 1952,
 * section 8). */
static uint32_t crc_of(const char *path)
{
	uint8_t piece[65536];
	uLong crc = crc32(0, NULL, 0);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	while (fd >= 0 && (n = us_read_full(fd, piece, sizeof(piece))) > 0)
		crc = crc32(crc, piece, (uInt)n);
	return (uint32_t)crc;
}

static int check(const struct search *s, const struct us_elf_file *f)
{
	struct us_build_id id;
	us_build_id_read(f, &id);
	if (f->machine != s->w->file->machine || f->is64 != s->w->file->is64)
		return us_fail(s->e, -EBADMSG, "%s is for another machine than %s",
			       s->path, s->w->path);
	if (s->w->build_id_len && id.len) {
		if (id.len == s->w->build_id_len &&
		    !memcmp(id.bytes, s->w->build_id, id.len))
			return 0;
		return us_fail(
			s->e, -EBADMSG,
			"%s is from another build than %s: their build-ids differ",
			s->path, s->w->path);
	}
	if (s->link[0] && crc_of(s->path) == s->crc)
		return 0;
	return us_fail(s->e, -EBADMSG,
		       "%s is from another build than %s: its CRC is not the one in "
		       ".gnu_debuglink",
		       s->path, s->w->path);
}

/* s->path, if it is there and right. */
static bool try_path(struct search *s, int len)
{
	struct us_err e = { 0 };
	if (len < 0 || len >= US_DEBUG_PATH || access(s->path, R_OK) != 0)
		return false;
	int r = us_elf_file_open(s->path, s->ret, &e);
	if (r < 0) {
		s->code = r;
		if (s->e)
			*s->e = e;
		return false;
	}
	r = check(s, s->ret);
	if (r == 0)
		return true;
	us_elf_file_close(s->ret);
	s->code = r;
	return false;
}

#define TRY(s, ...) try_path(s, snprintf((s)->path, US_DEBUG_PATH, __VA_ARGS__))

static bool try_id(struct search *s, const char *dir)
{
	return s->id[0] &&
	       (TRY(s, "%s/.build-id/%.2s/%s.debug", dir, s->id, s->id + 2) ||
		TRY(s, "%s/buildid/%s/debuginfo", dir, s->id) ||
		TRY(s, "%s/%s/debuginfo", dir, s->id));
}

static bool try_link(struct search *s, const char *dir)
{
	return s->link[0] && TRY(s, "%s/%s", dir, s->link);
}

/* debuginfod(8): the folder of its client's cache; "" if there is none. */
static void cache_of(char dst[US_DEBUG_PATH])
{
	const char *own = getenv("DEBUGINFOD_CACHE_PATH");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n = 0;
	dst[0] = '\0';
	if (own && *own)
		n = snprintf(dst, US_DEBUG_PATH, "%s", own);
	else if (xdg && *xdg)
		n = snprintf(dst, US_DEBUG_PATH, "%s/debuginfod_client", xdg);
	else if (home && *home)
		n = snprintf(dst, US_DEBUG_PATH, "%s/.cache/debuginfod_client", home);
	if (n >= US_DEBUG_PATH)
		dst[0] = '\0';
}

static bool search(struct search *s, const struct us_debug_dirs *dirs)
{
	char cache[US_DEBUG_PATH];
	for (size_t i = 0; i < dirs->n; i++)
		if (try_id(s, dirs->dir[i]) || try_link(s, dirs->dir[i]))
			return true;
	if (s->link[0] &&
	    (try_link(s, s->folder) || TRY(s, "%s/.debug/%s", s->folder, s->link)))
		return true;
	if (try_id(s, SYSTEM_DIR) ||
	    (s->link[0] && TRY(s, SYSTEM_DIR "%s/%s", s->folder, s->link)))
		return true;
	cache_of(cache);
	return cache[0] && try_id(s, cache);
}

static void find_folder(struct search *s)
{
	char *whole = realpath(s->w->path, NULL);
	char *slash = whole ? strrchr(whole, '/') : NULL;
	if (slash)
		*slash = '\0';
	snprintf(s->folder, sizeof(s->folder), "%s", whole ? whole : ".");
	free(whole);
}

/* A file that nothing names.  One from another build is reported only if there are no
 * symbols at all. */
static bool search_beside(struct search *s, const char **ret_beside)
{
	struct us_beside b;
	bool found = us_beside_find(s->w->path, s->w->file, &b) == 0 &&
		     strlen(b.v[0].path) < US_DEBUG_PATH &&
		     us_elf_file_open(b.v[0].path, s->ret, NULL) == 0;
	if (found) {
		strcpy(s->path, b.v[0].path);
		*ret_beside = us_beside_match_name(b.v[0].match);
	} else if (b.refused && s->code == -ENOENT &&
		   !us_elf_file_section(s->w->file, ".symtab")) {
		s->code = us_fail(s->e, -EBADMSG,
				  "%s, beside %s, is from another build", b.refused,
				  s->w->path);
	}
	us_beside_fini(&b);
	return found;
}

int us_debug_file_open(const struct us_debug_wanted *w,
		       const struct us_debug_dirs *dirs, struct us_elf_file *ret,
		       char ret_path[US_DEBUG_PATH], const char **ret_beside,
		       struct us_err *e)
{
	struct search s = {
		.w = w, .ret = ret, .path = ret_path, .e = e, .code = -ENOENT
	};
	put_id(s.id, w->build_id, w->build_id_len);
	if (strlen(s.id) < 4)
		s.id[0] = '\0';
	read_link(&s);
	find_folder(&s);
	*ret_beside = NULL;
	if (search(&s, dirs) || (!dirs->not_beside && search_beside(&s, ret_beside)))
		return 0;
	return s.code == -ENOENT
		       ? us_fail(e, -ENOENT, "no separate debug file for %s", w->path)
		       : s.code;
}

static bool is_there(const char *path, int len)
{
	return len > 0 && len < US_DEBUG_PATH && access(path, R_OK) == 0;
}

#define THERE(ret, ...) is_there(ret, snprintf(ret, US_DEBUG_PATH, __VA_ARGS__))

static bool id_in(const char *dir, const char *id, char ret[US_DEBUG_PATH])
{
	return THERE(ret, "%s/.build-id/%.2s/%s", dir, id, id + 2) ||
	       THERE(ret, "%s/buildid/%s/executable", dir, id) ||
	       THERE(ret, "%s/%s/executable", dir, id) ||
	       THERE(ret, "%s/.build-id/%.2s/%s.debug", dir, id, id + 2) ||
	       THERE(ret, "%s/buildid/%s/debuginfo", dir, id) ||
	       THERE(ret, "%s/%s/debuginfo", dir, id);
}

bool us_debug_file_by_id(const uint8_t *id, size_t len,
			 const struct us_debug_dirs *dirs, char ret[US_DEBUG_PATH])
{
	char text[2 * MAX_ID + 1], cache[US_DEBUG_PATH];
	put_id(text, id, len);
	if (strlen(text) < 4)
		return false;
	for (size_t i = 0; i < dirs->n; i++)
		if (id_in(dirs->dir[i], text, ret))
			return true;
	cache_of(cache);
	return id_in(SYSTEM_DIR, text, ret) || (cache[0] && id_in(cache, text, ret));
}

static int open_alt(const char *path, const uint8_t *id, size_t len,
		    struct us_elf_file *ret, struct us_err *e)
{
	struct us_build_id have;
	int r = us_elf_file_open_part(path, ret, e);
	if (r < 0)
		return r;
	us_build_id_read(ret, &have);
	if (have.len == len && !memcmp(have.bytes, id, len))
		return 0;
	us_elf_file_close(ret);
	return us_fail(e, -EBADMSG,
		       "%s is not the common debug file that .gnu_debugaltlink names",
		       path);
}

int us_debug_alt_open(const struct us_elf_file *f, const char *path,
		      const struct us_debug_dirs *dirs, struct us_elf_file *ret,
		      struct us_err *e)
{
	const struct us_elf_section *s = us_elf_file_section(f, ".gnu_debugaltlink");
	char at[US_DEBUG_PATH];
	if (!s || s->type == SHT_NOBITS || (s->flags & SHF_COMPRESSED))
		return us_fail(e, -ENOENT, "%s names no common debug file", path);
	const char *name = (const char *)f->bytes + s->offset;
	size_t len = strnlen(name, s->size);
	if (len == s->size || s->size - len - 1 < 2 || s->size - len - 1 > MAX_ID)
		return us_fail(e, -EBADMSG, "%s: .gnu_debugaltlink is damaged", path);
	const uint8_t *id = (const uint8_t *)name + len + 1;
	size_t id_len = s->size - len - 1;
	const char *slash = strrchr(path, '/');
	int folder = name[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
	if (THERE(at, "%.*s%s", folder, path, name) ||
	    us_debug_file_by_id(id, id_len, dirs, at))
		return open_alt(at, id, id_len, ret, e);
	return us_fail(e, -ENOENT, "%s names %s, which does not exist", path, name);
}
