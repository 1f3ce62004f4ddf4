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
#include "profile/pair_map.h"
#include "profile/profile.h"
#include "symbol/debuginfod.h"
#include "symbol/id_files.h"

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

/* The files of a guest's programs, as far as they were looked for: profile/programs.c,
 * profile/program_files.c. */
struct us_naming_program {
	char *path; /* in the guest */
	uint8_t build_id[US_BUILD_ID_MAX], build_id_len;
	uint32_t pid;		    /* of one that is no file; else 0 */
	struct us_elf_image *image; /* symbols'; NULL: nothing names it */
	bool dynamic;		    /* by its dynamic symbols alone */
	bool unverified;	    /* nothing shows that it is the guest's file */
	bool other;		    /* what was found is of another build */
};
struct us_naming_programs {
	struct us_naming_program *v;
	size_t n, cap;
	struct us_pair_map known; /* (hash of path and pid, of build-id) to index + 1 */
	struct us_pair_map placed; /* (hash of the place, root) to 1 + */
	struct {
		struct us_naming_placed {
			size_t program;
			struct us_symbol_place at;
		} * v;
		size_t n, cap;
	} places;
	struct us_id_files ids;
	struct us_debuginfod *server;
	unsigned asked; /* files that it was asked for */
	size_t symbols; /* in the images */
	bool full;	/* there are files that were not read for that */
	char why[256];	/* a server could not be asked; "" */
};
struct us_naming_programs *us_naming_programs(struct us_naming *n);

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
