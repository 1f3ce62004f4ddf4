/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_frames.h: a program's call frame information where it has it mapped: what
 * PT_GNU_EH_FRAME leads to (LSB 5, 10.6), as a table of rules.  Static programs mostly
 * do not have that: their records are looked for in what is not written to.
 *
 * The bytes are the guest's.  Most of these pages nobody has touched, so that they are
 * not mapped; but the guest often has them, as pages of the file.  Others are missing:
 * functions that are told there have no rule, and no others, for the search table
 * before the records says where each one is; without it each tells which of the others
 * it goes by.  Time and memory are bounded by US_PROGRAM_MOST_FRAMES.
 */
#ifndef US_LINUX_PROGRAM_FRAMES_H
#define US_LINUX_PROGRAM_FRAMES_H

#include "linux/page_cache.h"
#include "linux/program_elf.h"
#include "unwind/cfi.h"

#define US_PROGRAM_MOST_FRAMES (16U << 20) /* bytes of records */

/*
 * In the file's addresses.  cache: of the file, of which mapped pages tell more; NULL:
 * only what is mapped is read.  *ret_missing: bytes that are not in memory, of the
 * records or of where they are looked for.  0, and *ret is the caller's; -ENOENT: there
 * are none, or not one is in memory; -ENOMEM.
 */
US_MUST_CHECK int us_program_frames_read(struct us_paging *p, const struct us_space *s,
					 const struct us_program_elf *f,
					 struct us_page_cache *cache,
					 struct us_cfi_table **ret,
					 size_t *ret_missing);

#endif
