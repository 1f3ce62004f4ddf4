/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/picture.c: see cmd/boot/picture.h. */
#include "cmd/boot/picture.h"

#include "cmd/record/output.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(US_MAX_BAR_PART >= US_BOOT_MAX_POINT, "each point has a part");

const char us_boot_point_letters[] = "abcdefghijklmnopqrstuvwxyz";
const char us_boot_phase_letters[] = "vflk?";

int us_boot_picture_open(struct us_boot_picture *p, const char *path, struct us_err *e)
{
	*p = (struct us_boot_picture){ 0 };
	if (!path)
		return 0;
	p->format = us_bars_format_by_suffix(path);
	if (!p->format)
		return us_fail(e, -EINVAL,
			       "-o %s: the suffix names no picture: .html or .svg",
			       path);
	int r = us_result_open(&p->out, path, e);
	p->open = r == 0;
	return r;
}

int us_boot_picture_write(struct us_boot_picture *p, const struct us_bars *b,
			  bool quiet, struct us_err *e)
{
	if (!p->open)
		return 0;
	p->format->write(p->out.f, b);
	p->out.quiet = quiet;
	p->open = false;
	return us_result_close(&p->out, 0, e);
}

void us_boot_picture_close(struct us_boot_picture *p)
{
	if (p->open)
		(void)!us_result_close(&p->out, -ECANCELED, NULL);
	p->open = false;
}

void us_boot_bar_of_points(struct us_bar *ret, const struct us_boot_plan *plan,
			   const struct us_boot_summary *s)
{
	for (size_t i = 1; i < s->n; i++) {
		ret->part[ret->n] = (struct us_bar_part){
			.name = plan->point[s->row[i].point].name,
			.kind = (unsigned)ret->n,
			.ns = s->row[i].phase,
		};
		ret->n++;
	}
	if (s->n)
		ret->total = s->row[s->n - 1].at;
}

void us_boot_bar_of_phases(struct us_bar *ret, const struct us_boot_side *s)
{
	for (int k = 0; k < US_N_BOOT_PHASE; k++)
		if (s->has_phase[k])
			ret->part[ret->n++] = (struct us_bar_part){
				.name = us_boot_phase_name((enum us_boot_phase)k),
				.kind = (unsigned)k,
				.ns = s->phase[k],
			};
	ret->total = s->total;
}

void us_boot_print_bars(const struct us_bars *b)
{
	us_bars_text(stdout, b, us_output_columns(stdout), us_output_colour(stdout));
}
