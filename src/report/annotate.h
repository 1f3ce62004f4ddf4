/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annotate.h: the samples of one function, by source line and by instruction.
 *
 * The code comes from the image, the source from the paths in its DWARF.  Both are
 * hostile: nothing is assumed about their size or shape.
 */
#ifndef US_REPORT_ANNOTATE_H
#define US_REPORT_ANNOTATE_H

#include "report/report.h"
#include "symbol/disassemble.h"

#define US_ANNOTATE_BYTES (1U << 20) /* most code bytes; the rest is cut */

struct us_annotate_opts {
	const char *const *prefixes; /* "OLD=NEW" for source paths, tried in turn */
	size_t n_prefix;
	const char *const *dirs; /* more directories to search for sources */
	size_t n_dir;
	/* Result of us_profile_pcs(), for callers that annotate several functions;
	 * NULL: it is called. */
	const struct us_profile_pc *pc;
	size_t n_pc;
};

struct us_annotated_line {
	const char *file; /* as in DWARF; NULL: unknown */
	const char *dir;  /* directory that file is relative to; NULL: unknown */
	/* Inlined function that it belongs to; NULL: the function itself. */
	const char *func;
	uint32_t line; /* 0: unknown */
	bool has_code; /* false: it is between lines with code */
	char *text;    /* the source; NULL: not found */
	uint64_t self, called;
};

struct us_annotated_insn {
	struct us_insn i;
	uint64_t self; /* samples with the program counter here */
	/* Samples whose stack has it as a call that has not returned. */
	uint64_t called;
	uint32_t line; /* index into lines */
	/* Of inlined code: line of the call in the function; 0: none. */
	uint32_t call_line;
	/* Number, from 1, of the block that it belongs to, whose samples are all at its
	 * first instruction; 0: none, or the addresses are exact. */
	uint32_t block;
};

struct us_annotation {
	const struct us_profile *p;
	char *name;	    /* as shown */
	const char *raw;    /* as in the image */
	const char *module; /* base name of the image */
	const char *file;   /* file in which it begins; NULL: unknown */
	uint32_t line;	    /* 0: unknown */
	us_gva start;
	uint64_t size;
	uint64_t self; /* sum over all instructions */
	uint64_t hottest, hottest_line;
	bool cut;	   /* the function is larger than what is shown */
	bool bytes_only;   /* no disassembler for this code */
	bool blocks;	   /* samples fall only on the first instruction of a block */
	bool source_newer; /* the source is newer than the image */
	char *no_source;   /* a path that was not found; NULL: all were found */
	struct {
		struct us_annotated_line *v; /* by file, function, line */
		size_t n, cap;
	} lines;
	struct {
		struct us_annotated_insn *v; /* by address */
		size_t n, cap;
	} insns;
};

/*
 * Functions of the profile's images that text names.  It can be an address (0x...),
 * FILE:LINE, the name in the image or as shown, "NAME (IMAGE)", that name without
 * parameters, or else a regular expression.  The most exact of these that finds any is
 * used.  *ret is the caller's to free, sorted by address.  -ENOENT: none;
 * -EINVAL: p was counted, and has no positions within functions.
 */
US_MUST_CHECK int us_annotate_find(const struct us_profile *p, const char *text,
				   struct us_function **ret, size_t *ret_n,
				   struct us_err *e);
/* Samples with the program counter in each of these n functions, which are sorted by
 * address: ret[n].  0 or -ENOMEM. */
US_MUST_CHECK int us_annotate_samples(const struct us_profile *p,
				      const struct us_function *f, size_t n,
				      uint64_t *ret);

/* -ENOEXEC: the image is not what ran, or does not have its code.  p must outlive
 * *ret. */
US_MUST_CHECK int us_annotate(const struct us_profile *p, const struct us_function *f,
			      const struct us_annotate_opts *o,
			      struct us_annotation **ret, struct us_err *e);
void us_annotation_free(struct us_annotation *a); /* accepts NULL */

/* callers: add a column of samples that were in calls. */
US_MUST_CHECK int us_annotation_text(const struct us_annotation *a,
				     const struct us_report_opts *o, bool callers,
				     FILE *out, struct us_err *e);
US_MUST_CHECK int us_annotation_json(const struct us_annotation *a, FILE *out,
				     struct us_err *e);

#endif
