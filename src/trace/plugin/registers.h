/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registers.h: a guest's registers by name, and its memory, as QEMU 9.0 (version 2 of
 * its plugin interface) and 9.2 (version 4) give them to plugins.
 *
 * Names are looked up once for each vCPU, when it starts.  What reads does not
 * allocate, and is called from a callback of that vCPU.  Registers are true only in
 * callbacks that were registered with QEMU_PLUGIN_CB_R_REGS, before the instruction
 * that it is for; behind others they may be old.
 */
#ifndef US_TRACE_REGISTERS_H
#define US_TRACE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US_REGISTERS_MAX 48
#define US_MEMORY_MAX	 4096U /* bytes that are read at once */

struct qemu_plugin_register;
struct us_byte_array;

struct us_registers {
	struct qemu_plugin_register *handle[US_REGISTERS_MAX]; /* NULL: no such one */
	unsigned n;
	struct us_byte_array *bytes; /* QEMU's GByteArray; NULL: nothing can be read */
};

/* What does this QEMU have? */
bool us_registers_can_be_read(void);
bool us_memory_can_be_read(void);

/*
 * In the callback that a vCPU starts with: find these, by QEMU's names (those that gdb
 * knows: "rax", "cs", "cr3"; "x0", "sp", "TTBR0_EL1"), the same in any case of letters.
 * NULL in names is one that is not there.  -ENOTSUP: this QEMU gives no registers,
 * which are not there then; -ENOMEM; -E2BIG: more than US_REGISTERS_MAX.
 */
int us_registers_find(struct us_registers *r, const char *const *names, unsigned n);

/* The register that names[i] was; of a wider one the lowest 64 bits.  False: there is
 * none. */
bool us_register_read(const struct us_registers *r, unsigned i, uint64_t *ret);

/*
 * Memory as the vCPU that calls has it mapped now, whatever its privileges: n bytes at
 * gva, no more than US_MEMORY_MAX.  False: not all of them are there, or it cannot be
 * read.
 */
bool us_memory_read(const struct us_registers *r, uint64_t gva, void *dst, size_t n);

#endif
