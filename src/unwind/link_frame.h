/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_frame.h: the rule of an exit whose frame has the stack pointer, too: the handler
 * takes it from there last (Linux on RISC-V), or, at the beginning, has yet to put it
 * there from the frame pointer's register.
 */
#ifndef US_UNWIND_LINK_FRAME_H
#define US_UNWIND_LINK_FRAME_H

#include "unwind/link_state.h"

/*
 * st: how things are at the exit, by the way from the place.  pc: where it goes.  The
 * rule's CFA is above all that is used of the frame; its sp_was is set.  True: the exit
 * is of this kind; then ret has the rule, or none (US_BASE_NONE) where some of it is
 * neither in the frame nor in a register.
 */
bool us_link_frame_rule(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_link_value pc, struct us_code_rule *ret);

#endif
