/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_names.h: the functions that a recording itself names. */
#ifndef US_PROFILE_GUEST_NAMES_H
#define US_PROFILE_GUEST_NAMES_H

#include "store/store.h"
#include "symbol/symbol.h"

struct us_guest_names {
	struct us_guest_name {
		us_gva start;
		uint64_t size;
		char *name;
		size_t module, number;
		uint32_t namesake; /* guest_builds.h sets it */
	} * v;
	size_t n, cap;
	size_t number; /* of the next one */
	struct {
		char **v;
		size_t n, cap;
	} modules;
	struct {
		char **v;
		size_t n, cap;
	} old; /* names that were replaced, but may still be in use */
};

void us_guest_names_fini(struct us_guest_names *g); /* accepts a zeroed one */
/* 0, -ENOMEM, or -E2BIG: more modules than a kernel has. */
US_MUST_CHECK int us_guest_names_add(struct us_guest_names *g,
				     const struct us_named *n);
/* Call this after the last one, and again after later ones.  Of functions with the same
 * start, the last one added stays. */
void us_guest_names_sort(struct us_guest_names *g);
/* A us_symbol_namer callback; ctx: the struct us_guest_names. */
bool us_guest_names_find(void *ctx, us_gva pc, struct us_symbol_name *ret);

#endif
