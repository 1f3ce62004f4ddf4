/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_exit.h: what a kernel's way out makes of the registers, from any of its
 * instructions on, where all registers are known: they are given back one by one, and
 * the page tables are changed on the way.
 */
#ifndef US_UNWIND_LINK_EXIT_H
#define US_UNWIND_LINK_EXIT_H

#include "unwind/code_path.h"
#include "unwind/link_insn.h"

struct us_link_exit {
	uint64_t reg[US_LINK_N_REG];
	uint32_t known; /* bit n: reg[n] is */
	struct us_space space;
	/* What it goes on with, if the code sets that on the way; else it is what the
	 * processor has for that already. */
	uint64_t pc, sp;
	bool pc_set, sp_set;
	uint64_t aside; /* US_LINK_ASIDE */
	bool has_aside;
};

/*
 * Follow the code from pc, where it has to lead straight, to an exception's return. ret
 * has the registers and the space there, which become those behind it.  False: it does
 * not, or it writes to memory.
 */
bool us_link_run_exit(const struct us_link_machine *m, struct us_code_path *path,
		      us_gva pc, struct us_link_exit *ret);

#endif
