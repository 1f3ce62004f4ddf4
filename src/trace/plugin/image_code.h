/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image_code.h: the bytes of the guest's code, as QEMU translates it, beside what the
 * images have. */
#ifndef US_TRACE_IMAGE_CODE_H
#define US_TRACE_IMAGE_CODE_H

#include "trace/plugin/translate.h"

/* The bytes of an instruction, n of them at most US_MAX_INSN; in copy or not. */
const uint8_t *us_insn_bytes(const struct qemu_plugin_insn *insn, size_t n,
			     uint8_t copy[static US_MAX_INSN]);
/* Once for each function: are these n bytes at its start what the image has there? */
void us_compare_code(const struct us_function_range *r, struct us_track_function *f,
		     const uint8_t *bytes, size_t n);

/* With the lock: is the block's code, of n instructions, the images', elsewhere? */
void us_look_for_slide(struct qemu_plugin_tb *tb, size_t n);

#endif
