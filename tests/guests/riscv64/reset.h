/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reset.h: reset the machine.
 */
#ifndef GUEST_RESET_H
#define GUEST_RESET_H

#include "cpu.h"

#define RESET_COLD 1

HIDDEN void reset_now(void)
{
	sbi_call(SBI_RESET, 0, RESET_COLD, 0, 0);
}

#endif
