/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: writes a symbolised profile in one of many formats.
 *
 * A format is one file with one `const struct us_format`, and one row in the table in
 * report.c.
 */
#ifndef US_REPORT_H
#define US_REPORT_H

#include "profile/profile.h"

#include <stdio.h>

#define US_REPORT_COLUMNS 100

enum us_sort {
	US_SORT_SELF,
	US_SORT_TOTAL,
	US_SORT_NAME,
	US_SORT_FILE,
};

struct us_annotate_opts;
struct us_json;
struct us_report_opts {
	enum us_sort sort;
	bool children;	/* include callees: sort by total instead of by self */
	size_t limit;	/* most rows; 0: all */
	bool colour;	/* the output is a terminal with colours */
	unsigned width; /* width of tables in columns; 0: US_REPORT_COLUMNS */
	bool no_code;	/* html: without source and instructions */
	/* html: where sources are; NULL: only by the paths in DWARF. */
	const struct us_annotate_opts *sources;
	bool full_paths;	     /* of sources; else without what all share */
	enum us_profile_by group_by; /* for the text and json formats */
	bool groups_only;	     /* one row for each group, without its functions */
	/* For the tree format: */
	bool bottom_up;	      /* show callers below their callees */
	const char *around;   /* only callers and callees of this function; NULL: all */
	double least_percent; /* hide nodes below this share of what is shown */
	/* html: what tasks wait for, and the profile with processes as roots; NULL:
	 * none. */
	const struct us_profile *waits, *owners;
	/* The recording as a word for a shell, for the suggested next command; NULL:
	 * not a file. */
	const char *file;
};

struct us_format {
	const char *name;	/* "text", "json", "folded", "callgrind", "html", ... */
	const char *suffix;	/* of file names: ".html"; NULL: none */
	const char *summary;	/* one line for --help */
	bool by_vcpu;		/* needs a profile read with by_vcpu */
	bool by_time;		/* needs by_time */
	bool timeline;		/* needs timeline */
	uint64_t timeline_most; /* of us_profile_opts */
	bool binary;		/* output is not for a terminal */
	bool groups;		/* supports us_report_opts.group_by */
	bool positions;		/* shows where in functions, which counts do not know */
	bool warns;		/* has a place for the profile's warnings */
	bool owners; /* shows the owners of a Linux guest's samples, if known */
	bool waits;  /* can show a profile of waiting tasks */
	bool both;   /* can show us_report_opts.waits beside another profile */
	/* What this format cannot show of p, for people; false: nothing.  May be NULL.
	 */
	bool (*caution)(const struct us_profile *p, char *dst, size_t size);
	/* Errors of the stream may be left for the caller to find in it. */
	int (*write)(const struct us_profile *p, const struct us_report_opts *o,
		     FILE *out, struct us_err *e);
};

extern const struct us_format *const us_formats[]; /* NULL-terminated */
extern const struct us_format us_format_text, us_format_json, us_format_folded,
	us_format_callgrind, us_format_html, us_format_pprof, us_format_speedscope,
	us_format_qprofiler, us_format_exits, us_format_phases, us_format_tree,
	us_format_firefox, us_format_chrome, us_format_perf_data;

const struct us_format *us_format_by_name(const char *name);   /* or NULL */
const struct us_format *us_format_by_suffix(const char *path); /* or NULL */

/* Write, flush and check the stream: a full disk is reported here.  -EINVAL: the format
 * needs samples, and p was counted. */
US_MUST_CHECK int us_report(const struct us_profile *p, const struct us_format *f,
			    const struct us_report_opts *o, FILE *out,
			    struct us_err *e);

/* Flush and check a stream after writing `what` ("text report") to it. */
US_MUST_CHECK int us_report_flush(FILE *out, const char *what, struct us_err *e);
/* What helps if writing failed with this errno (positive), if anything. */
void us_report_hint_space(int code, struct us_err *e);

/*
 * Indices of all functions with samples, in the order of o (ties: more samples, then
 * name).  The caller applies o->limit and frees *ret.  0 or -ENOMEM.
 */
US_MUST_CHECK int us_report_rows(const struct us_profile *p,
				 const struct us_report_opts *o, uint32_t **ret,
				 size_t *ret_n);

/* Does the order of o call for the interval of total? */
bool us_report_by_total(const struct us_report_opts *o);

/*
 * The last line of every recording: "12345 samples, 2000 halted (16.2 %), 0 lost, 3
 * truncated, 11.0 us/sample p50, 38.0 us p99, guest time taken 0.31 %".  The last three
 * values are left out for a backend that does not stop the guest.  "Halted" is what the
 * recorder saw: a profile knows of more idle time, by names (idle_told).  Returns dst.
 */
char *us_report_stats_line(char *dst, size_t size, const struct us_record_stats *s);

/* Samples a second of each vCPU, of all the time that it was observed; 0: not known. */
double us_report_hz(const struct us_record_stats *s);
/* The same in words: "621.5 Hz".  Returns dst. */
char *us_report_hz_words(char *dst, size_t size, const struct us_record_stats *s);

/*
 * Where the time went: "time: guest 61.2 %, in the VMM 12.4 %, idle 20.0 %, not
 * accounted for 0.4 %"; "" if the backend does not say why vCPUs left the guest.
 * Returns dst.
 */
char *us_report_time_line(const struct us_profile *p, char *dst, size_t size);

/* How many tasks waited, on average.  Returns dst. */
char *us_report_waits_line(const struct us_profile *p, char *dst, size_t size);
/* Add to the open object how the looks at waiting tasks went (docs/report-json.md). */
void us_report_json_waits(struct us_json *j, const struct us_profile *p);
/* A profile's samples in one line, also if it is truncated and has no statistics.
 * Returns dst. */
char *us_report_summary_line(const struct us_profile *p, char *dst, size_t size);

/* Start of the recording, in seconds since 1970; 0: not known. */
uint64_t us_report_started(const struct us_profile *p);

/* The guest's name, else its image's, else the target's, as in the recording. */
const char *us_report_title(const struct us_profile *p);

/* What was recorded (the first line: the title, ": ", ...), line by line: line i to
 * dst, without a newline; false: no more lines.  Unprintable bytes are not replaced. */
bool us_report_header_line(const struct us_profile *p, unsigned i, char *dst,
			   size_t size);

/* What the intervals beside shares mean, and whether another recording is likely to
 * show other shares; "" if everything was counted.  Unprintable bytes are not
 * replaced. */
char *us_report_interval_line(const struct us_profile *p, char *dst, size_t size);

#endif
