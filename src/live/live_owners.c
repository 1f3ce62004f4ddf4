/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live_owners.c: the processes and threads of a Linux guest, each as last reported. */
#include "live/live_priv.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t *slot_of(struct us_pair_map *m, uint64_t key, uint32_t pid,
			 uint64_t from_ns)
{
	const uint64_t rest[2] = { pid, from_ns };
	return us_pair_map_at(m, key, us_hash_bytes(rest, sizeof(rest)));
}

int us_live_process(struct us_live *l, const struct us_process *s)
{
	uint32_t *slot = slot_of(&l->known_process, s->root, s->pid, s->from_ns);
	char *name = slot ? strdup(s->name) : NULL;
	struct us_process *to = !name	? NULL
				: *slot ? &l->processes.v[*slot - 1]
					: us_vec_push(&l->processes);
	if (!to) {
		free(name);
		return -ENOMEM;
	}
	*slot = (uint32_t)(to - l->processes.v) + 1;
	free((char *)to->name);
	*to = *s;
	to->name = name;
	return 0;
}

static void free_names(struct us_task *t)
{
	free((char *)t->name);
	free((char *)t->process);
	free((char *)t->cgroup);
}

int us_live_task(struct us_live *l, const struct us_task *t)
{
	struct us_task copy = *t;
	uint32_t *slot = t->id ? us_pair_map_at(&l->known_id, t->id, 0)
			       : slot_of(&l->known_stack, t->stack, t->pid, t->from_ns);
	copy.name = strdup(t->name);
	copy.process = strdup(t->process);
	copy.cgroup = strdup(t->cgroup);
	bool whole = slot && copy.name && copy.process && copy.cgroup;
	struct us_task *to = !whole  ? NULL
			     : *slot ? &l->tasks.v[*slot - 1]
				     : us_vec_push(&l->tasks);
	if (!to) {
		free_names(&copy);
		return -ENOMEM;
	}
	*slot = (uint32_t)(to - l->tasks.v) + 1;
	free_names(to);
	*to = copy;
	return 0;
}

void us_live_free_owners(struct us_live *l)
{
	for (size_t i = 0; i < l->processes.n; i++)
		free((char *)l->processes.v[i].name);
	for (size_t i = 0; i < l->tasks.n; i++)
		free_names(&l->tasks.v[i]);
	free(l->processes.v);
	free(l->tasks.v);
	us_pair_map_fini(&l->known_process);
	us_pair_map_fini(&l->known_id);
	us_pair_map_fini(&l->known_stack);
}

bool us_live_owners_known(const struct us_live *l)
{
	return l->processes.n || l->tasks.n;
}
