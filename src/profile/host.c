/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile/host.c: what the host did for the guest, as if the guest had called it.
 *
 * The node where the guest was interrupted gets these descendants, all with US_PC_HOST:
 * one with the reason of the exit, which has US_PC_EXIT, and the host's frames.
 */
#include "profile/profile_priv.h"

#include <errno.h>

int us_profile_host_stack(struct us_profile *p, us_stack_id id, us_stack_id parent,
			  us_hva pc)
{
	if (!p->opts.host)
		return 0;
	return id == p->host_trie.numbers.n ? us_trie_add(&p->host_trie, parent, pc, 0)
					    : -EBADMSG;
}

uint32_t us_profile_guest_node(const struct us_profile *p, uint32_t node)
{
	while (node && p->trie.nodes.v[node].flags & US_PC_HOST)
		node = p->trie.nodes.v[node].parent;
	return node;
}

/* As a caller its pc would be taken for a return address, which it is not. */
static uint32_t exact(struct us_profile *p, uint32_t node)
{
	struct us_trie_node n = p->trie.nodes.v[node];
	if (!node || n.flags & US_PROFILE_NO_FRAME)
		return node;
	return us_trie_child(&p->trie, n.parent, n.pc, n.flags | US_PC_EXACT);
}

static us_gva exit_code(const struct us_profile *p, uint32_t node)
{
	const struct us_trie_node *v = p->trie.nodes.v;
	while (node && !(v[node].flags & US_PC_EXIT))
		node = v[node].parent;
	return node ? v[node].pc : 0;
}

static uint32_t hang(struct us_profile *p, uint32_t node, uint32_t host)
{
	us_gva pc[US_MAX_HOST_FRAMES];
	size_t n = 0;
	/* It counts for the part of the guest that it was called from. */
	uint8_t flags = US_PC_HOST | (p->trie.nodes.v[node].flags & US_PC_USER);
	us_gva code = exit_code(p, node);
	for (; host && n < US_MAX_HOST_FRAMES; host = p->host_trie.nodes.v[host].parent)
		pc[n++] = p->host_trie.nodes.v[host].pc;
	node = exact(p, node);
	if (node != US_TRIE_NONE)
		node = us_trie_child(&p->trie, node, code, flags | US_PC_EXIT);
	while (n-- > 0 && node != US_TRIE_NONE)
		node = us_trie_child(&p->trie, node, pc[n], flags);
	return node;
}

uint32_t us_profile_with_host(struct us_profile *p, uint32_t node, us_stack_id host)
{
	uint32_t at = us_trie_node_of(&p->host_trie, host);
	if (at == US_TRIE_NONE || !at)
		return node;
	uint32_t *known = us_pair_map_at(&p->host_of, node, at);
	if (known && !*known)
		*known = hang(p, node, at);
	return known ? *known : US_TRIE_NONE;
}
