/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qmp_parse.h: split a stream of bytes into QMP messages and tell what each is.
 *
 * QEMU ends a message with CR LF but may also spread one over lines (pretty=on): a
 * message is therefore delimited by its braces, not by lines.
 */
#ifndef US_VMM_QMP_PARSE_H
#define US_VMM_QMP_PARSE_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define US_QMP_MAX_BYTES (16u << 20) /* of everything that answers one command */
#define US_QMP_MAX_DEPTH 256	     /* of nested containers */

enum us_qmp_kind {
	US_QMP_GREETING, /* {"QMP": {...}} */
	US_QMP_EVENT,	 /* {"event": "...", ...} */
	US_QMP_RETURN,	 /* {"return": ..., "id": ...} */
	US_QMP_ERROR,	 /* {"error": {"class": ..., "desc": ...}, "id": ...} */
	US_QMP_STRANGE,	 /* JSON, but none of these */
};

/* How far the search for the end of a message has come; zero it for each message. */
struct us_qmp_framer {
	size_t at; /* bytes seen */
	unsigned depth;
	bool in_string, escaped;
};

/*
 * Continue with the bytes of one message.  buf has len of them by now (those of earlier
 * calls included).  1: it is complete and f->at bytes long, 0: more is needed, -EPROTO:
 * this cannot become a JSON object.  Each byte is read once.
 */
int us_qmp_frame(struct us_qmp_framer *f, const char *buf, size_t len);

/* Parse one whole message. *ret is a new reference. -EPROTO: it is not JSON. */
US_MUST_CHECK int us_qmp_parse(const char *buf, size_t len, enum us_qmp_kind *ret_kind,
			       json_t **ret);

#endif
