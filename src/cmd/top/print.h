/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/top/print.h: `top` without a terminal: text or JSON, once a second. */
#ifndef US_CMD_TOP_PRINT_H
#define US_CMD_TOP_PRINT_H

#include "cmd/top/layout.h"

#include <stdio.h>

/* A few lines and an empty one; limit: most functions. */
void us_top_print(const struct us_top_picture *p, size_t limit, FILE *out);
/* One object on one line. */
void us_top_print_json(const struct us_top_picture *p, size_t limit, FILE *out);

#endif
