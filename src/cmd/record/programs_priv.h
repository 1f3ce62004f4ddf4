/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_priv.h: what programs.c and programs_read.c share. */
#ifndef US_CMD_PROGRAMS_PRIV_H
#define US_CMD_PROGRAMS_PRIV_H

#include "cmd/record/programs.h"
#include "linux/program_pages.h"

/* Samples that were in no known mapping, now that more are.  Locked.  older: the list
 * of tasks was read once more; those that wait for the third time are given up. */
void us_programs_see_unknown(struct us_programs *p, bool older);

/* In the reading thread: what those have mapped in which samples were since. */
void us_programs_read_sampled(struct us_programs *p, const struct us_linux *l,
			      struct us_paging *paging);

/* What a mapped file is, by its header.  own: the program's page tables.  *ret_cache:
 * what reads its pages that are not mapped, in *cache; NULL: none.  false: it is no ELF
 * file, or it is not in memory. */
bool us_programs_elf(struct us_programs *p, const struct us_linux *l,
		     struct us_paging *paging, const struct us_space *own,
		     const struct us_known_mapping *m, struct us_page_cache *cache,
		     struct us_page_cache **ret_cache, struct us_program_elf *ret);

/* It has learned of pages of a file; c may be NULL. */
void us_programs_cache_known(struct us_programs *p, const struct us_page_cache *c);

/* In the reading thread: the call frame information of a file where the user says that
 * files are, or the system has them; the caller's.  NULL: none is there, or, without
 * *ret_known, it has to be seen first what is in the user's folders. */
struct us_cfi_table *us_programs_file_rules(struct us_programs *p,
					    const struct us_known_file *f,
					    bool *ret_known);

#endif
