/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * images.h: the ELF files of a guest: found, opened, and where each is in its memory.
 *
 * An image has a place once pieces of its text were seen there.  It is searched for
 * where it was linked (or where the user says).  If program counters are outside all
 * known places, the code around them is searched for in the files.  A place is checked
 * again about every second, and ends when something else is found there.  The code that
 * vCPUs execute is compared too, because another build of a program may differ only
 * there.
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
#include <time.h>

#define US_MAX_PLACES 64
#define US_MAX_DIFFER 4
#define US_PIECE_SIZE 4096
#define US_MAX_TRIED  16

/* An image at an address in the guest, for a time; fields as in struct us_module. */
struct us_place {
	uint8_t image; /* index */
	uint8_t match; /* enum us_match; YES: it is, or was, there */
	uint64_t bias;
	us_gpa root;
	uint64_t from_ns, until_ns; /* since the start; until_ns 0: to the end */
	uint64_t ok_ns;		    /* when it was last verified */

	/* Comparison with the code that vCPUs execute.  Another build of an image is
	 * the same in most of its text, and may differ only where it matters. */
	uint32_t n_same, n_differ;
	us_gva differ_at[US_MAX_DIFFER]; /* addresses that differ, the first few */
	bool refused; /* it is not the same code: do not set it again */

	us_gva start, end; /* only this page is there (pieces.c); end 0: all of it */
};

struct us_images {
	struct us_symbols *symbols; /* owns the ELF images */
	uint16_t machine;	    /* of the guest's processor: EM_*; 0: not known */
	time_t begun;		    /* when the VMM was started; 0: not known */
	struct us_image {
		struct us_elf_image *elf;
		uint64_t bias; /* where it is searched first */
		bool fixed;    /* given by the user: not searched elsewhere */
		bool given;    /* by the user, whose mistake it is if it does not fit */
		/* Not named by the user: found beside an image without symbols. */
		bool guessed;
		bool unproven; /* guessed, and not yet verified in the guest's memory */
		/* Written after the VMM started; and the guest has other bytes of code:
		 * set in a sample, by us_image_note_patched(). */
		bool younger, changed;
		bool names_alone; /* a list of symbols, without code to compare */
		/* Kernel code that ran: outside of the image where it is guessed to be,
		 * and whether any was in it.  Set in a sample. */
		unsigned n_outside;
		bool hit;
		us_gva *start; /* starts of all functions, sorted, as in the file */
		size_t n_start;
		us_gva *part; /* those that no caller enters: struct us_code_map */
		size_t n_part;
		us_gva text_start, text_end; /* as in the file; 0, 0: no code */
		us_gva home;		     /* where most of the code is */
		us_gva lowest;		     /* of all code */
		struct us_cfi_table *cfi;
	} v[US_MAX_IMAGES];
	size_t n;
	const struct us_debug_dirs *dirs; /* during us_images_open() */
	char note[256]; /* what is missing, for the user; "" if nothing */

	/* places.c; changed by us_images_sample() only. */
	struct us_place place[US_MAX_PLACES];
	size_t n_place;
	bool full;	     /* more places were found than the table holds */
	uint64_t layers;     /* cmd/trace/layers.h; 0: there is only one */
	atomic_uint changes; /* odd while places change; read by other threads */
	struct us_unwinder *unwinder; /* gets map and cfi; may be NULL */
	struct us_code_map map[US_MAX_PLACES];
	struct us_cfi cfi;
	/* From the guest's own tables, in addition to the images. */
	const struct us_code_map *own_map;
	const struct us_cfi_table *own_cfi;
	bool own_names; /* they had functions, at some time */
	/* Times before which not to look again. */
	uint64_t compare_ns, check_ns, near_ns, here_ns, pair_ns;
	uint64_t compare_pause_ns, pair_pause_ns;
	unsigned turn;
	bool looked;
	bool no_pairs; /* a process has one root, not two for page-table isolation */
	bool hasty;    /* few samples will come: look at each */

	/* Pages outside of all images with kernel code. */
	struct {
		uint64_t next_ns, pause_ns; /* not before */
		us_gva tried[US_MAX_TRIED];
		unsigned n_tried;
		uint8_t bytes[US_PIECE_SIZE];
		/* The last stack that was entirely in images, stored at the end of the
		 * array: the outer part of the next one is mostly the same. */
		unsigned n_known, known_changes;
		us_gva known[US_MAX_FRAMES];
	} pieces;

	/* The search: samples collect windows; the search itself runs outside of
	 * samples. */
	struct us_search {
		atomic_int state; /* enum us_search_state */
		us_gpa root;	  /* of the windows; 0: the kernel's */
		uint64_t begun_ns, next_ns, pause_ns;
		uint64_t other_ns; /* last sample of unknown code with another root */
		unsigned samples, rounds;
		struct us_find_window window[US_FIND_WINDOWS];
		size_t n_window;
		struct {
			uint8_t image;
			uint64_t bias;
		} found[US_MAX_IMAGES];
		size_t n_found;
		bool ambiguous; /* an image was found at two places at once */
	} search;
};

enum us_search_state {
	US_SEARCH_COLLECT, /* samples add windows */
	US_SEARCH_RUN,	   /* us_images_search() is due */
	US_SEARCH_VERIFY,  /* a sample has to verify what was found */
};

/*
 * Open the images.  If the user named some ("FILE" or "FILE@BIAS"), errors in them are
 * errors.  Otherwise take the kernel of the guest's command line, or the disk that it
 * boots from; errors in these are a note.  g may be NULL.  Separate debug files are
 * searched for in the guest's folders first.  For a file that is not ELF, the ELF files
 * beside it are opened (beside.h).
 */
US_MUST_CHECK int us_images_open(struct us_images *i, const struct us_symbol_files *f,
				 const struct us_guest *g, struct us_err *e);
void us_images_fini(struct us_images *i);

/* Are the user's images for the guest's architecture?  -EINVAL: no. */
US_MUST_CHECK int us_images_check_arch(const struct us_images *i, enum us_arch arch,
				       struct us_err *e);

/*
 * Compare what is due with the guest's memory, while a capture is held, at doubling
 * intervals until something is known.  No allocation.  When a place is found or ends,
 * the unwinder gets its code map and call frame information.
 */
void us_images_sample(struct us_images *i, const struct us_live_sample *l);

/* The slow part, for another thread or after the release: search the images for what
 * was collected.  Returns at once if nothing is due. */
void us_images_search(struct us_images *i);

/*
 * In a sample: kernel code was found outside of all images.  Is its page part of an
 * image, and mapped or copied to this address as well?  Kernels do this with the code
 * through which programs enter them.  If so, the page alone becomes a place of the
 * image.  False: it is not, or nothing is due.
 */
bool us_images_find_piece(struct us_images *i, const struct us_live_sample *l);
/* Add such a place; *p is copied. */
void us_images_set_piece(struct us_images *i, const struct us_place *p);
/* Does the place hold only for the kernel, because programs may have something else at
 * these addresses?  True if any code of it is in the lower half, unless it was seen in
 * one address space (root).  A kernel's image may include programs, which have places
 * of their own. */
bool us_images_is_kernels(const struct us_images *i, const struct us_place *p);
/* Is pc, in this address space, in an image with a known place? */
bool us_images_cover(const struct us_images *i, us_gpa root, us_gva pc);

/* In a sample: set the functions and rules from the guest's own tables, at their
 * addresses; NULL: none any more.  Both stay the caller's. */
void us_images_own(struct us_images *i, const struct us_code_map *map,
		   const struct us_cfi_table *cfi);

/* Likewise: set the rules of programs that the user did not name; NULL: none any more.
 * They stay the caller's. */
void us_images_programs(struct us_images *i, const struct us_cfi *more);

/* Is the capture's program counter in an image with a known place? */
bool us_images_know(const struct us_images *i, const struct us_capture *c);

/* In a sample: the image is there with this bias, but bytes of its code differ.  If it
 * was written after the VMM started, and no build-id says that it is the guest's, it
 * may be another build: us_images_changed() tells it. */
void us_image_note_patched(struct us_image *m, uint64_t bias,
			   const struct us_live_sample *l);
/* A warning if an image may be another build than the guest's; false: none is.  Any
 * thread. */
bool us_images_changed(const struct us_images *i, char *ret, size_t size);

/* A warning if the kernel ran, but never where a list of symbols has it; false: none.
 * Any thread, once sampling has ended. */
bool us_images_missed(const struct us_images *i, char *ret, size_t size);
/* In a sample: notice that. */
void us_images_note_missed(struct us_images *i, const struct us_live_sample *l);

/* Are names missing because no file that was found beside the kernel's is in the guest?
 * Not if the kernel's own tables give them.  One warning for all those files. */
bool us_images_guessed_wrong(const struct us_images *i);

/* Was any image found in the guest, or may be there? */
bool us_images_found_one(const struct us_images *i);

/* Warn about images that are not in the guest, or not all the time. */
void us_images_tell(const struct us_images *i, FILE *out);
/* Pass to the symbols the current places, and those that could not be compared.  0 or
 * -ENOMEM. */
US_MUST_CHECK int us_images_name_places(struct us_images *i);

/* Set for all images whether the guest runs them, if this was found out by other means
 * than us_images_sample().  Any thread, but only one at a time. */
void us_images_judge(struct us_images *i, enum us_match match);

/* Should the place be reported?  Not if its image was guessed and is not there. */
bool us_images_counts(const struct us_images *i, const struct us_place *p);

/* Copy the places at one moment; returns how many.  For other threads. */
size_t us_images_places(const struct us_images *i, struct us_place ret[US_MAX_PLACES]);
/* Place p, number index, as it is recorded.  *ret points into i. */
void us_images_module(const struct us_images *i, const struct us_place *p, size_t index,
		      struct us_module *ret);

#endif
