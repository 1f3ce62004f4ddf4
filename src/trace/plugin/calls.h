/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: counts how often functions are called, and perhaps the instructions in
 * their code, and nothing else.
 *
 * A call is an execution of a function's first instruction, however it is reached: by a
 * call, a jump, an interrupt or the code before it.  A jump from the function's own
 * code is not a call but a loop.  Functions with such loops are known beforehand
 * (US_FUNCTION_LOOPS).  A conditional jump may not be taken, so for these functions
 * each execution of a block has a number: it is a loop if the first instruction is in
 * the block that is executed right after the one with the jump.
 *
 * The counts are in the file of counts.h: a node for each function.
 */
#ifndef US_TRACE_CALLS_H
#define US_TRACE_CALLS_H

#include "trace/functions.h"
#include "trace/plugin/qemu_api.h"
#include "trace/track.h"

/* Largest number of nodes. */
uint32_t us_calls_n_node(const struct us_functions *f);
/* Set up a vCPU's tracker; its part of the file must be zeroed. */
void us_calls_init(struct us_tracker *t, struct us_counts_vcpu *vcpu,
		   struct us_counts_node *node);
/* Called by QEMU.  us_plugin must have functions, counts, and vCPUs without trees. */
void us_calls_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

#endif
