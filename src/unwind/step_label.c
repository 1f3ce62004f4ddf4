/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * step_label.c: the way out of an entry that goes on behind a label.  Entries are
 * written in assembly, and what restores the registers often has a name of its own: to
 * the map it is another function, into which the CALL of the handler would never
 * return.
 */
#include "unwind/walk.h"

bool us_step_label(struct us_walk *w, struct us_site *site, struct us_step *ret)
{
	const struct us_site before = *site;
	if ((w->flags & US_PC_USER) || !us_sites_past_label(w->u->sites, site))
		return false;
	if (w->u->arch->link ? us_step_link_cross(w, site, ret)
			     : us_step_by_exit(w, &site->rule[1], ret))
		return true;
	*site = before;
	return false;
}
