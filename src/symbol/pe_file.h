/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pe_file.h: reads PE/COFF images (UEFI programs, what mingw links) as ELF files.
 *
 * Sections keep their names and contents, so DWARF in them is found as in ELF.  The
 * COFF symbol table becomes .symtab, each loaded section a segment.  Addresses are
 * those at the ImageBase of the file. Microsoft, "PE Format".  The file is hostile: all
 * that it claims is checked.
 */
#ifndef US_SYMBOL_PE_FILE_H
#define US_SYMBOL_PE_FILE_H

#include "symbol/elf_file.h"

#define US_PE_MOST (128U << 20) /* bytes; larger files are not read */

/*
 * -ENOEXEC: not PE, or it holds a Linux kernel: *e is unchanged; -ENODATA: it has
 * neither symbols nor DWARF; -EINVAL: for a processor that is not known; -EFBIG;
 * -EBADMSG: malformed; or an error of open(2), memfd_create(2) or write(2).
 */
US_MUST_CHECK int us_pe_file_open(const char *path, struct us_elf_file *ret,
				  struct us_err *e);

/* Do the first bytes of a file, at least US_PE_HEAD, say that it is PE with its code as
 * it runs?  Linux's images are PE, too, but packed. */
#define US_PE_HEAD 1024
bool us_pe_is_plain(const uint8_t *bytes, size_t n);

#endif
