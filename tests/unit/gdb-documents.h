/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb-documents.h: the register descriptions that a stub offers. */
#ifndef US_TEST_GDB_DOCUMENTS_H
#define US_TEST_GDB_DOCUMENTS_H

#include "unit.h"

#include "backend/gdb/target.h"

#include <errno.h>

struct documents {
	const char *target, *included;
};

static inline int fetch(void *ctx, const char *name, char **ret, size_t *ret_len,
			struct us_err *e)
{
	const struct documents *d = ctx;
	const char *text = strcmp(name, "target.xml") ? d->included : d->target;
	if (!text)
		return us_fail(e, -ENOENT, "no %s", name);
	*ret = strdup(text);
	*ret_len = strlen(text);
	return *ret ? 0 : -ENOMEM;
}

#endif
