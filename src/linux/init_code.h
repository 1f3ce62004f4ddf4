/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * init_code.h: is a Linux kernel's init code still in memory?
 *
 * The kernel frees it when it has booted (init/main.c, free_initmem()).  The outermost
 * frames of the idle threads' stacks are in it.  The page tables show that it is gone
 * only if the kernel unmaps it, as with x86's PTI; otherwise its pages hold later data.
 * The test is start_kernel(): while its code is there, it calls some eighty functions
 * at their first instruction.
 */
#ifndef US_LINUX_INIT_CODE_H
#define US_LINUX_INIT_CODE_H

#include "guest/regs.h"
#include "linux/kallsyms.h"

/* The number of calls, in the n bytes of code at address at, that go to functions with
 * a symbol. */
unsigned us_linux_count_calls(const struct us_kallsyms *k, enum us_arch arch, us_gva at,
			      const uint8_t *code, size_t n);

/* read: reads the kernel's memory.  false: the code is gone, or there is no
 * start_kernel symbol. */
bool us_linux_has_init_code(const struct us_kallsyms *k, enum us_arch arch,
			    bool (*read)(void *ctx, us_gva at, void *buf, size_t len),
			    void *ctx);

#endif
