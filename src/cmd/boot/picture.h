/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/picture.h: boots as bars: the points of one guest, or the phases of several
 * variants. */
#ifndef US_CMD_BOOT_PICTURE_H
#define US_CMD_BOOT_PICTURE_H

#include "boot/phases.h"
#include "boot/summary.h"
#include "cmd/record/recording.h"
#include "report/bars.h"

/* The user's file, whose suffix selects the format. */
struct us_boot_picture {
	const struct us_bars_format *format;
	struct us_result out;
	bool open; /* false: no file is wanted */
};

/* Call it before the boots.  -EINVAL: the suffix is not that of a picture. */
US_MUST_CHECK int us_boot_picture_open(struct us_boot_picture *p, const char *path,
				       struct us_err *e);
/* Prints the file's name, unless quiet. */
US_MUST_CHECK int us_boot_picture_write(struct us_boot_picture *p,
					const struct us_bars *b, bool quiet,
					struct us_err *e);
void us_boot_picture_close(struct us_boot_picture *p); /* accepts a zeroed one */

/* The strings stay owned by the caller and the plan. */
void us_boot_bar_of_points(struct us_bar *ret, const struct us_boot_plan *plan,
			   const struct us_boot_summary *s);
void us_boot_bar_of_phases(struct us_bar *ret, const struct us_boot_side *s);
extern const char us_boot_point_letters[], us_boot_phase_letters[];

/* On standard output. */
void us_boot_print_bars(const struct us_bars *b);

#endif
