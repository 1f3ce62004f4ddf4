/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls.h: how often functions are called, and nothing else.
 *
 * A call is the execution of a function's first instruction, by whatever way it is come
 * to: a call, a jump, an interrupt, the code before it; but not by a jump from the
 * function's own code, which is a loop.  Such loops are known beforehand
 * (US_FUNCTION_LOOPS), for a conditional jump may not be taken: blocks of these
 * functions have a number each time, and a loop is a first instruction in the block
 * right after that of the jump.
 *
 * The counts are in the file of counts.h: a node for each function.
 */
#ifndef US_TRACE_CALLS_H
#define US_TRACE_CALLS_H

#include "trace/functions.h"
#include "trace/plugin/qemu_api.h"
#include "trace/track.h"

/* Nodes that there may be. */
uint32_t us_calls_n_node(const struct us_functions *f);
/* A vCPU's, whose part of the file is zeroed. */
void us_calls_init(struct us_tracker *t, struct us_counts_vcpu *vcpu,
		   struct us_counts_node *node);
/* us_plugin has functions, counts and vCPUs without trees.  Called by QEMU. */
void us_calls_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);

#endif
