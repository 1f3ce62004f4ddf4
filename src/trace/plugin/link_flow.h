/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_flow.h: the flow of an instruction from the unwinder's decoder, for
 * architectures with link registers. */
#ifndef US_TRACE_LINK_FLOW_H
#define US_TRACE_LINK_FLOW_H

#include "trace/plugin/flow.h"
#include "unwind/link_insn.h"

/* The part that both architectures share; x: the instruction at pc. */
void us_link_flow_of(const struct us_link_machine *m, const struct us_link_insn *x,
		     uint64_t pc, struct us_flow_insn *ret);

#endif
