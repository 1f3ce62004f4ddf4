/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_part.h: symbols of code that no caller enters at its start.
 *
 * What stands in the place of a return address there is none, or not this code's.
 *
 * Compilers and linkers put parts of a function elsewhere, as symbols of their own:
 *
 *	f.cold, f.cold.3	gcc, clang, BOLT: what is rarely executed
 *	f.__part.3		clang -fbasic-block-sections: some of its blocks
 *	_Zf.eh, _Zf.warm	clang: where exceptions arrive; BOLT: between hot and
 *cold
 *
 * gcc's "f.part.3" is none: it is called as a function.
 */
#ifndef US_SYMBOL_FUNCTION_PART_H
#define US_SYMBOL_FUNCTION_PART_H

#include "symbol/elf_image.h"

#include <stdbool.h>
#include <stddef.h>

/* If this names a part of a function, the length of the function's name; else 0. */
size_t us_function_part_length(const char *name);

/* One of the parts "f.__part.3"?  They are as much of f as its first block. */
bool us_is_block_section(const char *name);

/* A trampoline of Linux's, whose address replaces a return address while a tracer waits
 * for the function to return (kretprobes, the function graph)? */
bool us_is_return_trampoline(const char *name);

/* Such a part; or such a trampoline. */
bool us_is_function_part(const char *name);

/* Make one symbol of block sections and what they continue, where they follow it.  v is
 * sorted; returns how many symbols are left. */
size_t us_join_block_sections(struct us_elf_symbol *v, size_t n);

/* By symbol: the index of the function that it is a part of; its own if it is none, or
 * if the names and their files do not tell which.  The caller frees it.  NULL: out of
 * memory. */
uint32_t *us_functions_of_parts(const struct us_elf_symbol *v, size_t n);

#endif
