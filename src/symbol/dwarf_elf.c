/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dwarf_elf.c: see dwarf_elf.h. */
#include "symbol/dwarf_elf.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* All that lines, inlined calls and their ranges need.  Not .gnu_debugaltlink and the
 * like: libdw would open the files that they name. */
static const char *const wanted[] = {
	"abbrev", "addr",     "info", "line",	     "line_str",
	"ranges", "rnglists", "str",  "str_offsets", "types",
};
#define N_WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* zlib compresses at most 1032 to 1; a section that claims more would only cost
 * memory. */
#define MAX_INFLATE	 1032
#define MAX_UNCOMPRESSED (4ULL << 30)

/* The spare page: header, section headers, their names. */
struct page {
	uint8_t *start;
	bool is64;
	size_t n_section;
	size_t names_at, names_len;
};

static bool can_inflate(uint64_t to, uint64_t from)
{
	return to <= MAX_UNCOMPRESSED && to / MAX_INFLATE <= from;
}

/* The type of compression, an ELFCOMPRESS_*, and the size unpacked; 0: damaged. */
static uint32_t packed_by(const struct us_elf_file *f, const struct us_elf_section *s,
			  uint64_t *ret_size)
{
	Elf64_Chdr h = { 0 };
	Elf32_Chdr n = { 0 };
	size_t len = f->is64 ? sizeof(h) : sizeof(n);
	if (s->size < len || us_elf_file_need(f, s) < 0)
		return 0;
	memcpy(f->is64 ? (void *)&h : &n, f->bytes + s->offset, len);
	*ret_size = f->is64 ? h.ch_size : n.ch_size;
	return f->is64 ? h.ch_type : n.ch_type;
}

static bool usable(const struct us_elf_file *f, const struct us_elf_section *s,
		   bool old_compressed)
{
	const uint8_t *p = f->bytes + s->offset;
	if (s->type == SHT_NOBITS || s->type == SHT_NULL || !s->size ||
	    us_elf_file_need(f, s) < 0)
		return false;
	if (old_compressed) { /* "ZLIB" and the size, big-endian */
		uint64_t to;
		if (s->size < 12 || memcmp(p, "ZLIB", 4) != 0)
			return false;
		memcpy(&to, p + 4, sizeof(to));
		return can_inflate(__builtin_bswap64(to), s->size);
	}
	if (!(s->flags & SHF_COMPRESSED))
		return true;
	uint64_t to;
	return packed_by(f, s, &to) == ELFCOMPRESS_ZLIB && can_inflate(to, s->size);
}

static void put_section(struct page *p, const char *name, uint32_t type, uint64_t flags,
			uint64_t offset, uint64_t size)
{
	size_t i = p->n_section++;
	size_t at_name = p->names_len;
	p->names_len += (size_t)sprintf((char *)p->start + p->names_at + at_name, "%s",
					name) +
			1;
	Elf64_Shdr s = { .sh_name = (uint32_t)at_name,
			 .sh_type = type,
			 .sh_flags = flags,
			 .sh_offset = offset,
			 .sh_size = size,
			 .sh_addralign = 1 };
	Elf32_Shdr n = { .sh_name = (uint32_t)at_name,
			 .sh_type = type,
			 .sh_flags = (uint32_t)flags,
			 .sh_offset = (uint32_t)offset,
			 .sh_size = (uint32_t)size,
			 .sh_addralign = 1 };
	if (p->is64)
		memcpy(p->start + sizeof(Elf64_Ehdr) + i * sizeof(s), &s, sizeof(s));
	else
		memcpy(p->start + sizeof(Elf32_Ehdr) + i * sizeof(n), &n, sizeof(n));
}

static void put_header(struct page *p, const struct us_elf_file *f)
{
	uint8_t ident[EI_NIDENT] = { ELFMAG0,
				     ELFMAG1,
				     ELFMAG2,
				     ELFMAG3,
				     f->is64 ? ELFCLASS64 : ELFCLASS32,
				     ELFDATA2LSB,
				     EV_CURRENT };
	Elf64_Ehdr h = { .e_type = ET_EXEC,
			 .e_machine = f->machine,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(h),
			 .e_ehsize = sizeof(h),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = (uint16_t)p->n_section,
			 .e_shstrndx = (uint16_t)(p->n_section - 1) };
	Elf32_Ehdr n = { .e_type = ET_EXEC,
			 .e_machine = f->machine,
			 .e_version = EV_CURRENT,
			 .e_shoff = sizeof(n),
			 .e_ehsize = sizeof(n),
			 .e_shentsize = sizeof(Elf32_Shdr),
			 .e_shnum = (uint16_t)p->n_section,
			 .e_shstrndx = (uint16_t)(p->n_section - 1) };
	memcpy(h.e_ident, ident, sizeof(ident));
	memcpy(n.e_ident, ident, sizeof(ident));
	memcpy(p->start, f->is64 ? (void *)&h : &n, f->is64 ? sizeof(h) : sizeof(n));
}

static bool put_wanted(struct page *p, const struct us_elf_file *f, const char *what)
{
	char name[32];
	snprintf(name, sizeof(name), ".debug_%s", what);
	const struct us_elf_section *s = us_elf_file_section(f, name);
	if (!s) {
		snprintf(name, sizeof(name), ".zdebug_%s", what);
		s = us_elf_file_section(f, name);
	}
	if (!s || !usable(f, s, name[1] == 'z'))
		return false;
	put_section(p, name, SHT_PROGBITS, s->flags & SHF_COMPRESSED,
		    US_ELF_SPARE + s->offset, s->size);
	return true;
}

Elf *us_dwarf_elf(const struct us_elf_file *f)
{
	struct page p = { .start = f->area, .is64 = f->is64, .names_at = 2048 };
	bool some = false;
	/* A 32-bit header cannot refer to offsets beyond 4 GiB. */
	if (!f->is64 && f->area_size > UINT32_MAX)
		return NULL;
	memset(p.start, 0, US_ELF_SPARE);
	put_section(&p, "", SHT_NULL, 0, 0, 0);
	for (size_t i = 0; i < N_WANTED; i++)
		some |= put_wanted(&p, f, wanted[i]);
	put_section(&p, ".shstrtab", SHT_STRTAB, 0, p.names_at, 512);
	put_header(&p, f);
	/* Of a file that was overwritten some sections would be the old ones. */
	if (!some || us_elf_file_changed(f) || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	return elf_memory((char *)f->area, f->area_size);
}

bool us_dwarf_elf_unreadable(const struct us_elf_file *f)
{
	for (size_t i = 0; i < N_WANTED; i++) {
		char name[32];
		uint64_t size;
		snprintf(name, sizeof(name), ".debug_%s", wanted[i]);
		const struct us_elf_section *s = us_elf_file_section(f, name);
		if (!s || s->type == SHT_NOBITS || s->type == SHT_NULL ||
		    !(s->flags & SHF_COMPRESSED))
			continue;
		uint32_t by = packed_by(f, s, &size);
		if (by && by != ELFCOMPRESS_ZLIB)
			return true;
	}
	return false;
}
