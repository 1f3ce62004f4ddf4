/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/picture.h: boots as bars: of one guest its points, of variants their phases.
 */
#ifndef US_CMD_BOOT_PICTURE_H
#define US_CMD_BOOT_PICTURE_H

#include "boot/phases.h"
#include "boot/summary.h"
#include "report/bars.h"

/* A file that the user names, by its suffix. */
struct us_boot_picture {
	const char *path; /* NULL: there is none */
	const struct us_bars_format *format;
	FILE *out;
};

/* Before the boots: -EINVAL: the suffix names no picture. */
US_MUST_CHECK int us_boot_picture_open(struct us_boot_picture *p, const char *path,
				       struct us_err *e);
/* Says where it is, unless quiet. */
US_MUST_CHECK int us_boot_picture_write(struct us_boot_picture *p,
					const struct us_bars *b, bool quiet,
					struct us_err *e);
void us_boot_picture_close(struct us_boot_picture *p); /* accepts a zeroed one */

/* The texts are the caller's, and the plan's. */
void us_boot_bar_of_points(struct us_bar *ret, const struct us_boot_plan *plan,
			   const struct us_boot_summary *s);
void us_boot_bar_of_phases(struct us_bar *ret, const struct us_boot_side *s);
extern const char us_boot_point_letters[], us_boot_phase_letters[];

/* On standard output. */
void us_boot_print_bars(const struct us_bars *b);

#endif
