/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/phases.c: the phases of a boot, each as the root of what was executed in it.
 *
 * The time of a sample gives its phase.  The root of the trie has a child for each
 * phase, with US_PROFILE_PHASE in its flags and the phase's number as pc.  Stacks get a
 * twin below it.  Counted profiles already have such nodes (US_COUNTS_PHASE).
 */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "vmm/plugin_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(US_PROFILE_MAX_PHASE == US_COUNTS_MAX_PHASE, "each has a number");

#define KEY "phase:"

/* "phase:2" is "FROM TO NAME", both in ns. */
void us_profile_phase_fact(struct us_profile *p, const char *key, const char *value)
{
	unsigned number;
	char rest, name[US_PROFILE_PHASE_NAME];
	uint64_t from, to;
	if (strncmp(key, KEY, strlen(KEY)) != 0 ||
	    sscanf(key, KEY "%2u%c", &number, &rest) != 1 || !number ||
	    number > US_PROFILE_MAX_PHASE ||
	    sscanf(value, "%" SCNu64 " %" SCNu64 " %79[^\n]", &from, &to, name) != 3)
		return;
	struct us_profile_phase *x = &p->phase[number - 1];
	snprintf(x->name, sizeof(x->name), "%s", name);
	x->from_ns = from;
	x->to_ns = to;
	if (p->n_phase < number)
		p->n_phase = number;
}

/* A phase without a fact is named by its number. */
static uint32_t function_of(struct us_profile *p, uint64_t number)
{
	char name[US_PROFILE_PHASE_NAME + 16];
	uint64_t owner = number - US_PROFILE_ROOTS;
	if (number & US_PROFILE_WAITER) {
		us_profile_waiter_name(p, number, name, sizeof(name));
		return us_profile_special(p, name);
	}
	if (number >= US_PROFILE_ROOTS && owner < p->roots.n)
		return us_profile_special(p, p->roots.v[owner]);
	if (number < US_PROFILE_MAX_PHASE && p->phase[number].name[0])
		snprintf(name, sizeof(name), "[%s]", p->phase[number].name);
	else
		snprintf(name, sizeof(name), "[phase %" PRIu64 "]", number + 1);
	return us_profile_special(p, name);
}

uint32_t us_profile_phase_function(struct us_profile *p, uint64_t number)
{
	uint32_t func = function_of(p, number);
	if (func == US_PROFILE_NONE || number >= US_PROFILE_MAX_PHASE)
		return func;
	p->phase[number].func = func + 1;
	if (p->n_phase <= number)
		p->n_phase = (unsigned)number + 1;
	return func;
}

unsigned us_profile_phase_at(const struct us_profile *p, uint64_t t_ns)
{
	for (unsigned i = p->n_phase; i-- > 0;)
		if (p->phase[i].name[0] && t_ns >= p->phase[i].from_ns)
			return i + 1;
	return p->n_phase ? 1 : 0;
}

uint64_t us_profile_phases_end(const struct us_profile *p)
{
	return p->n_phase ? p->phase[p->n_phase - 1].to_ns : 0;
}

unsigned us_profile_phase_of(const struct us_profile *p, uint32_t func)
{
	for (unsigned i = 0; i < p->n_phase; i++)
		if (p->phase[i].func == func + 1)
			return i + 1;
	return 0;
}

/* Call once the tree is in its order. */
void us_profile_find_phases(struct us_profile *p)
{
	for (uint32_t i = p->nodes.n ? p->nodes.v[0].child : 0; i;
	     i = p->nodes.v[i].next) {
		unsigned phase = us_profile_phase_of(p, p->nodes.v[i].func);
		if (phase)
			p->phase[phase - 1].node = i;
	}
}

const struct us_profile_phase *us_profile_phases(const struct us_profile *p,
						 size_t *ret_n)
{
	*ret_n = p->n_phase;
	return p->phase;
}

struct row {
	uint32_t func;
	uint64_t self;
};

static int hottest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	return x->func < y->func ? -1 : x->func > y->func;
}

/* The descendants of a node follow it directly. */
static size_t end_of(const struct us_profile *p, uint32_t node)
{
	while (node && !p->nodes.v[node].next)
		node = p->nodes.v[node].parent;
	return node ? p->nodes.v[node].next : p->nodes.n;
}

int us_profile_phase_functions(const struct us_profile *p,
			       const struct us_profile_phase *phase, size_t most,
			       struct us_profile_share *ret, size_t *ret_n)
{
	size_t n = 0;
	_cleanup_free_ struct row *row = calloc(p->funcs.n + 1, sizeof(*row));
	*ret_n = 0;
	if (!row)
		return -ENOMEM;
	if (!phase->node)
		return 0;
	for (size_t i = 0; i < p->funcs.n; i++)
		row[i].func = (uint32_t)i;
	for (size_t i = phase->node; i < end_of(p, phase->node); i++)
		row[p->nodes.v[i].func].self += p->nodes.v[i].self;
	qsort(row, p->funcs.n, sizeof(*row), hottest_first);
	for (; n < most && n < p->funcs.n && row[n].self; n++)
		ret[n] = (struct us_profile_share){ &p->funcs.v[row[n].func],
						    row[n].self };
	*ret_n = n;
	return 0;
}
