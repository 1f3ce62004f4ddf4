/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases_read.c: see phases_read.h. */
#include "trace/phases_read.h"

#include "base/cleanup.h"
#include "trace/phase_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 256U /* nodes */

/* ---- A mark is made ---- */

static struct us_phase_vcpu tree_now(const struct us_counts *c, unsigned i)
{
	const struct us_counts_vcpu *v = us_counts_vcpu(c, i);
	struct us_phase_vcpu t = { .tree.node = v->node };
	uint64_t insns = v->insns, charged = v->charged;
	t.node = us_counts_nodes(c, i, &t.tree.n_node);
	t.tree.rest = insns > charged ? insns - charged : 0;
	return t;
}

int us_phases_mark(const struct us_counts *c, int fd, uint32_t point)
{
	unsigned n = us_counts_started(c);
	_cleanup_free_ struct us_phase_vcpu *v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++)
		v[i] = tree_now(c, i);
	return us_phase_mark_write(fd, point, v, n);
}

/* ---- The file ---- */

/* The tree at this byte of the file, if it ends before end; *at moves past it. */
static struct us_phase_tree *tree_at(const struct us_phases *p, size_t *at, size_t end)
{
	struct us_phase_tree *t = (void *)(p->map + *at);
	if (end - *at < sizeof(*t) || t->n_node > US_COUNTS_MAX_NODE)
		return NULL;
	size_t size = sizeof(*t) + t->n_node * sizeof(struct us_counts_node);
	if (end - *at < size)
		return NULL;
	*at += size;
	return t;
}

static bool is_whole(const struct us_phases *p, size_t at, size_t *ret_end)
{
	const struct us_phase_mark *m = (const void *)(p->map + at);
	if (p->size - at < sizeof(*m) ||
	    memcmp(m->magic, US_PHASE_MAGIC, sizeof(m->magic)) != 0 ||
	    m->size > p->size - at || m->size < sizeof(*m) || m->size % 8 ||
	    m->n_vcpu > US_COUNTS_MAX_VCPU)
		return false;
	size_t end = at + m->size;
	*ret_end = end;
	at += sizeof(*m);
	for (unsigned i = 0; i < m->n_vcpu; i++)
		if (!tree_at(p, &at, end))
			return false;
	return at == end;
}

static bool has_point(const struct us_phases *p, uint32_t point)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->point[i] == point)
			return true;
	return false;
}

static void find_marks(struct us_phases *p, bool (*wanted)(void *ctx, uint32_t point),
		       void *ctx)
{
	size_t end;
	for (size_t at = 0; is_whole(p, at, &end); at = end) {
		const struct us_phase_mark *m = (const void *)(p->map + at);
		if (p->n == US_COUNTS_MAX_PHASE || has_point(p, m->point) ||
		    !wanted(ctx, m->point))
			continue;
		p->point[p->n] = m->point;
		p->at[p->n++] = at;
	}
}

int us_phases_open(const char *path, bool (*wanted)(void *ctx, uint32_t point),
		   void *ctx, struct us_phases *ret, struct us_err *e)
{
	struct stat st;
	*ret = (struct us_phases){ 0 };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return us_fail(e, -errno, "read the phases in %s: %s", path,
			       strerror(errno));
	if (st.st_size == 0)
		return 0;
	/* Private: changes made here do not reach the file. */
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
		       fd, 0);
	if (p == MAP_FAILED)
		return us_fail(e, -errno, "map %s: %s", path, strerror(errno));
	ret->map = p;
	ret->size = (size_t)st.st_size;
	find_marks(ret, wanted, ctx);
	return 0;
}

void us_phases_close(struct us_phases *p)
{
	if (p->map)
		munmap(p->map, p->size);
	*p = (struct us_phases){ 0 };
}

/* ---- A vCPU's trees ---- */

/* A tree; empty if nothing was executed yet. */
struct tree {
	struct us_counts_node *node;
	uint32_t n;
};

static void add_rest(const struct tree *t, uint32_t node, uint64_t rest)
{
	if (node < t->n)
		t->node[node].self += rest;
}

static struct tree tree_of_mark(const struct us_phases *p, unsigned mark, unsigned vcpu)
{
	const struct us_phase_mark *m = (const void *)(p->map + p->at[mark]);
	size_t at = p->at[mark] + sizeof(*m), end = p->at[mark] + m->size;
	struct us_phase_tree *t = NULL;
	if (vcpu >= m->n_vcpu)
		return (struct tree){ 0 };
	for (unsigned i = 0; i <= vcpu; i++)
		t = tree_at(p, &at, end);
	if (!t) /* the file claims more trees than it has */
		return (struct tree){ 0 };
	struct tree ret = { .node = (void *)(t + 1), .n = t->n_node };
	add_rest(&ret, t->node, t->rest);
	return ret;
}

/* A copy: the guest may still run. */
static bool tree_of_end(const struct us_counts *c, unsigned vcpu, struct tree *ret)
{
	struct us_phase_vcpu v = tree_now(c, vcpu);
	ret->n = v.tree.n_node;
	ret->node = malloc((ret->n + 1) * sizeof(*ret->node));
	if (!ret->node)
		return false;
	memcpy(ret->node, v.node, ret->n * sizeof(*ret->node));
	for (uint32_t i = 0; i < ret->n; i++)
		if (ret->node[i].parent >= i)
			ret->node[i].parent = 0;
	add_rest(ret, v.tree.node, v.tree.rest);
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The tracker moves counts when it finds out later that they belong elsewhere.  A moved
 * count belongs to the phase in which it was moved.  This way no phase has a negative
 * count, and the phases add up to the whole. */
static void level(const struct tree *before, const struct tree *after)
{
	for (uint32_t i = 0; i < before->n; i++) {
		bool is_there = i < after->n;
		before->node[i].self = least(before->node[i].self,
					     is_there ? after->node[i].self : 0);
		before->node[i].calls = least(before->node[i].calls,
					      is_there ? after->node[i].calls : 0);
	}
}

/* ---- To the recording ---- */

struct writing {
	const struct tree *end; /* this vCPU's, with each node's parent */
	uint32_t *number;	/* of each node in this phase; 0: it has no counts */
	struct us_symbols *symbols;
	struct us_writer *w;
	struct us_counts_sums *sums;
	bool to_end;
	unsigned vcpu;
	uint32_t next; /* number */
	struct us_counted batch[BATCH];
	uint32_t n;
};

static int flush(struct writing *x, struct us_err *e)
{
	uint32_t n = x->n;
	x->n = 0;
	return n ? us_writer_counted(x->w, x->vcpu, x->next - n, x->batch, n, e) : 0;
}

static bool has_name(const struct writing *x, uint64_t address)
{
	struct us_frame f[1];
	return address >= US_N_COUNTS_SPECIAL &&
	       us_symbols_lookup(x->symbols, address, false, f, 1) && f[0].func;
}

static int put(struct writing *x, const struct us_counted *c, struct us_err *e)
{
	x->batch[x->n++] = *c;
	x->next++;
	x->sums->insns += c->self;
	x->sums->calls += c->calls;
	if (c->address == US_COUNTS_FULL)
		x->sums->lost += c->calls;
	if (c->self && !has_name(x, c->address))
		x->sums->unnamed += c->self;
	return x->n == BATCH ? flush(x, e) : 0;
}

static struct us_counts_node between(const struct tree *before,
				     const struct tree *after, uint32_t i)
{
	struct us_counts_node d = { 0 };
	if (i < after->n)
		d = after->node[i];
	if (i < before->n) {
		d.self -= before->node[i].self;
		d.calls -= before->node[i].calls;
	}
	return d;
}

/* Set to 1 for each node that has counts in this phase, or has such a node below it. */
static bool mark_nodes(struct writing *x, const struct tree *before,
		       const struct tree *after)
{
	memset(x->number, 0, (x->end->n + 1) * sizeof(*x->number));
	for (uint32_t i = x->end->n; i-- > 0;) {
		struct us_counts_node d = between(before, after, i);
		if (d.self || d.calls)
			x->number[i] = 1;
		if (x->number[i])
			x->number[x->end->node[i].parent] = 1;
	}
	return x->number[0];
}

static int write_phase(struct writing *x, unsigned phase, const struct tree *before,
		       const struct tree *after, struct us_err *e)
{
	if (!x->end->n || !mark_nodes(x, before, after))
		return 0;
	x->number[0] = x->next;
	int r = put(x, &(struct us_counted){ .address = US_COUNTS_PHASE + phase }, e);
	struct us_counted root = { .parent = x->number[0],
				   .address = US_COUNTS_UNNAMED,
				   .self = between(before, after, 0).self };
	if (r == 0 && root.self)
		r = put(x, &root, e);
	for (uint32_t i = 1; r == 0 && i < x->end->n; i++) {
		struct us_counts_node d = between(before, after, i);
		if (!x->number[i])
			continue;
		x->number[i] = x->next;
		r = put(x,
			&(struct us_counted){
				.parent = x->number[x->end->node[i].parent],
				.address = x->end->node[i].address,
				.calls = d.calls,
				.self = d.self },
			e);
	}
	return r;
}

/* One vCPU's phases; end: its final tree. */
static int write_vcpu(struct us_phases *p, struct writing *x, const struct tree *end,
		      struct us_err *e)
{
	struct tree at[US_COUNTS_MAX_PHASE + 1] = { 0 };
	unsigned n = p->n ? p->n : 1;
	at[n] = *end;
	for (unsigned i = n; i-- > 1;) {
		at[i] = tree_of_mark(p, i, x->vcpu);
		level(&at[i], &at[i + 1]);
	}
	/* Everything before the first mark belongs to the first phase. */
	if (n > 1 && !x->to_end)
		n--;
	int r = 0;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		uint64_t before = x->sums->insns;
		r = write_phase(x, i, &at[i], &at[i + 1], e);
		p->insns[i] += x->sums->insns - before;
	}
	return r == 0 ? flush(x, e) : r;
}

int us_phases_record(struct us_phases *p, const struct us_counts *c, bool to_end,
		     struct us_symbols *s, struct us_writer *w,
		     struct us_counts_sums *ret, struct us_err *e)
{
	int r = 0;
	*ret = us_counts_sums_of(c);
	for (unsigned i = 0; r == 0 && i < ret->n_vcpu; i++) {
		struct tree end = { 0 };
		bool ok = tree_of_end(c, i, &end);
		_cleanup_free_ struct us_counts_node *node = end.node;
		_cleanup_free_ uint32_t *number = calloc(end.n + 1, sizeof(*number));
		struct writing x = { .end = &end,
				     .number = number,
				     .symbols = s,
				     .w = w,
				     .sums = ret,
				     .to_end = to_end,
				     .vcpu = i,
				     .next = 1 };
		r = ok && number ? write_vcpu(p, &x, &end, e)
				 : us_fail(e, -ENOMEM, "out of memory");
		(void)node;
	}
	us_counts_sum_up(c, ret);
	return r;
}
