/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_index.h: the files of the user's folders by build-id, while a guest is recorded.
 *
 * A folder may have a hundred thousand files, on a sleeping disk or one that no longer
 * answers.  So a thread with low priority opens the folders on the first request, and
 * later reads the files.  It stops between two files when told to.  If a file blocks
 * it, it is abandoned.
 */
#ifndef US_CMD_ID_INDEX_H
#define US_CMD_ID_INDEX_H

#include "symbol/id_files.h"

#define US_ID_INDEX_WAIT_NS                                                            \
	(2 * UINT64_C(1000000000)) /* limit on waiting for the thread's end */

struct us_id_walk;
struct us_id_index {
	struct us_id_walk *walk; /* NULL: no request so far */
};

/* Call all of these from one thread.  Could the folders be opened?  If not yet, *news
 * will be set when they can; until then nobody else should access them. */
bool us_id_index_there(struct us_id_index *x, const struct us_debug_dirs *dirs,
		       atomic_bool *news);
/* After that: all files in dirs; NULL: they are still being read, and *news will be set
 * at the end. */
const struct us_id_files *us_id_index_get(struct us_id_index *x,
					  const struct us_debug_dirs *dirs,
					  atomic_bool *news);
/* How long a request has been waiting for its answer, in seconds, at least 1; 0: no
 * request is waiting. */
unsigned us_id_index_pending(struct us_id_index *x);
/* Waits for US_ID_INDEX_WAIT_NS at most.  Accepts a zeroed one. */
void us_id_index_fini(struct us_id_index *x);

#endif
