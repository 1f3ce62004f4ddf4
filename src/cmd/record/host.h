/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host.h: what the host did for a guest: stacks of the host's kernel and of the VMM,
 * and their names, for `record --host`.
 *
 * The kernel gives its own stacks.  The VMM's stack is copied and unwound with the call
 * frame information of its files, or with frame pointers if there is none.  Names come
 * from /proc/kallsyms, and from the symbol tables of the files that the VMM has mapped
 * at the start.
 */
#ifndef US_CMD_HOST_H
#define US_CMD_HOST_H

#include "record/record.h"
#include "store/store.h"
#include "symbol/debug_file.h"

struct us_host_stacks;

/* note (size bytes): what is missing, for the user; "" if nothing is. */
US_MUST_CHECK int us_host_stacks_open(pid_t pid, const struct us_debug_dirs *dirs,
				      struct us_host_stacks **ret, char *note,
				      size_t size, struct us_err *e);
void us_host_stacks_close(struct us_host_stacks *h); /* accepts NULL */

/* Hot path: the program counters, innermost first, at most US_MAX_HOST_FRAMES. */
size_t us_host_stacks_take(struct us_host_stacks *h, struct us_host_copy *copy,
			   us_hva pc[US_MAX_HOST_FRAMES]);

/* A us_namer callback, for the writer's thread. */
bool us_host_stacks_name(void *ctx, us_hva pc, struct us_named *ret);

#endif
