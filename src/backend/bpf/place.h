/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place.h: is a guest's memory where the host's kernel was read to have it?
 *
 * A structure of a kernel that is not known may look right and mean something else.
 * Before anything is believed, a sample must have led through the guest's page tables
 * to a stack or to code.
 */
#ifndef US_BACKEND_BPF_PLACE_H
#define US_BACKEND_BPF_PLACE_H

#include "backend/backend.h"

/* Initialized with zeroes: nothing is known. */
struct us_bpf_place {
	bool sure;	   /* one sample has led to memory of the guest */
	unsigned n_astray; /* samples before that which did not */
};

/* Hot path.  A capture with a window has come, from a tick that hit the guest.  False:
 * none of many has led to memory of the guest. */
bool us_bpf_place_fits(struct us_bpf_place *p, struct us_mem *mem,
		       const struct us_capture *c);

#endif
