/* SPDX-License-Identifier: GPL-2.0-or-later */
/* programs_priv.h: shared by programs.c and programs_read.c. */
#ifndef US_CMD_PROGRAMS_PRIV_H
#define US_CMD_PROGRAMS_PRIV_H

#include "cmd/record/programs.h"
#include "linux/program_pages.h"

/* Try again to find mappings for samples without one, now that more are known.  Call it
 * locked.  older: the list of tasks was read again; samples that have now waited for
 * three readings are dropped. */
void us_programs_see_unknown(struct us_programs *p, bool older);

/* The number of a file: that of a known one with the same path, kind, state, and
 * build-id or headers, or a new one.  e: what was read of it; NULL: nothing.  0: there
 * are too many. */
uint32_t us_programs_number(struct us_programs *p, const char *path,
			    enum us_program_kind kind, const struct us_program_elf *e,
			    bool deleted);

/* In the reading thread: notice files without a build-id that were deleted or replaced
 * since they were read.  Ends at until_ns of the thread's CPU time. */
void us_programs_see_deleted(struct us_programs *p, const struct us_linux *l,
			     struct us_paging *paging, uint64_t until_ns);

/* Identify a mapped file by its header.  own: the program's page tables.  *ret_cache:
 * reads its pages that are not mapped, in *cache; NULL: none.  False: it is not an ELF
 * file, or it is not in memory. */
bool us_programs_elf(struct us_programs *p, const struct us_linux *l,
		     struct us_paging *paging, const struct us_space *own,
		     const struct us_known_mapping *m, struct us_page_cache *cache,
		     struct us_page_cache **ret_cache, struct us_program_elf *ret);

/* Take over what the cache has learned about a file's pages; c may be NULL. */
void us_programs_cache_known(struct us_programs *p, const struct us_page_cache *c);

/* In the reading thread: the call frame information of a file, from the user's folders
 * or the system's; owned by the caller.  NULL: not found, or, if *ret_known is false,
 * the user's folders must be read first. */
struct us_cfi_table *us_programs_file_rules(struct us_programs *p,
					    const struct us_known_file *f,
					    bool *ret_known);

#endif
