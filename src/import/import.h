/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import.h: what other profilers recorded becomes a recording, so that it gets names,
 * intervals, the page and comparisons.
 *
 * What is read is hostile: each length is checked against what there is.
 */
#ifndef US_IMPORT_H
#define US_IMPORT_H

#include "store/store.h"

struct us_import_opts {
	const char *name; /* of what is imported, for the facts */
	uint32_t pid;	  /* of perf.data: only this process's guest; 0: the only one */
	bool all;	  /* of perf.data: all samples, not a guest's alone */
	const char *kallsyms; /* of perf.data: a copy of the guest's file; NULL: none */
};

struct us_import_result {
	uint64_t samples;    /* that were taken over, by weight */
	uint64_t left_out;   /* samples of the host, or of other processes */
	uint64_t cut_names;  /* that were longer than a recording keeps */
	uint64_t cut_stacks; /* that were deeper: their outermost frames are gone */
	struct us_record_stats stats;
};

/* Is it a perf.data file, of either byte order? */
bool us_import_is_perf(const uint8_t *bytes, size_t n);

/*
 * Samples of guests (perf kvm --guest record), in files and in what perf writes to a
 * pipe.  -EBADMSG: it lies about itself; -ENOTSUP: it is packed, and this program was
 * made without zstd; -EFBIG: far more is packed in it than its size tells; -ENODATA: it
 * has no samples of a guest; -EINVAL: of several guests, and o->pid does not say which;
 * what the writer says.  A file that is cut gives what it has.
 */
US_MUST_CHECK int us_import_perf(const uint8_t *bytes, size_t n,
				 const struct us_import_opts *o, struct us_writer *w,
				 struct us_import_result *ret, struct us_err *e);

/*
 * Lines "outermost;...;innermost COUNT", as flame graph tools read them.  Names have no
 * addresses, so each gets one; samples have no times, and
 * are spread evenly, as if each was independent of the others.  -EBADMSG:
 * a line is none, and the message says which; -ENODATA: there is none.
 */
US_MUST_CHECK int us_import_folded(const uint8_t *bytes, size_t n,
				   const struct us_import_opts *o, struct us_writer *w,
				   struct us_import_result *ret, struct us_err *e);

#endif
