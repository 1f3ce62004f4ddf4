/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen/domains.h: the domains of this Xen host, and which one a user means.
 *
 * Xen says what a domain is; its name comes from xenstore, whose library is loaded if
 * it is there (Xen 4.13 and later).  Without that library domains are known by their
 * numbers alone.
 */
#ifndef US_VMM_XEN_DOMAINS_H
#define US_VMM_XEN_DOMAINS_H

#include "vmm/xen/calls.h"

#include <limits.h>
#include <stddef.h>

struct us_xen_guest {
	struct us_xen_domain domain;
	char name[64];	       /* "" if it has none */
	char kernel[PATH_MAX]; /* as its configuration names it; "" if not known */
};

struct us_xen_list {
	struct us_xen_guest *v; /* sorted by number; dom0, where we run, is not in it */
	size_t n, cap;
	const char *nameless; /* why the domains have no names; NULL: they have */
};

/* All domains but dom0. Errors: those of us_xen_calls.open(). */
US_MUST_CHECK int us_xen_list_scan(struct us_xen_list *ret, struct us_err *e);
void us_xen_list_fini(struct us_xen_list *l);

/*
 * The domain that a user means: a number, a name, or "" for the only one.  -ENOENT:
 * there is none, or names are not known, -EEXIST: several; the message lists them.
 */
US_MUST_CHECK int us_xen_select(const struct us_xen_list *l, const char *text,
				struct us_xen_guest *ret, struct us_err *e);

#endif
