/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/views.c: which images apply to an address, by time and address space. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"
#include "base/search.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Far more than the times of all that a recorder keeps of one guest's programs. */
#define MAX_CUTS (1U << 18)

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Most mappings share their times with others, and processes with their mappings. */
static int add_cut(struct us_profile *p, struct us_pair_map *known, uint64_t t_ns)
{
	uint32_t *slot = t_ns ? us_pair_map_at(known, t_ns, 0) : NULL;
	if (!t_ns || (slot && *slot))
		return 0;
	if (p->cuts.n == MAX_CUTS) {
		p->cuts_full = true;
		return 0;
	}
	uint64_t *cut = slot ? us_vec_push(&p->cuts) : NULL;
	if (!cut)
		return -ENOMEM;
	*slot = 1;
	*cut = t_ns;
	return 0;
}

static int add_cuts(struct us_profile *p, struct us_pair_map *known, uint64_t from_ns,
		    uint64_t until_ns)
{
	int rc = add_cut(p, known, from_ns);
	return rc ? rc : add_cut(p, known, until_ns);
}

static int cut_by_images(struct us_profile *p, struct us_pair_map *known)
{
	int rc = 0;
	for (unsigned i = 1; i < p->n_layout && !rc; i++)
		rc = add_cut(p, known, us_profile_layout_time(p, i, 0));
	for (unsigned i = 0; i < p->kernels.n && !rc; i++)
		rc = add_cuts(p, known, p->kernels.from_ns[i], p->kernels.until_ns[i]);
	for (size_t i = 0; i < p->modules.n && !rc; i++) {
		const struct us_module *m = &p->modules.v[i].m;
		uint64_t from, until;
		if (m->match == US_MATCH_NO)
			continue;
		p->has_spaces |= m->root != 0 || us_profile_is_kernels(m);
		us_profile_module_times(p, &p->modules.v[i], &from, &until);
		rc = add_cuts(p, known, from, until);
	}
	return rc;
}

/* A mapping whose times cannot be kept is made unusable. */
static int cut_by_mappings(struct us_profile *p, struct us_pair_map *known)
{
	int rc = 0;
	us_profile_sort_mappings(p);
	p->has_spaces |= p->mappings.n != 0;
	for (size_t i = 0; i < p->mappings.n && !rc; i++) {
		struct us_mapping *m = &p->mappings.v[i].m;
		bool full = p->cuts.n + 2 > MAX_CUTS && (m->from_ns || m->until_ns);
		p->cuts_full |= full;
		if (full)
			m->until_ns = m->from_ns ? m->from_ns : 1;
		else
			rc = add_cuts(p, known, m->from_ns, m->until_ns);
	}
	return rc;
}

static int cut_by_owners(struct us_profile *p, struct us_pair_map *known)
{
	int rc = 0;
	for (size_t i = 0; i < p->processes.n && !rc; i++) {
		const struct us_process *s = &p->processes.v[i].s;
		rc = add_cuts(p, known, s->from_ns, s->until_ns);
	}
	for (size_t i = 0; i < p->tasks.n && !rc; i++) {
		const struct us_task *t = &p->tasks.v[i].t;
		rc = add_cuts(p, known, t->from_ns, t->until_ns);
	}
	return rc;
}

/* For each epoch, find the first since which the kernel has the same images; of[0 .. n)
 * are the sorted times at which these change. */
static int find_epochs_of_kernel(struct us_profile *p, const uint64_t *of, size_t n)
{
	size_t next = 0;
	p->epoch_of_kernel = calloc(p->cuts.n + 1, sizeof(*p->epoch_of_kernel));
	if (!p->epoch_of_kernel)
		return -ENOMEM;
	for (uint32_t epoch = 1; epoch <= p->cuts.n; epoch++) {
		bool changes = next < n && of[next] == p->cuts.v[epoch - 1];
		next += changes;
		p->epoch_of_kernel[epoch] = changes ? epoch
						    : p->epoch_of_kernel[epoch - 1];
	}
	return 0;
}

/* known: empty. */
static int cut_time(struct us_profile *p, struct us_pair_map *known)
{
	const struct us_symbol_when *any = us_vec_push(&p->views);
	if (!any || cut_by_images(p, known))
		return -ENOMEM;
	size_t n_image = p->cuts.n;
	if (cut_by_mappings(p, known) || cut_by_owners(p, known))
		return -ENOMEM;
	_cleanup_free_ uint64_t *of_images = calloc(n_image + 1, sizeof(*of_images));
	if (!of_images)
		return -ENOMEM;
	if (p->cuts.n) {
		memcpy(of_images, p->cuts.v, n_image * sizeof(*of_images));
		qsort(of_images, n_image, sizeof(*of_images), by_time);
		qsort(p->cuts.v, p->cuts.n, sizeof(*p->cuts.v), by_time);
	}
	return find_epochs_of_kernel(p, of_images, n_image);
}

int us_profile_cut_time(struct us_profile *p)
{
	struct us_pair_map known = { 0 };
	int rc = cut_time(p, &known);
	us_pair_map_fini(&known);
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
	const struct us_trie_node *v = p->trie.nodes.v;
	bool user = v[node].flags & US_PC_USER;
	us_gpa root = 0;
	uint32_t epoch = 0;
	if (!p->cuts.n && !p->has_spaces)
		return 0;
	for (node = v[node].no_frame; node; node = v[v[node].parent].no_frame) {
		const struct us_trie_node *n = &v[node];
		if (n->flags & US_PROFILE_EPOCH)
			epoch = (uint32_t)n->pc;
		if (n->flags & US_PC_SPACE && user)
			root = n->pc;
	}
	return view_number(p, root, user ? epoch : p->epoch_of_kernel[epoch]);
}
