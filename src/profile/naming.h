/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * naming.h: the source of the names of a recording, which several profiles can share.
 *
 * Opening images and reading their symbols takes far longer than summing the samples of
 * a few seconds.  Profiles of one growing recording (live/live.h) share this work as
 * long as the recording has the same images.
 */
#ifndef US_PROFILE_NAMING_H
#define US_PROFILE_NAMING_H

#include "base/pair_map.h"
#include "profile/guest_names.h"
#include "profile/profile.h"
#include "symbol/debuginfod.h"
#include "symbol/id_files.h"

struct us_naming;

/* It has one user.  raw_names: as in us_profile_opts. */
US_MUST_CHECK int us_naming_new(bool raw_names, struct us_naming **ret,
				struct us_err *e);
/* A new one with the same names, whose images are not open. */
US_MUST_CHECK int us_naming_again(const struct us_naming *n, struct us_naming **ret,
				  struct us_err *e);
struct us_naming *us_naming_ref(struct us_naming *n); /* adds a user */
/* Removes one, frees with the last; accepts NULL. */
void us_naming_unref(struct us_naming *n);

/* Add a function that the recording itself names; host: of the host.  Several
 * recordings with images at different addresses each have a layout, numbered from 0.
 * Names that were found before stay valid.  0, -ENOMEM or -E2BIG. */
US_MUST_CHECK int us_naming_add(struct us_naming *n, unsigned layout,
				const struct us_named *f, bool host);

/* --- for the profiles --- */

/* The files of a guest's programs that were looked for so far: profile/programs.c,
 * profile/program_files.c. */
struct us_naming_program {
	char *path; /* in the guest */
	uint8_t build_id[US_BUILD_ID_MAX], build_id_len;
	uint32_t pid;		    /* if it is not a file; else 0 */
	struct us_elf_image *image; /* owned by symbols; NULL: no file has its names */
	bool dynamic;		    /* only its dynamic symbols are known */
	bool unverified;	    /* not verified to be the guest's file */
	bool other;		    /* the file that was found is another build */
	bool named;		    /* an image of the recording names its code: -e */
	bool gone; /* the guest had deleted it, so what was found may be another */
};
struct us_naming_programs {
	struct us_naming_program *v;
	size_t n, cap;
	/* (hash of the path, of what identifies the file) to index + 1. */
	struct us_pair_map known;
	/* (hash of the place, root) to index in places + 1. */
	struct us_pair_map placed;
	struct {
		struct us_naming_placed {
			size_t program;
			struct us_symbol_place at;
			size_t number; /* of the place, for us_symbols_end_place() */
		} * v;
		size_t n, cap;
	} places;
	struct us_id_files ids;	  /* of --symbols */
	struct us_id_files below; /* of --root: containers have other paths */
	bool has_root;		  /* the user gave it */
	struct us_debuginfod *server;
	unsigned asked; /* files requested from the server */
	size_t symbols; /* in the images */
	bool full;	/* some files were not read because of that limit */
	char why[256];	/* why a server could not be asked; "": it could */
};
struct us_naming_programs *us_naming_programs(struct us_naming *n);

struct us_symbols *us_naming_symbols(const struct us_naming *n);
/* Call after the last us_naming_add(). */
void us_naming_settle(struct us_naming *n);
void us_naming_ask(struct us_naming *n,
		   unsigned layout); /* look up names in this layout from now on */
bool us_naming_has_names(const struct us_naming *n); /* of the guest */
bool us_naming_find_host(struct us_naming *n, us_gva pc, struct us_symbol_name *ret);

struct us_profile;

/* Take over what the profile that opened the images found: which of its modules are
 * used, and its warnings.  1: done; 0: the images are not open yet; or -ENOMEM. */
US_MUST_CHECK int us_naming_adopt(const struct us_naming *n, struct us_profile *p);
/* Keep that for later profiles.  With only one user, nothing is kept. */
US_MUST_CHECK int us_naming_keep(struct us_naming *n, const struct us_profile *p);

#endif
