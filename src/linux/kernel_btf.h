/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_btf.h: offsets of struct members in a kernel, from its type information (BTF).
 *
 * Format (Linux, Documentation/bpf/btf.rst): a header, the types one after another, the
 * strings.  All bytes are hostile: offsets are checked, names must end, and nested
 * types are followed only a few levels deep.
 */
#ifndef US_LINUX_BTF_H
#define US_LINUX_BTF_H

#include "base/err.h"
#include "linux/kallsyms.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_BTF_MOST (64U << 20) /* bytes */

struct us_btf {
	const uint8_t *types, *strings; /* the caller's */
	size_t types_size, strings_size;
	uint32_t *at; /* offset of type k in types; [0]: none */
	size_t n;
};

/* The caller keeps the bytes; they must outlive ret.  -EBADMSG: no BTF; -ENOMEM. */
US_MUST_CHECK int us_btf_open(const uint8_t *bytes, size_t size, struct us_btf *ret);
/* Open the kernel's own BTF, found by its symbol, or by its form if the symbol table
 * has only functions.  The image must outlive ret.  -ENOENT: the kernel has none. */
US_MUST_CHECK int us_btf_of_kernel(struct us_linux_image *i,
				   const struct us_kallsyms *k, struct us_btf *ret);
void us_btf_close(struct us_btf *b); /* accepts a zeroed one */

struct us_btf_member {
	uint32_t offset; /* bytes */
	uint32_t type;	 /* type number; 0: not known */
	uint32_t size;	 /* bytes, of an array all of it; 0: not known */
};

/* The struct or union of that name, or 0. */
uint32_t us_btf_struct(const struct us_btf *b, const char *name);
/* Its size in bytes, or 0. */
uint32_t us_btf_size(const struct us_btf *b, uint32_t type);
/* A member, also one of nested anonymous structs and unions.  false: there is none, or
 * it does not begin at a byte. */
bool us_btf_member(const struct us_btf *b, uint32_t type, const char *name,
		   struct us_btf_member *ret);
/* A nested member of the struct of that name, such as "thread.sp"; its offset counts
 * from the start of the outer struct.  false: not known. */
bool us_btf_path(const struct us_btf *b, const char *type, const char *path,
		 struct us_btf_member *ret);
/* The element type of an array, and the number of elements; 0: not an array. */
uint32_t us_btf_element(const struct us_btf *b, uint32_t type, uint32_t *ret_n);

#endif
