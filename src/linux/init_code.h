/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init_code.h: is the code still there that a Linux kernel starts with?
 *
 * It is freed when the kernel has booted (init/main.c, free_initmem()), and the first
 * frames of the idle threads' stacks are in it.  Page tables tell only where it is
 * taken out of them; with x86's PTI, say.  Else the pages hold what came later.  But
 * while it is there, start_kernel() calls some eighty functions by their first
 * instruction.
 */
#ifndef US_LINUX_INIT_CODE_H
#define US_LINUX_INIT_CODE_H

#include "guest/regs.h"
#include "linux/kallsyms.h"

/* Calls among n bytes of code at address at, of functions that have a symbol. */
unsigned us_linux_count_calls(const struct us_kallsyms *k, enum us_arch arch, us_gva at,
			      const uint8_t *code, size_t n);

/* read: of the kernel's memory. false: it has gone, or there is no start_kernel. */
bool us_linux_has_init_code(const struct us_kallsyms *k, enum us_arch arch,
			    bool (*read)(void *ctx, us_gva at, void *buf, size_t len),
			    void *ctx);

#endif
