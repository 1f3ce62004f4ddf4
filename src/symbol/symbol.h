/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol.h: from addresses to names, after the recording.
 *
 * Names are found by binary search in sorted arrays.  Lines and inlined calls come from
 * DWARF through libdw, only for addresses that are looked up, and are cached.
 */
#ifndef US_SYMBOL_H
#define US_SYMBOL_H

#include "symbol/elf_image.h"

struct us_frame {
	const char *func;   /* owned by the set; NULL: unknown */
	const char *raw;    /* the same in the image, not demangled */
	const char *file;   /* NULL: unknown */
	const char *dir;    /* what file is relative to, if it is; NULL: unknown */
	const char *module; /* base name of the image; NULL: no image */
	us_gva start;  /* of the function (of the outer one for inlined); 0: unknown */
	uint32_t line; /* 0: unknown; of a caller: the line of its call */
	const char *decl_file; /* the file where the function begins; NULL: unknown.  Of
				  a local symbol without DWARF: its source file */
	uint32_t decl_line;    /* in that file; 0: unknown */
	/* 1, 2, ...: which of the functions named raw it is, in the order of the image,
	 * wherever that is in memory; 0: it is inlined, or has no symbol. */
	uint32_t namesake;
	bool inlined; /* into the frame that follows */
};

struct us_symbols;

US_MUST_CHECK int us_symbols_new(struct us_symbols **ret, struct us_err *e);
void us_symbols_free(struct us_symbols *s); /* accepts NULL; closes its images */
/* Takes ownership of the image; closes it on failure.  Clears the cache of look-ups:
 * frames from before keep their strings, but may be incomplete. */
US_MUST_CHECK int us_symbols_add(struct us_symbols *s, struct us_elf_image *i,
				 uint64_t bias, struct us_err *e);

/* Where an image is, in which address space, and when. */
struct us_symbol_place {
	uint64_t bias;
	us_gpa root;		    /* 0: all address spaces, ... */
	bool is_kernels;	    /* ... except programs' code */
	uint64_t from_ns, until_ns; /* until 0: to the end */
	us_gva start, end;	    /* only this part of it; end 0: all */
};
/* As us_symbols_add(), but the image has no place until us_symbols_place(). */
US_MUST_CHECK int us_symbols_add_image(struct us_symbols *s, struct us_elf_image *i,
				       struct us_err *e);
/* Add a place to an image of the set.  0 or -ENOMEM. */
US_MUST_CHECK int us_symbols_place(struct us_symbols *s, const struct us_elf_image *i,
				   const struct us_symbol_place *p);

/* How many places there are: the number that the next one gets. */
size_t us_symbols_n_place(const struct us_symbols *s);
/* Set a new us_symbol_place.until_ns for the place of this number. */
void us_symbols_end_place(struct us_symbols *s, size_t number, uint64_t until_ns);
/* Report its functions as in the module of this name, which must outlive the set. */
void us_symbols_call(struct us_symbols *s, const struct us_elf_image *i,
		     const char *module);

/* Return demangled names (demangle.h) from now on, or not (the default). */
void us_symbols_demangle(struct us_symbols *s, bool on);

/*
 * Frames at pc, innermost first, at most max: inlined ones, then the function itself.
 * is_return: pc is a return address, so the call before it is looked up.  Returns 0 if
 * pc is in no image; one frame with func NULL if its image has no name for it.
 *
 * file: as DWARF records it, relative to the compilation directory if it is below that,
 * else absolute.  func: for the function itself from the symbol table, so that clones
 * (".part.0", ".cold") stay apart, but block sections (function_part.h) are the
 * function; for inlined ones from DWARF.
 *
 * Strings live as long as the set.  One thread at a time.
 */
size_t us_symbols_lookup(struct us_symbols *s, us_gva pc, bool is_return,
			 struct us_frame *ret, size_t max);

/* The same for one address space (root 0: only images that are in all spaces) at one
 * time.  Not cached.  us_symbols_lookup() accepts any place at any time. */
struct us_symbol_when {
	us_gpa root;
	uint64_t t_ns;
	bool user; /* pc is a program's */
};
size_t us_symbols_lookup_at(struct us_symbols *s, const struct us_symbol_when *when,
			    us_gva pc, bool is_return, struct us_frame *ret,
			    size_t max);

/* A name that is not from a file, but from a guest's own tables. */
struct us_symbol_name {
	us_gva start;	  /* of the function */
	const char *func; /* lives as long as the namer, like module */
	const char *module;
	uint32_t namesake; /* which of the functions of that name, from 0 */
};
struct us_symbol_namer {
	/* The function that covers pc; false: none is known. */
	bool (*name)(void *ctx, us_gva pc, struct us_symbol_name *ret);
	void *ctx;
};
/* Used for addresses that no image has a symbol for.  Clears the cache of look-ups. */
void us_symbols_set_namer(struct us_symbols *s, const struct us_symbol_namer *n);

/* A function of an image, at one of the image's places. */
struct us_function {
	us_gva start;
	uint64_t size;
	us_gva entry;	 /* start; of a part (function_part.h): that of its function */
	const char *raw; /* not demangled */
	const char *module; /* base name of the image */
	const struct us_elf_image *image;
	uint64_t bias;
};
/* Its name k: raw is name 0, and what else the image calls its address follows; NULL:
 * it has no more. */
const char *us_function_name(const struct us_function *f, size_t k);
typedef void us_function_visitor(void *ctx, const struct us_function *f);
void us_symbols_each_function(const struct us_symbols *s, us_function_visitor *visit,
			      void *ctx);

/* As us_symbols_lookup_at() would choose: is pc, which f covers, in f's image?  when
 * NULL: any place at any time. */
bool us_symbols_is_in(struct us_symbols *s, const struct us_symbol_when *when,
		      us_gva pc, const struct us_function *f);
/* As us_symbols_lookup(), for an address in f's image, whatever else is there in other
 * address spaces or at other times. */
size_t us_symbols_lookup_in(struct us_symbols *s, const struct us_function *f,
			    us_gva pc, struct us_frame *ret, size_t max);

/* The machine (EM_*) whose instructions the function has.  It is the file's, but a
 * 64-bit x86 kernel may be packed as a 32-bit file, for loaders that take no other.
 * bits: how wide the code was that ran, which counts where the file has no tables; 0:
 * not known. */
uint16_t us_symbols_machine(struct us_symbols *s, const struct us_function *f,
			    unsigned bits);

/* Visit the addresses at which code of a source line begins.  file: its name, or the
 * end of its path from a '/' on. */
typedef void us_address_visitor(void *ctx, us_gva pc);
void us_symbols_each_address(struct us_symbols *s, const char *file, uint32_t line,
			     us_address_visitor *visit, void *ctx);

/*
 * For a line without code (a declaration, a brace, a comment): visit an address of each
 * innermost function that the line is in, from its declaration to its last line with
 * code.  Where it is inlined, that is an address in the function around it.  *near: the
 * nearest line with code in a file of this name, if that is nearer than what is there;
 * line 0: none yet.
 */
struct us_source_line {
	const char *file; /* as in DWARF; lives as long as the set */
	uint32_t line;
};
void us_symbols_around(struct us_symbols *s, const char *file, uint32_t line,
		       us_address_visitor *visit, void *ctx,
		       struct us_source_line *near);

/* Base name of an image with lines that were left out, because its DWARF is too large
 * or wrong; NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_incomplete(const struct us_symbols *s);

/* Base name of an image with most of its DWARF in other files (-gsplit-dwarf), which
 * are not read; NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_split(const struct us_symbols *s);

/* Path of a file whose DWARF was needed, but is compressed in an unsupported way
 * (zstd); NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_unreadable(const struct us_symbols *s);

/* Path of a file whose DWARF is lost because it was written to after it was opened;
 * NULL: none so far.  For a warning after the look-ups. */
const char *us_symbols_changed(const struct us_symbols *s);

/* Starts of all functions of all images at all places, biased, sorted.  The caller
 * frees *ret.  0 or -ENOMEM. */
US_MUST_CHECK int us_symbols_function_starts(const struct us_symbols *s, us_gva **ret,
					     size_t *ret_n);

#endif
