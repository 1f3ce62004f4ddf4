/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import/perf_maps.c: see perf_maps.h. */
#include "import/perf_maps.h"

#include "base/pair_map.h"
#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Page aligned, and without the bit that tells two roots of one process apart. */
#define ROOT_SHIFT 13
#define MOST_NAME  63 /* bytes, as in a recording */

enum kind { MAPPED, NAMED, FORKED };

/* What happened to a process. */
struct change {
	uint64_t time_ns;
	size_t number;
	enum kind kind;
	uint32_t pid, parent;
	bool afresh; /* nothing that was mapped before stays, or is inherited */
	const char *name;
	struct us_perf_area area;
};

/* The mappings of a process, sorted, none over another.  A child has its parent's until
 * one of them changes. */
struct layout {
	size_t users;
	struct us_perf_area *v;
	size_t n, cap;
};

struct space {
	uint32_t pid;
	bool sampled; /* so it stays as it is, except for what is mapped in addition */
	const char *name; /* NULL: not known */
	struct layout *layout;
};

struct us_perf_maps {
	struct {
		struct change *v;
		size_t n, cap;
	} changes;
	size_t done; /* changes that were applied */
	struct {
		struct space *v;
		size_t n, cap;
	} spaces;
	struct us_pair_map of_pid; /* the current one: its index + 1 */
	size_t n_area;		   /* that were made, of all layouts */
	struct us_pair_map known;  /* (root, start) of seen */
	struct {
		struct seen {
			us_gpa root;
			struct us_perf_area area;
		} * v;
		size_t n, cap;
	} seen;
	bool failed; /* no memory */
	struct us_limits *limits;
};

int us_perf_maps_new(struct us_limits *limits, struct us_perf_maps **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (*ret)
		(*ret)->limits = limits;
	return *ret ? 0 : -ENOMEM;
}

static void drop(struct layout *l)
{
	if (!l || --l->users)
		return;
	free(l->v);
	free(l);
}

void us_perf_maps_free(struct us_perf_maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->spaces.n; i++)
		drop(m->spaces.v[i].layout);
	free(m->spaces.v);
	free(m->changes.v);
	free(m->seen.v);
	us_pair_map_fini(&m->of_pid);
	us_pair_map_fini(&m->known);
	free(m);
}

/* ---- As they are read ---- */

static int note(struct us_perf_maps *m, const struct change *c)
{
	struct change *slot = us_vec_push(&m->changes);
	if (!slot)
		return -ENOMEM;
	*slot = *c;
	return 0;
}

int us_perf_maps_mapping(struct us_perf_maps *m, const struct us_perf_mapping *x,
			 size_t number)
{
	if (!x->executable || !x->len || x->len > UINT64_MAX - x->start)
		return 0;
	return note(m, &(struct change){ .time_ns = x->time_ns,
					 .number = number,
					 .kind = MAPPED,
					 .pid = x->pid,
					 .area = { .start = x->start,
						   .end = x->start + x->len,
						   .offset = x->offset,
						   .path = x->path,
						   .build_id = x->build_id,
						   .build_id_len = x->build_id_len } });
}

/* The name of its first thread is the process's. */
int us_perf_maps_comm(struct us_perf_maps *m, const struct us_perf_comm *c,
		      size_t number)
{
	if (c->pid != c->tid)
		return 0;
	return note(m, &(struct change){ .time_ns = c->time_ns,
					 .number = number,
					 .kind = NAMED,
					 .pid = c->pid,
					 .afresh = c->exec,
					 .name = c->name });
}

int us_perf_maps_fork(struct us_perf_maps *m, const struct us_perf_fork *f,
		      size_t number)
{
	if (f->pid == f->parent)
		return 0;
	return note(m, &(struct change){ .time_ns = f->time_ns,
					 .number = number,
					 .kind = FORKED,
					 .pid = f->pid,
					 .parent = f->parent,
					 .afresh = f->empty });
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void us_perf_maps_sort(struct us_perf_maps *m)
{
	if (m->changes.n)
		qsort(m->changes.v, m->changes.n, sizeof(*m->changes.v), by_time);
}

static bool same_file(const struct us_perf_area *a, const struct us_perf_area *b)
{
	return a->start - a->offset == b->start - b->offset &&
	       a->build_id_len == b->build_id_len &&
	       (!a->build_id_len ||
		!memcmp(a->build_id, b->build_id, a->build_id_len)) &&
	       !strcmp(a->path, b->path);
}

static int by_start(const void *a, const void *b)
{
	const struct change *x = *(const struct change *const *)a;
	const struct change *y = *(const struct change *const *)b;
	return x->area.start < y->area.start ? -1 : x->area.start > y->area.start;
}

int us_perf_maps_clash(const struct us_perf_maps *m, bool *ret)
{
	const struct change **v = calloc(m->changes.n + 1, sizeof(*v)), *far = NULL;
	size_t n = 0;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < m->changes.n; i++)
		if (m->changes.v[i].kind == MAPPED)
			v[n++] = &m->changes.v[i];
	qsort(v, n, sizeof(*v), by_start);
	*ret = false;
	/* far: of those before, the one that ends last. */
	for (size_t i = 0; i < n && !*ret; i++) {
		*ret = far && v[i]->area.start < far->area.end &&
		       v[i]->pid != far->pid && !same_file(&v[i]->area, &far->area);
		if (!far || v[i]->area.end > far->area.end)
			far = v[i];
	}
	free(v);
	return 0;
}

/* ---- What happened, in the order of time ---- */

static bool is_before(const struct us_perf_area *a, uint64_t at)
{
	return a->end <= at;
}

/* The first mapping that ends behind this address. */
static size_t place_of(const struct layout *l, uint64_t at)
{
	return us_first_not(l->n, mid, is_before(&l->v[mid], at));
}

static struct layout *new_layout(struct us_perf_maps *m)
{
	struct layout *l = calloc(1, sizeof(*l));
	if (l)
		l->users = 1;
	m->failed |= !l;
	return l;
}

static struct layout *shared(struct layout *l)
{
	l->users++;
	return l;
}

/* The current space of a process; a new one if there is none. */
static struct space *space_of(struct us_perf_maps *m, uint32_t pid)
{
	uint32_t *slot = us_pair_map_at(&m->of_pid, pid, 0);
	if (slot && *slot)
		return &m->spaces.v[*slot - 1];
	struct layout *l = slot ? new_layout(m) : NULL;
	struct space *s = l ? us_vec_push(&m->spaces) : NULL;
	if (!s) {
		drop(l);
		m->failed = true;
		return NULL;
	}
	*s = (struct space){ .pid = pid, .layout = l };
	*slot = (uint32_t)m->spaces.n;
	return s;
}

/* Its process goes on with this layout, which it takes over. */
static struct space *move(struct us_perf_maps *m, struct space *s, struct layout *l,
			  const char *name)
{
	if (!l)
		return NULL;
	if (!s->sampled) {
		drop(s->layout);
		s->layout = l;
		s->name = name;
		return s;
	}
	uint32_t pid = s->pid;
	uint32_t *slot = us_pair_map_at(&m->of_pid, pid, 0);
	s = slot ? us_vec_push(&m->spaces) : NULL;
	if (!s) {
		drop(l);
		m->failed = true;
		return NULL;
	}
	*s = (struct space){ .pid = pid, .name = name, .layout = l };
	*slot = (uint32_t)m->spaces.n;
	return s;
}

static void limit(struct us_perf_maps *m)
{
	us_limit_reached(m->limits, US_LIMIT_IMPORTED, US_PERF_MOST_MAPPINGS);
}

/* Its own copy of a layout that others have, too.  Where that is too much, it has none:
 * no names are better than wrong ones. */
static bool own(struct us_perf_maps *m, struct space *s)
{
	struct layout *l = s->layout;
	if (l->users == 1)
		return true;
	struct layout *copy = new_layout(m);
	if (!copy)
		return false;
	if (l->n > US_PERF_MOST_MAPPINGS - m->n_area) {
		limit(m);
	} else if (l->n) {
		copy->v = malloc(l->n * sizeof(*l->v));
		if (copy->v)
			memcpy(copy->v, l->v, l->n * sizeof(*l->v));
		copy->n = copy->cap = copy->v ? l->n : 0;
		m->failed |= !copy->v;
		m->n_area += copy->n;
	}
	drop(l);
	s->layout = copy;
	return true;
}

/* Replace mappings at .. until of a layout by up to three. */
static bool replace(struct layout *l, size_t at, size_t until,
		    const struct us_perf_area *by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (us_vec_grow((void **)&l->v, l->n + i, &l->cap, sizeof(*l->v)))
			return false;
	if (!l->v)
		return true;
	memmove(l->v + at + n, l->v + until, (l->n - until) * sizeof(*l->v));
	memcpy(l->v + at, by, n * sizeof(*l->v));
	l->n = l->n + n - (until - at);
	return true;
}

/* What is left of the mappings at .. until around a new one, and that.  Returns how
 * many these are. */
static size_t parts_of(const struct layout *l, size_t at, size_t until,
		       const struct us_perf_area *a, struct us_perf_area ret[3])
{
	size_t n = 0;
	if (at < until && l->v[at].start < a->start) {
		ret[n] = l->v[at];
		ret[n++].end = a->start;
	}
	ret[n++] = *a;
	if (at < until && l->v[until - 1].end > a->end) {
		ret[n] = l->v[until - 1];
		ret[n].offset += a->end - ret[n].start;
		ret[n++].start = a->end;
	}
	return n;
}

/* Is there room for n more?  Else the limit is told. */
static bool has_room(struct us_perf_maps *m, const struct layout *l, size_t n)
{
	if (l->n + n > US_PERF_MOST_MAPPINGS_OF_ONE) {
		us_limit_reached(m->limits, US_LIMIT_IMPORTED_OF_ONE,
				 US_PERF_MOST_MAPPINGS_OF_ONE);
		return false;
	}
	if (n > US_PERF_MOST_MAPPINGS - m->n_area) {
		limit(m);
		return false;
	}
	return true;
}

static void map(struct us_perf_maps *m, struct space *s, const struct us_perf_area *a)
{
	struct us_perf_area parts[3];
	bool other = false;
	size_t at = place_of(s->layout, a->start), until = at;
	for (; until < s->layout->n && s->layout->v[until].start < a->end; until++) {
		const struct us_perf_area *old = &s->layout->v[until];
		bool same = same_file(old, a);
		if (same && old->start <= a->start && old->end >= a->end)
			return;
		other |= !same;
	}
	if (other && s->sampled)
		s = move(m, s, shared(s->layout), s->name);
	if (!s || !own(m, s))
		return;
	if (!s->layout->n)
		at = until = 0; /* it could not be copied */
	size_t n = parts_of(s->layout, at, until, a, parts);
	if (!has_room(m, s->layout, n))
		n = 0;
	m->n_area += n;
	if (!replace(s->layout, at, until, parts, n))
		m->failed = true;
}

static void fork_of(struct us_perf_maps *m, const struct change *c)
{
	struct space *parent = space_of(m, c->parent);
	if (!parent)
		return;
	const char *name = parent->name;
	struct layout *l = c->afresh ? new_layout(m) : shared(parent->layout);
	struct space *s = l ? space_of(m, c->pid) : NULL;
	if (!s)
		drop(l);
	else
		move(m, s, l, c->afresh ? NULL : name);
}

static void name_of(struct us_perf_maps *m, struct space *s, const struct change *c)
{
	if (c->afresh)
		move(m, s, new_layout(m), c->name);
	else if (!s->name || strcmp(s->name, c->name))
		move(m, s, shared(s->layout), c->name);
}

static void apply(struct us_perf_maps *m, const struct change *c)
{
	struct space *s = c->kind == FORKED ? NULL : space_of(m, c->pid);
	if (c->kind == FORKED)
		fork_of(m, c);
	else if (s && c->kind == NAMED)
		name_of(m, s, c);
	else if (s)
		map(m, s, &c->area);
}

us_gpa us_perf_maps_root(struct us_perf_maps *m, uint32_t pid, uint64_t time_ns,
			 size_t number)
{
	const struct change until = { .time_ns = time_ns, .number = number };
	while (m->done < m->changes.n && by_time(&m->changes.v[m->done], &until) < 0)
		apply(m, &m->changes.v[m->done++]);
	struct space *s = space_of(m, pid);
	if (!s || m->failed)
		return 0;
	s->sampled = true;
	return ((us_gpa)(s - m->spaces.v) + 1) << ROOT_SHIFT;
}

/* ---- What of it was sampled ---- */

void us_perf_maps_see(void *ctx, us_gpa root, us_gva pc)
{
	struct us_perf_maps *m = ctx;
	const struct layout *l = m->spaces.v[(root >> ROOT_SHIFT) - 1].layout;
	size_t at = place_of(l, pc);
	/* A call at the end of the code returns behind it. */
	if ((at == l->n || l->v[at].start > pc) && pc)
		at = place_of(l, pc - 1);
	if (at == l->n || l->v[at].start > pc || !us_perf_area_has_file(&l->v[at]))
		return;
	uint32_t *slot = us_pair_map_at(&m->known, root, l->v[at].start);
	if (slot && *slot)
		return;
	struct seen *to = slot ? us_vec_push(&m->seen) : NULL;
	m->failed |= !to;
	if (!to)
		return;
	*to = (struct seen){ root, l->v[at] };
	*slot = 1;
}

static int write_processes(const struct us_perf_maps *m, struct us_writer *w,
			   struct us_err *e)
{
	int rc = 0;
	for (size_t i = 0; i < m->spaces.n && !rc; i++) {
		const struct space *s = &m->spaces.v[i];
		char name[MOST_NAME + 1];
		if (!s->sampled || !s->name)
			continue;
		snprintf(name, sizeof(name), "%s", s->name);
		rc = us_writer_process(
			w,
			&(struct us_process){ .root = (i + 1) << ROOT_SHIFT,
					      .pid = s->pid,
					      .name = name },
			e);
	}
	return rc;
}

int us_perf_maps_write(struct us_perf_maps *m, struct us_perf_images *images,
		       struct us_writer *w, struct us_err *e)
{
	if (m->failed)
		return us_fail(e, -ENOMEM, "import: out of memory");
	int rc = write_processes(m, w, e);
	for (size_t i = 0; i < m->seen.n && !rc; i++)
		rc = us_perf_images_write(images, &m->seen.v[i].area, m->seen.v[i].root,
					  w, e);
	return rc;
}
