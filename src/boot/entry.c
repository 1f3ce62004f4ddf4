/* SPDX-License-Identifier: GPL-2.0-or-later */
/* entry.c: see entry.h. */
#include "boot/entry.h"

#include <elf.h>
#include <string.h>

#define MULTIBOOT_MAGIC	    0x1BADB002U
#define MULTIBOOT_ADDRESSES (1U << 16)
#define MULTIBOOT_AREA	    8192 /* the header is in these first bytes of the file */
#define MULTIBOOT_ENTRY	    28	 /* bytes from it */
#define MULTIBOOT2_MAGIC    0xE85250D6U
#define MULTIBOOT2_AREA	    32768
#define MULTIBOOT2_HEADER   16 /* bytes before its tags */
#define MULTIBOOT2_TAG	    8  /* bytes before a tag's value */
#define XEN_PHYS32_ENTRY    18

/* Tags of a multiboot2 header. */
enum {
	TAG_END = 0,
	TAG_ENTRY = 3, /* of a BIOS's loader */
	TAG_ENTRY_EFI32 = 8,
	TAG_ENTRY_EFI64 = 9,
};

struct entries {
	uint64_t *v;
	size_t n;
};

static void add(struct entries *e, uint64_t address)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i] == address)
			return;
	if (address && e->n < US_BOOT_MAX_ENTRY)
		e->v[e->n++] = address;
}

static uint32_t word_at(const struct us_elf_file *f, uint64_t offset)
{
	uint32_t v = 0;
	if (offset <= f->size && f->size - offset >= sizeof(v))
		memcpy(&v, f->bytes + offset, sizeof(v));
	return v;
}

static uint64_t header_entry(const struct us_elf_file *f)
{
	if (!f->is64)
		return word_at(f, offsetof(Elf32_Ehdr, e_entry));
	uint64_t at = offsetof(Elf64_Ehdr, e_entry);
	return word_at(f, at) | (uint64_t)word_at(f, at + 4) << 32;
}

/* Before it has page tables, the kernel runs at the address where it was loaded. */
static uint64_t loaded_at(const struct us_elf_file *f, uint64_t entry)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type == PT_LOAD && entry - s->vaddr < s->memsz)
			return entry - s->vaddr + s->paddr;
	}
	return 0;
}

static uint64_t multiboot_entry(const struct us_elf_file *f)
{
	for (uint64_t at = 0; at + MULTIBOOT_ENTRY + 4 <= MULTIBOOT_AREA; at += 4) {
		uint32_t flags = word_at(f, at + 4);
		if (word_at(f, at) == MULTIBOOT_MAGIC &&
		    MULTIBOOT_MAGIC + flags + word_at(f, at + 8) == 0)
			return flags & MULTIBOOT_ADDRESSES
				       ? word_at(f, at + MULTIBOOT_ENTRY)
				       : 0;
	}
	return 0;
}

/* Where its tags begin; 0: there is none.  *ret_end: where they end. */
static uint64_t multiboot2_tags(const struct us_elf_file *f, uint64_t *ret_end)
{
	for (uint64_t at = 0; at + MULTIBOOT2_HEADER <= MULTIBOOT2_AREA; at += 8) {
		uint32_t machine = word_at(f, at + 4), size = word_at(f, at + 8);
		if (word_at(f, at) != MULTIBOOT2_MAGIC || machine ||
		    MULTIBOOT2_MAGIC + machine + size + word_at(f, at + 12) != 0)
			continue;
		*ret_end = at + size < MULTIBOOT2_AREA ? at + size : MULTIBOOT2_AREA;
		return at + MULTIBOOT2_HEADER;
	}
	return 0;
}

/* 0: its header has no such tag. */
static uint64_t multiboot2_entry(const struct us_elf_file *f, unsigned tag)
{
	uint64_t end = 0, at = multiboot2_tags(f, &end);
	while (at && at + MULTIBOOT2_TAG + 4 <= end) {
		unsigned type = word_at(f, at) & UINT16_MAX;
		uint64_t size = word_at(f, at + 4);
		if (type == tag && size >= MULTIBOOT2_TAG + 4)
			return word_at(f, at + MULTIBOOT2_TAG);
		if (type == TAG_END || size < MULTIBOOT2_TAG)
			return 0;
		at += (size + 7) & ~7ULL;
	}
	return 0;
}

static uint64_t up4(uint64_t n)
{
	return (n + 3) & ~3ULL;
}

static uint64_t pvh_entry(const struct us_elf_file *f)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		uint64_t end = s->offset + s->filesz;
		if (s->type != PT_NOTE)
			continue;
		for (uint64_t at = s->offset; at < end && end - at >= 12;) {
			uint64_t name = up4(word_at(f, at)), size = word_at(f, at + 4);
			bool xen = name == 4 && word_at(f, at + 12) == 0x006e6558;
			if (xen && word_at(f, at + 8) == XEN_PHYS32_ENTRY && size >= 4)
				return word_at(f, at + 16);
			at += 12 + name + up4(size);
		}
	}
	return 0;
}

static struct entries plain_entries(const struct us_elf_file *f, uint64_t *ret)
{
	struct entries e = { .v = ret };
	uint64_t entry = header_entry(f);
	add(&e, entry);
	add(&e, loaded_at(f, entry));
	add(&e, multiboot_entry(f));
	add(&e, multiboot2_entry(f, TAG_ENTRY));
	add(&e, pvh_entry(f));
	return e;
}

size_t us_boot_entries_plain(const struct us_elf_file *f,
			     uint64_t ret[US_BOOT_MAX_ENTRY])
{
	return plain_entries(f, ret).n;
}

size_t us_boot_entries(const struct us_elf_file *f, uint64_t ret[US_BOOT_MAX_ENTRY])
{
	struct entries e = plain_entries(f, ret);
	add(&e, multiboot2_entry(f, TAG_ENTRY_EFI64));
	add(&e, multiboot2_entry(f, TAG_ENTRY_EFI32));
	return e.n;
}

bool us_boot_is_anywhere(const struct us_elf_file *f)
{
	return (word_at(f, offsetof(Elf64_Ehdr, e_type)) & UINT16_MAX) == ET_DYN;
}

static void add_range(struct us_boot_code *c, size_t *n, uint64_t start, uint64_t size)
{
	if (*n == US_BOOT_RANGES || (*n && c->range[*n - 1].start == start))
		return;
	c->range[*n].start = start;
	c->range[(*n)++].end = start + size;
}

struct us_boot_code us_boot_code_of(const struct us_elf_file *f)
{
	struct us_boot_code c = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type != PT_LOAD || !(s->flags & PF_X) || !s->memsz)
			continue;
		add_range(&c, &n, s->vaddr, s->memsz);
		add_range(&c, &n, s->paddr, s->memsz);
	}
	return c;
}
