/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_need.h: how much of a guest's stacks the programs copy.
 *
 * At first they copy as much as fits.  As soon as stacks were unwound from the copies,
 * they copy twice what was needed recently.  If a page ends after the most that was
 * ever needed, that is enough: many stacks end there too.  A stack that was cut shows
 * what to copy more of.
 */
#ifndef US_BACKEND_BPF_STACK_NEED_H
#define US_BACKEND_BPF_STACK_NEED_H

#include "backend/bpf/links.h"

struct us_bpf_need {
	struct us_bpf_guest *guest; /* what its programs are told */
	uint32_t now, before;	    /* bytes needed: since since_ns, and before */
	uint32_t most;		    /* the most that was ever needed */
	uint64_t since_ns;
	uint64_t eager_ns; /* something new is being learned until then: what is learned
			      late is missing in all samples in the ring */
	struct us_bpf_links links;
};

void us_bpf_need_start(struct us_bpf_need *n, struct us_bpf_guest *g, uint64_t now_ns);

/* Hot path: a stack was unwound from w; cut: not to its end. */
void us_bpf_need_learn(struct us_bpf_need *n, const struct us_stack_copy *w, bool cut);

/* From time to time: tell the programs what was learned. */
void us_bpf_need_settle(struct us_bpf_need *n, uint64_t now_ns);

#endif
