/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * after_hlt.h: does an x86 vCPU, whose state nobody tells, wait in a HLT?
 *
 * A vCPU that waits is right behind its HLT.  One that has just been woken is there as
 * well, until its interrupt is delivered, and again for one instruction when it has
 * been handled: too short to matter.
 *
 * The byte of a HLT (0xf4) before the program counter is not enough: it also ends each
 * instruction with -12 as its operand.  In code of gcc -O0 with local variables, that
 * is about each tenth.
 */
#ifndef US_BACKEND_AFTER_HLT_H
#define US_BACKEND_AFTER_HLT_H

#include "guest/regs.h"

#include <stddef.h>

/* Read guest-virtual memory; false if any of these bytes cannot be read. */
typedef bool us_code_reader(void *ctx, us_gva at, void *buf, size_t len);

/* Hot path: reads a byte, and about thirty more only if that byte is a HLT's. */
bool us_is_after_hlt(const struct us_regs *regs, us_code_reader *read, void *ctx);

#endif
