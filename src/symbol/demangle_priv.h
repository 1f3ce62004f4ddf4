/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle_priv.h: the schemes, a file each, behind demangle.c's table. */
#ifndef US_SYMBOL_DEMANGLE_PRIV_H
#define US_SYMBOL_DEMANGLE_PRIV_H

#include "symbol/demangle.h"

#include <stdbool.h>

/* The output buffer; once something does not fit, bad stays set. */
struct us_name_out {
	char *dst;
	size_t size, n;
	bool bad;
};

void us_name_put(struct us_name_out *o, const char *s, size_t len);
void us_name_puts(struct us_name_out *o, const char *s);

/*
 * A scheme's function: raw is at most US_MANGLED_MAX bytes and has no clone mark.
 * false: not understood; ignore the output.
 */
bool us_demangle_ocaml(const char *raw, enum us_name_form form, struct us_name_out *o);
bool us_demangle_pascal(const char *raw, enum us_name_form form, struct us_name_out *o);
bool us_demangle_cplusplus(const char *raw, enum us_name_form form,
			   struct us_name_out *o);
bool us_demangle_rust(const char *raw, enum us_name_form form, struct us_name_out *o);
bool us_demangle_d(const char *raw, enum us_name_form form, struct us_name_out *o);

#endif
