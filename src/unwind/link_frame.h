/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_frame.h: the rule of an exit whose frame holds the stack pointer as well.  The
 * handler loads it from there last (Linux on RISC-V), or, at its beginning, has yet to
 * store it there from the frame pointer's register.
 */
#ifndef US_UNWIND_LINK_FRAME_H
#define US_UNWIND_LINK_FRAME_H

#include "unwind/link_state.h"

/*
 * st: the state at the exit, on the path from the place.  pc: where the exit goes.
 * True: the exit is of this kind.  *ret is then the rule: its CFA is above all used
 * words of the frame, and its sp_was is set.  It is US_BASE_NONE if something is
 * neither in the frame nor in a register.
 */
bool us_link_frame_rule(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_link_value pc, struct us_code_rule *ret);

/*
 * For the rule of an exit that takes the stack pointer from a word of the stack
 * (US_BASE_WORD): complete it by where the link register and the frame pointer are, in
 * words from the present stack pointer.  Gives no base if the code has not stored that
 * word, or the address, yet.
 */
void us_link_near_frame(const struct us_link_machine *m, const struct us_link_state *st,
			struct us_code_rule *rule);

#endif
