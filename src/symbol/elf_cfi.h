/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_cfi.h: an ELF file's call frame information as a table of rules.
 *
 * Reads .eh_frame (LSB 5, 10.6) and .debug_frame (DWARF 5, 6.4), for x86-64, i386,
 * arm64 and RISC-V.  Where both know an address, .eh_frame is trusted: programs
 * unwind by it when they run, and linkers keep it exact, while .debug_frame keeps what
 * was thrown away.  A file without section headers has .eh_frame by its segment
 * PT_GNU_EH_FRAME.  The file is hostile: time and memory are bounded by its size.
 *
 * Free Pascal 3.2.2 writes the CIE pointer of .debug_frame with 8 bytes in 32-bit
 * DWARF, so that other readers see nonsense.  It is read here, but what it says of
 * stack frames is wrong at times too: such a table is marked as untrusted.
 */
#ifndef US_SYMBOL_ELF_CFI_H
#define US_SYMBOL_ELF_CFI_H

#include "symbol/elf_file.h"
#include "unwind/cfi.h"

struct us_elf_cfi_stats {
	size_t n_cie, n_fde; /* records that could be read */
	size_t n_bad;	     /* records that could not, in part or at all */
	size_t n_outside;    /* FDEs of addresses that are no code: thrown away */
	size_t n_shadowed;   /* FDEs of addresses that another one has already */
	size_t n_unknown;    /* rows that say how in a way that is not understood */
	size_t n_left_out;   /* records or rows that are too many */
	size_t n_pascal;     /* FDEs by Free Pascal */
};

/*
 * debug: the separate debug file of f, or NULL: what one of them does not hold is
 * taken from the other.  *ret is the caller's, and may be empty.  stats may be NULL.
 * -ENOMEM only: what is wrong in the file is counted, and left out.
 */
US_MUST_CHECK int us_elf_cfi_read(const struct us_elf_file *f,
				  const struct us_elf_file *debug,
				  struct us_cfi_table **ret,
				  struct us_elf_cfi_stats *stats, struct us_err *e);

#endif
