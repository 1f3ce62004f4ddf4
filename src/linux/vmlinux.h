/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmlinux.h: what a guest kernel's memory lacks, from its ELF file: symbols (for a
 * kernel without kallsyms, or with functions only) and types from DWARF (for one
 * without BTF).
 *
 * A file is taken for that kernel if the guest's memory has its build-id where it would
 * be loaded, or, if the file has no build-id, its code.
 */
#ifndef US_LINUX_VMLINUX_H
#define US_LINUX_VMLINUX_H

#include "guest/paging.h"
#include "linux/kallsyms.h"
#include "linux/kernel_btf.h"
#include "symbol/elf_image.h"

struct us_vmlinux {
	const struct us_elf_image *image; /* owned by the caller; NULL: not found */
	uint64_t bias;			  /* gva minus address of the file */
	struct us_kallsyms symbols;	  /* by gva */
	const char *another; /* name of a file with another kernel; or NULL */
};

/* Find the kernel among these files, and its place in this memory. */
struct us_vmlinux_search {
	const struct us_elf_image *const *file;
	size_t n_file;
	const struct us_linux_place *place;
	us_gva text; /* its _text or _stext; 0: not known, search the place */
	struct us_paging *p;
	const struct us_space *s;
};

/* -ENOENT: none of the files is this kernel; -ENOMEM. */
US_MUST_CHECK int us_vmlinux_open(const struct us_vmlinux_search *w,
				  struct us_vmlinux *ret);
void us_vmlinux_close(struct us_vmlinux *v); /* accepts a zeroed one */

/*
 * The types of the structs that uniscope reads from a kernel, by us_dwarf_types_read(),
 * whose rules apply.  ret points into *ret_bytes, which the caller frees.  -ENOENT:
 * *ret_why says what is missing, as in "vmlinux WHY"; -ENOMEM.
 */
US_MUST_CHECK int us_vmlinux_types(const struct us_vmlinux *v, struct us_btf *ret,
				   uint8_t **ret_bytes, const char **ret_why);

/* The file's name without its folder. */
const char *us_vmlinux_name(const struct us_elf_image *i);

#endif
