/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_bytes.c: see elf_bytes.h. */
#include "symbol/elf_bytes.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* zlib compresses at most 1032 to 1: a section that claims more is invalid, and would
 * only cost memory. */
#define MAX_INFLATE 1032

static int unpack(const uint8_t *from, uint64_t len, uint64_t size, size_t max,
		  struct us_elf_bytes *ret)
{
	if (size > max)
		return -EFBIG;
	if (!size || size / MAX_INFLATE > len)
		return -EBADMSG;
	ret->owned = malloc(size);
	if (!ret->owned)
		return -ENOMEM;
	uLongf n = size;
	if (uncompress(ret->owned, &n, from, len) != Z_OK || n != size) {
		free(ret->owned);
		ret->owned = NULL;
		return -EBADMSG;
	}
	ret->at = ret->owned;
	ret->size = size;
	return 0;
}

/* "ZLIB" and the size, big-endian. */
static int unpack_old(const uint8_t *p, uint64_t len, size_t max,
		      struct us_elf_bytes *ret)
{
	uint64_t size;
	if (len < 12 || memcmp(p, "ZLIB", 4) != 0)
		return -EBADMSG;
	memcpy(&size, p + 4, sizeof(size));
	return unpack(p + 12, len - 12, __builtin_bswap64(size), max, ret);
}

static int unpack_new(const uint8_t *p, uint64_t len, bool is64, size_t max,
		      struct us_elf_bytes *ret)
{
	Elf64_Chdr h = { 0 };
	Elf32_Chdr n = { 0 };
	size_t head = is64 ? sizeof(h) : sizeof(n);
	if (len < head)
		return -EBADMSG;
	memcpy(is64 ? (void *)&h : &n, p, head);
	if ((is64 ? h.ch_type : n.ch_type) != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	return unpack(p + head, len - head, is64 ? h.ch_size : n.ch_size, max, ret);
}

static bool has_bytes(const struct us_elf_section *s)
{
	return s && s->type != SHT_NOBITS && s->type != SHT_NULL && s->size;
}

int us_elf_bytes(const struct us_elf_file *f, const char *name, size_t max,
		 struct us_elf_bytes *ret)
{
	char old[64];
	const struct us_elf_section *s = us_elf_file_section(f, name);
	bool is_old = false;
	*ret = (struct us_elf_bytes){ 0 };
	if (!has_bytes(s) && !strncmp(name, ".debug_", 7)) {
		snprintf(old, sizeof(old), ".z%s", name + 1);
		s = us_elf_file_section(f, old);
		is_old = true;
	}
	if (!has_bytes(s))
		return -ENOENT;
	if (s->size > max)
		return -EFBIG;
	int r = us_elf_file_need(f, s);
	if (r < 0)
		return r;
	const uint8_t *p = f->bytes + s->offset;
	if (is_old)
		return unpack_old(p, s->size, max, ret);
	if (s->flags & SHF_COMPRESSED)
		return unpack_new(p, s->size, f->is64, max, ret);
	ret->at = p;
	ret->size = s->size;
	return 0;
}
