/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_index.h: the files of the user's folders by their build-ids, while a guest is
 * recorded.
 *
 * A folder may have a hundred thousand files, on a disk that sleeps, or on one that
 * does not answer any more: a thread of its own opens it, the first time that anybody
 * asks, later walks it, and gives way to all others.  It ends between two files when it
 * is told to; where it does not, for one of them does not come, it is left alone.
 */
#ifndef US_CMD_ID_INDEX_H
#define US_CMD_ID_INDEX_H

#include "symbol/id_files.h"

#define US_ID_INDEX_WAIT_NS (2 * UINT64_C(1000000000)) /* for the thread's end */

struct us_id_walk;
struct us_id_index {
	struct us_id_walk *walk; /* NULL: nobody asked */
};

/* All of these in one thread.  Could the folders be opened?  Not yet: *news will be set
 * when they can; nobody else should touch them before. */
bool us_id_index_there(struct us_id_index *x, const struct us_debug_dirs *dirs,
		       atomic_bool *news);
/* After that: all files in dirs, or NULL: they are being looked at, and *news will be
 * set when that is done. */
const struct us_id_files *us_id_index_get(struct us_id_index *x,
					  const struct us_debug_dirs *dirs,
					  atomic_bool *news);
/* Somebody asked, and there is no answer yet, for so many seconds, 1 at least; 0: there
 * is, or nobody asked. */
unsigned us_id_index_pending(struct us_id_index *x);
/* Waits for US_ID_INDEX_WAIT_NS at most.  Accepts a zeroed one. */
void us_id_index_fini(struct us_id_index *x);

#endif
