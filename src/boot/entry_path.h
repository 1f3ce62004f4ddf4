/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry_path.h: what a kernel calls after its entry, from the image's code.
 *
 * The path is what the processor would execute if it took no conditional branch: it
 * continues after calls, follows jumps, and follows far jumps from 32-bit into 64-bit
 * code.  Registers loaded with constants are known.  The result is a guess, because
 * what decides at run time (the guest's memory, its processor) is not available.  The
 * number of steps is bounded, and the file is hostile.
 */
#ifndef US_BOOT_ENTRY_PATH_H
#define US_BOOT_ENTRY_PATH_H

#include "symbol/elf_file.h"

#define US_BOOT_MAX_CALLS 64

struct us_boot_call {
	uint64_t to;  /* address as linked, or as loaded */
	bool jump;    /* a jump, not a call */
	bool skipped; /* a branch may skip it */
	bool narrow;  /* it is in 32-bit code of a 64-bit image */
};

struct us_boot_calls {
	struct us_boot_call v[US_BOOT_MAX_CALLS]; /* each target once, in order */
	size_t n;
};

/* 16-bit code is not followed.  Only x86, aarch64 and riscv are supported; finding no
 * calls is not an error. */
void us_boot_follow_entry(const struct us_elf_file *f, uint64_t entry,
			  struct us_boot_calls *ret);

/* ---- Between entry_path.c, entry_x86.c and entry_link.c ---- */

#define US_BOOT_MAX_STEPS 8192
#define US_BOOT_MAX_AHEAD 16

struct us_boot_path {
	const struct us_elf_file *file;
	struct us_boot_calls *calls;
	unsigned steps; /* steps left */
	uint64_t pc;
	bool narrow;
	/* Targets, ahead of pc, of branches that were not taken: the path continues
	 * there if it cannot go on. */
	uint64_t ahead[US_BOOT_MAX_AHEAD];
	size_t n_ahead;
};

/* The image's bytes at an address, as linked or as loaded; NULL: none. */
const uint8_t *us_boot_code_at(const struct us_elf_file *f, uint64_t address,
			       size_t *ret_n);
/* The number of 2, 4 or 8 bytes at an address; false: none. */
bool us_boot_number_at(const struct us_elf_file *f, uint64_t address, size_t size,
		       uint64_t *ret);
void us_boot_path_call(struct us_boot_path *p, uint64_t to, bool jump);
/* A branch that is not taken. */
void us_boot_path_branch(struct us_boot_path *p, uint64_t to);
/* The path continues at `to`; or it ends here, and continues at a branch target ahead.
 * False: there is nowhere to continue. */
bool us_boot_path_jump(struct us_boot_path *p, uint64_t to);
bool us_boot_path_end(struct us_boot_path *p);

void us_boot_follow_x86(struct us_boot_path *p);
void us_boot_follow_link(struct us_boot_path *p);

#endif
