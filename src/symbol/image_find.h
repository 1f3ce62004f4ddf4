/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_find.h: where in the guest is an image that does not lie where it was linked?
 *
 * Code copied out of the guest around program counters is looked for in the file's
 * text.  A window counts only if it is found at one place alone; it then says how far
 * the image was moved, and the windows vote.  The guest patches its text (relocations
 * inside of instructions, alternatives, tracing), so a quarter of a window's bytes may
 * differ.  What is found is a guess: us_elf_image_compare() has the last word.
 */
#ifndef US_SYMBOL_IMAGE_FIND_H
#define US_SYMBOL_IMAGE_FIND_H

#include "symbol/elf_image.h"

#define US_FIND_WINDOW	256 /* bytes */
#define US_FIND_WINDOWS 16

/* Guest code around an address; never over the border of a 4 KiB page. */
struct us_find_window {
	us_gva start;
	uint8_t bytes[US_FIND_WINDOW];
};

/* Copy the window around pc; false: not mapped, or its bytes tell nothing. */
bool us_find_window_read(struct us_find_window *w, struct us_paging *p,
			 const struct us_space *s, us_gva pc);

struct us_image_found {
	uint64_t bias;
	unsigned votes;	 /* windows that say this bias */
	unsigned others; /* windows that say another one */
	bool ambiguous;	 /* two biases have as many votes: neither is to be used */
};

/*
 * Look for n windows (at most US_FIND_WINDOWS) in the image's text.  anywhere false:
 * only where the bias is a multiple of 4 KiB, 13 ms for 16 windows in Linux's 23 MB of
 * text; true: at every byte, 36 ms.  Both stop after US_FIND_MOST bytes of text
 * or as many comparisons as are in it.  No allocation.  true: *ret has a vote.
 */
#define US_FIND_MOST (256U << 20)
bool us_elf_image_search(const struct us_elf_image *i, const struct us_find_window *w,
			 size_t n, bool anywhere, struct us_image_found *ret);

#endif
