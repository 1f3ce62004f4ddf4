/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace_format.h: writes a trace in one of many formats.
 *
 * A format is one file with one `const struct us_trace_format`, and one row in the
 * table in trace_report.c.  It gets the events in order and writes as it goes: a trace
 * may be far larger than memory.
 */
#ifndef US_REPORT_TRACE_FORMAT_H
#define US_REPORT_TRACE_FORMAT_H

#include "profile/profile.h"
#include "trace/replay.h"

#include <stdio.h>

/* What a format can use. */
struct us_trace_out {
	FILE *out;		 /* NULL: the format writes a folder */
	int folder;		 /* open, empty */
	int failed;		 /* writing to the folder failed: -errno */
	const char *const *name; /* names of functions, by number; never NULL */
	uint32_t n_name;
	const struct us_replay *replay;
	const struct us_profile *profile; /* facts; NULL: none */
	const struct us_replay_opts *opts;
	void *state; /* the format's own */
};

struct us_trace_format {
	const char *name;   /* "graph", "chrome", "csv", ... */
	const char *suffix; /* of a file: ".csv" */
	const char *also;   /* another suffix; NULL: none */
	bool is_folder;	    /* it writes a folder, not a file */
	/* For a folder: remove the files that this format may have made there. */
	void (*remove)(int folder);
	bool binary;	     /* it is not for a terminal */
	bool of_calls;	     /* it shows only system calls */
	const char *summary; /* one line for --help */
	/* begin may set state, and end frees it; either may be NULL.  -ENOMEM.  Errors
	 * of the stream may be left in it. */
	int (*begin)(struct us_trace_out *o);
	struct us_replay_ops ops; /* their ctx: the struct us_trace_out */
	int (*end)(struct us_trace_out *o);
};

extern const struct us_trace_format *const us_trace_formats[]; /* NULL-terminated */
extern const struct us_trace_format us_trace_format_graph, us_trace_format_chrome,
	us_trace_format_html, us_trace_format_csv, us_trace_format_perfetto,
	us_trace_format_uftrace, us_trace_format_strace, us_trace_format_calls,
	us_trace_format_functions;

const struct us_trace_format *us_trace_format_by_name(const char *name);   /* or NULL */
const struct us_trace_format *us_trace_format_by_suffix(const char *path); /* or NULL */

struct us_trace_report_opts {
	struct us_replay_opts replay; /* shown is set here */
	/* Extended regexes: only these functions, without those; NULL: all, none. */
	const char *filter, *hide;
	const struct us_trace_format *format;
	int folder; /* for a folder format: open and empty; stays the caller's */
};

struct us_trace_report_result {
	uint64_t n_event, n_function;
	/* System calls; those whose number is unknown. */
	uint64_t n_call, n_call_unknown;
	bool cut;	  /* the recording has no end */
	bool none_passes; /* opts.filter and opts.hide leave no name */
	bool no_vcpu;	  /* no vCPU of replay.vcpu_mask has an event */
};

/* Where names and times come from. */
struct us_trace_source {
	struct us_symbols *symbols;
	uint64_t insn_ns;		  /* as for us_timeline_new() */
	const struct us_profile *profile; /* facts; NULL: none */
};

/*
 * Prints a trace in one format while it comes: functions, records and times as a
 * recording has them (struct us_reader_ops).
 */
struct us_trace_printer;

/* All arguments stay the caller's and must not change.  -EINVAL: not a regular
 * expression; -ENOMEM. */
US_MUST_CHECK int us_trace_printer_new(const struct us_trace_source *s,
				       const struct us_trace_report_opts *o, FILE *out,
				       struct us_trace_printer **ret, struct us_err *e);
US_MUST_CHECK int us_trace_printer_function(struct us_trace_printer *p, uint32_t number,
					    us_gva address);
US_MUST_CHECK int us_trace_printer_events(struct us_trace_printer *p, unsigned vcpu,
					  const uint64_t *record, size_t n);
US_MUST_CHECK int us_trace_printer_until(struct us_trace_printer *p, uint64_t t_ns);
/* The trace is complete, or (whole: false) one of the other functions failed: write the
 * format's end. */
US_MUST_CHECK int us_trace_printer_end(struct us_trace_printer *p, bool whole,
				       struct us_trace_report_result *ret);
void us_trace_printer_free(struct us_trace_printer *p); /* accepts NULL */

/*
 * Read the recording at fd again (p was read from it, and gives the names) and write
 * its trace.  out: NULL for a folder.  -ENODATA: it has no trace; -EINVAL: not a
 * regular expression.
 */
US_MUST_CHECK int us_trace_report(int fd, const struct us_profile *p,
				  const struct us_trace_report_opts *o, FILE *out,
				  struct us_trace_report_result *ret, struct us_err *e);

/* A name of a stack for people: that of its outermost function. */
const char *us_trace_stack_name(const struct us_trace_out *o, uint16_t stack);

#endif
