/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/trace/other_names.c: see cmd/trace/other_names.h. */
#include "cmd/trace/other_names.h"

#include "base/text.h"
#include "symbol/demangle.h"

#include <stdio.h>
#include <string.h>

static void write_name(const char *raw, char *ret, size_t size)
{
	char text[US_DEMANGLED_MAX];
	const char *name = us_demangle(raw, US_NAME_SHORT, text, sizeof(text));
	us_printable(ret, size, name ? name : raw);
}

/* An image may be in several places. */
static bool is_known(const struct us_other_names *o, const struct us_other_name *x)
{
	for (size_t i = 0; i < o->n && i < US_OTHER_NAMES_TOLD; i++)
		if (!strcmp(o->v[i].asked, x->asked) &&
		    !strcmp(o->v[i].shown, x->shown))
			return true;
	return false;
}

void us_other_names_note(struct us_other_names *o, const struct us_function *f,
			 size_t k)
{
	struct us_other_name x;
	us_printable(x.asked, sizeof(x.asked), us_function_name(f, k));
	write_name(f->raw, x.shown, sizeof(x.shown));
	if (is_known(o, &x))
		return;
	if (o->n < US_OTHER_NAMES_TOLD)
		o->v[o->n] = x;
	o->n++;
}

void us_other_names_tell(const struct us_other_names *o)
{
	size_t told = o->n < US_OTHER_NAMES_TOLD ? o->n : US_OTHER_NAMES_TOLD;
	for (size_t i = 0; i < told; i++)
		fprintf(stderr, "note: %s: its address is shown as %s\n", o->v[i].asked,
			o->v[i].shown);
	if (o->n > told)
		fprintf(stderr, "note: %zu more names are shown as others\n",
			o->n - told);
}
