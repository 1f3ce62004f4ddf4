/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/views.c: which images apply to an address, by time and address space. */
#include "profile/profile_priv.h"

#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CUTS 4096 /* a recorder keeps 64 */

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int add_cut(struct us_profile *p, uint64_t t_ns)
{
	if (!t_ns || p->cuts.n == MAX_CUTS)
		return 0;
	uint64_t *cut = us_vec_push(&p->cuts);
	if (!cut)
		return -ENOMEM;
	*cut = t_ns;
	return 0;
}

/* Most mappings share their times. */
static int cut_once(struct us_profile *p, struct us_pair_map *known, uint64_t t_ns)
{
	uint32_t *slot = us_pair_map_at(known, t_ns, 0);
	if (!slot)
		return -ENOMEM;
	if (*slot)
		return 0;
	*slot = 1;
	return add_cut(p, t_ns);
}

/* A mapping whose times cannot be kept is made unusable. */
static int cut_by_mappings(struct us_profile *p)
{
	struct us_pair_map known = { 0 };
	int rc = 0;
	us_profile_sort_mappings(p);
	for (size_t i = 0; i < p->mappings.n && !rc; i++) {
		struct us_mapping *m = &p->mappings.v[i].m;
		if (p->cuts.n + 2 > MAX_CUTS && (m->from_ns || m->until_ns))
			m->until_ns = m->from_ns ? m->from_ns : 1;
		else if (cut_once(p, &known, m->from_ns) ||
			 cut_once(p, &known, m->until_ns))
			rc = -ENOMEM;
	}
	us_pair_map_fini(&known);
	return rc;
}

/* For each epoch, find the first since which the kernel has the same images; of[0 .. n)
 * are the times at which these change. */
static int find_epochs_of_kernel(struct us_profile *p, const uint64_t *of, size_t n)
{
	p->epoch_of_kernel = calloc(p->cuts.n + 1, sizeof(*p->epoch_of_kernel));
	if (!p->epoch_of_kernel)
		return -ENOMEM;
	for (uint32_t epoch = 1; epoch <= p->cuts.n; epoch++) {
		bool changes = false;
		for (size_t k = 0; k < n; k++)
			changes |= of[k] == p->cuts.v[epoch - 1];
		p->epoch_of_kernel[epoch] = changes ? epoch
						    : p->epoch_of_kernel[epoch - 1];
	}
	return 0;
}

int us_profile_cut_time(struct us_profile *p)
{
	for (unsigned i = 1; i < p->n_layout; i++)
		if (add_cut(p, us_profile_layout_time(p, i, 0)))
			return -ENOMEM;
	for (unsigned i = 0; i < p->kernels.n; i++)
		if (add_cut(p, p->kernels.from_ns[i]) ||
		    add_cut(p, p->kernels.until_ns[i]))
			return -ENOMEM;
	for (size_t i = 0; i < p->modules.n; i++) {
		const struct us_module *m = &p->modules.v[i].m;
		uint64_t from, until;
		if (m->match == US_MATCH_NO)
			continue;
		p->has_spaces |= m->root != 0 || us_profile_is_kernels(m);
		us_profile_module_times(p, &p->modules.v[i], &from, &until);
		if (add_cut(p, from) || add_cut(p, until))
			return -ENOMEM;
	}
	size_t n_image = p->cuts.n;
	p->has_spaces |= p->mappings.n != 0;
	if (cut_by_mappings(p))
		return -ENOMEM;
	for (size_t i = 0; i < p->processes.n; i++) {
		const struct us_process *s = &p->processes.v[i].s;
		if (add_cut(p, s->from_ns) || add_cut(p, s->until_ns))
			return -ENOMEM;
	}
	for (size_t i = 0; i < p->tasks.n; i++) {
		const struct us_task *t = &p->tasks.v[i].t;
		if (add_cut(p, t->from_ns) || add_cut(p, t->until_ns))
			return -ENOMEM;
	}
	uint64_t *of_images = calloc(n_image + 1, sizeof(*of_images));
	if (!of_images)
		return -ENOMEM;
	if (n_image)
		memcpy(of_images, p->cuts.v, n_image * sizeof(*of_images));
	if (p->cuts.n)
		qsort(p->cuts.v, p->cuts.n, sizeof(*p->cuts.v), by_time);
	size_t n = 0;
	for (size_t i = 0; i < p->cuts.n; i++)
		if (!n || p->cuts.v[n - 1] != p->cuts.v[i])
			p->cuts.v[n++] = p->cuts.v[i];
	p->cuts.n = n;
	const struct us_symbol_when *any = us_vec_push(&p->views);
	int rc = any ? find_epochs_of_kernel(p, of_images, n_image) : -ENOMEM;
	free(of_images);
	return rc;
}

/* The number of cuts at or before t_ns. */
static uint32_t epoch_of(const struct us_profile *p, uint64_t t_ns)
{
	return (uint32_t)us_first_not(p->cuts.n, mid, p->cuts.v[mid] <= t_ns);
}

/* The twin of the outermost node becomes a child of the epoch's or phase's node, and so
 * on inwards. */
uint32_t us_profile_twin(struct us_profile *p, uint32_t node, uint32_t number,
			 uint8_t flag)
{
	if (!node)
		return us_trie_child(&p->trie, 0, number, flag);
	uint64_t of = (uint64_t)flag << 32 | number;
	uint32_t *known = us_pair_map_at(&p->epoch_nodes, of, node);
	if (!known)
		return US_TRIE_NONE;
	if (*known)
		return *known;
	uint32_t parent = us_profile_twin(p, p->trie.nodes.v[node].parent, number,
					  flag);
	if (parent == US_TRIE_NONE)
		return US_TRIE_NONE;
	struct us_trie_node n = p->trie.nodes.v[node];
	uint32_t twin = us_trie_child(&p->trie, parent, n.pc, n.flags);
	known = us_pair_map_at(&p->epoch_nodes, of, node); /* it may have moved */
	if (known && twin != US_TRIE_NONE)
		*known = twin;
	return twin;
}

uint32_t us_profile_stack_at(struct us_profile *p, uint32_t node, uint64_t t_ns)
{
	unsigned layout = p->recording[p->file_now].layout;
	uint32_t epoch = epoch_of(p, us_profile_layout_time(p, layout, t_ns));
	unsigned phase = us_profile_phase_at(p, t_ns);
	if (epoch && node)
		node = us_profile_twin(p, node, epoch, US_PROFILE_EPOCH);
	if (phase && node != US_TRIE_NONE)
		node = us_profile_twin(p, node, phase - 1, US_PROFILE_PHASE);
	uint32_t owner = node == US_TRIE_NONE ? 0 : us_profile_root_of(p, node);
	if (owner == US_PROFILE_NONE)
		return US_TRIE_NONE;
	if (owner)
		node = us_profile_twin(p, node, owner, US_PROFILE_PHASE);
	return node;
}

static uint32_t view_number(struct us_profile *p, us_gpa root, uint32_t epoch)
{
	uint32_t *known = us_pair_map_at(&p->view_of, root, epoch);
	if (!known)
		return US_PROFILE_NONE;
	if (*known)
		return *known;
	struct us_symbol_when *when = us_vec_push(&p->views);
	if (!when)
		return US_PROFILE_NONE;
	*when = (struct us_symbol_when){ .root = root,
					 .t_ns = epoch ? p->cuts.v[epoch - 1] : 0,
					 .user = root };
	return *known = (uint32_t)(p->views.n - 1);
}

uint32_t us_profile_view(struct us_profile *p, uint32_t node)
{
	bool user = p->trie.nodes.v[node].flags & US_PC_USER;
	us_gpa root = 0;
	uint32_t epoch = 0;
	if (!p->cuts.n && !p->has_spaces)
		return 0;
	for (; node; node = p->trie.nodes.v[node].parent) {
		const struct us_trie_node *n = &p->trie.nodes.v[node];
		if (n->flags & US_PROFILE_EPOCH)
			epoch = (uint32_t)n->pc;
		if (n->flags & US_PC_SPACE && user)
			root = n->pc;
	}
	return view_number(p, root, user ? epoch : p->epoch_of_kernel[epoch]);
}
