/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host.h: what the host did for a guest: stacks of its kernel and of the VMM, and their
 * names, for `record --host`.
 *
 * The kernel's stacks come from it; the VMM's are unwound from a copy by the call frame
 * information of its files, or by frame pointers where there is none.  Names are those
 * of /proc/kallsyms and of the symbol tables of the VMM's files as they are mapped at
 * the start.
 */
#ifndef US_CMD_HOST_H
#define US_CMD_HOST_H

#include "record/record.h"
#include "store/store.h"
#include "symbol/debug_file.h"

struct us_host_stacks;

/* note (size bytes) gets what is missing, for the user; "" if nothing is. */
US_MUST_CHECK int us_host_stacks_open(pid_t pid, const struct us_debug_dirs *dirs,
				      struct us_host_stacks **ret, char *note,
				      size_t size, struct us_err *e);
void us_host_stacks_close(struct us_host_stacks *h); /* accepts NULL */

/* Hot path: the program counters, innermost first, at most US_MAX_HOST_FRAMES. */
size_t us_host_stacks_take(struct us_host_stacks *h, struct us_host_copy *copy,
			   us_hva pc[US_MAX_HOST_FRAMES]);

/* A us_namer's: for the writer's thread. */
bool us_host_stacks_name(void *ctx, us_hva pc, struct us_named *ret);

#endif
