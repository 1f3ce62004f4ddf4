/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_find.h: finds an image in the guest that is not at its link address.
 *
 * Windows of guest code around program counters are searched in the file's text.  A
 * window counts only if it is found at exactly one place; it then votes for a bias.
 * The guest patches its text (relocations inside of instructions, alternatives,
 * tracing), so a quarter of a window's bytes may differ.  The result is a guess that
 * us_elf_image_compare() must confirm.
 */
#ifndef US_SYMBOL_IMAGE_FIND_H
#define US_SYMBOL_IMAGE_FIND_H

#include "symbol/elf_image.h"

#define US_FIND_WINDOW	256 /* bytes */
#define US_FIND_WINDOWS 16

/* Guest code around an address, within one 4 KiB page. */
struct us_find_window {
	us_gva start;
	uint8_t bytes[US_FIND_WINDOW];
};

/* Copy the window around pc; false: not mapped, or its bytes are not distinctive. */
bool us_find_window_read(struct us_find_window *w, struct us_paging *p,
			 const struct us_space *s, us_gva pc);

struct us_image_found {
	uint64_t bias;
	unsigned votes;	 /* windows that vote for this bias */
	unsigned others; /* windows that vote for another one */
	bool ambiguous;	 /* two biases have equally many votes: use neither */
};

/*
 * Search n windows (at most US_FIND_WINDOWS) in the image's text.  anywhere false: only
 * biases that are multiples of 4 KiB, 13 ms for 16 windows in Linux's 23 MB of text;
 * true: every byte, 36 ms.  Both stop after US_FIND_MOST bytes of text, or as many
 * comparisons.  No allocation.  true: *ret has a vote.
 */
#define US_FIND_MOST (256U << 20)
bool us_elf_image_search(const struct us_elf_image *i, const struct us_find_window *w,
			 size_t n, bool anywhere, struct us_image_found *ret);

#endif
