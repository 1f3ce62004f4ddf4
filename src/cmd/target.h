/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target.h: from what the user typed to a guest and the ways into it.
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
 * text: NULL, a pid, a name, "qmp:...", "gdb:...", "xen:..." or "fake:".  A guest that
 * is known by an endpoint only is looked up among the command lines of this host's
 * guests, and by who listens there.  In dom0 a name, or NULL, can mean a domain as
 * well. *ret must stay where it is: it points into itself.
 */
US_MUST_CHECK int us_target_resolve(const char *text, struct us_found *ret,
				    struct us_err *e);

/* From a guest that is known already (one that was launched). */
void us_target_of_guest(struct us_found *f);
/* The same for a Xen domain. */
void us_target_of_domain(struct us_found *f);

#endif
