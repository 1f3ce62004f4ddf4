/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings.h: what a program of a Linux guest has in its memory, and from which files.
 *
 * Since 6.1 the mappings of a process are in a maple tree (lib/maple_tree.c), before
 * that in a list, by address.  Both change while they are read: a node that says it is
 * another's child, a mapping that is not where the tree has it, and a number of them
 * that is not the kernel's own mean that it was read in mid change, and it is read
 * again.  Nothing is trusted: nodes, depth, names and their number are bounded.
 */
#ifndef US_LINUX_MAPPINGS_H
#define US_LINUX_MAPPINGS_H

#include "guest/paging.h"
#include "linux/kernel_btf.h"

#define US_LINUX_MOST_MAPPINGS 65536U /* of a process; by default Linux has 65,530 */
#define US_LINUX_MAPPED_NAME   4096U  /* bytes with the NUL */
#define US_MAPLE_NODE	       256U   /* bytes, and so they are aligned */

/* A kind of node: where it has what. */
struct us_maple_layout {
	uint32_t pivot, slot, n_slot; /* n_slot - 1 pivots */
};

/* Where a kernel has what is read; offsets in bytes. */
struct us_linux_mappings_layout {
	bool tree;	/* else a list */
	uint32_t first; /* of an mm: the tree's root, or the first mapping */
	uint32_t count, vdso;
	bool has_vdso;
	struct us_maple_layout range, arange;
	uint32_t start, end, flags, offset, file, next, size; /* of a mapping */
	uint32_t dentry, mount;				      /* of a file */
	uint32_t parent, name, name_length;		      /* of a dentry */
	/* Of what a file's mount points to: its root; and of the struct around that,
	 * which has it at `mounted`. */
	uint32_t mount_root, mounted, mount_parent, mount_point;
};

/* false: this kernel's types do not say all of it. */
bool us_linux_mappings_layout(const struct us_btf *b,
			      struct us_linux_mappings_layout *ret);

struct us_linux_mapping {
	us_gva start, end;
	uint64_t offset; /* in the file, bytes */
	us_gva file;	 /* its struct file; 0: it is of none */
	us_gva dentry;	 /* its name's, which mappings of one file share; 0: none */
	bool code;	 /* it may be executed */
	bool vdso;
};

struct us_linux_mappings {
	/* Those of code, and of the begin of each file; by address. */
	struct us_linux_mapping *v;
	size_t n, cap;
	bool torn; /* they changed at each try: none is told */
	bool full; /* there are more than US_LINUX_MOST_MAPPINGS */
};

/*
 * Those of an mm_struct: a read of 256 bytes for each node, or one for each mapping,
 * and one or two for each that is told.  p: of this thread; s: the kernel's own page
 * tables.  0 or -ENOMEM.
 */
US_MUST_CHECK int us_linux_mappings_read(const struct us_linux_mappings_layout *l,
					 struct us_paging *p, const struct us_space *s,
					 us_gva mm, struct us_linux_mappings *ret);
void us_linux_mappings_fini(struct us_linux_mappings *m); /* accepts a zeroed one */

/* How many there are, and where they begin: if it is the same later, so are they but
 * for one that took another's place.  false: unreadable. */
bool us_linux_mappings_mark(const struct us_linux_mappings_layout *l,
			    struct us_paging *p, const struct us_space *s, us_gva mm,
			    uint64_t ret[2]);

/* The path of a file as the guest's first process has it: "/usr/bin/dd"; of one that is
 * in no folder its name.  false: it cannot be read, or is too long. */
bool us_linux_mapping_path(const struct us_linux_mappings_layout *l,
			   struct us_paging *p, const struct us_space *s, us_gva file,
			   char ret[US_LINUX_MAPPED_NAME]);

#endif
