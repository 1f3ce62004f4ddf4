/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trampoline.h: what the guest trampoline, its entry and its program agree on.
 */
#ifndef GUEST_TRAMPOLINE_H
#define GUEST_TRAMPOLINE_H

/* At these addresses in both address spaces, and in the program's alone. */
#define TRAMPOLINE 0x3ffffff000
#define TRAP_FRAME 0x3fffffe000

#define USER_BASE  0x10000 /* user.lds */
#define USER_STACK 0x20000 /* the page below it */

#define CALL_WORK   1
#define CALL_REPORT 2

#endif
