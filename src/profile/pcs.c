/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/pcs.c: the samples of each exact program counter. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static int by_pc(const void *a, const void *b)
{
	const struct us_profile_pc *x = a, *y = b;
	int c = (x->pc > y->pc) - (x->pc < y->pc);
	return c ? c : (x->view > y->view) - (x->view < y->view);
}

/* A stack that has an address twice counts as one sample of it. */
static bool is_outermost(const struct us_trie *t, size_t node)
{
	us_gva pc = t->nodes.v[node].pc;
	for (uint32_t up = t->nodes.v[node].parent; up; up = t->nodes.v[up].parent)
		if (t->nodes.v[up].pc == pc)
			return false;
	return true;
}

/* Samples at each node of the trie, and with those in its callees; all by node. */
static void sum_up(const struct us_profile *p, uint64_t *self, uint64_t *total)
{
	size_t n = p->trie.nodes.n;
	for (size_t i = 0; i < p->running.sums.n; i++) {
		const struct us_slice_sum *x = &p->running.sums.v[i];
		if (p->key_node[x->key] != US_PROFILE_NONE)
			self[us_profile_guest_node(p, x->key / US_N_KIND)] += x->weight;
	}
	memcpy(total, self, n * sizeof(*total));
	for (size_t i = n; i-- > 1;) /* parents have lower numbers */
		total[p->trie.nodes.v[i].parent] += total[i];
}

/* Samples in code that is not unwound, by node: 16-bit code, above all. */
static void sum_up_mode(const struct us_profile *p, uint64_t *mode)
{
	for (size_t i = 0; i < p->key_ends.cap; i++) {
		const struct us_pair_slot *x = &p->key_ends.v[i];
		if (x->value && x->b == US_END_MODE)
			mode[us_profile_guest_node(p, (uint32_t)(x->a / US_N_KIND))] +=
				x->value;
	}
}

static size_t join(struct us_profile_pc *v, size_t n)
{
	size_t to = 0;
	if (n)
		qsort(v, n, sizeof(*v), by_pc);
	for (size_t i = 0; i < n; i++) {
		if (to && by_pc(&v[to - 1], &v[i]) == 0) {
			v[to - 1].self += v[i].self;
			v[to - 1].called += v[i].called;
			v[to - 1].not_unwound += v[i].not_unwound;
		} else {
			v[to++] = v[i];
		}
	}
	return to;
}

int us_profile_pcs(const struct us_profile *read, struct us_profile_pc **ret,
		   size_t *ret_n)
{
	struct us_profile *p = (struct us_profile *)read; /* it remembers its views */
	size_t n_node = p->trie.nodes.n, n = 0;
	_cleanup_free_ uint64_t *self = calloc(n_node, sizeof(*self));
	_cleanup_free_ uint64_t *total = calloc(n_node, sizeof(*total));
	_cleanup_free_ uint64_t *mode = calloc(n_node, sizeof(*mode));
	_cleanup_free_ struct us_profile_pc *v = calloc(2 * n_node, sizeof(*v));
	if (!self || !total || !mode || !v)
		return -ENOMEM;
	sum_up(p, self, total);
	sum_up_mode(p, mode);
	for (size_t i = 1; i < n_node; i++) {
		const struct us_trie_node *s = &p->trie.nodes.v[i];
		uint64_t called = total[i] - self[i];
		if (s->flags & US_PROFILE_NO_FRAME || !(self[i] || called))
			continue;
		uint32_t view = us_profile_view(p, (uint32_t)i);
		if (view == US_PROFILE_NONE)
			return -ENOMEM;
		if (self[i])
			v[n++] = (struct us_profile_pc){ s->pc, view, self[i], 0,
							 mode[i] };
		if (called && is_outermost(&p->trie, i))
			v[n++] = (struct us_profile_pc){
				s->pc - !(s->flags & US_PC_EXACT), view, 0, called, 0
			};
	}
	*ret_n = join(v, n);
	*ret = us_take(v);
	return 0;
}

bool us_profile_pc_in(const struct us_profile *p, const struct us_profile_pc *pc,
		      const struct us_function *f)
{
	const struct us_symbol_when *when = pc->view ? &p->views.v[pc->view] : NULL;
	return pc->pc - f->start < f->size &&
	       us_symbols_is_in(p->symbols, when, pc->pc, f);
}
