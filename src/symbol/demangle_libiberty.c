/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle_libiberty.c: C++, Rust and D by GNU libiberty.
 *
 * Its limits: 2048 nested parts for C++, 1024 for Rust, none for D; and a short name
 * may stand for one of exponential length, for names refer back to their parts.  C++
 * and Rust hand the text over piece by piece, so that what is too long can be cut.
 * D does not, so that names which refer back often are not tried at all.
 */
#include "symbol/demangle_priv.h"

#ifdef US_HAVE_LIBIBERTY

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME       1024 /* of C++ and Rust; libiberty refuses longer C++ names */
#define MAX_D_NAME     512
#define MAX_D_BACKREFS 12 /* 3 to the power of a third of it: times 81 at most */

struct sink {
	struct us_name_out *o;
	jmp_buf full;
};

/* Text with other bytes than ASCII comes from memory that Rust's demangler frees
 * afterwards: the plain text that follows it is the place to leave. */
static void take(const char *text, size_t len, void *opaque)
{
	struct sink *s = opaque;
	bool plain = true;
	for (size_t i = 0; i < len; i++)
		plain &= (unsigned char)text[i] < 0x80;
	us_name_put(s->o, text, len);
	if (s->o->bad && plain)
		longjmp(s->full, 1);
}

bool us_demangle_cplusplus(const char *raw, enum us_name_form form,
			   struct us_name_out *o)
{
	struct sink s = { .o = o };
	(void)form;
	if (strlen(raw) > MAX_NAME || setjmp(s.full))
		return false;
	return cplus_demangle_v3_callback(raw, DMGL_PARAMS | DMGL_ANSI, take, &s);
}

bool us_demangle_rust(const char *raw, enum us_name_form form, struct us_name_out *o)
{
	struct sink s = { .o = o };
	int options = form == US_NAME_LONG ? DMGL_VERBOSE : 0;
	if (strlen(raw) > MAX_NAME || setjmp(s.full))
		return false;
	return rust_demangle_callback(raw, options, take, &s);
}

bool us_demangle_d(const char *raw, enum us_name_form form, struct us_name_out *o)
{
	size_t backrefs = 0, len = strlen(raw);
	(void)form;
	for (size_t i = 0; i < len; i++)
		backrefs += raw[i] == 'Q';
	if (len > MAX_D_NAME || backrefs > MAX_D_BACKREFS ||
	    (!isdigit((unsigned char)raw[2]) && strncmp(raw + 2, "__T", 3) != 0 &&
	     strcmp(raw, "_Dmain") != 0))
		return false;
	char *name = dlang_demangle(raw, 0);
	if (!name)
		return false;
	us_name_puts(o, name);
	free(name);
	return true;
}

#endif
