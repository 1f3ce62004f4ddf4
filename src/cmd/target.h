/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target.h: from the user's text to a guest and the ways to access it.
 */
#ifndef US_CMD_TARGET_H
#define US_CMD_TARGET_H

#include "backend/backend.h"
#include "vmm/xen/domains.h"

#include <stdio.h>

struct us_found {
	struct us_guest guest;	 /* valid if target.guest points here */
	struct us_xen_guest xen; /* valid if target.xen points here */
	struct us_target target;
	char text[US_ENDPOINT_SIZE]; /* the target in words: "qemu 4711 (demo)" */
};

/*
 * text: NULL, a pid, a name, "qmp:...", "gdb:...", "xen:..." or "fake:".  For a guest
 * known only by an endpoint, the guest is looked up by the command lines of this host's
 * guests, and by who listens at the endpoint.  In dom0 a name, or NULL, can also mean a
 * domain.  *ret must not move: it contains pointers to itself.
 */
US_MUST_CHECK int us_target_resolve(const char *text, struct us_found *ret,
				    struct us_err *e);

/* From a guest that is already known, such as a launched one. */
void us_target_of_guest(struct us_found *f);
/* The same for a Xen domain. */
void us_target_of_domain(struct us_found *f);

#endif
