/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report.h: one symbolised profile in, many formats out.
 *
 * A format is one file with one `const struct us_format` and one row in the table in
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
	bool children;	/* callees counted in: where sort is by self, by total */
	size_t limit;	/* rows at most; 0: all */
	bool colour;	/* the output is a terminal that knows colours */
	unsigned width; /* columns of tables for people; 0: US_REPORT_COLUMNS */
	bool no_code;	/* of the page: without source and instructions */
	const struct us_annotate_opts *sources; /* of the page: where they are; NULL: by
						   the paths in DWARF alone */
	bool full_paths; /* of sources, however wide; else without what all share */
	enum us_profile_by group_by; /* of the text and json formats */
	bool groups_only;	     /* without the functions in each */
	/* Of the tree: */
	bool bottom_up;	      /* callers below their callees */
	const char *around;   /* a function: its callers and callees; NULL: all */
	double least_percent; /* of what is shown */
	const struct us_profile
		*waits,	  /* of the page: what tasks wait for; NULL: none */
		*owners;  /* the same as the page's, but processes are roots; NULL */
	const char *file; /* the recording as the user names it, for the command to type
			     next; NULL: not a file */
};

struct us_format {
	const char *name;	/* "text", "json", "folded", "callgrind", "html", ... */
	const char *suffix;	/* of a file: ".html"; NULL: none */
	const char *summary;	/* one line for --help */
	bool by_vcpu;		/* wants a profile that was read with by_vcpu */
	bool by_time;		/* and with by_time */
	bool timeline;		/* and one with timeline */
	uint64_t timeline_most; /* of us_profile_opts */
	bool binary;		/* nothing for a terminal */
	bool groups;		/* knows us_report_opts.group_by */
	bool owners; /* says whose samples of a Linux guest are, if it knows */
	bool waits;  /* can show a profile of tasks that wait */
	bool both;   /* and shows us_report_opts.waits beside another one */
	/* Errors of the stream may be left in it. */
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

/* Write, flush and check the stream: a full disk is an error here. */
US_MUST_CHECK int us_report(const struct us_profile *p, const struct us_format *f,
			    const struct us_report_opts *o, FILE *out,
			    struct us_err *e);

/* Flush and check a stream that something ("text report") was written to. */
US_MUST_CHECK int us_report_flush(FILE *out, const char *what, struct us_err *e);

/*
 * Indices of the functions that have samples, in the order of o (ties: more samples,
 * then name), all of them: o->limit is the caller's to apply.  *ret is the caller's to
 * free. 0 or -ENOMEM.
 */
US_MUST_CHECK int us_report_rows(const struct us_profile *p,
				 const struct us_report_opts *o, uint32_t **ret,
				 size_t *ret_n);

/* Is the interval to show that of total, by the order of o? */
bool us_report_by_total(const struct us_report_opts *o);

/*
 * The last words of every recording: "12345 samples, 2000 idle (16.2 %), 0 lost, 3
 * truncated, 11.0 us/sample p50, 38.0 us p99, guest time taken 0.31 %".  The last
 * three are left out for a backend that does not stop the guest.  Returns dst.
 */
char *us_report_stats_line(char *dst, size_t size, const struct us_record_stats *s);

/*
 * Where the time went: "time: guest 61.2 %, in the VMM 12.4 %, idle 20.0 %, not
 * accounted for 0.4 %"; "" where the backend does not tell why vCPUs left the guest.
 * Returns dst.
 */
char *us_report_time_line(const struct us_profile *p, char *dst, size_t size);

/* The same of a profile, also of one that is cut and has no statistics. */
/* Of those that wait: how many, on average. */
char *us_report_waits_line(const struct us_profile *p, char *dst, size_t size);
/* The members of an object: what became of the looks at them (docs/report-json.md). */
void us_report_json_waits(struct us_json *j, const struct us_profile *p);
char *us_report_summary_line(const struct us_profile *p, char *dst, size_t size);

/* When it was recorded, in seconds since 1970; 0: not known. */
uint64_t us_report_started(const struct us_profile *p);

/* The guest's name, else its image's, else the target's: the recording's words. */
const char *us_report_title(const struct us_profile *p);

/* What was recorded (the first line: the title, ": ", ...), in lines of words without
 * an end of line: line i to dst, false if there are no more.  Not made printable. */
bool us_report_header_line(const struct us_profile *p, unsigned i, char *dst,
			   size_t size);

/* What the intervals beside shares are of, and whether another recording may well show
 * other shares; "" where all was counted.  Not made printable. */
char *us_report_interval_line(const struct us_profile *p, char *dst, size_t size);

#endif
