/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_cfi.h: an ELF file's call frame information as a table of rules.
 *
 * Reads .eh_frame (LSB 5, 10.6) and .debug_frame (DWARF 5, 6.4), for x86-64, i386,
 * arm64 and RISC-V.  If both cover an address, .eh_frame wins: programs unwind with it
 * at run time, and linkers keep it exact, while .debug_frame keeps records of code that
 * was thrown away.  In a file without section headers, the segment PT_GNU_EH_FRAME
 * leads to .eh_frame.  The file is hostile: time and memory are bounded by its size.
 *
 * Free Pascal 3.2.2 writes the CIE pointer of .debug_frame with 8 bytes in 32-bit
 * DWARF, so that other readers see nonsense.  This reader accepts it.  Its stack frames
 * are sometimes wrong as well, so such a table is marked as untrusted.
 */
#ifndef US_SYMBOL_ELF_CFI_H
#define US_SYMBOL_ELF_CFI_H

#include "symbol/elf_file.h"
#include "unwind/cfi.h"

struct us_elf_cfi_stats {
	size_t n_cie, n_fde; /* records that could be read */
	size_t n_bad;	     /* records that could not, in part or at all */
	size_t n_outside;    /* FDEs of addresses that are not code: dropped */
	size_t n_shadowed;   /* FDEs of addresses that another FDE covers */
	size_t n_unknown;    /* rows with a form that is not supported */
	size_t n_left_out;   /* records or rows beyond the limits */
	size_t n_pascal;     /* FDEs from Free Pascal */
};

/*
 * debug: the separate debug file of f, or NULL; what one file lacks is taken from the
 * other.  The caller frees *ret, which may be empty.  stats may be NULL.  The only
 * error is -ENOMEM: what is wrong in the file is counted and left out.
 */
US_MUST_CHECK int us_elf_cfi_read(const struct us_elf_file *f,
				  const struct us_elf_file *debug,
				  struct us_cfi_table **ret,
				  struct us_elf_cfi_stats *stats, struct us_err *e);

/* The width of the x86 code that .eh_frame describes, whatever the file's header says:
 * 32 or 64; 0: not known. */
unsigned us_elf_cfi_x86_bits(const struct us_elf_file *f);

#endif
