/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/programs.c: which files a guest's programs had mapped, where and when. */
#include "profile/profile_priv.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MAPPINGS 262144U
#define MOST_NAMES    (4U << 20)
#define NEAR	      64 /* mappings before an address that are checked for it */

/* --- as they are read --- */

int us_profile_add_program_file(struct us_profile *p, const struct us_program_file *f)
{
	char *path = strdup(f->path);
	uint32_t *slot = path ? us_pair_map_at(&p->programs.known, p->file_now,
					       f->number)
			      : NULL;
	struct us_profile_program *to = NULL;
	if (slot && *slot)
		to = &p->programs.v[*slot - 1];
	else if (slot)
		to = us_vec_push(&p->programs);
	if (!to) {
		free(path);
		return -ENOMEM;
	}
	if (!*slot)
		*slot = (uint32_t)p->programs.n;
	free((char *)to->f.path);
	*to = (struct us_profile_program){ .f = *f, .recording = p->file_now };
	to->f.path = path;
	return 0;
}

int us_profile_add_mapping(struct us_profile *p, const struct us_mapping *m)
{
	p->file[p->file_now].has_mappings = true;
	if (p->mappings.n == MOST_MAPPINGS) {
		p->mappings.full = true;
		return 0;
	}
	struct us_profile_mapping *to = us_vec_push(&p->mappings);
	if (!to)
		return -ENOMEM;
	*to = (struct us_profile_mapping){ .m = *m,
					   .recording = p->file_now,
					   .number = p->mappings.n };
	return 0;
}

static int add_name(const struct us_profile *p, struct us_profile_program_names *to,
		    const struct us_program_name *n)
{
	if (to->n == MOST_NAMES) {
		to->full = true;
		return 0;
	}
	char *name = strdup(n->name);
	struct us_profile_program_name *slot = name ? us_vec_push(to) : NULL;
	if (!slot) {
		free(name);
		return -ENOMEM;
	}
	*slot = (struct us_profile_program_name){ *n, p->file_now };
	slot->n.name = name;
	return 0;
}

int us_profile_add_program_name(struct us_profile *p, const struct us_program_name *n)
{
	return add_name(p, &p->program_names, n);
}

int us_profile_add_image_name(struct us_profile *p, const struct us_program_name *n)
{
	return add_name(p, &p->image_names, n);
}

static void free_names(struct us_profile_program_names *names)
{
	for (size_t k = 0; k < names->n; k++)
		free((char *)names->v[k].n.name);
	free(names->v);
}

void us_profile_free_programs(struct us_profile *p)
{
	for (size_t k = 0; k < p->programs.n; k++)
		free((char *)p->programs.v[k].f.path);
	free_names(&p->program_names);
	free_names(&p->image_names);
	free(p->programs.v);
	free(p->mappings.v);
	us_pair_map_fini(&p->programs.known);
}

/* --- in order --- */

static int by_place(const void *a, const void *b)
{
	const struct us_profile_mapping *x = a, *y = b;
	if (x->m.root != y->m.root)
		return x->m.root < y->m.root ? -1 : 1;
	if (x->m.start != y->m.start)
		return x->m.start < y->m.start ? -1 : 1;
	if (x->m.from_ns != y->m.from_ns)
		return x->m.from_ns < y->m.from_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_file(const void *a, const void *b)
{
	const struct us_profile_program_name *x = a, *y = b;
	if (x->recording != y->recording)
		return x->recording < y->recording ? -1 : 1;
	if (x->n.file != y->n.file)
		return x->n.file < y->n.file ? -1 : 1;
	return x->n.address < y->n.address ? -1 : x->n.address > y->n.address;
}

static void add_layout(const struct us_profile *p, struct us_profile_mapping *m)
{
	unsigned layout = p->recording[m->recording].layout;
	if (p->n_layout < 2)
		return;
	m->m.from_ns = us_profile_layout_time(p, layout, m->m.from_ns);
	m->m.until_ns = m->m.until_ns ? us_profile_layout_time(p, layout, m->m.until_ns)
				      : (layout + 1ULL) << US_LAYOUT_SHIFT;
}

/* If mappings replace each other, the last one stays. */
void us_profile_sort_mappings(struct us_profile *p)
{
	size_t n = 0;
	if (p->program_names.n)
		qsort(p->program_names.v, p->program_names.n,
		      sizeof(*p->program_names.v), by_file);
	for (size_t k = 0; k < p->mappings.n; k++)
		add_layout(p, &p->mappings.v[k]);
	if (p->mappings.n)
		qsort(p->mappings.v, p->mappings.n, sizeof(*p->mappings.v), by_place);
	for (size_t k = 0; k < p->mappings.n; k++) {
		const struct us_mapping *m = &p->mappings.v[k].m;
		const struct us_mapping *old = n ? &p->mappings.v[n - 1].m : NULL;
		bool again = old && old->root == m->root && old->start == m->start &&
			     old->from_ns == m->from_ns;
		p->mappings.v[again ? n - 1 : n] = p->mappings.v[k];
		n += !again;
	}
	p->mappings.n = n;
}

/* Does m begin at or before pc in this address space, or belong to an earlier one? */
static bool is_before(const struct us_mapping *m, us_gpa root, us_gva pc)
{
	return m->root < root || (m->root == root && m->start <= pc);
}

static const struct us_profile_mapping *search(const struct us_profile *p, us_gpa root,
					       uint64_t t_ns, us_gva pc, bool pair)
{
	const struct us_profile_mapping *v = p->mappings.v;
	size_t next = us_first_not(p->mappings.n, mid, is_before(&v[mid].m, root, pc));
	for (size_t n = 0; n < NEAR && next-- > 0; n++) {
		const struct us_mapping *m = &v[next].m;
		if (m->root != root)
			return NULL;
		if (pc < m->end && (!pair || m->pair) && m->from_ns <= t_ns &&
		    (!m->until_ns || t_ns < m->until_ns))
			return &v[next];
	}
	return NULL;
}

const struct us_profile_mapping *
us_profile_mapping_at(const struct us_profile *p, const struct us_symbol_when *when,
		      us_gva pc)
{
	const struct us_profile_mapping *m = NULL;
	if (p->mappings.n && when->root)
		m = search(p, when->root, when->t_ns, pc, false);
	if (!m && p->mappings.n && when->root)
		m = search(p, when->root ^ US_ROOT_OF_USER, when->t_ns, pc, true);
	return m;
}

static bool comes_before(const struct us_profile_program_name *n,
			 const struct us_profile_program *of)
{
	return n->recording < of->recording ||
	       (n->recording == of->recording && n->n.file < of->f.number);
}

const struct us_profile_program_name *
us_profile_program_names(const struct us_profile *p,
			 const struct us_profile_program *of, size_t *ret_n)
{
	const struct us_profile_program_name *v = p->program_names.v;
	size_t n = p->program_names.n;
	size_t first = us_first_not(n, mid, comes_before(&v[mid], of)), end = first;
	while (end < n && v[end].recording == of->recording &&
	       v[end].n.file == of->f.number)
		end++;
	*ret_n = end - first;
	return n ? v + first : NULL;
}

const struct us_profile_program *
us_profile_program_of(struct us_profile *p, const struct us_profile_mapping *m)
{
	const uint32_t *slot = us_pair_map_at(&p->programs.known, m->recording,
					      m->m.file);
	return slot && *slot ? &p->programs.v[*slot - 1] : NULL;
}
