/* SPDX-License-Identifier: GPL-2.0-or-later */
/* task_chunks.h: encodes the chunks of a Linux guest's processes and threads
 * (docs/format.md). */
#ifndef US_STORE_TASK_CHUNKS_H
#define US_STORE_TASK_CHUNKS_H

#include "store/format.h"
#include "store/store.h"

/* Write to p, which has space for US_CHUNK_WRITE_MAX bytes; returns the number of
 * bytes, 0: the values are invalid. */
size_t us_pack_process(const struct us_process *s, uint8_t *p);
size_t us_pack_task(const struct us_task *t, uint8_t *p);
size_t us_pack_waiter(const struct us_waiter *s, uint8_t *p);

#endif
