/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/processes.c: which processes of a Linux guest had which page tables. */
#include "profile/profile_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The slot of a process, hashed because a recording may have very many. */
static uint32_t *known(struct us_profile *p, const struct us_process *s)
{
	const uint64_t rest[2] = { s->pid, s->from_ns };
	return us_pair_map_at(&p->processes.known, s->root,
			      us_hash_bytes(rest, sizeof(rest)));
}

/* Add a process to the chain of those with the same root. */
static int push(struct us_profile *p, const struct us_process *s)
{
	uint32_t *slot = known(p, s);
	uint32_t *last = us_pair_map_at(&p->processes.of_root, s->root, 0);
	struct us_profile_process *to = slot && last ? us_vec_push(&p->processes)
						     : NULL;
	if (!to)
		return -ENOMEM;
	*to = (struct us_profile_process){ .s = *s, .before = *last };
	to->s.name = NULL;
	*slot = *last = (uint32_t)p->processes.n;
	return 0;
}

/* Several guests may have the same root. */
int us_profile_add_process(struct us_profile *p, const struct us_process *s)
{
	if (!p->opts.processes || p->n_file > 1)
		return 0;
	char *name = strdup(s->name);
	uint32_t *slot = name ? known(p, s) : NULL;
	if (!slot || (!*slot && push(p, s))) {
		free(name);
		return -ENOMEM;
	}
	struct us_process *to = &p->processes.v[*slot - 1].s;
	free((char *)to->name);
	*to = *s;
	to->name = name;
	return 0;
}

void us_profile_free_processes(struct us_profile *p)
{
	for (size_t k = 0; k < p->processes.n; k++)
		free((char *)p->processes.v[k].s.name);
	free(p->processes.v);
	us_pair_map_fini(&p->processes.known);
	us_pair_map_fini(&p->processes.of_root);
	us_pair_map_fini(&p->processes.owner);
}

/* A process that existed during the whole epoch: its number + 1, or 0. */
static uint32_t search(struct us_profile *p, us_gpa root, uint32_t epoch, bool pair)
{
	uint64_t begin = epoch ? p->cuts.v[epoch - 1] : 0;
	uint64_t end = epoch < p->cuts.n ? p->cuts.v[epoch] : UINT64_MAX;
	uint32_t *last = us_pair_map_at(&p->processes.of_root, root, 0);
	for (uint32_t k = last ? *last : 0; k; k = p->processes.v[k - 1].before) {
		const struct us_process *s = &p->processes.v[k - 1].s;
		if ((!pair || s->pair) && s->from_ns <= begin &&
		    (!s->until_ns || s->until_ns >= end))
			return k;
	}
	return 0;
}

const struct us_process *us_profile_process_at(struct us_profile *p, us_gpa root,
					       uint32_t epoch)
{
	const uint32_t nobody = (uint32_t)p->processes.n + 1;
	uint32_t *owner = us_pair_map_at(&p->processes.owner, root, epoch);
	if (!owner)
		return NULL;
	if (!*owner) {
		*owner = search(p, root, epoch, false);
		if (!*owner)
			*owner = search(p, root ^ US_ROOT_OF_USER, epoch, true);
		if (!*owner)
			*owner = nobody;
	}
	return *owner == nobody ? NULL : &p->processes.v[*owner - 1].s;
}
