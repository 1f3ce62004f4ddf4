/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_module.c: where the code of a Go program begins, according to its runtime.
 *
 * Since Go 1.26 the table of functions does not say it.  The runtime's description of
 * the program (runtime.moduledata, src/runtime/symtab.go) does: it begins with the
 * table's address.
 */
#include "symbol/go_table.h"

#include <elf.h>
#include <string.h>

#define MAX_TRIES 64 /* modules of a file */

enum { FIRST_PC = 20, LAST_PC, TEXT, TEXT_END };

bool us_go_table_take_module(struct us_go_table *t,
			     const uint64_t word[US_GO_MODULE_WORDS])
{
	uint32_t first;
	memcpy(&first, t->bytes + t->functions, sizeof(first));
	if (!t->narrow || !word[TEXT] || word[TEXT] + first != word[FIRST_PC] ||
	    word[LAST_PC] <= word[FIRST_PC] || word[TEXT_END] <= word[TEXT])
		return false;
	t->text = word[TEXT];
	t->has_text = true;
	return true;
}

/* --- of a file --- */

struct relocations {
	const struct us_elf_file *f;
	size_t section, n; /* the next one: n of this section */
};

/* The next of the file's relocations with an addend; false: there are no more. */
static bool next_relocation(struct relocations *at, Elf64_Rela *ret)
{
	for (; at->f->is64 && at->section < at->f->n_section;
	     at->section++, at->n = 0) {
		const struct us_elf_section *s = &at->f->section[at->section];
		if (s->type != SHT_RELA || at->n >= s->size / sizeof(*ret))
			continue;
		memcpy(ret, at->f->bytes + s->offset + at->n++ * sizeof(*ret),
		       sizeof(*ret));
		return true;
	}
	return false;
}

uint64_t us_go_relocated(const struct us_elf_file *f, uint64_t address)
{
	uint32_t relative = f->machine == EM_AARCH64 ? R_AARCH64_RELATIVE
			    : f->machine == EM_RISCV ? R_RISCV_RELATIVE
						     : R_X86_64_RELATIVE;
	struct relocations at = { .f = f };
	Elf64_Rela r;
	while (next_relocation(&at, &r))
		if (r.r_offset == address && ELF64_R_TYPE(r.r_info) == relative)
			return (uint64_t)r.r_addend;
	return 0;
}

static uint64_t word_at(const struct us_elf_file *f, uint64_t address, uint8_t width)
{
	uint64_t v = 0;
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type == PT_LOAD && address >= s->vaddr && s->filesz >= width &&
		    address - s->vaddr <= s->filesz - width) {
			memcpy(&v, f->bytes + s->offset + (address - s->vaddr), width);
			break;
		}
	}
	return v ? v : us_go_relocated(f, address);
}

/* Each candidate takes a pass over all relocations, and a file can have any number of
 * candidates.  A program's table is named by its module alone. */
static bool is_module(const struct us_elf_file *f, uint64_t address,
		      struct us_go_table *t, unsigned *n_tried)
{
	uint64_t word[US_GO_MODULE_WORDS] = { 0 };
	if ((*n_tried)++ >= MAX_TRIES)
		return false;
	for (unsigned k = FIRST_PC; k < US_GO_MODULE_WORDS; k++)
		word[k] = word_at(f, address + (uint64_t)k * t->word, t->word);
	return us_go_table_take_module(t, word);
}

/* The loader writes the table's address there. */
static bool find_relocated(const struct us_elf_file *f, uint64_t table,
			   struct us_go_table *t, unsigned *n_tried)
{
	struct relocations at = { .f = f };
	Elf64_Rela r;
	while (*n_tried < MAX_TRIES && next_relocation(&at, &r))
		if ((uint64_t)r.r_addend == table &&
		    is_module(f, r.r_offset, t, n_tried))
			return true;
	return false;
}

bool us_go_table_find_module(const struct us_elf_file *f, uint64_t table,
			     struct us_go_table *t)
{
	unsigned n_tried = 0;
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type != PT_LOAD || s->flags & PF_X)
			continue;
		for (uint64_t at = -s->vaddr & (t->word - 1U);
		     at < s->filesz && s->filesz - at >= t->word; at += t->word) {
			uint64_t v = 0;
			memcpy(&v, f->bytes + s->offset + at, t->word);
			if (v == table && is_module(f, s->vaddr + at, t, &n_tried))
				return true;
		}
	}
	n_tried = 0;
	return find_relocated(f, table, t, &n_tried);
}
