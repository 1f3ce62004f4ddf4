/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_frames.h: a table of rules from the call frame information in a program's
 * memory, which PT_GNU_EH_FRAME leads to (LSB 5, 10.6).  Most static programs have no
 * such segment: there, uniscope searches the read-only segments for the records.
 *
 * The bytes are the guest's.  Most of these pages were never touched, so they are not
 * mapped, but the guest often has them in its page cache.  If a page is missing, only
 * the functions whose records are in it get no rule: the search table before the
 * records gives the offset of each.  Without the table, each record says which other
 * record it refers to.  US_PROGRAM_MOST_FRAMES bounds time and memory.
 */
#ifndef US_LINUX_PROGRAM_FRAMES_H
#define US_LINUX_PROGRAM_FRAMES_H

#include "linux/page_cache.h"
#include "linux/program_elf.h"
#include "unwind/cfi.h"

#define US_PROGRAM_MOST_FRAMES (16U << 20) /* bytes of records */

/*
 * The table is at the file's addresses.  cache: of the file, which learns from its
 * mapped pages; NULL: read only what is mapped.  *ret_missing: bytes that are not in
 * memory, of the records or of where they are searched.  0: *ret is the caller's to
 * free; -ENOENT: there are no records, or none is in memory; -ENOMEM.
 */
US_MUST_CHECK int us_program_frames_read(struct us_paging *p, const struct us_space *s,
					 const struct us_program_elf *f,
					 struct us_page_cache *cache,
					 struct us_cfi_table **ret,
					 size_t *ret_missing);

#endif
