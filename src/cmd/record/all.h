/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/record/all.h: record every guest of this host at once, each into a file of its
 * own.
 *
 * Each guest is recorded by a thread of its own, as one guest is (cmd/record/one.h):
 * one that ends, fails or is slow does not concern the others.  This thread takes up
 * guests as they come, tells the user, and ends it all.
 */
#ifndef US_CMD_RECORD_ALL_H
#define US_CMD_RECORD_ALL_H

#include "cmd/record/one.h"

/*
 * Until Ctrl-C, or the duration is over: of guests that are there at the beginning, for
 * each from its own start; those that come later are recorded until then.  s->out: the
 * folder.  0 if at least one guest was recorded.
 */
US_MUST_CHECK int us_record_all(const struct us_record_settings *s, struct us_err *e);

#endif
