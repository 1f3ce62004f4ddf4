/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile/code.c: the kind of code that each function of a profile is. */
#include "profile/profile_priv.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>

/* All functions of the stack were looked up before. */
static int mark(struct us_profile *p, uint32_t node, bool is_return, uint8_t *code)
{
	const struct us_trie_node *t = &p->trie.nodes.v[node];
	uint8_t of = t->flags & US_PC_HOST   ? US_CODE_HOST
		     : t->flags & US_PC_USER ? US_CODE_USER
					     : US_CODE_KERNEL;
	if (t->flags & US_PROFILE_NO_FRAME || !us_profile_in_part(p, t))
		return 0;
	const struct us_profile_site *site = us_profile_site(p, node, is_return);
	if (!site)
		return -ENOMEM;
	for (uint32_t i = 0; i < site->n; i++)
		code[p->frames.v[site->first + i].func] |= of;
	return 0;
}

static int mark_stack(struct us_profile *p, uint32_t stack, bool *seen, uint8_t *code)
{
	int rc = stack ? mark(p, stack, false, code) : 0;
	for (uint32_t up = stack ? p->trie.nodes.v[stack].parent : 0; up && !rc;
	     up = p->trie.nodes.v[up].parent) {
		if (seen[up])
			break;
		seen[up] = true;
		rc = mark(p, up, !(p->trie.nodes.v[up].flags & US_PC_EXACT), code);
	}
	return rc;
}

int us_profile_code(const struct us_profile *read, uint8_t **ret)
{
	/* As in stacks.c: the functions that look up names cache what they find. */
	struct us_profile *p = (struct us_profile *)read;
	_cleanup_free_ bool *seen = calloc(p->trie.nodes.n + 1, sizeof(*seen));
	_cleanup_free_ uint8_t *code = calloc(p->funcs.n + 1, sizeof(*code));
	if (!seen || !code)
		return -ENOMEM;
	for (size_t i = 0; i < p->keys.n; i++) {
		uint32_t key = p->keys.v[i];
		int rc = p->key_node[key] == US_PROFILE_NONE
				 ? 0
				 : mark_stack(p, key / US_N_KIND, seen, code);
		if (rc)
			return rc;
	}
	*ret = us_take(code);
	return 0;
}
