/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_exit.h: the registers after a kernel's exit path, run from any of its
 * instructions with all registers known.  The exit path restores registers one by one,
 * and changes the page tables on the way.
 */
#ifndef US_UNWIND_LINK_EXIT_H
#define US_UNWIND_LINK_EXIT_H

#include "unwind/code_path.h"
#include "unwind/link_insn.h"

struct us_link_exit {
	uint64_t reg[US_LINK_N_REG];
	uint32_t known; /* bit n: reg[n] is known */
	struct us_space space;
	/* Where execution continues, if the code sets that on the way; else the
	 * processor has it already. */
	uint64_t pc, sp;
	bool pc_set, sp_set;
	uint64_t aside; /* US_LINK_ASIDE */
	bool has_aside;
};

/*
 * Follow the code from pc to an exception's return.  *ret: in, the registers and the
 * space at pc; out, those after the return.  False: the code is not straight, or it
 * writes to memory.
 */
bool us_link_run_exit(const struct us_link_machine *m, struct us_code_path *path,
		      us_gva pc, struct us_link_exit *ret);

#endif
