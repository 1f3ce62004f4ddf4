/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images.h: the ELF files of a guest: found, opened, compared with its memory.
 */
#ifndef US_CMD_IMAGES_H
#define US_CMD_IMAGES_H

#include "backend/backend.h"
#include "store/store.h"
#include "symbol/symbol.h"

#define US_MAX_IMAGES 16

struct us_images {
	struct us_symbols *symbols; /* owns the ELF images */
	struct us_image {
		struct us_elf_image *elf;
		uint64_t bias;
		bool given; /* by the user, so nobody is blamed but the user */
		enum us_match match;
	} v[US_MAX_IMAGES];
	size_t n;
	us_gva *start; /* of all functions, sorted */
	size_t n_start;
	struct us_code_map map;

	/* us_images_look() */
	struct us_unwinder *unwinder;
	uint64_t first_ns, next_ns;
	unsigned changes; /* grows when a match is settled; read by other threads */
	char note[256];	  /* why there is no image, for the user; "" if there is one */
};

/*
 * Open the images: those given ("FILE" or "FILE@BIAS"), whose faults are errors, else
 * the kernel of the guest's command line, whose faults are a note.  g may be NULL.
 */
US_MUST_CHECK int us_images_open(struct us_images *i, const char *const *given,
				 size_t n_given, const struct us_guest *g,
				 struct us_err *e);
void us_images_fini(struct us_images *i);

/*
 * Compare with the guest's memory while a capture is held.  true: all is settled.  A
 * match settles; a difference does not, for the image may be loaded later (boot): it is
 * looked at again, at doubling distances.  A match gives the unwinder its code map.
 */
bool us_images_look(struct us_images *i, const struct us_capture *c,
		    struct us_paging *p);

/* *ret points into i. */
void us_images_module(const struct us_images *i, size_t at, struct us_module *ret);

#endif
