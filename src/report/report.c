/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c: the table of formats. */
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct us_format *const us_formats[] = {
	&us_format_text,       &us_format_html,	     &us_format_json,
	&us_format_folded,     &us_format_callgrind, &us_format_pprof,
	&us_format_speedscope, &us_format_qprofiler, &us_format_exits,
	&us_format_phases,     &us_format_tree,	     &us_format_firefox,
	&us_format_chrome,     &us_format_perf_data, NULL,
};

const struct us_format *us_format_by_name(const char *name)
{
	for (size_t i = 0; us_formats[i]; i++)
		if (!strcmp(us_formats[i]->name, name))
			return us_formats[i];
	return NULL;
}

/* The longest suffix wins: a name in ".speedscope.json" ends in ".json", too. */
const struct us_format *us_format_by_suffix(const char *path)
{
	const struct us_format *best = NULL;
	size_t len = strlen(path), most = 0;
	for (size_t i = 0; us_formats[i]; i++) {
		const char *suffix = us_formats[i]->suffix;
		size_t n = suffix ? strlen(suffix) : 0;
		if (n > most && len > n && !strcmp(path + len - n, suffix)) {
			best = us_formats[i];
			most = n;
		}
	}
	return best;
}

/* The reason is known only while a stream fails, so make it write once more. */
static int stream_error(FILE *out)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	if (!errno) {
		clearerr(out);
		fputc('\n', out);
		fflush(out);
	}
	return errno ? errno : EIO;
}

void us_report_hint_space(int code, struct us_err *e)
{
	if (code == ENOSPC)
		us_hint(e, "free some space, or write elsewhere with -o FILE");
}

int us_report_flush(FILE *out, const char *what, struct us_err *e)
{
	int code = stream_error(out);
	if (!code)
		return 0;
	us_fail(e, -code, "write the %s: %s", what, strerror(code));
	us_report_hint_space(code, e);
	return -code;
}

int us_report(const struct us_profile *p, const struct us_format *f,
	      const struct us_report_opts *o, FILE *out, struct us_err *e)
{
	static const struct us_report_opts none;
	char what[32];
	if (f->positions && us_profile_is_counted(p)) {
		us_fail(e, -EINVAL,
			"%s: in this recording every call was counted, and counts have "
			"no positions within functions and no exits",
			f->name);
		us_hint(e, "uniscope report lists the functions; uniscope record takes "
			   "samples");
		return -EINVAL;
	}
	int rc = f->write(p, o ? o : &none, out, e);
	snprintf(what, sizeof(what), "%s report", f->name);
	return rc ? rc : us_report_flush(out, what, e);
}

bool us_report_by_total(const struct us_report_opts *o)
{
	return o->sort == US_SORT_TOTAL || (o->children && o->sort == US_SORT_SELF);
}

struct order {
	const struct us_profile_func *func;
	const struct us_report_opts *opts;
};

static int compare_text(const char *a, const char *b)
{
	if (!a || !b)
		return a ? -1 : b ? 1 : 0; /* unknown ones come last */
	return strcmp(a, b);
}

static int compare_u64(uint64_t a, uint64_t b) /* more first */
{
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct us_profile_func *x = &o->func[i], *y = &o->func[j];
	int c = 0;
	if (o->opts->sort == US_SORT_NAME)
		c = strcmp(x->name, y->name);
	else if (o->opts->sort == US_SORT_FILE)
		c = compare_text(x->path, y->path);
	if (!c && o->opts->sort == US_SORT_FILE)
		c = x->line < y->line ? -1 : x->line > y->line;
	if (!c && us_report_by_total(o->opts))
		c = compare_u64(x->total, y->total);
	c = c ? c : compare_u64(x->self, y->self);
	c = c ? c : compare_u64(x->total, y->total);
	c = c ? c : strcmp(x->name, y->name);
	return c ? c : i < j ? -1 : 1;
}

int us_report_rows(const struct us_profile *p, const struct us_report_opts *o,
		   uint32_t **ret, size_t *ret_n)
{
	size_t n_func, n = 0;
	struct order order = { us_profile_funcs(p, &n_func), o };
	uint32_t *row = malloc((n_func + 1) * sizeof(*row));
	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < n_func; i++)
		if (order.func[i].total || order.func[i].calls)
			row[n++] = (uint32_t)i;
	qsort_r(row, n, sizeof(*row), compare_rows, &order);
	*ret = row;
	*ret_n = n;
	return 0;
}
