/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images.h: the ELF files of a guest: found, opened, and where each lies in its memory.
 *
 * An image is believed to be at a place once pieces of its text were seen there.  It
 * is looked for where it was linked (or where the user says), and if program counters
 * lie outside of all that is known, around these: what runs there is looked for in the
 * files.  A place is looked at again about every second, and ends when something else
 * is found there.  What the vCPUs are at is compared too: another build of a program
 * may differ nowhere else.
 */
#ifndef US_CMD_IMAGES_H
#define US_CMD_IMAGES_H

#include "cmd/symbol_files.h"
#include "record/record.h"
#include "store/store.h"
#include "symbol/image_find.h"
#include "symbol/symbol.h"
#include "unwind/cfi.h"

#include <stdatomic.h>
#include <stdio.h>

#define US_MAX_PLACES 64
#define US_MAX_DIFFER 4
#define US_PIECE_SIZE 4096
#define US_MAX_TRIED  16

/* An image at a place in the guest, for a time: as struct us_module has it. */
struct us_place {
	uint8_t image; /* index */
	uint8_t match; /* enum us_match; YES: it is, or was, there */
	uint64_t bias;
	us_gpa root;
	uint64_t from_ns, until_ns; /* since the start; until 0: to the end */
	uint64_t ok_ns;		    /* when it was last seen to be there */

	/* Is it the code that vCPUs are at?  Another build of the image is the same in
	 * most of its text, and elsewhere just where it matters. */
	uint32_t n_same, n_differ;
	us_gva differ_at[US_MAX_DIFFER]; /* different addresses, the first few */
	bool refused;			 /* it is not: not to be set again */

	us_gva start, end; /* only a page of it is there (pieces.c); end 0: all */
};

struct us_images {
	struct us_symbols *symbols; /* owns the ELF images */
	uint16_t machine; /* of the guest's processor, as ELF has it; 0: not known */
	struct us_image {
		struct us_elf_image *elf;
		uint64_t bias; /* where it is looked for first */
		bool fixed;    /* the user says so: it is nowhere else */
		bool given;    /* by the user, so nobody is blamed but the user */
		bool guessed;  /* nobody named it: it is beside one without symbols */
		bool unproven; /* then: the guest's memory has to show that it is it */
		us_gva *start; /* of all functions, sorted, in the file's addresses */
		size_t n_start;
		us_gva text_start, text_end; /* in the file's; 0, 0: no code */
		us_gva home;		     /* where most of the code is */
		struct us_cfi_table *cfi;
	} v[US_MAX_IMAGES];
	size_t n;
	const struct us_debug_dirs *dirs; /* during us_images_open() */
	char note[256]; /* what is missing of images, for the user; "" if nothing */

	/* places.c; changed by us_images_sample() only. */
	struct us_place place[US_MAX_PLACES];
	size_t n_place;
	bool full;	     /* there were more places than the table holds */
	atomic_uint changes; /* odd while places change; read by other threads */
	struct us_unwinder *unwinder; /* gets these two; may be NULL */
	struct us_code_map map[US_MAX_PLACES];
	struct us_cfi cfi;
	/* What the guest's own tables tell, besides the images. */
	const struct us_code_map *own_map;
	const struct us_cfi_table *own_cfi;
	uint64_t compare_ns, check_ns, near_ns, here_ns, pair_ns; /* not before */
	uint64_t compare_pause_ns, pair_pause_ns;
	unsigned turn;
	bool looked;
	bool hasty; /* there will be few samples: no pauses between them */

	/* Pages outside of all images, in which kernel code was met. */
	struct {
		uint64_t next_ns, pause_ns; /* not before */
		us_gva tried[US_MAX_TRIED];
		unsigned n_tried;
		uint8_t bytes[US_PIECE_SIZE];
		/* The last stack that was in images all over, to its end in the array:
		 * of the next one the outer part is mostly the same. */
		unsigned n_known, known_changes;
		us_gva known[US_MAX_FRAMES];
	} pieces;

	/* The search: windows are collected in samples, searched for outside of them.
	 */
	struct us_search {
		atomic_int state; /* enum us_search_state */
		us_gpa root;	  /* of the windows; 0: of the kernel */
		uint64_t begun_ns, next_ns, pause_ns;
		uint64_t other_ns; /* last sample of unknown code by another root */
		unsigned samples, rounds;
		struct us_find_window window[US_FIND_WINDOWS];
		size_t n_window;
		struct {
			uint8_t image;
			uint64_t bias;
		} found[US_MAX_IMAGES];
		size_t n_found;
		bool ambiguous; /* an image was seen in two places at once */
	} search;
};

enum us_search_state {
	US_SEARCH_COLLECT, /* samples add windows */
	US_SEARCH_RUN,	   /* us_images_search() is due */
	US_SEARCH_VERIFY,  /* a sample has to compare what was found */
};

/*
 * Open the images: those given ("FILE" or "FILE@BIAS"), whose faults are errors, else
 * the kernel of the guest's command line, or the disk that it starts from, whose faults
 * are a note.  g may be NULL.  Separate debug files are looked for in its folders
 * first.  For one that is no ELF file those beside it are opened (beside.h).
 */
US_MUST_CHECK int us_images_open(struct us_images *i, const struct us_symbol_files *f,
				 const struct us_guest *g, struct us_err *e);
void us_images_fini(struct us_images *i);

/* Are those that the user has given for the guest's architecture?  -EINVAL: not. */
US_MUST_CHECK int us_images_check_arch(const struct us_images *i, enum us_arch arch,
				       struct us_err *e);

/*
 * Look at the guest's memory while a capture is held: compare what is due, at doubling
 * distances until something is known.  No allocation.  A place that is found, or ends,
 * gives the unwinder its code map and call frame information.
 */
void us_images_sample(struct us_images *i, const struct us_live_sample *l);

/* The slow part, for another thread or after the release: look for what was collected
 * in the images.  Returns at once if nothing is due. */
void us_images_search(struct us_images *i);

/*
 * In a sample: kernel code was met outside of all images.  Is its page one of an image,
 * which is mapped, or was copied, to another address as well, as kernels do with the
 * code by which programs enter them?  Then it is, alone, a place of the image; false:
 * it is not, or nothing is due.
 */
bool us_images_find_piece(struct us_images *i, const struct us_live_sample *l);
/* Set such a place; it is copied. */
void us_images_set_piece(struct us_images *i, const struct us_place *p);
/* Was it seen by the kernel alone, where programs may have something else?  So it is in
 * the lower half, unless it was seen in one address space (root). */
bool us_images_is_kernels(const struct us_images *i, const struct us_place *p);
/* Is pc, in this address space, in an image that is known to be there? */
bool us_images_cover(const struct us_images *i, us_gpa root, us_gva pc);

/* In a sample: the functions and rules that the guest's own tables tell, at their
 * addresses; NULL: none any more.  Both stay the caller's. */
void us_images_own(struct us_images *i, const struct us_code_map *map,
		   const struct us_cfi_table *cfi);

/* Likewise: the rules of programs that nobody named; NULL: none any more.  It stays the
 * caller's. */
void us_images_programs(struct us_images *i, const struct us_cfi *more);

/* Is the capture's program counter in an image that is known to be there? */
bool us_images_know(const struct us_images *i, const struct us_capture *c);

/* Warn of images that are not, or not all the time, in the guest. */
void us_images_tell(const struct us_images *i, FILE *out);
/* Let the symbols know the places that hold now, and those that could not be compared.
 * 0 or -ENOMEM. */
US_MUST_CHECK int us_images_name_places(struct us_images *i);

/* Whether they are what the guest runs was seen by another than us_images_sample(): of
 * all of them.  Any thread, but no other at the same time. */
void us_images_judge(struct us_images *i, enum us_match match);

/* Is it worth a word?  Not one of an image that was guessed and is not there. */
bool us_images_counts(const struct us_images *i, const struct us_place *p);

/* A copy of the places, of one moment; returns how many. For other threads. */
size_t us_images_places(const struct us_images *i, struct us_place ret[US_MAX_PLACES]);
/* Place p, the index-th, as it is recorded. *ret points into i. */
void us_images_module(const struct us_images *i, const struct us_place *p, size_t index,
		      struct us_module *ret);

#endif
