/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions.h: a recording by a backend that tells functions, and neither registers nor
 * memory (US_CAP_FUNCTIONS): what stands in the file for what else is read from these.
 */
#ifndef US_CMD_FUNCTIONS_H
#define US_CMD_FUNCTIONS_H

#include "cmd/record/images.h"

/* Code of which nothing is known, and what is above interrupts, have names, too. */
void us_functions_name(struct us_writer *w);
/* In the writer's thread: are the images what the guest runs? */
void us_functions_judge(const struct us_backend *b, struct us_images *i);

#endif
