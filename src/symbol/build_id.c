/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build_id.c: see build_id.h. */
#include "symbol/build_id.h"

#include <elf.h>
#include <string.h>

#define MAX_NOTES 65536

struct search {
	const struct us_elf_file *f;
	struct us_build_id *ret;
	unsigned n_note; /* looked at: note sections may overlap */
};

/* Notes are {namesz, descsz, type, name, desc}, name and desc padded (gABI, chapter
 * 5); to 4 bytes, or to 8 where the segment is so aligned (x86-64 psABI). */
static bool find(struct search *i, uint64_t offset, uint64_t size, uint64_t align,
		 uint64_t addr)
{
	uint64_t pad = align == 8 ? 7 : 3;
	const uint8_t *at = i->f->bytes + offset, *first = at;
	Elf64_Nhdr n;
	while (size >= sizeof(n) && i->n_note++ < MAX_NOTES) {
		memcpy(&n, at, sizeof(n));
		uint64_t desc = sizeof(n) + (((uint64_t)n.n_namesz + pad) & ~pad);
		uint64_t next = (desc + n.n_descsz + pad) & ~pad;
		if (desc > size || n.n_descsz > size - desc)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(at + sizeof(n), "GNU", 4) && n.n_descsz &&
		    n.n_descsz <= US_BUILD_ID_MOST) {
			i->ret->bytes = at + desc;
			i->ret->len = n.n_descsz;
			i->ret->addr = addr ? addr + (uint64_t)(at - first) + desc : 0;
			return true;
		}
		if (next >= size)
			return false;
		at += next;
		size -= next;
	}
	return false;
}

void us_build_id_read(const struct us_elf_file *f, struct us_build_id *ret)
{
	struct search i = { .f = f, .ret = ret };
	memset(ret, 0, sizeof(*ret));
	for (size_t k = 0; k < f->n_section; k++) {
		const struct us_elf_section *s = &f->section[k];
		if (s->type == SHT_NOTE &&
		    find(&i, s->offset, s->size, 4, s->flags & SHF_ALLOC ? s->addr : 0))
			return;
	}
	for (size_t k = 0; k < f->n_segment; k++) {
		const struct us_elf_segment *s = &f->segment[k];
		if (s->type == PT_NOTE &&
		    find(&i, s->offset, s->filesz, s->align, s->vaddr))
			return;
	}
}
