/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * links.h: learn where a guest keeps the pointers to its other stacks.
 *
 * An interrupt is handled on a stack of its own, whose end says where the one before
 * was; and on a kernel's stack lies where that of the program below it is.  When a
 * stack is cut because such another one was not copied, the pointer to it is in what
 * was copied.  Kernels keep it at the same offset of a page each time: seen there
 * twice, it is followed from then on, in the host's kernel.  What looked like one may
 * be none: where there is no room for another, that which was needed least is
 * forgotten.
 */
#ifndef US_BACKEND_BPF_LINKS_H
#define US_BACKEND_BPF_LINKS_H

#include "backend/bpf/shared.h"
#include "guest/stack_copy.h"

#define US_BPF_LINK_CANDIDATES 8

struct us_bpf_links {
	uint32_t
		used[US_BPF_MAX_LINKS]; /* how many stacks each of the guest's led to */
	unsigned n, next, turn;
	struct {
		uint16_t offset, seen;
	} candidate[US_BPF_LINK_CANDIDATES];
};

/* Hot path.  Of a stack that has been unwound: which links did it need? */
void us_bpf_links_count(struct us_bpf_links *l, const struct us_stack_copy *w,
			const struct us_bpf_guest *g);
/* Hot path.  The stack was cut at w->missed_at, which is not in w. */
void us_bpf_links_learn(struct us_bpf_links *l, const struct us_stack_copy *w,
			struct us_bpf_guest *g);

#endif
