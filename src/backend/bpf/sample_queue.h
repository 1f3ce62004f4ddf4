/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample_queue.h: samples of one guest that another guest's thread took out of the
 * ring.
 *
 * One thread at a time pushes, one pops: no locks.  Its memory becomes present only as
 * samples are pushed, so that an unused queue costs nothing.
 */
#ifndef US_BACKEND_BPF_SAMPLE_QUEUE_H
#define US_BACKEND_BPF_SAMPLE_QUEUE_H

#include "backend/bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>

/* A power of two.  When one guest's thread empties the ring, most of it may be of one
 * other guest. */
#define US_BPF_QUEUE_BYTES (4U << 20)
_Static_assert(US_BPF_QUEUE_BYTES >= US_BPF_RING_BYTES / 2, "too small for the ring");

struct us_bpf_queue {
	uint8_t *bytes; /* NULL: not open */
	/* Bytes since it was opened; each side writes its own. */
	_Atomic uint64_t head, tail;
};

bool us_bpf_queue_open(struct us_bpf_queue *q);	 /* false: out of memory */
void us_bpf_queue_close(struct us_bpf_queue *q); /* accepts zeroed memory */

/* Both are hot path.  l was checked to be complete (us_bpf_take()).  false: it does not
 * fit. */
bool us_bpf_queue_push(struct us_bpf_queue *q, const struct us_bpf_sample *l);
/* to holds US_BPF_MAX_SAMPLE bytes.  false: it is empty. */
bool us_bpf_queue_pop(struct us_bpf_queue *q, struct us_bpf_sample *to);

size_t us_bpf_queue_used(const struct us_bpf_queue *q); /* bytes */

#endif
