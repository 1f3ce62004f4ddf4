/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_elf.c: see made_elf.h. */
#include "symbol/made_elf.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_SYMBOLS (4U << 20)
#define MOST_NAMES   (256U << 20) /* bytes */

enum { NONE, TEXT, SYMTAB, STRTAB, SHSTRTAB, N_SECTION };

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

/* The file: its header, symbols, their names, the names of sections, the table. */
struct layout {
	uint64_t symbols, names, section_names, table, size;
};

static size_t name_bytes(const struct us_made_symbol *v, size_t n)
{
	size_t size = 1;
	for (size_t k = 0; k < n && size <= MOST_NAMES; k++)
		size += strlen(v[k].name) + 1;
	return size;
}

static void lay_out(size_t n, size_t names, struct layout *l)
{
	l->symbols = sizeof(Elf64_Ehdr);
	l->names = l->symbols + (n + 1) * sizeof(Elf64_Sym);
	l->section_names = l->names + names;
	l->table = (l->section_names + sizeof(section_names) + 7) & ~7ULL;
	l->size = l->table + N_SECTION * sizeof(Elf64_Shdr);
}

static void put_header(uint8_t *at, const struct layout *l)
{
	Elf64_Ehdr h = { .e_type = ET_DYN,
			 .e_version = EV_CURRENT,
			 .e_shoff = l->table,
			 .e_ehsize = sizeof(h),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = N_SECTION,
			 .e_shstrndx = SHSTRTAB };
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(at, &h, sizeof(h));
}

static void put_sections(uint8_t *at, const struct layout *l, uint64_t start,
			 uint64_t end)
{
	const Elf64_Shdr all[N_SECTION] = {
		[TEXT] = { .sh_name = 1,
			   .sh_type = SHT_NOBITS,
			   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			   .sh_addr = start,
			   .sh_size = end - start },
		[SYMTAB] = { .sh_name = 7,
			     .sh_type = SHT_SYMTAB,
			     .sh_offset = l->symbols,
			     .sh_size = l->names - l->symbols,
			     .sh_link = STRTAB,
			     .sh_entsize = sizeof(Elf64_Sym) },
		[STRTAB] = { .sh_name = 15,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = l->names,
			     .sh_size = l->section_names - l->names },
		[SHSTRTAB] = { .sh_name = 23,
			       .sh_type = SHT_STRTAB,
			       .sh_offset = l->section_names,
			       .sh_size = sizeof(section_names) },
	};
	memcpy(at, all, sizeof(all));
}

static void put_symbols(uint8_t *file, const struct layout *l,
			const struct us_made_symbol *v, size_t n)
{
	uint64_t name = 1;
	for (size_t k = 0; k < n; k++) {
		unsigned char bind = v[k].weak	  ? STB_WEAK
				     : v[k].local ? STB_LOCAL
						  : STB_GLOBAL;
		const Elf64_Sym s = { .st_name = (uint32_t)name,
				      .st_info = ELF64_ST_INFO(bind, STT_FUNC),
				      .st_shndx = TEXT,
				      .st_value = v[k].address,
				      .st_size = v[k].size };
		size_t len = strlen(v[k].name) + 1;
		memcpy(file + l->symbols + (k + 1) * sizeof(s), &s, sizeof(s));
		memcpy(file + l->names + name, v[k].name, len);
		name += len;
	}
}

static int open_bytes(const char *path, const uint8_t *bytes, size_t size,
		      struct us_elf_image **ret, struct us_err *e)
{
	char name[64];
	_cleanup_close_ int fd = memfd_create("names", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : us_write_all(fd, bytes, size);
	if (r < 0)
		return us_fail(e, r, "keep the names of %s: %s", path, strerror(-r));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	r = us_elf_image_open(name, ret, e);
	if (r == 0 && us_elf_image_call(*ret, path)) {
		us_elf_image_close(*ret);
		r = us_fail(e, -ENOMEM, "keep the names of %s: no memory", path);
	}
	return r;
}

static int by_address(const void *a, const void *b)
{
	const struct us_made_symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size != y->size ? (x->size < y->size ? 1 : -1)
				  : strcmp(x->name, y->name);
}

size_t us_made_symbols_sort(struct us_made_symbol *v, size_t n)
{
	size_t to = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_address);
	for (size_t k = 0; k < n; k++)
		if (!to || v[to - 1].address != v[k].address)
			v[to++] = v[k];
	return to;
}

int us_made_elf_open(const char *path, const struct us_made_symbol *v, size_t n,
		     uint64_t start, uint64_t end, struct us_elf_image **ret,
		     struct us_err *e)
{
	size_t names = n <= MOST_SYMBOLS ? name_bytes(v, n) : MOST_NAMES + 1;
	struct layout l;
	if (names > MOST_NAMES || start >= end)
		return us_fail(e, -E2BIG, "%s has too many names", path);
	lay_out(n, names, &l);
	_cleanup_free_ uint8_t *bytes = calloc(1, (size_t)l.size);
	if (!bytes)
		return us_fail(e, -ENOMEM, "keep the names of %s: no memory", path);
	put_header(bytes, &l);
	put_symbols(bytes, &l, v, n);
	memcpy(bytes + l.section_names, section_names, sizeof(section_names));
	put_sections(bytes + l.table, &l, start, end);
	return open_bytes(path, bytes, (size_t)l.size, ret, e);
}
