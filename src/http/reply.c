/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reply.c: see server.h. */
#include "http/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void us_http_say(struct us_http_reply *r, unsigned status, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	free(r->text);
	r->status = status;
	if (vasprintf(&r->text, fmt, ap) < 0)
		r->text = NULL;
	va_end(ap);
}
