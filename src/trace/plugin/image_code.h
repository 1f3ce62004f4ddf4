/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_code.h: compares the guest's code, as QEMU translates it, with the images.
 *
 * An address does not say whose code is there: programs have the same addresses, and
 * images are built anew.  So each time that QEMU translates a block, the functions of
 * the page that it begins in are compared with each layer's.  Guests change their own
 * code (alternatives, static keys, tracers, breakpoints, relocations), so half of the
 * bytes are enough; of several layers the one with the most is taken.
 */
#ifndef US_TRACE_IMAGE_CODE_H
#define US_TRACE_IMAGE_CODE_H

#include "trace/plugin/translate.h"

/* Whose code a block has. */
struct us_code_of {
	unsigned layer;
	bool other; /* not that of an image */
};

/* Part of the guest's memory. */
struct us_code_window {
	uint64_t start; /* gva */
	const uint8_t *bytes;
	size_t n;
};

/* Whose code is in w, with pc in it? */
struct us_code_of us_code_of(const struct us_functions *f,
			     const struct us_code_window *w, uint64_t pc);
/* With the lock held: the same for the block. */
struct us_code_of us_code_of_block(struct qemu_plugin_tb *tb);

/* The n bytes (at most US_MAX_INSN) of an instruction; they may or may not be in
 * copy. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN]);
/* Code at pc (gva) is translated.  If a function of the images begins there, count it,
 * once, as theirs or not. */
void us_count_code(struct us_code_of of, uint64_t pc);

/* With the lock held: is this block's code, n instructions, the images' code at another
 * address? */
void us_look_for_slide(struct qemu_plugin_tb *tb, size_t n);

#endif
