/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_image.c: an ELF file opened as an image: its text, symbols and build-id. */
#include "symbol/elf_image.h"

#include "base/cleanup.h"
#include "symbol/elf_file.h"
#include "symbol/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_BUILD_ID 64 /* bytes; SHA-1 has 20 */
#define MAX_NOTES    65536

struct us_elf_image {
	char *path;
	struct us_elf_file file;
	struct us_elf_symbols symbols;
	const uint8_t *build_id; /* in the file's bytes */
	size_t build_id_len;
	unsigned n_note; /* looked at: note sections may overlap */
};

/* Notes are {namesz, descsz, type, name, desc}, name and desc padded (gABI, chapter
 * 5); to 4 bytes, or to 8 where the segment is so aligned (x86-64 psABI). */
static bool find_build_id(struct us_elf_image *i, uint64_t offset, uint64_t size,
			  uint64_t align)
{
	uint64_t pad = align == 8 ? 7 : 3;
	const uint8_t *at = i->file.bytes + offset;
	Elf64_Nhdr n;
	while (size >= sizeof(n) && i->n_note++ < MAX_NOTES) {
		memcpy(&n, at, sizeof(n));
		uint64_t desc = sizeof(n) + (((uint64_t)n.n_namesz + pad) & ~pad);
		uint64_t next = (desc + n.n_descsz + pad) & ~pad;
		if (desc > size || n.n_descsz > size - desc)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(at + sizeof(n), "GNU", 4) && n.n_descsz &&
		    n.n_descsz <= MAX_BUILD_ID) {
			i->build_id = at + desc;
			i->build_id_len = n.n_descsz;
			return true;
		}
		if (next >= size)
			return false;
		at += next;
		size -= next;
	}
	return false;
}

static void read_build_id(struct us_elf_image *i)
{
	const struct us_elf_file *f = &i->file;
	for (size_t k = 0; k < f->n_section; k++) {
		const struct us_elf_section *s = &f->section[k];
		if (s->type == SHT_NOTE && find_build_id(i, s->offset, s->size, 4))
			return;
	}
	for (size_t k = 0; k < f->n_segment; k++) {
		const struct us_elf_segment *s = &f->segment[k];
		if (s->type == PT_NOTE &&
		    find_build_id(i, s->offset, s->filesz, s->align))
			return;
	}
}

int us_elf_image_open(const char *path, struct us_elf_image **ret, struct us_err *e)
{
	struct us_elf_image *i = calloc(1, sizeof(*i));
	if (!i || !(i->path = strdup(path))) {
		free(i);
		return us_fail(e, -ENOMEM, "read ELF file %s: no memory", path);
	}
	int r = us_elf_file_open(path, &i->file, e);
	if (r == 0) {
		r = us_elf_symbols_read(&i->file, &i->symbols, e);
		if (r < 0)
			us_wrap(e, "read ELF file %s", path);
	}
	if (r < 0) {
		us_elf_image_close(i);
		return r;
	}
	read_build_id(i);
	*ret = i;
	return 0;
}

void us_elf_image_close(struct us_elf_image *i)
{
	if (!i)
		return;
	us_elf_symbols_fini(&i->symbols);
	us_elf_file_close(&i->file);
	free(i->path);
	free(i);
}

const char *us_elf_image_path(const struct us_elf_image *i)
{
	return i->path;
}

const struct us_elf_file *us_elf_image_file(const struct us_elf_image *i)
{
	return &i->file;
}

const uint8_t *us_elf_image_build_id(const struct us_elf_image *i, size_t *ret_len)
{
	*ret_len = i->build_id_len;
	return i->build_id;
}

bool us_elf_image_text(const struct us_elf_image *i, uint64_t *ret_start,
		       uint64_t *ret_end)
{
	const struct us_elf_file *f = &i->file;
	if (!f->n_code)
		return false;
	uint64_t end = 0;
	for (size_t k = 0; k < f->n_code; k++)
		if (f->code[k].end > end)
			end = f->code[k].end;
	*ret_start = f->code[0].start;
	*ret_end = end;
	return true;
}

const struct us_elf_symbol *us_elf_image_symbols(const struct us_elf_image *i,
						 size_t *ret_n)
{
	*ret_n = i->symbols.n;
	return i->symbols.v;
}

const struct us_elf_symbol *us_elf_image_find(const struct us_elf_image *i,
					      uint64_t addr)
{
	uint32_t k = us_span_map_find(&i->symbols.cover, addr);
	return k == US_SPAN_NONE ? NULL : &i->symbols.v[k];
}
