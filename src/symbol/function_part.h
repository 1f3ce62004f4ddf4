/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * function_part.h: symbols of code that no caller enters at its start.
 *
 * What stands in the place of a return address there is none, or not this code's.
 */
#ifndef US_SYMBOL_FUNCTION_PART_H
#define US_SYMBOL_FUNCTION_PART_H

#include <stdbool.h>
#include <stddef.h>

/* If this names the rarely executed part of a function, the length of the function's
 * name; else 0.  Compilers put such parts, "f.cold" and "f.cold.3", in a section of
 * their own. */
size_t us_function_cold_length(const char *name);

/* A trampoline of Linux's, whose address replaces a return address while a tracer waits
 * for the function to return (kretprobes, the function graph)? */
bool us_is_return_trampoline(const char *name);

/* Such a part; or such a trampoline. */
bool us_is_function_part(const char *name);

#endif
