/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uniprof_loop.h: what uniprof (2017) does for a trace, to measure beside it.
 *
 * Written from its description of itself and its source's steps, not taken from it:
 * pause the domain; the context of vCPU 0, into memory of the program's own; the chain
 * of frame pointers, each page found in a list by its virtual address, in which it
 * stays mapped; an address a line into a stream; unpause.  It does not sleep where it
 * is late.
 */
#ifndef US_BENCH_UNIPROF_LOOP_H
#define US_BENCH_UNIPROF_LOOP_H

#include "guest/paging.h"
#include "vmm/xen/calls.h"

#include <stdio.h>

struct uniprof;

/* paging translates a virtual address once, when its page is first met. */
struct uniprof *uniprof_new(const struct us_xen_calls *calls, void *handle,
			    uint32_t domain, struct us_paging *paging, FILE *out);

/* One trace: *ret_frames of it; *ret_same: all registers are those of the trace before.
 */
int uniprof_trace(struct uniprof *u, unsigned *ret_frames, bool *ret_same);

#endif
