/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * samples.h: one sample of every vCPU now, the first that can be named.
 *
 * A vCPU is sampled again while that may show where an image or the kernel is: at most
 * 24 times in all, and for at most 3 s.  One that has no host CPU, so that its
 * registers cannot be read, is sampled until it has one, for at most 1 s.
 */
#ifndef US_CMD_DUMP_SAMPLES_H
#define US_CMD_DUMP_SAMPLES_H

#include "cmd/record/images.h"
#include "cmd/record/kernel.h"

/* What was seen of one vCPU. */
struct us_dump_seen {
	bool taken, has_stack; /* its state is known; its stack, too */
	bool done;	       /* another sample would tell no more */
	uint8_t state;
	struct us_regs regs;
	struct us_stack stack;
};

struct us_dump_samples {
	unsigned n;
	struct us_dump_seen *v; /* by vCPU */
};

/* 0 or -ENOMEM. */
US_MUST_CHECK int us_dump_samples_init(struct us_dump_samples *s, unsigned n_vcpu);
/* mask: bit by vCPU; 0: all.  The guest runs on after it.  0 or -errno: the guest went
 * away, or cannot be sampled. */
US_MUST_CHECK int us_dump_samples_take(struct us_dump_samples *s, struct us_images *i,
				       struct us_kernel *k, struct us_backend *b,
				       uint64_t mask, struct us_err *e);
/* Accepts a zeroed one. */
void us_dump_samples_fini(struct us_dump_samples *s);

#endif
