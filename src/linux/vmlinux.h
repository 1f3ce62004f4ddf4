/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmlinux.h: what the ELF file of a guest's kernel says where the kernel's own memory
 * does not: its symbols (a kernel without kallsyms, or with functions alone) and its
 * types, by DWARF (one without BTF).
 *
 * A file is believed to be that kernel if its build-id is in the guest's memory where
 * it would be loaded, or, if it has none, if its code is.
 */
#ifndef US_LINUX_VMLINUX_H
#define US_LINUX_VMLINUX_H

#include "guest/paging.h"
#include "linux/kallsyms.h"
#include "linux/kernel_btf.h"
#include "symbol/elf_image.h"

struct us_vmlinux {
	const struct us_elf_image *image; /* the caller's; NULL: none was found */
	uint64_t bias;		    /* between the file's addresses and the guest's */
	struct us_kallsyms symbols; /* at the guest's addresses */
	const char *another;	    /* a kernel that is not this one; or NULL */
};

/* The kernel among files: which, and where its memory is searched. */
struct us_vmlinux_search {
	const struct us_elf_image *const *file;
	size_t n_file;
	const struct us_linux_place *place;
	us_gva text; /* its _text or _stext, if known; 0: it is looked for in the place
		      */
	struct us_paging *p;
	const struct us_space *s;
};

/* -ENOENT: it is not among them; -ENOMEM. */
US_MUST_CHECK int us_vmlinux_open(const struct us_vmlinux_search *w,
				  struct us_vmlinux *ret);
void us_vmlinux_close(struct us_vmlinux *v); /* accepts a zeroed one */

/*
 * Its types, of those structs that are read of a kernel: *ret_bytes, which ret is of,
 * are the caller's to free.  -ENOENT: *ret_why says what is missing, as in "vmlinux
 * WHY"; -ENOMEM.  As us_dwarf_types_read().
 */
US_MUST_CHECK int us_vmlinux_types(const struct us_vmlinux *v, struct us_btf *ret,
				   uint8_t **ret_bytes, const char **ret_why);

/* The file's name without its folder. */
const char *us_vmlinux_name(const struct us_elf_image *i);

#endif
