/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers.h: reads a guest's registers by name, and its memory, as QEMU 9.0 (version
 * 2 of its plugin interface) and 9.2 (version 4) offer them to plugins.
 *
 * Names are looked up once for each vCPU, when it starts.  Reading does not allocate,
 * and must happen in a callback of that vCPU.  Register values are correct only in a
 * callback registered with QEMU_PLUGIN_CB_R_REGS, before the instruction that it
 * belongs to; elsewhere they may be outdated.
 */
#ifndef US_TRACE_REGISTERS_H
#define US_TRACE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_REGISTERS_MAX 48
#define US_MEMORY_MAX	 4096U /* most bytes of one read */

struct qemu_plugin_register;
struct us_byte_array;

struct us_registers {
	/* NULL: no such register. */
	struct qemu_plugin_register *handle[US_REGISTERS_MAX];
	unsigned n;
	struct us_byte_array *bytes; /* QEMU's GByteArray; NULL: nothing can be read */
};

/* What does this QEMU offer? */
bool us_registers_can_be_read(void);
bool us_memory_can_be_read(void);

/*
 * Call this in the callback for a vCPU's start: look up registers by QEMU's names (the
 * ones of gdb: "rax", "cs", "cr3"; "x0", "sp", "TTBR0_EL1"), ignoring case.  An element
 * of names may be NULL: no register.  -ENOTSUP: this QEMU gives no registers, and none
 * can be read; -ENOMEM; -E2BIG: more than US_REGISTERS_MAX.
 */
int us_registers_find(struct us_registers *r, const char *const *names, unsigned n);

/* Read the register of names[i]; of a wider one the lowest 64 bits.  False: none. */
bool us_register_read(const struct us_registers *r, unsigned i, uint64_t *ret);

/*
 * Read n bytes, at most US_MEMORY_MAX, at gva, as mapped by the calling vCPU now,
 * whatever its privileges.  False: some bytes are not mapped, or memory cannot be read.
 */
bool us_memory_read(const struct us_registers *r, uint64_t gva, void *dst, size_t n);

#endif
