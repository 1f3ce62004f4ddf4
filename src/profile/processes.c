/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/processes.c: whose the programs of a Linux guest are. */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_ROOT 0x1000U /* of one that is a pair */

static struct us_process *find(struct us_profile *p, const struct us_process *s)
{
	for (size_t k = p->processes.n; k; k--) {
		struct us_process *one = &p->processes.v[k - 1];
		if (one->root == s->root && one->pid == s->pid &&
		    one->from_ns == s->from_ns)
			return one;
	}
	return NULL;
}

/* Roots of several guests may be the same. */
int us_profile_add_process(struct us_profile *p, const struct us_process *s)
{
	if (!p->opts.processes || p->n_file > 1)
		return 0;
	char *name = strdup(s->name);
	struct us_process *to = name ? find(p, s) : NULL;
	if (name && !to)
		to = us_vec_push(&p->processes);
	if (!to) {
		free(name);
		return -ENOMEM;
	}
	free((char *)to->name);
	*to = *s;
	to->name = name;
	return 0;
}

void us_profile_free_processes(struct us_profile *p)
{
	for (size_t k = 0; k < p->processes.n; k++)
		free((char *)p->processes.v[k].name);
	free(p->processes.v);
	p->processes.v = NULL;
	p->processes.n = p->processes.cap = 0;
}

static bool has_root(const struct us_process *s, us_gpa root)
{
	return s->root == root || (s->pair && s->root == (root ^ OTHER_ROOT));
}

/* One that was there in all of the epoch. */
static const struct us_process *at(const struct us_profile *p, us_gpa root,
				   uint32_t epoch)
{
	uint64_t begin = epoch ? p->cuts.v[epoch - 1] : 0;
	uint64_t end = epoch < p->cuts.n ? p->cuts.v[epoch] : UINT64_MAX;
	for (size_t k = 0; k < p->processes.n; k++) {
		const struct us_process *s = &p->processes.v[k];
		if (has_root(s, root) && s->from_ns <= begin &&
		    (!s->until_ns || s->until_ns >= end))
			return s;
	}
	return NULL;
}

void us_profile_process_of(const struct us_profile *p, uint32_t node, char *ret,
			   size_t size)
{
	const struct us_process *s = NULL;
	bool space = false;
	us_gpa root = 0;
	uint32_t epoch = 0;
	for (; node; node = p->trie.nodes.v[node].parent) {
		const struct us_trie_node *n = &p->trie.nodes.v[node];
		if (n->flags & US_PROFILE_EPOCH)
			epoch = (uint32_t)n->pc;
		if (n->flags & US_PC_SPACE)
			root = n->pc;
		space |= n->flags & US_PC_SPACE;
	}
	if (space)
		s = at(p, root, epoch);
	if (s)
		snprintf(ret, size, "%s (%u)", s->name, s->pid);
	else
		snprintf(ret, size, "%s",
			 space ? US_PROCESS_UNKNOWN : US_PROCESS_KERNEL);
}
