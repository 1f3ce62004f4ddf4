/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qprofiler.c: lines as QProfiler (torokernel/qprofiler) prints them from `addr2line
 * -pfs`: "64 SYSTHREADSWITCH at Process.pas:1244".  Code without a name is shown by its
 * address.  Idle samples are left out.
 */
#include "report/report.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static void print_line(FILE *out, const struct us_profile_line *l)
{
	char text[1024];
	const char *slash = l->file ? strrchr(l->file, '/') : NULL;
	fprintf(out, "%" PRIu64 " ", l->self);
	if (l->func)
		fputs(us_printable(text, sizeof(text), l->func), out);
	else
		fprintf(out, "0x%" PRIx64, l->pc);
	const char *file = !l->file ? "??" : slash ? slash + 1 : l->file;
	fprintf(out, " at %s:", us_printable(text, sizeof(text), file));
	if (l->line)
		fprintf(out, "%" PRIu32 "\n", l->line);
	else
		fputs("?\n", out);
}

static int write_qprofiler(const struct us_profile *p, const struct us_report_opts *o,
			   FILE *out, struct us_err *e)
{
	size_t n;
	const struct us_profile_line *line = us_profile_lines(p, &n);
	(void)e;
	for (size_t i = 0; i < n && (!o->limit || i < o->limit); i++)
		print_line(out, &line[i]);
	return 0;
}

const struct us_format us_format_qprofiler = {
	.name = "qprofiler",
	.suffix = NULL,
	.summary = "COUNT FUNCTION at FILE:LINE, as QProfiler prints it",
	.positions = true,
	.write = write_qprofiler,
};
