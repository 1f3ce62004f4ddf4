/* SPDX-License-Identifier: GPL-2.0-or-later */
/* first.c: see first.h. */
#include "boot/first.h"

#include "symbol/demangle.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_FRAMES  16
#define MAX_SYMBOLS (1U << 20) /* that are searched for a type */

void us_boot_first_init(struct us_boot_first *f, struct us_symbols *s,
			const struct us_elf_image *kernel, uint64_t bias)
{
	*f = (struct us_boot_first){ .symbols = s, .kernel = kernel, .bias = bias };
}

bool us_boot_first_can(const struct us_boot_first *f)
{
	size_t n = 0;
	if (f->kernel)
		us_elf_image_symbols(f->kernel, &n);
	return n > 0;
}

/* Convert an address as linked to the one as loaded, or back. */
static uint64_t moved(const struct us_elf_file *f, uint64_t address, bool to_loaded)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		uint64_t from = to_loaded ? s->vaddr : s->paddr;
		uint64_t to = to_loaded ? s->paddr : s->vaddr;
		if (s->type == PT_LOAD && address - from < s->memsz)
			return address - from + to;
	}
	return address;
}

/* The symbol that begins there; *ret: its address as linked. */
static const struct us_elf_symbol *starts_at(const struct us_boot_first *f, uint64_t to,
					     uint64_t *ret)
{
	const struct us_elf_file *file = us_elf_image_file(f->kernel);
	const uint64_t may_be[] = { to - f->bias, moved(file, to, false) };
	for (size_t i = 0; i < sizeof(may_be) / sizeof(may_be[0]); i++) {
		const struct us_elf_symbol *s = us_elf_image_find(f->kernel, may_be[i]);
		*ret = may_be[i];
		if (s && s->addr == may_be[i])
			return s;
	}
	return NULL;
}

static bool is_entry(const struct us_boot_first *f, uint64_t linked)
{
	uint64_t entry[US_BOOT_MAX_ENTRY];
	size_t n = us_boot_entries(us_elf_image_file(f->kernel), entry);
	for (size_t i = 0; i < n; i++)
		if (entry[i] == linked)
			return true;
	return false;
}

/* Is the symbol there a label, without a type, and not a function?  Symbols of a
 * separate file count as functions. */
static bool is_label(const struct us_elf_file *f, uint64_t address)
{
	const struct us_elf_section *table = us_elf_file_section(f, ".symtab");
	size_t size = f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t n = table && table->type == SHT_SYMTAB ? table->size / size : 0;
	bool label = false;
	for (uint64_t i = 0; i < n && i < MAX_SYMBOLS; i++) {
		const uint8_t *at = f->bytes + table->offset + i * size;
		Elf64_Sym s = { 0 };
		Elf32_Sym narrow;
		if (f->is64) {
			memcpy(&s, at, sizeof(s));
		} else {
			memcpy(&narrow, at, sizeof(narrow));
			s.st_value = narrow.st_value;
			s.st_info = narrow.st_info;
		}
		if (s.st_value != address)
			continue;
		if (ELF64_ST_TYPE(s.st_info) == STT_FUNC)
			return false;
		label |= ELF64_ST_TYPE(s.st_info) == STT_NOTYPE;
	}
	return label;
}

enum source { UNKNOWN, ASSEMBLY, OTHER };

static enum source source_of(const struct us_boot_first *f, uint64_t linked)
{
	static const char *const assembly[] = { ".s", ".asm", ".sx", ".nasm", ".inc" };
	struct us_frame frame[MAX_FRAMES];
	size_t n = us_symbols_lookup(f->symbols, linked + f->bias, false, frame,
				     MAX_FRAMES);
	const char *file = n ? frame[n - 1].file : NULL;
	const char *dot = file ? strrchr(file, '.') : NULL;
	if (!file)
		return UNKNOWN;
	for (size_t i = 0; dot && i < sizeof(assembly) / sizeof(assembly[0]); i++)
		if (!strcasecmp(dot, assembly[i]))
			return ASSEMBLY;
	return OTHER;
}

static enum us_boot_rank rank_of(const struct us_boot_first *f,
				 const struct us_boot_call *c, uint64_t linked)
{
	const struct us_elf_file *file = us_elf_image_file(f->kernel);
	enum source source = source_of(f, linked);
	bool sure = !c->skipped;
	if (c->jump) /* there are many to assembly, too */
		return source != OTHER || is_entry(f, linked) ? US_RANK_NONE
		       : sure				      ? US_RANK_SOURCE
							      : US_RANK_FUNCTION;
	if (source == ASSEMBLY || c->narrow || is_label(file, linked))
		return US_RANK_LABEL;
	if (source == OTHER && sure)
		return US_RANK_SOURCE;
	return sure ? US_RANK_CALLED : US_RANK_FUNCTION;
}

bool us_boot_first_offer(struct us_boot_first *f, const struct us_boot_call *c)
{
	uint64_t linked;
	const struct us_elf_symbol *s = starts_at(f, c->to, &linked);
	enum us_boot_rank rank = s ? rank_of(f, c, linked) : US_RANK_NONE;
	char text[US_DEMANGLED_MAX];
	if (s && rank > f->rank) {
		const char *name = us_demangle(s->name, US_NAME_SHORT, text,
					       sizeof(text));
		uint64_t loaded = moved(us_elf_image_file(f->kernel), linked, true);
		f->rank = rank;
		snprintf(f->name, sizeof(f->name), "%s", name ? name : s->name);
		f->address[0] = linked + f->bias;
		f->address[1] = loaded;
		f->n_address = loaded == f->address[0] ? 1 : 2;
	}
	return f->rank >= US_RANK_CALLED;
}

void us_boot_first_follow(struct us_boot_first *f)
{
	const struct us_elf_file *file = us_elf_image_file(f->kernel);
	uint64_t entry[US_BOOT_MAX_ENTRY];
	size_t n = us_boot_entries_plain(file, entry);
	for (size_t i = n; i-- > 0;) { /* a loader's own entry before the header's */
		struct us_boot_calls calls;
		us_boot_follow_entry(file, entry[i], &calls);
		for (size_t k = 0; k < calls.n; k++)
			if (us_boot_first_offer(f, &calls.v[k]))
				return;
	}
}
