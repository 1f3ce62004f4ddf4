/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reset.h: reset the machine.
 */
#ifndef GUEST_RESET_H
#define GUEST_RESET_H

#include "firmware.h"

HIDDEN void reset_now(void)
{
	psci_call(PSCI_SYSTEM_RESET, 0, 0, 0);
}

#endif
