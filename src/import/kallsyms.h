/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms.h: names from a copy of a guest's /proc/kallsyms, as perf kvm takes it. */
#ifndef US_IMPORT_KALLSYMS_H
#define US_IMPORT_KALLSYMS_H

#include "store/store.h"

struct us_kallsyms_text;

/* -EBADMSG: not such a file, or all its addresses are 0; or the error of open(2) or
 * read(2). */
US_MUST_CHECK int us_kallsyms_text_read(const char *path, struct us_kallsyms_text **ret,
					struct us_err *e);
void us_kallsyms_text_free(struct us_kallsyms_text *k); /* accepts NULL */
/* For _cleanup_(). */
static inline void us_kallsyms_text_freep(struct us_kallsyms_text **k)
{
	us_kallsyms_text_free(*k);
}
/* A us_namer callback: gives each function once. */
bool us_kallsyms_text_name(void *ctx, us_gva pc, struct us_named *ret);

#endif
