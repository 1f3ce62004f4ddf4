/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_code.h: compares the guest's code, as QEMU translates it, with the images. */
#ifndef US_TRACE_IMAGE_CODE_H
#define US_TRACE_IMAGE_CODE_H

#include "trace/plugin/translate.h"

/* The n bytes (at most US_MAX_INSN) of an instruction; they may or may not be in
 * copy. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN]);
/* Once for each function: note whether these n bytes at its start equal the image's. */
void us_compare_code(const struct us_function_range *r, struct us_track_function *f,
		     const uint8_t *bytes, size_t n);

/* With the lock held: is this block's code, n instructions, the images' code at another
 * address? */
void us_look_for_slide(struct qemu_plugin_tb *tb, size_t n);

#endif
