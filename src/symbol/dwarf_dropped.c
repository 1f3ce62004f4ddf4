/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_dropped.c: what --gc-sections dropped stays in DWARF at address 0, where an
 * image may have other code.
 */
#include "symbol/dwarf_priv.h"

#include "base/vec.h"
#include "symbol/line_program.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NESTING 64 /* of name spaces */
/* A dropped function, from 0 on, may reach over code that begins below. */
#define MAX_REACH (1U << 20)

static bool is_called(Dwarf_Die *die, unsigned attr, const char *symbol)
{
	Dwarf_Attribute a, *p = dwarf_attr_integrate(die, attr, &a);
	const char *name = p ? dwarf_formstring(p) : NULL;
	size_t len = name ? strlen(name) : 0; /* a clone's has more, after a dot */
	return len && !strncmp(symbol, name, len) && strchr(".", symbol[len]);
}

static void read_first_symbol(struct us_dwarf *d)
{
	struct us_elf_symbols s = { 0 };
	d->first_read = true;
	if (us_elf_symbols_read(d->file, &s, NULL) == 0 && s.n && !s.v[0].addr)
		d->first = s.v[0];
	us_elf_symbols_fini(&s);
}

/* The code at 0 has another name and, unless it is the same code, another size. */
bool us_dwarf_is_dropped(struct us_dwarf *d, Dwarf_Die *die)
{
	Dwarf_Addr low, high;
	if (dwarf_tag(die) != DW_TAG_subprogram || dwarf_lowpc(die, &low) != 0 || low ||
	    dwarf_highpc(die, &high) != 0 || !us_elf_file_code(d->file, 0))
		return false;
	if (!d->first_read)
		read_first_symbol(d);
	return d->first.name && d->first.size != high &&
	       !is_called(die, DW_AT_linkage_name, d->first.name) &&
	       !is_called(die, DW_AT_name, d->first.name);
}

/* A unit's functions that begin at 0. */
struct at_zero {
	struct us_dwarf *d;
	const struct us_dwarf_charge *since;
	bool live;
	struct {
		uint64_t *v;
		size_t n, cap;
	} ends; /* of dropped ones */
};

static void find_at_zero(struct at_zero *z, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	Dwarf_Addr low, high;
	if (!depth || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_namespace || tag == DW_TAG_module)
			find_at_zero(z, &die, depth - 1);
		if (tag != DW_TAG_subprogram || dwarf_lowpc(&die, &low) != 0 || low)
			continue;
		bool dropped = us_dwarf_is_dropped(z->d, &die);
		uint64_t *end = dropped ? us_vec_push(&z->ends) : NULL;
		z->live |= !dropped;
		if (end && dwarf_highpc(&die, &high) == 0)
			*end = high;
	} while (!us_dwarf_overdue(z->d, z->since) && dwarf_siblingof(&die, &die) == 0);
}

static struct at_zero at_zero(struct us_dwarf *d, Dwarf_Die *unit,
			      const struct us_dwarf_charge *since)
{
	struct at_zero z = { .d = d, .since = since };
	find_at_zero(&z, unit, MAX_NESTING);
	return z;
}

/* Code from 0 to end.  A unit without functions, such as assembly, keeps it. */
static bool is_kept(const struct at_zero *z, uint64_t end)
{
	for (size_t i = 0; i < z->ends.n; i++)
		if (z->ends.v[i] == end)
			return false;
	return z->live || !z->ends.n;
}

void us_dwarf_leave_out_dropped(struct us_dwarf *d, Dwarf_Die *unit, size_t from,
				const struct us_dwarf_charge *since)
{
	struct at_zero z = at_zero(d, unit, since);
	size_t n = from;
	for (size_t i = from; i < d->spans.n; i++) {
		const struct us_span *s = &d->spans.v[i];
		if (s->start || is_kept(&z, s->end))
			d->spans.v[n++] = *s;
	}
	d->spans.n = n;
	free(z.ends.v);
}

static bool take(void *ctx, uint64_t start, uint64_t end)
{
	const struct at_zero *z = ctx;
	return us_elf_file_code(z->d->file, start) && (start || is_kept(z, end));
}

bool us_dwarf_kept_rows(struct us_dwarf *d, Dwarf_Die *unit, uint64_t program,
			const struct us_dwarf_charge *since, struct us_line_rows *ret)
{
	*ret = (struct us_line_rows){ 0 };
	if (!d->file->n_code || d->file->code[0].start >= MAX_REACH)
		return false;
	struct at_zero z = at_zero(d, unit, since);
	int r = us_line_program_read(d->line_data + program,
				     d->line_size - (size_t)program,
				     d->file->is64 ? 8 : 4, take, &z, ret);
	free(z.ends.v);
	if (r == 0 && ret->n_left_out)
		return true;
	free(ret->v);
	*ret = (struct us_line_rows){ 0 };
	return false;
}

struct sequences {
	struct at_zero z;
	uint32_t index;
};

/* Keeps where it is instead of its rows. */
static bool keep_sequence(void *ctx, uint64_t start, uint64_t end)
{
	struct sequences *q = ctx;
	struct us_dwarf *d = q->z.d;
	if (start >= end || us_dwarf_overdue(d, q->z.since) ||
	    !take(&q->z, start, end) ||
	    us_span_map_find(&d->map, start) != US_SPAN_NONE)
		return false;
	d->cut |= d->n_span >= d->max_span;
	struct us_span *s = d->cut ? NULL : us_vec_push(&d->spans);
	if (!s)
		return false;
	d->n_span++;
	*s = (struct us_span){ start, end, q->index };
	return false;
}

void us_dwarf_add_sequences(struct us_dwarf *d, Dwarf_Die *unit, uint64_t program,
			    uint32_t index, const struct us_dwarf_charge *since)
{
	struct sequences q = { at_zero(d, unit, since), index };
	struct us_line_rows none;
	if (us_line_program_read(d->line_data + program, d->line_size - (size_t)program,
				 d->file->is64 ? 8 : 4, keep_sequence, &q, &none) == 0)
		free(none.v);
	free(q.z.ends.v);
}
