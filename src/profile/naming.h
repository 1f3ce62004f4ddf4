/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h: what gives the names of a recording, and may be shared by its profiles.
 *
 * To open images and to read their symbols takes far longer than to sum the samples of
 * a few seconds.  Profiles of one recording that grows (live/live.h) share it, as long
 * as the recording has the same images.
 */
#ifndef US_PROFILE_NAMING_H
#define US_PROFILE_NAMING_H

#include "profile/guest_names.h"
#include "profile/profile.h"

struct us_naming;

/* Has one user.  raw_names: as in us_profile_opts. */
US_MUST_CHECK int us_naming_new(bool raw_names, struct us_naming **ret,
				struct us_err *e);
/* Another one with the same names, whose images are not open. */
US_MUST_CHECK int us_naming_again(const struct us_naming *n, struct us_naming **ret,
				  struct us_err *e);
struct us_naming *us_naming_ref(struct us_naming *n); /* one more user */
void us_naming_unref(struct us_naming *n); /* frees after the last; accepts NULL */

/* Functions that the recording itself names; host: of the host.  Of several recordings
 * with images at other places each has a layout, from 0 on.  What was found before
 * stays valid.  0, -ENOMEM or -E2BIG. */
US_MUST_CHECK int us_naming_add(struct us_naming *n, unsigned layout,
				const struct us_named *f, bool host);

/* --- for the profiles --- */

struct us_symbols *us_naming_symbols(const struct us_naming *n);
/* After the last one that was added. */
void us_naming_settle(struct us_naming *n);
void us_naming_ask(struct us_naming *n,
		   unsigned layout);		     /* for its names from now on */
bool us_naming_has_names(const struct us_naming *n); /* of the guest */
bool us_naming_find_host(struct us_naming *n, us_gva pc, struct us_symbol_name *ret);

struct us_profile;

/* Take over what the profile that opened the images found out: which of its modules are
 * used, and what there is to be warned of.  1: done; 0: they are not open yet, or
 * -ENOMEM. */
US_MUST_CHECK int us_naming_adopt(const struct us_naming *n, struct us_profile *p);
/* The same for those that come.  A naming that has one user keeps nothing. */
US_MUST_CHECK int us_naming_keep(struct us_naming *n, const struct us_profile *p);

#endif
