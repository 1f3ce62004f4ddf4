/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arch.h: what the plugin has to know of an architecture: a row of the table in arch.c
 * for each of QEMU's targets, and a file with its decoder.
 */
#ifndef US_TRACE_ARCH_H
#define US_TRACE_ARCH_H

#include "trace/plugin/flow.h"

#define US_MAX_INSN 15 /* bytes of an instruction, of any architecture */

struct us_plugin_arch {
	const char *target; /* QEMU's name of it, qemu_info_t.target_name */
	/* The instruction of n bytes (1 to US_MAX_INSN) at pc. */
	void (*flow)(const uint8_t *code, size_t n, uint64_t pc,
		     struct us_flow_insn *ret);
	uint64_t reset_vector; /* where every reset leads; 0: not the same for all */
};

/* NULL: not known. */
const struct us_plugin_arch *us_plugin_arch_find(const char *target);

/*
 * x86.c.  What an instruction is in 64-bit, 32-bit and 16-bit code is told apart by its
 * length: QEMU does not say in which mode the guest is.
 */
void us_x86_flow(const uint8_t *code, size_t n, uint64_t pc, struct us_flow_insn *ret);

#endif
