/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_records.h: the records of one .eh_frame or .debug_frame: CIEs (what functions
 * have in common) and FDEs (the functions).  cfi_program.h runs their programs.
 */
#ifndef US_SYMBOL_CFI_RECORDS_H
#define US_SYMBOL_CFI_RECORDS_H

#include "symbol/byte_cursor.h"
#include "symbol/elf_cfi.h"

/* DW_EH_PE_*: encodings of a pointer (LSB 5, 10.5.1). */
#define US_CFI_PE_ABSPTR 0x00
#define US_CFI_PE_OMIT	 0xff

/* What the records need from a file. */
struct us_cfi_section {
	const struct us_elf_file *file; /* the file whose code it describes */
	const uint8_t *bytes;
	size_t size;
	uint64_t addr;	      /* address of bytes in the file, for relative pointers */
	bool eh;	      /* .eh_frame */
	uint8_t pointer_size; /* 8 or 4 */
	uint64_t text_base, data_base; /* of relative pointers of these kinds */
};

struct us_cfi_cie {
	size_t offset; /* in the section */
	const uint8_t *program, *end;
	uint64_t code_align;
	int64_t data_align;
	uint64_t pc_column; /* which register stands for the caller's pc */
	uint8_t encoding;   /* of the FDEs' pointers: US_CFI_PE_* */
	uint8_t pointer_size;
	bool augmented; /* its FDEs have augmentation data */
	bool signal;
	bool lands; /* there is a personality routine: exceptions may land here */
	bool usable;
};

struct us_cfi_fde {
	uint64_t start, end;
	const uint8_t *program, *program_end;
	uint32_t cie;
	uint32_t number; /* in file order */
};

struct us_cfi_records {
	struct us_cfi_section section;
	bool go; /* the file is of Go's linker */
	struct {
		struct us_cfi_cie *v; /* sorted by offset */
		size_t n, cap;
	} cies;
	struct {
		struct us_cfi_fde *v; /* sorted by start; of equal starts the first in
					 the file */
		size_t n, cap;
	} fdes;
};

/* Read all records and add to *stats.  0 or -ENOMEM; free *ret in either case. */
int us_cfi_records_read(const struct us_cfi_section *s, struct us_cfi_records *ret,
			struct us_elf_cfi_stats *stats);
void us_cfi_records_fini(struct us_cfi_records *r); /* accepts a zeroed one */

/* Read a pointer in this encoding.  c->at is within the section's bytes, unless the
 * pointer is not relative to itself.  False: its value is not known before the program
 * runs. */
bool us_cfi_pointer(const struct us_cfi_section *s, struct us_cursor *c,
		    uint8_t encoding, uint8_t pointer_size, uint64_t *ret);

#endif
