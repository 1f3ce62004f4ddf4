/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * id_index.h: the files of the user's folders by their build-ids, while a guest is
 * recorded.
 *
 * A folder may have a hundred thousand files, on a disk that sleeps: a thread of its
 * own walks it, the first time that anybody asks, and gives way to all others.  It ends
 * between two files when it is told to.
 */
#ifndef US_CMD_ID_INDEX_H
#define US_CMD_ID_INDEX_H

#include "symbol/id_files.h"

#include <pthread.h>

struct us_id_index {
	struct us_id_files files; /* of the thread, until it is done */
	const struct us_debug_dirs *dirs;
	atomic_bool *news;
	pthread_t thread;
	bool started;
	atomic_bool done, stop;
};

/* In one thread: all files in dirs, which outlive the index, or NULL: they are being
 * looked at, and *news will be set when that is done. */
const struct us_id_files *us_id_index_get(struct us_id_index *x,
					  const struct us_debug_dirs *dirs,
					  atomic_bool *news);
void us_id_index_fini(struct us_id_index *x); /* accepts a zeroed one */

#endif
