/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_format.h: one trace in, many formats out.
 *
 * A format is one file with one `const struct us_trace_format` and one row in the table
 * in trace_report.c.  It is told what happened, in order, and writes as it goes: a
 * trace may be far larger than memory.
 */
#ifndef US_REPORT_TRACE_FORMAT_H
#define US_REPORT_TRACE_FORMAT_H

#include "profile/profile.h"
#include "trace/replay.h"

#include <stdio.h>

/* What a format has at hand. */
struct us_trace_out {
	FILE *out;		 /* NULL: the format is a folder */
	int folder;		 /* open, empty */
	const char *const *name; /* of functions, by number; never NULL */
	uint32_t n_name;
	const struct us_replay *replay;
	const struct us_profile *profile; /* facts; NULL: none */
	const struct us_replay_opts *opts;
	void *state; /* the format's own */
};

struct us_trace_format {
	const char *name;    /* "graph", "chrome", "csv", ... */
	const char *suffix;  /* of a file: ".csv" */
	const char *also;    /* another; NULL: none */
	bool is_folder;	     /* it is no file but a folder */
	bool of_calls;	     /* it shows system calls and nothing else */
	const char *summary; /* one line for --help */
	/* begin may set state, which end frees; either may be NULL.  -ENOMEM.  Errors
	 * of the stream may be left in it. */
	int (*begin)(struct us_trace_out *o);
	struct us_replay_ops ops; /* their ctx is the struct us_trace_out */
	int (*end)(struct us_trace_out *o);
};

extern const struct us_trace_format *const us_trace_formats[]; /* NULL-terminated */
extern const struct us_trace_format us_trace_format_graph, us_trace_format_chrome,
	us_trace_format_html, us_trace_format_csv, us_trace_format_perfetto,
	us_trace_format_uftrace, us_trace_format_strace, us_trace_format_calls;

const struct us_trace_format *us_trace_format_by_name(const char *name);   /* or NULL */
const struct us_trace_format *us_trace_format_by_suffix(const char *path); /* or NULL */

struct us_trace_report_opts {
	struct us_replay_opts replay; /* shown is set here */
	const char *filter, *hide;    /* extended regexes: only these functions, and not
					 those; NULL: all, none */
	const struct us_trace_format *format;
	int folder; /* of a format that is one: an empty one, open; stays the caller's
		     */
};

struct us_trace_report_result {
	uint64_t n_event, n_function;
	uint64_t n_call, n_call_unknown; /* system calls; those without a number */
	bool cut;			 /* the recording has no end */
};

/* Where names and clocks come from. */
struct us_trace_source {
	struct us_symbols *symbols;
	uint64_t insn_ns;		  /* as of us_timeline_new() */
	const struct us_profile *profile; /* facts; NULL: none */
};

/*
 * A trace as it comes, in one format: functions, records and times as a recording has
 * them (struct us_reader_ops).
 */
struct us_trace_printer;

/* All that is given stays the caller's, and as it is.  -EINVAL: no regular expression;
 * -ENOMEM. */
US_MUST_CHECK int us_trace_printer_new(const struct us_trace_source *s,
				       const struct us_trace_report_opts *o, FILE *out,
				       struct us_trace_printer **ret, struct us_err *e);
US_MUST_CHECK int us_trace_printer_function(struct us_trace_printer *p, uint32_t number,
					    us_gva address);
US_MUST_CHECK int us_trace_printer_events(struct us_trace_printer *p, unsigned vcpu,
					  const uint64_t *record, size_t n);
US_MUST_CHECK int us_trace_printer_until(struct us_trace_printer *p, uint64_t t_ns);
/* That was all, or (whole: false) one of the others failed: what the format has to
 * write at its end. */
US_MUST_CHECK int us_trace_printer_end(struct us_trace_printer *p, bool whole,
				       struct us_trace_report_result *ret);
void us_trace_printer_free(struct us_trace_printer *p); /* accepts NULL */

/*
 * Read the recording at fd once more (p was read from it, and gives the names) and
 * write its trace (out: NULL if it goes to a folder).  -ENODATA: it has none; -EINVAL:
 * no regular expression.
 */
US_MUST_CHECK int us_trace_report(int fd, const struct us_profile *p,
				  const struct us_trace_report_opts *o, FILE *out,
				  struct us_trace_report_result *ret, struct us_err *e);

/* A name for people: of the function that is outermost on the stack. */
const char *us_trace_stack_name(const struct us_trace_out *o, uint16_t stack);

#endif
