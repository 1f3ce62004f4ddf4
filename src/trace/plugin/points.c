/* SPDX-License-Identifier: GPL-2.0-or-later */
/* points.c: see points.h. */
#include "trace/plugin/points.h"

#include "trace/reserve.h"

#include <errno.h>

#define MAX_FUNCTION (1U << 20)
#define SLOTS(n)     ((n)*2U)

int us_points_init(struct us_points *p, const struct us_functions *f)
{
	*p = (struct us_points){ .functions = *f,
				 .addresses = f->n == 0,
				 .n_point = 1,
				 .n_function = US_N_COUNTS_SPECIAL };
	p->point = us_reserve(US_POINTS_MAX * sizeof(*p->point));
	p->function = us_reserve(MAX_FUNCTION * sizeof(*p->function));
	p->point_slot = us_reserve(SLOTS(US_POINTS_MAX) * sizeof(*p->point_slot));
	p->function_slot = us_reserve(SLOTS(MAX_FUNCTION) * sizeof(*p->function_slot));
	p->compared = us_reserve(f->n + 1);
	return p->point && p->function && p->point_slot && p->function_slot &&
			       p->compared
		       ? 0
		       : -ENOMEM;
}

static uint32_t hash(uint64_t key, uint32_t n_slot)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15 >> 33) & (n_slot - 1);
}

static uint8_t choice_of(const struct us_points *p, uint64_t address)
{
	const struct us_function_range *r = us_functions_find(&p->functions, address);
	return r ? (uint8_t)r->choice : p->addresses ? US_FUNCTION_TRACED : 0;
}

static void publish(const struct us_points *p, const struct us_track_function *f)
{
	if (!p->table)
		return;
	p->table[f->number] = f->address;
	__atomic_store_n(p->n_table, f->number + 1, __ATOMIC_RELEASE);
}

static struct us_track_function *intern_function(struct us_points *p, uint64_t address,
						 bool has_entry)
{
	uint32_t i = hash(address, SLOTS(MAX_FUNCTION));
	for (; p->function_slot[i]; i = (i + 1) & (SLOTS(MAX_FUNCTION) - 1))
		if (p->function[p->function_slot[i]].address == address)
			return &p->function[p->function_slot[i]];
	if (p->n_function == MAX_FUNCTION) {
		p->n_full++;
		return &us_track_unnamed;
	}
	struct us_track_function *f = &p->function[p->n_function];
	f->address = address;
	f->number = p->n_function;
	f->has_entry = has_entry;
	f->choice = choice_of(p, address);
	f->by_interrupt = f->choice & US_FUNCTION_VECTORS;
	publish(p, f);
	p->function_slot[i] = p->n_function++;
	return f;
}

struct us_track_function *us_points_function_at(struct us_points *p, uint64_t pc)
{
	const struct us_function_range *r = us_functions_find(&p->functions, pc);
	return r ? intern_function(p, r->entry, true) : &us_track_unnamed;
}

bool us_points_any_at(const struct us_points *p, uint64_t pc)
{
	for (unsigned k = 0; k == 0 || k < p->functions.n_layer; k++)
		if (us_functions_find(&p->functions, us_layer_address(pc, k)))
			return true;
	return false;
}

struct us_track_function *us_points_called(struct us_points *p, uint64_t pc)
{
	const struct us_function_range *r = us_functions_find(&p->functions, pc);
	if (r && pc == r->entry)
		return intern_function(p, pc, true);
	return r || p->addresses ? intern_function(p, pc, false) : &us_track_unnamed;
}

static bool is_like(const struct us_point *a, const struct us_point *b)
{
	return a->pc == b->pc && a->site.in == b->site.in &&
	       a->site.target == b->site.target &&
	       a->entry.function == b->entry.function &&
	       a->entry.n_insn == b->entry.n_insn &&
	       a->entry.n_before == b->entry.n_before && a->rest == b->rest &&
	       a->site.by_stack == b->site.by_stack &&
	       a->site.alternate == b->site.alternate && a->bytes == b->bytes;
}

struct us_point *us_points_intern(struct us_points *p, const struct us_point *like)
{
	uint64_t key = like->pc + ((uint64_t)like->rest << 48);
	uint32_t *slot = &p->point_slot[hash(key, SLOTS(US_POINTS_MAX))];
	for (uint32_t i = *slot; i; i = p->point[i].next)
		if (is_like(&p->point[i], like))
			return &p->point[i];
	if (p->n_point == US_POINTS_MAX) {
		p->n_full++;
		return NULL;
	}
	struct us_point *x = &p->point[p->n_point];
	*x = *like;
	us_track_site_prepare(&x->site);
	x->next = *slot;
	*slot = p->n_point++;
	return x;
}
