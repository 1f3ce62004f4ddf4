/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h: a recording with a backend that reports functions, but neither registers
 * nor memory (US_CAP_FUNCTIONS): replaces what is otherwise read from these.
 */
#ifndef US_CMD_FUNCTIONS_H
#define US_CMD_FUNCTIONS_H

#include "cmd/record/images.h"

/* Write names for code without symbols, and for the caller of interrupts. */
void us_functions_name(struct us_writer *w);
/* In the writer's thread: find out whether the guest runs the images. */
void us_functions_judge(const struct us_backend *b, struct us_images *i);

/* If it runs them elsewhere than they were linked: say so, and what gives names.
 * ret "": it does not, as far as is known. */
void us_functions_tell_slide(const struct us_backend *b, char *ret, size_t size);

#endif
