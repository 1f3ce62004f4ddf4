/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_counts_file.h: maps the file of plugin_counts.h read-only, while QEMU writes
 * it or after QEMU has ended in any way.
 */
#ifndef US_VMM_PLUGIN_COUNTS_FILE_H
#define US_VMM_PLUGIN_COUNTS_FILE_H

#include "base/err.h"
#include "vmm/plugin_counts.h"

#include <stdbool.h>
#include <stddef.h>

struct us_counts {
	const char *map; /* of the whole file; its contents are checked with each use */
	size_t size;
	struct us_counts_head head; /* a checked copy */
	bool stays_whole; /* only root and we can truncate it, which would be a SIGBUS
			     here */
};

/* -ENOENT, ...: it cannot be read; -EBADMSG: it is no such file, or not complete yet.
 */
US_MUST_CHECK int us_counts_open(const char *path, struct us_counts *ret,
				 struct us_err *e);
void us_counts_close(struct us_counts *c); /* accepts a zeroed one */
/* Has the plugin given up because it cannot tell the vCPUs apart? */
bool us_counts_are_mixed(const char *path);
/* Has the guest executed anything? */
bool us_counts_have_begun(const char *path);

/* The head as it is in the file now; it changes while it is read. */
const struct us_counts_head *us_counts_now(const struct us_counts *c);
/* vCPUs that were started, at most head.n_vcpu. */
unsigned us_counts_started(const struct us_counts *c);
/* i < head.n_vcpu. */
const struct us_counts_vcpu *us_counts_vcpu(const struct us_counts *c, unsigned i);
/* Its nodes, and how many of them are valid. */
const struct us_counts_node *us_counts_nodes(const struct us_counts *c, unsigned i,
					     uint32_t *ret_n);
/* Is the code that was executed until now that of the images?  Judged by the functions'
 * first bytes.  1: it is; -1: it is not; 0: nothing is known. */
int us_counts_are_of_images(const struct us_counts *c);
/* How far above their addresses in the images the guest runs functions (wraps around);
 * 0: it runs them where they were linked, or nothing is known. */
uint64_t us_counts_slide(const struct us_counts *c);
/* Did QEMU end in good order? */
bool us_counts_ended(const struct us_counts *c);

#endif
