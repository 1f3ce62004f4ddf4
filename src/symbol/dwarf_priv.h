/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_priv.h: what the readers of one image's DWARF share: its units, and of each the
 * scopes and the lines, which are read when they are needed.
 */
#ifndef US_SYMBOL_DWARF_PRIV_H
#define US_SYMBOL_DWARF_PRIV_H

#include "symbol/dwarf_lines.h"
#include "symbol/elf_symbols.h"
#include "symbol/line_program.h"
#include "symbol/span_map.h"

#define US_DWARF_NO_SCOPE UINT32_MAX

/* A function with code or a call inlined into one.  The outer scope of a scope always
 * has a smaller index. */
struct us_dwarf_scope {
	Dwarf_Off die;
	uint64_t entry; /* its first address */
	const char *name, *decl_file, *call_file;
	uint32_t outer; /* US_DWARF_NO_SCOPE: none */
	uint32_t decl_line, call_line;
	bool inlined, read; /* read: the fields from name to call_line except outer */
};

struct us_dwarf_unit {
	Dwarf_Die die;
	uint64_t size; /* bytes of its entries at most */
	const char *comp_dir;
	bool prefer_linkage; /* of names: those of C++ and the like, to be demangled */
	bool indexed, lines_read, has_ranges;
	struct {
		struct us_dwarf_scope *v;
		size_t n, cap;
	} scopes;
	struct us_span_map map; /* address -> scope */
	struct us_line_table lines;
};

struct us_dwarf_spans {
	struct us_span *v;
	size_t n, cap;
};

struct us_dwarf {
	const struct us_elf_file *file;
	Elf *elf, *alt_elf;
	/* Reads lines, and keeps what it has read; opened again before that becomes too
	 * much.  Where that is not possible, dw reads them. */
	Dwarf *line_dw;
	size_t n_row;
	struct us_string_set files;
	Dwarf *dw, *alt_dw;
	const uint8_t *line_data; /* .debug_line, uncompressed */
	size_t line_size, info_size;
	struct {
		struct us_dwarf_unit *v;
		size_t n, cap;
	} units;
	struct us_dwarf_spans spans; /* of units, kept until all are known */
	struct us_span_map map;	     /* address -> unit */
	struct us_elf_symbol first; /* at 0, if the image has one there; else no name */
	bool first_read;
	bool rangeless_done, slow_scopes;
	bool compressed; /* some table is: reading it again would cost too much */
	bool cut;	 /* something was left out */
	bool split;	 /* most of some unit is in another file */
	size_t n_span, max_span; /* of all units and their scopes */
	uint64_t spent_ns;
};

/* When some work began. */
struct us_dwarf_charge {
	uint64_t cpu, wall;
};

/* Has the work used up the image's budget? */
bool us_dwarf_overdue(const struct us_dwarf *d, const struct us_dwarf_charge *since);

/* Is it a function that the linker dropped, which seems to be at 0? */
bool us_dwarf_is_dropped(struct us_dwarf *d, Dwarf_Die *die);
/* Remove dropped functions of a unit from d->spans, from this index on. */
void us_dwarf_leave_out_dropped(struct us_dwarf *d, Dwarf_Die *unit, size_t from,
				const struct us_dwarf_charge *since);
/* The rows of a unit's line program, at this offset, without those of dropped
 * functions; free() their v.  false: it has none of those, or cannot be read here: use
 * libdw. */
bool us_dwarf_kept_rows(struct us_dwarf *d, Dwarf_Die *unit, uint64_t program,
			const struct us_dwarf_charge *since, struct us_line_rows *ret);

/* Add the sequences of its line program, at this offset, to d->spans as the unit's of
 * this index, where no unit is known. */
void us_dwarf_add_sequences(struct us_dwarf *d, Dwarf_Die *unit, uint64_t program,
			    uint32_t index, const struct us_dwarf_charge *since);

/* Read what was not read yet, while the budget lasts; else it stays empty. */
void us_dwarf_need_scopes(struct us_dwarf *d, struct us_dwarf_unit *u);
void us_dwarf_need_lines(struct us_dwarf *d, struct us_dwarf_unit *u);
/* Its fields from name to call_line.  The unit's lines must have been read. */
void us_dwarf_need_scope(struct us_dwarf *d, const struct us_dwarf_unit *u,
			 struct us_dwarf_scope *s);

#endif
