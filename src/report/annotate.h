/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * annotate.h: the samples of one function, by source line and by instruction.
 *
 * The code is the image's, the source is found by the paths in its DWARF.  Both are
 * hostile: neither is believed to be of any size or shape.
 */
#ifndef US_REPORT_ANNOTATE_H
#define US_REPORT_ANNOTATE_H

#include "report/report.h"
#include "symbol/disassemble.h"

#define US_ANNOTATE_BYTES (1U << 20) /* of code at most; more is cut */

struct us_annotate_opts {
	const char *const *prefixes; /* "OLD=NEW" for paths of sources, in turn */
	size_t n_prefix;
	const char *const *dirs; /* where else sources are */
	size_t n_dir;
	/* Of us_profile_pcs(), for who annotates several; NULL: it is asked. */
	const struct us_profile_pc *pc;
	size_t n_pc;
};

struct us_annotated_line {
	const char *file; /* as DWARF has it; NULL: unknown */
	const char *dir;  /* that file is relative to; NULL: unknown */
	const char *func; /* inlined, of which it is; NULL: of the function itself */
	uint32_t line;	  /* 0: unknown */
	bool has_code;	  /* false: it stands between lines that have */
	char *text;	  /* the source; NULL: not found */
	uint64_t self, called;
};

struct us_annotated_insn {
	struct us_insn i;
	uint64_t self;	 /* samples that had the program counter here */
	uint64_t called; /* samples in whose stack it is a call that was not back yet */
	uint32_t line;	 /* index into lines */
	uint32_t call_line; /* of inlined code: where the function has the call; 0: none
			     */
	uint32_t block; /* of the samples at its first instruction, from 1; 0: of none,
			   or  the addresses are exact */
};

struct us_annotation {
	const struct us_profile *p;
	char *name;	    /* as it is shown */
	const char *raw;    /* as the image has it */
	const char *module; /* base name of the image */
	const char *file;   /* where it begins; NULL: unknown */
	uint32_t line;	    /* 0: unknown */
	us_gva start;
	uint64_t size;
	uint64_t self; /* of all instructions */
	uint64_t hottest, hottest_line;
	bool cut;	   /* the function is larger than what is shown */
	bool bytes_only;   /* there is no disassembler for it */
	bool blocks;	   /* samples fall on the first instruction of a block only */
	bool source_newer; /* than the image */
	char *no_source;   /* the path that was not found; NULL: all were */
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
 * Functions of the profile's images that text names: an address (0x...), FILE:LINE, the
 * name in the image or as shown, that without its parameters, else a regular
 * expression. The best way that finds some is taken.  *ret is the caller's to free.
 * -ENOENT: none.
 */
US_MUST_CHECK int us_annotate_find(const struct us_profile *p, const char *text,
				   struct us_function **ret, size_t *ret_n,
				   struct us_err *e);
/* Samples that had the program counter in it. */
uint64_t us_annotate_samples(const struct us_profile *p, const struct us_function *f);

/* -ENOEXEC: the image is not what ran, or holds no code of it.  p must outlive it. */
US_MUST_CHECK int us_annotate(const struct us_profile *p, const struct us_function *f,
			      const struct us_annotate_opts *o,
			      struct us_annotation **ret, struct us_err *e);
void us_annotation_free(struct us_annotation *a); /* accepts NULL */

/* callers: with a column of samples that were in calls. */
US_MUST_CHECK int us_annotation_text(const struct us_annotation *a,
				     const struct us_report_opts *o, bool callers,
				     FILE *out, struct us_err *e);
US_MUST_CHECK int us_annotation_json(const struct us_annotation *a, FILE *out,
				     struct us_err *e);

#endif
