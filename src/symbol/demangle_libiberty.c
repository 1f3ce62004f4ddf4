/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle_libiberty.c: C++, Rust and D with GNU libiberty.
 *
 * Its limits: 2048 nested parts for C++, 1024 for Rust, none for D.  Names refer back
 * to their parts, so a short name may stand for one of exponential length.  The
 * demanglers of C++ and Rust deliver the text piece by piece, so text that is too long
 * can be cut.  D's does not, so names with many back references are not tried at all.
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

/* Rust's demangler passes text that is not ASCII from memory that it frees afterwards,
 * so jump out only at the ASCII text that follows. */
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
