/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * who_code.h: finds a CPU's current task from the kernel's own code.
 *
 * A symbol table that has only functions, like that of Debian's aarch64 kernel, names
 * no variables.  The code that uses them gives their addresses.  That code is assembly,
 * so no compiler changes its form (arch/arm64/kernel):
 *
 * - the entry from a program loads SP_EL0 with the current task, from this CPU's
 *   __entry_task (entry.S, kernel_entry 0);
 * - the start of a CPU loads TPIDR_EL1 with its per-CPU offset, from __per_cpu_offset
 *   (head.S, init_cpu_task; before 5.17 smp.c, in C).
 *
 * Setup path.
 */
#ifndef US_LINUX_WHO_CODE_H
#define US_LINUX_WHO_CODE_H

#include "linux/kallsyms.h"
#include "linux/who.h"

/* Sets l->per_cpu and l->current.  false: the code does not give both; they are
 * unchanged. */
bool us_linux_who_by_code(struct us_linux_who_layout *l, const struct us_kallsyms *k,
			  struct us_linux_image *i);

#endif
