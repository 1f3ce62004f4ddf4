/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings.h: the memory mappings of a program in a Linux guest, and their files.
 *
 * Since 6.1 the mappings of a process are in a maple tree (lib/maple_tree.c), before
 * that in a list sorted by address.  Both can change while uniscope reads them.  It
 * reads them again if
 * - a node names another parent,
 * - a mapping is not at the address where the tree has it, or
 * - their number is not the kernel's own count.
 * Nothing is trusted: the number of nodes, the depth, and the length and number of
 * names are bounded.
 */
#ifndef US_LINUX_MAPPINGS_H
#define US_LINUX_MAPPINGS_H

#include "guest/paging.h"
#include "linux/kernel_btf.h"

#define US_LINUX_MOST_MAPPINGS 65536U /* of a process; Linux's default is 65,530 */
#define US_LINUX_MAPPED_NAME   4096U  /* bytes with the NUL */
#define US_MAPLE_NODE	       256U   /* size and alignment, bytes */

/* Offsets in a kind of node. */
struct us_maple_layout {
	uint32_t pivot, slot, n_slot; /* n_slot - 1 pivots */
};

/* Where a kernel keeps what is read; offsets in bytes. */
struct us_linux_mappings_layout {
	bool tree;	/* else a list */
	uint32_t first; /* of an mm: the tree's root, or the first mapping */
	uint32_t count, vdso;
	bool has_vdso;
	/* Of an mm: a pointer to its xol_area; of that: where the area is mapped. */
	uint32_t uprobes, uprobes_at;
	bool has_uprobes;
	struct us_maple_layout range, arange;
	uint32_t start, end, flags, offset, file, next, size; /* in a mapping */
	uint32_t dentry, mount;				      /* of a file */
	uint32_t parent, name, name_length;		      /* in a dentry */
	uint32_t hashed; /* likewise: 0 if no path leads there */
	bool has_hashed;
	/* mount_root: in the vfsmount that a file's mount points to.  The struct mount
	 * around it has the vfsmount at `mounted`; mount_parent and mount_point are in
	 * the struct mount. */
	uint32_t mount_root, mounted, mount_parent, mount_point;
};

/* false: this kernel's types lack some of these members. */
bool us_linux_mappings_layout(const struct us_btf *b,
			      struct us_linux_mappings_layout *ret);

struct us_linux_mapping {
	us_gva start, end;
	uint64_t offset; /* in the file, bytes */
	us_gva file;	 /* its struct file; 0: no file */
	us_gva dentry;	 /* the same for all mappings of a file; 0: none */
	bool code;	 /* executable */
	bool vdso;
	bool uprobes; /* the kernel executes copies of probed instructions there */
};

struct us_linux_mappings {
	/* Mappings of code and of the start of each file, sorted by address. */
	struct us_linux_mapping *v;
	size_t n, cap;
	bool torn; /* they changed at each try: n is 0 */
	bool full; /* there are more than US_LINUX_MOST_MAPPINGS */
};

/*
 * Read the mappings of an mm_struct.  Cost: a read of 256 bytes for each tree node, or
 * one read for each mapping of the list, and one or two reads for each mapping that is
 * returned.  p: used by this thread only; s: the kernel's own page tables.  0 or
 * -ENOMEM.
 */
US_MUST_CHECK int us_linux_mappings_read(const struct us_linux_mappings_layout *l,
					 struct us_paging *p, const struct us_space *s,
					 us_gva mm, struct us_linux_mappings *ret);
void us_linux_mappings_fini(struct us_linux_mappings *m); /* accepts a zeroed one */

/* *ret: the tree's root or first mapping, and the number of mappings.  If both are the
 * same later, so are the mappings, unless one has replaced another.  false:
 * unreadable. */
bool us_linux_mappings_mark(const struct us_linux_mappings_layout *l,
			    struct us_paging *p, const struct us_space *s, us_gva mm,
			    uint64_t ret[2]);

/* The file was deleted, or another one took its place: no path leads to its dentry, as
 * "(deleted)" in /proc/PID/maps.  false: it was not, or that cannot be told. */
bool us_linux_mapping_deleted(const struct us_linux_mappings_layout *l,
			      struct us_paging *p, const struct us_space *s,
			      us_gva dentry);

/* The path of a file as the guest's first process sees it: "/usr/bin/dd".  For a file
 * in no folder: its name.  false: it cannot be read, or is too long. */
bool us_linux_mapping_path(const struct us_linux_mappings_layout *l,
			   struct us_paging *p, const struct us_space *s, us_gva file,
			   char ret[US_LINUX_MAPPED_NAME]);

#endif
