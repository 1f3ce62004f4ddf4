/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: from addresses to names, after the recording.
 *
 * Lookups of names are binary searches in sorted arrays; lines and inlined calls come
 * from DWARF by libdw, only for addresses that are asked for, and are remembered.
 */
#ifndef US_SYMBOL_H
#define US_SYMBOL_H

#include "symbol/elf_image.h"

struct us_frame {
	const char *func;   /* the set's; NULL: unknown */
	const char *raw;    /* the same as the image has it: not demangled */
	const char *file;   /* NULL: unknown */
	const char *dir;    /* that file is relative to, where it is; NULL: unknown */
	const char *module; /* base name of the image; NULL: in none */
	us_gva start;  /* of the function (of the outer one for inlined); 0: unknown */
	uint32_t line; /* 0: unknown; of a caller: the line of its call */
	const char *decl_file; /* where the function begins; NULL: unknown. Of a local
				  symbol without DWARF: the name of its source */
	uint32_t decl_line;    /* in that file; 0: unknown */
	bool inlined;	       /* into the frame that follows */
};

struct us_symbols;

US_MUST_CHECK int us_symbols_new(struct us_symbols **ret, struct us_err *e);
void us_symbols_free(struct us_symbols *s); /* accepts NULL; closes its images */
/* Takes the image, closes it on failure. What was looked up before is looked up anew,
 * so frames got earlier keep their strings but may not be all. */
US_MUST_CHECK int us_symbols_add(struct us_symbols *s, struct us_elf_image *i,
				 uint64_t bias, struct us_err *e);

/* Where an image lies, in which address space, and when. */
struct us_symbol_place {
	uint64_t bias;
	us_gpa root;		    /* 0: in all address spaces, ... */
	bool is_kernels;	    /* but for programs */
	uint64_t from_ns, until_ns; /* until 0: to the end */
	us_gva start, end;	    /* only so much of it; end 0: all */
};
/* As us_symbols_add(), but the image lies nowhere until us_symbols_place() says so. */
US_MUST_CHECK int us_symbols_add_image(struct us_symbols *s, struct us_elf_image *i,
				       struct us_err *e);
/* An image of the set lies there, too.  0 or -ENOMEM. */
US_MUST_CHECK int us_symbols_place(struct us_symbols *s, const struct us_elf_image *i,
				   const struct us_symbol_place *p);

/* A place that was given ends, or ends elsewhere: all else of it is as it was. */
void us_symbols_end_place(struct us_symbols *s, const struct us_elf_image *i,
			  const struct us_symbol_place *p);
/* Its functions are told to be in the module of this name, which outlives the set. */
void us_symbols_call(struct us_symbols *s, const struct us_elf_image *i,
		     const char *module);

/* Give demangled names (demangle.h) from now on; at first they are not. */
void us_symbols_demangle(struct us_symbols *s, bool on);

/*
 * Frames at pc, innermost first, at most max: inlined ones, then the function itself.
 * is_return: pc is a return address, so the call before it is looked up.
 * 0: pc is in no image.  In an image without a name for it: one frame, func NULL.
 * file: as DWARF records it, relative to the directory it was compiled in if it lies
 * beneath, else absolute.  func of the function itself: from the symbol table, so that
 * clones (".part.0", ".cold") stay apart; of inlined ones: DWARF's.
 * Strings live as long as the set.  One thread at a time.
 */
size_t us_symbols_lookup(struct us_symbols *s, us_gva pc, bool is_return,
			 struct us_frame *ret, size_t max);

/* The same of one address space (root 0: of none but those images that are in all) at
 * one time.  Not remembered.  us_symbols_lookup() takes any place at any time. */
struct us_symbol_when {
	us_gpa root;
	uint64_t t_ns;
	bool user; /* a program's code */
};
size_t us_symbols_lookup_at(struct us_symbols *s, const struct us_symbol_when *when,
			    us_gva pc, bool is_return, struct us_frame *ret,
			    size_t max);

/* A name from elsewhere than a file: a guest's own tables. */
struct us_symbol_name {
	us_gva start;	  /* of the function */
	const char *func; /* live as long as the namer */
	const char *module;
};
struct us_symbol_namer {
	/* The function that covers pc; false: none is known. */
	bool (*name)(void *ctx, us_gva pc, struct us_symbol_name *ret);
	void *ctx;
};
/* Asked for addresses that no image has a symbol for. What was looked up before is
 * looked up anew. */
void us_symbols_set_namer(struct us_symbols *s, const struct us_symbol_namer *n);

/* A function of an image, at one of the places where that lies. */
struct us_function {
	us_gva start;
	uint64_t size;
	const char *raw;    /* not demangled */
	const char *module; /* base name of the image */
	const struct us_elf_image *image;
	uint64_t bias;
};
typedef void us_function_visitor(void *ctx, const struct us_function *f);
void us_symbols_each_function(const struct us_symbols *s, us_function_visitor *visit,
			      void *ctx);

/* Addresses at which code of a source line begins.  file: its name, or the end of its
 * path from a '/' on. */
typedef void us_address_visitor(void *ctx, us_gva pc);
void us_symbols_each_address(struct us_symbols *s, const char *file, uint32_t line,
			     us_address_visitor *visit, void *ctx);

/* Base name of an image whose DWARF was so large, or so wrong, that some lines were
 * left out; NULL: none so far. For a warning after the look-ups. */
const char *us_symbols_incomplete(const struct us_symbols *s);

/* Base name of an image most of whose DWARF is in other files (-gsplit-dwarf), which
 * are not read; NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_split(const struct us_symbols *s);

/* Path of the file of an image whose DWARF was asked for, but is compressed by means
 * that are not read (zstd); NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_unreadable(const struct us_symbols *s);

/* Starts of all functions of all images at all places, biased, sorted.
 * *ret is the caller's to free. 0 or -ENOMEM. */
US_MUST_CHECK int us_symbols_function_starts(const struct us_symbols *s, us_gva **ret,
					     size_t *ret_n);

#endif
