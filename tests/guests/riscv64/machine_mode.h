/* SPDX-License-Identifier: GPL-2.0-or-later */
/* machine_mode.h: what S-mode asks of machine.S, in a7. */
#ifndef GUEST_MACHINE_MODE_H
#define GUEST_MACHINE_MODE_H

#define MACHINE_RETURN 0x55534d52 /* go on at a1, by mret */

#endif
