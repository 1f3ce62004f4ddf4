/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry_path.h: what a kernel calls from its entry on, as the image's code says.
 *
 * The path is followed as the processor would go if it took no branch: over calls, to
 * where jumps lead, through far jumps from 32-bit into 64-bit code.  Registers that are
 * loaded with constants are known.  It is a guess: what decides (the guest's memory,
 * its processor) is not there.  Steps are bounded, and the file is hostile.
 */
#ifndef US_BOOT_ENTRY_PATH_H
#define US_BOOT_ENTRY_PATH_H

#include "symbol/elf_file.h"

#define US_BOOT_MAX_CALLS 64

struct us_boot_call {
	uint64_t to;  /* as linked, or where it is loaded */
	bool jump;    /* it is no call */
	bool skipped; /* a branch leads past it */
	bool narrow;  /* 32-bit code does, of an image of 64-bit code */
};

struct us_boot_calls {
	struct us_boot_call v[US_BOOT_MAX_CALLS]; /* each place once, in order */
	size_t n;
};

/* 16-bit code is not followed.  None is no error: of x86, aarch64 and riscv alone. */
void us_boot_follow_entry(const struct us_elf_file *f, uint64_t entry,
			  struct us_boot_calls *ret);

/* ---- Between entry_path.c, entry_x86.c and entry_link.c ---- */

#define US_BOOT_MAX_STEPS 8192
#define US_BOOT_MAX_AHEAD 16

struct us_boot_path {
	const struct us_elf_file *file;
	struct us_boot_calls *calls;
	unsigned steps; /* that are left */
	uint64_t pc;
	bool narrow;
	/* Targets of branches that were not taken, ahead of here: where it goes on if
	 * this leads nowhere. */
	uint64_t ahead[US_BOOT_MAX_AHEAD];
	size_t n_ahead;
};

/* The bytes of the image at an address, as linked or as loaded; NULL: none. */
const uint8_t *us_boot_code_at(const struct us_elf_file *f, uint64_t address,
			       size_t *ret_n);
/* The number of 2, 4 or 8 bytes there; false: none. */
bool us_boot_number_at(const struct us_elf_file *f, uint64_t address, size_t size,
		       uint64_t *ret);
void us_boot_path_call(struct us_boot_path *p, uint64_t to, bool jump);
/* A branch that is not taken. */
void us_boot_path_branch(struct us_boot_path *p, uint64_t to);
/* It goes on there; or it ends here, and goes on where a branch leads past that. False:
 * there is none. */
bool us_boot_path_jump(struct us_boot_path *p, uint64_t to);
bool us_boot_path_end(struct us_boot_path *p);

void us_boot_follow_x86(struct us_boot_path *p);
void us_boot_follow_link(struct us_boot_path *p);

#endif
