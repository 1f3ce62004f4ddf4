/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_cfi.c: see elf_cfi.h. */
#include "symbol/elf_cfi.h"

#include "symbol/cfi_program.h"
#include "symbol/elf_bytes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_BYTES (256U << 20) /* of a section */

#define CIE_STEPS 64 /* allowed per FDE, on average */

static uint64_t address_of(const struct us_elf_file *f, const char *name)
{
	const struct us_elf_section *s = us_elf_file_section(f, name);
	return s ? s->addr : 0;
}

/* The section's bytes: those of f, or if it has none, those of its debug file. */
static int take_bytes(const struct us_elf_file *f, const struct us_elf_file *debug,
		      const char *name, struct us_elf_bytes *ret, uint64_t *ret_addr)
{
	*ret_addr = address_of(f, name);
	int r = us_elf_bytes(f, name, MAX_BYTES, ret);
	bool fits = debug && debug->machine == f->machine && debug->is64 == f->is64;
	if (r == 0 || !fits)
		return r;
	*ret_addr = address_of(debug, name);
	return us_elf_bytes(debug, name, MAX_BYTES, ret);
}

/* The length of the records: up to one of length 0, or to the first invalid one. */
static size_t length_of_records(const uint8_t *bytes, size_t max)
{
	struct us_cursor c = { bytes, bytes + max, false };
	for (;;) {
		size_t at = (size_t)(c.at - bytes);
		uint64_t len = us_cursor_fixed(&c, 4);
		if (len == UINT32_MAX)
			len = us_cursor_fixed(&c, 8);
		us_cursor_take(&c, len);
		if (len == 0 || c.bad)
			return at;
	}
}

/* The bytes of the file that lie at an address. */
static const uint8_t *bytes_at(const struct us_elf_file *f, uint64_t addr, size_t *ret)
{
	for (size_t i = 0; i < f->n_segment; i++) {
		const struct us_elf_segment *s = &f->segment[i];
		if (s->type != PT_LOAD || addr < s->vaddr ||
		    addr - s->vaddr >= s->filesz)
			continue;
		uint64_t left = s->filesz - (addr - s->vaddr);
		*ret = left < MAX_BYTES ? (size_t)left : MAX_BYTES;
		return f->bytes + s->offset + (addr - s->vaddr);
	}
	return NULL;
}

/*
 * Without section headers, .eh_frame is still there for the program itself: a segment
 * has the header of a table (LSB 5, 10.6.2), which points to the records.
 */
static bool find_by_segment(const struct us_elf_file *f, struct us_cfi_section *s)
{
	const struct us_elf_segment *g = f->segment, *end = g + f->n_segment;
	size_t most = 0;
	while (g < end && (g->type != PT_GNU_EH_FRAME || g->filesz < 8))
		g++;
	if (g == end)
		return false;
	const struct us_cfi_section header = { .bytes = f->bytes + g->offset,
					       .size = (size_t)g->filesz,
					       .addr = g->vaddr,
					       .data_base = g->vaddr };
	struct us_cursor c = { header.bytes + 4, header.bytes + header.size, false };
	if (header.bytes[0] != 1 ||
	    !us_cfi_pointer(&header, &c, header.bytes[1], s->pointer_size, &s->addr))
		return false;
	s->bytes = bytes_at(f, s->addr, &most);
	s->size = s->bytes ? length_of_records(s->bytes, most) : 0;
	return s->size != 0;
}

/* Each FDE up to where the next one starts: overlaps go to the later one. */
static int run_all(struct us_cfi_run *run)
{
	const struct us_cfi_records *rec = run->records;
	int r = 0;
	run->budget = CIE_STEPS * (rec->fdes.n + 1ULL);
	for (size_t i = 0; r == 0 && i < rec->fdes.n; i++) {
		const struct us_cfi_fde *fde = &rec->fdes.v[i];
		uint64_t end = fde->end;
		if (i && rec->fdes.v[i - 1].start == fde->start) {
			run->stats->n_shadowed++;
			continue;
		}
		for (size_t k = i + 1; k < rec->fdes.n; k++) {
			if (rec->fdes.v[k].start == fde->start)
				continue;
			if (rec->fdes.v[k].start < end)
				end = rec->fdes.v[k].start;
			break;
		}
		r = us_cfi_run_fde(run, fde, end);
		if (r == -E2BIG)
			run->stats->n_left_out += rec->fdes.n - i;
	}
	return r == -E2BIG ? 0 : r;
}

static int compile(struct us_cfi_run *run, const struct us_cfi_section *s)
{
	struct us_cfi_records records;
	int r = us_cfi_records_read(s, &records, run->stats);
	run->records = &records;
	run->cie = NULL;
	run->row_flags = s->eh ? 0 : US_CFI_FILL;
	if (r == 0)
		r = run_all(run);
	us_cfi_records_fini(&records);
	return r;
}

static int compile_section(struct us_cfi_run *run, const struct us_elf_file *f,
			   const struct us_elf_file *debug, bool eh)
{
	struct us_elf_bytes bytes = { 0 };
	struct us_cfi_section s = { .file = f,
				    .eh = eh,
				    .pointer_size = f->is64 ? 8 : 4,
				    .text_base = address_of(f, ".text"),
				    .data_base = address_of(f, ".got") };
	const char *name = eh ? ".eh_frame" : ".debug_frame";
	int r = take_bytes(f, debug, name, &bytes, &s.addr);
	s.bytes = bytes.at;
	s.size = bytes.size;
	if (r == -ENOENT && eh && !f->n_section && find_by_segment(f, &s))
		r = 0;
	if (r < 0) {
		run->stats->n_bad += r != -ENOENT;
		return r == -ENOMEM ? r : 0;
	}
	r = compile(run, &s);
	free(bytes.owned);
	return r;
}

static int compile_both(struct us_cfi_run *run, const struct us_elf_file *f,
			const struct us_elf_file *debug, struct us_cfi_table **ret)
{
	int r = compile_section(run, f, debug, true);
	if (r == 0)
		r = compile_section(run, f, debug, false);
	if (run->stats->n_pascal)
		us_cfi_builder_distrust(run->builder);
	return r == 0 ? us_cfi_builder_finish(run->builder, ret) : r;
}

int us_elf_cfi_read(const struct us_elf_file *f, const struct us_elf_file *debug,
		    struct us_cfi_table **ret, struct us_elf_cfi_stats *stats,
		    struct us_err *e)
{
	struct us_elf_cfi_stats counts = { 0 };
	struct us_cfi_run run = { .machine = us_cfi_machine(f->machine),
				  .stats = &counts,
				  .word = f->is64 ? 8 : 4 };
	if (run.machine && run.machine->word)
		run.word = run.machine->word;
	int r = us_cfi_builder_new(run.word, &run.builder);
	if (r == 0)
		r = run.machine ? compile_both(&run, f, debug, ret)
				: us_cfi_builder_finish(run.builder, ret);
	us_cfi_builder_free(run.builder);
	if (r < 0)
		return us_fail(e, r, "out of memory for call frame information");
	if (stats)
		*stats = counts;
	return 0;
}

/* The number of the return address is 16 on x86-64 and 8 on i386 (psABIs). */
unsigned us_elf_cfi_x86_bits(const struct us_elf_file *f)
{
	struct us_elf_bytes bytes;
	if (us_elf_bytes(f, ".eh_frame", MAX_BYTES, &bytes) < 0)
		return 0;
	struct us_cursor all = { bytes.at, bytes.at + bytes.size, false };
	struct us_cursor c = us_cursor_take(&all, us_cursor_fixed(&all, 4));
	us_cursor_fixed(&c, 4); /* the first record is a CIE */
	uint8_t version = us_cursor_u8(&c);
	const char *letters = us_cursor_string(&c);
	us_cursor_uleb(&c);
	us_cursor_sleb(&c);
	uint64_t column = version == 1 ? us_cursor_u8(&c) : us_cursor_uleb(&c);
	bool known = letters && (!*letters || *letters == 'z') && !c.bad;
	free(bytes.owned);
	return !known ? 0 : column == 16 ? 64 : column == 8 ? 32 : 0;
}
