/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd/record/all.h: record all guests of this host at once, each into its own file.
 *
 * Each guest is recorded by its own thread, as a single guest is (cmd/record/one.h).  A
 * guest that ends, fails or is slow does not affect the others.  This thread attaches
 * guests as they appear, informs the user, and ends all recordings.
 */
#ifndef US_CMD_RECORD_ALL_H
#define US_CMD_RECORD_ALL_H

#include "cmd/record/one.h"

/*
 * Record until Ctrl-C or the end of the duration.  For guests that exist at the
 * beginning, the duration counts from each one's own start; later ones are recorded
 * until those end.  s->out: the folder.  0 if at least one guest was recorded.
 */
US_MUST_CHECK int us_record_all(const struct us_record_settings *s, struct us_err *e);

#endif
