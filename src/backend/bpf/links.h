/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * links.h: learn where a guest keeps the pointers to its other stacks.
 *
 * An interrupt is handled on a stack of its own, which ends with a pointer to the
 * previous stack.  Likewise, a kernel's stack holds the stack pointer of the program
 * below it.  If a stack is cut because another one was not copied, the pointer to that
 * one is in what was copied.
 *
 * Kernels keep it at the same offset of a page each time.  Once it was seen there, the
 * programs in the host's kernel follow it.  Such a guess may be wrong: if there is no
 * space for another link, one that was seen twice replaces the one that was needed
 * least.
 */
#ifndef US_BACKEND_BPF_LINKS_H
#define US_BACKEND_BPF_LINKS_H

#include "backend/bpf/shared.h"
#include "guest/stack_copy.h"

#define US_BPF_LINK_CANDIDATES 8
#define US_BPF_LINK_TRIAL      2000 /* stacks: then guesses that none needed are dropped */

struct us_bpf_links {
	uint32_t used[US_BPF_MAX_LINKS]; /* how many stacks each of the guest's links
					    led to */
	uint32_t stacks;		 /* counted, up to US_BPF_LINK_TRIAL */
	unsigned n, next, turn;
	struct {
		uint16_t offset, seen;
	} candidate[US_BPF_LINK_CANDIDATES];
};

/*
 * Follow those of x86 from the start, in case that few stacks need them: a processor
 * pushes the stack pointer of what it interrupts as the last word but one of a stack
 * (Intel SDM volume 3, 6.14.2), and Linux links stacks of interrupts by their last word
 * (arch/x86/include/asm/irq_stack.h).  To follow a link takes time at each sample, so
 * those that the first stacks do not need are dropped.
 */
void us_bpf_links_guess(struct us_bpf_links *l, struct us_bpf_guest *g);

/* Hot path, after a stack was unwound: count the links that it needed. */
void us_bpf_links_count(struct us_bpf_links *l, const struct us_stack_copy *w,
			struct us_bpf_guest *g);
/* Hot path.  The stack was cut at w->missed_at, which is not in w. */
void us_bpf_links_learn(struct us_bpf_links *l, const struct us_stack_copy *w,
			struct us_bpf_guest *g);

#endif
