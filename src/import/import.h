/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import.h: converts other profilers' recordings, so that they get names, intervals,
 * the page and comparisons.
 *
 * The input is hostile: each length is checked against what is there.
 */
#ifndef US_IMPORT_H
#define US_IMPORT_H

#include "store/limits.h"
#include "store/store.h"

struct us_import_opts {
	const char *name; /* name of the input, for the facts */
	uint32_t pid;	  /* perf.data: only this process's guest; 0: the only one */
	uint32_t event;	  /* perf.data: only samples of this one; 0: the only one */
	bool all;	  /* perf.data: all samples, not only a guest's */
	const char *kallsyms; /* perf.data: a copy of the guest's file; NULL: none */
};

struct us_import_result {
	uint64_t samples;    /* imported, by weight */
	uint64_t left_out;   /* samples of the host, or of other processes */
	uint64_t cut_names;  /* names longer than a recording keeps */
	uint64_t cut_stacks; /* deeper stacks, without their outermost frames */
	struct us_record_stats stats;
	struct us_limits limits; /* what of a perf.data could not be kept */
};

/* Is it a perf.data file, in either byte order? */
bool us_import_is_perf(const uint8_t *bytes, size_t n);

/*
 * Import samples of guests (perf kvm --guest record) from files, or from what perf
 * writes to a pipe.  -EBADMSG: inconsistent; -ENOTSUP: it is compressed, and this
 * program was built without zstd; -EFBIG: it decompresses to far more than its size
 * suggests; -ENODATA: no samples of a guest; -EINVAL: several guests, and o->pid does
 * not select one, or several events, and o->event does not; or an error of the writer.
 * A truncated file gives what it has.
 */
US_MUST_CHECK int us_import_perf(const uint8_t *bytes, size_t n,
				 const struct us_import_opts *o, struct us_writer *w,
				 struct us_import_result *ret, struct us_err *e);

/*
 * Import lines "outermost;...;innermost COUNT", as flame graph tools read them; if a
 * COUNT is a fraction, all are multiplied by up to 1000.  Names have no addresses, so
 * each gets one.  Samples have no times, so they are spread evenly, and taken to be
 * independent of each other (the fact "weights"). -EBADMSG: a line has another form,
 * and the message says which; -ENODATA: no lines.
 */
US_MUST_CHECK int us_import_folded(const uint8_t *bytes, size_t n,
				   const struct us_import_opts *o, struct us_writer *w,
				   struct us_import_result *ret, struct us_err *e);

#endif
