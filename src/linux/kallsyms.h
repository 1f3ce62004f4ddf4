/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.h: the symbol table that a Linux kernel carries in its own memory.
 *
 * scripts/kallsyms.c of the kernel makes it: names as strings of tokens (a byte each,
 * 256 of them in kallsyms_token_table), their addresses, and an offset for every 256th
 * name (kallsyms_markers).  Nothing says where the table is, so uniscope recognizes it
 * by its form, in the image alone.  It trusts the table if all parts agree: every
 * marker points to a name, every name decodes, the addresses rise, and the kernel's own
 * start is among them.
 *
 * Supported forms (x86-64):
 * - address tables before the names (up to 6.3) or after the tokens (6.4);
 * - with kallsyms_seqs_of_names (6.2) and without;
 * - name lengths of one or two bytes (6.1);
 * - addresses of 8 bytes; of 4 bytes relative to a base; the same with absolute per-CPU
 *   symbols (up to 6.14); of 4 bytes relative to their own place (7.0);
 * - markers of 8 bytes (before 4.20) or 4;
 * - aligned to 8 bytes, or to 4 (7.0).
 */
#ifndef US_LINUX_KALLSYMS_H
#define US_LINUX_KALLSYMS_H

#include "base/err.h"
#include "linux/image.h"

#define US_KALLSYMS_LEAST    512
#define US_KALLSYMS_MOST     (4U << 20)
#define US_KALLSYMS_NAME_MAX 1023 /* bytes */

enum us_kallsyms_form {
	US_KALLSYMS_ABSOLUTE,
	US_KALLSYMS_RELATIVE, /* to a base */
	US_KALLSYMS_PERCPU,   /* to a base, but per-CPU symbols are absolute */
	US_KALLSYMS_PLACE,    /* each to its own place in the table */
};

struct us_kallsyms {
	struct us_kallsym {
		us_gva addr;
		uint32_t name; /* offset in `names` */
		char type;     /* as nm has it: 't', 'T', 'd', ... */
	} * v;		       /* sorted by addr; in the order of the table */
	size_t n;
	char *names;
	size_t n_bytes; /* of `names` */
	uint8_t form;	/* enum us_kallsyms_form */
	bool late;	/* the addresses follow the tokens: 6.4 and later */
	us_gva at;	/* of kallsyms_num_syms */
	us_gva token_index_at;
};

/* -ENOENT: there is no table; -EBADMSG: something looks like one, but its parts do not
 * agree. */
US_MUST_CHECK int us_kallsyms_read(struct us_linux_image *i, struct us_kallsyms *ret,
				   struct us_err *e);
void us_kallsyms_fini(struct us_kallsyms *k); /* accepts a zeroed one */

/* The symbol of that name, or NULL.  Linear search: for the setup path. */
const struct us_kallsym *us_kallsyms_named(const struct us_kallsyms *k,
					   const char *name);
/* Its address, or 0. */
us_gva us_kallsyms_address(const struct us_kallsyms *k, const char *name);

/*
 * The function at addr, named as the kernel itself names code: of the symbols at the
 * greatest address that is not above addr, the first.  *ret_end: where the next one
 * begins.  NULL: no symbol, or it is not code.
 */
const struct us_kallsym *us_kallsyms_find(const struct us_kallsyms *k, us_gva addr,
					  us_gva *ret_end);

static inline const char *us_kallsym_name(const struct us_kallsyms *k,
					  const struct us_kallsym *s)
{
	return k->names + s->name;
}

bool us_kallsym_is_code(const struct us_kallsym *s);

/* Where the kernel's code begins: at text (_text), or at a head right before it
 * (RISC-V, where the head starts the CPUs). */
us_gva us_kallsyms_code(const struct us_kallsyms *k, us_gva text);

#endif
