/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ticks.h: the samples that bpf takes of an invented guest, on a host that others use.
 *
 * A timer of the vCPU's CPU time, whose period is drawn by the pace of the real
 * backend; what a tick stands for is its weight.  The vCPU has a CPU for some
 * milliseconds, and then others have it; what it waits is accounted for from time to
 * time, as one sample.
 */
#ifndef TEST_TICKS_H
#define TEST_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#define TICKS_WAIT UINT32_MAX /* what a sample is of that waits for a CPU */

struct ticks {
	double hz, cpu;	       /* cpu: 0 to 1, the part of the time that it has one */
	uint64_t seed, ran_ns; /* ran_ns: to its end, of CPU time */
	void *ctx;
	/* What it is at when it has run so long; asked for in order. */
	uint32_t (*at)(void *ctx, uint64_t ran_ns);
	/* false: stop.  t_ns: of the host's time. */
	bool (*sample)(void *ctx, uint64_t t_ns, uint32_t what, uint32_t weight);
};

bool ticks_play(const struct ticks *t);

#endif
