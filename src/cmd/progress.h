/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress.h: a progress line on the terminal while a recording runs; nothing
 * elsewhere. */
#ifndef US_CMD_PROGRESS_H
#define US_CMD_PROGRESS_H

#include "store/store.h"

struct us_progress {
	bool on; /* stderr is a terminal */
	uint64_t duration_ns;
	unsigned n_guest; /* guests recorded at once; 0: a single one */
};

void us_progress_begin(struct us_progress *p, const char *what, uint64_t duration_ns);
void us_progress_show(struct us_progress *p, const struct us_record_stats *s);
/* Instead of the figures: what the command waits for, before the first sample or after
 * the last one. */
void us_progress_wait(struct us_progress *p, const char *what);
void us_progress_end(struct us_progress *p);

#endif
