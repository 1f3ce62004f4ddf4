/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns.c: see columns.h. */
#include "report/columns.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define YELLOW "\033[33m"

#define LEAST_NAME  16
#define LEAST_PLACE 8
#define GAP	    2 /* between name and place */

size_t us_report_columns(const struct us_report_opts *o)
{
	return o->width ? o->width : US_REPORT_COLUMNS;
}

void us_two_columns_measure(struct us_two_columns *c, const char *name,
			    const char *place)
{
	size_t n = us_columns(name), p = us_columns(place);
	c->widest_name = n > c->widest_name ? n : c->widest_name;
	c->widest_place = p > c->widest_place ? p : c->widest_place;
}

void us_two_columns_fit(struct us_two_columns *c, const struct us_report_opts *o,
			size_t used)
{
	size_t all = us_report_columns(o);
	size_t left = all > used + LEAST_NAME ? all - used : LEAST_NAME;
	c->name = c->widest_name > LEAST_NAME ? c->widest_name : LEAST_NAME;
	c->place = c->widest_place;
	if (o->full_paths) {
		/* Full names were asked for, whatever the width is. */
		size_t most = left * 2 / 3 > LEAST_NAME ? left * 2 / 3 : LEAST_NAME;
		c->name = c->name < most ? c->name : most;
		return;
	}
	if (c->name + GAP + c->place <= left)
		return;
	/* The place gets a third, and what names leave over. */
	size_t third = left / 3;
	size_t place = left > c->name + GAP ? left - c->name - GAP : 0;
	place = place > third ? place : third;
	c->place = c->place < place ? c->place : place;
	if (c->place < LEAST_PLACE || left < LEAST_NAME + GAP + c->place)
		c->place = 0;
	size_t name = c->place ? left - GAP - c->place : left;
	c->name = c->name < name ? c->name : name;
}

void us_two_columns_print(const struct us_two_columns *c,
			  const struct us_report_opts *o,
			  char name[static US_CELL_SIZE],
			  char place[static US_CELL_SIZE], FILE *out)
{
	us_shorten_middle(name, US_CELL_SIZE, c->name);
	if (!o->full_paths)
		us_shorten_left(place, US_CELL_SIZE, c->place);
	fputs(name, out);
	if (*place)
		fprintf(out, "%*s%s", (int)(c->name - us_columns(name) + GAP), "",
			place);
}

void us_report_name_cell(const struct us_profile_func *f, char dst[static US_CELL_SIZE])
{
	us_printable(dst, US_CELL_SIZE - 16, f->name);
	if (f->inlined)
		strcat(dst, " (inlined)");
}

const char *us_report_path(const struct us_profile_func *f,
			   const struct us_report_opts *o,
			   char dst[static US_PATH_SIZE])
{
	if (!f->file)
		return NULL;
	return o->full_paths ? us_path_full(f->dir, f->file, dst) : f->path;
}

void us_report_place_cell(const struct us_profile_func *f,
			  const struct us_report_opts *o, char dst[static US_CELL_SIZE])
{
	char buffer[US_PATH_SIZE];
	const char *path = us_report_path(f, o, buffer);
	us_printable(dst, US_CELL_SIZE - 16, path ? path : f->module ? f->module : "");
	if (path && f->line)
		snprintf(dst + strlen(dst), 16, ":%" PRIu32, f->line);
}

void us_report_wrap(FILE *out, const struct us_report_opts *o, const char *paint,
		    const char *first, const char *next, const char *text)
{
	char safe[2048];
	const char *s = us_printable(safe, sizeof(safe), text), *before = first;
	do {
		size_t used = us_columns(before), all = us_report_columns(o);
		size_t n = us_wrap_length(s, all > used ? all - used : 1);
		fprintf(out, "%s%s%.*s%s\n", o->colour ? paint : "", before, (int)n, s,
			o->colour && *paint ? "\033[0m" : "");
		s += n;
		s += *s == ' ';
		before = next;
	} while (*s);
}

void us_report_warnings(FILE *out, const struct us_report_opts *o,
			const struct us_profile *p)
{
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		us_report_wrap(out, o, YELLOW, "# warning: ", "#   ",
			       us_profile_warning(p, i));
}
