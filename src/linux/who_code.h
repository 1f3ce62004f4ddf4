/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * who_code.h: where a CPU's current task is, by the kernel's own code.
 *
 * A symbol table that has only functions, as Debian's for aarch64, names no variable.
 * But the code that needs them says where they are, and it is written in assembly, so
 * that no compiler has its way with it (arch/arm64/kernel):
 *
 * - what enters the kernel from a program loads SP_EL0 with the current task, from this
 *   CPU's __entry_task (entry.S, kernel_entry 0);
 * - what starts a CPU loads TPIDR_EL1 with where its area is, from __per_cpu_offset
 *   (head.S, init_cpu_task; before 5.17 smp.c, in C).
 *
 * Setup path.
 */
#ifndef US_LINUX_WHO_CODE_H
#define US_LINUX_WHO_CODE_H

#include "linux/kallsyms.h"
#include "linux/who.h"

/* Sets l->per_cpu and l->current.  false: the code does not say both, they are as they
 * were. */
bool us_linux_who_by_code(struct us_linux_who_layout *l, const struct us_kallsyms *k,
			  struct us_linux_image *i);

#endif
