/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/code.h: the width and the base of the code that a vCPU behind a stub runs.
 *
 * A stub shows only the selector of the code segment.  The rest is in a descriptor that
 * the processor loaded once and that the stub does not show: 32- or 64-bit code in long
 * mode, 16 or 32 bits in protected mode, a base.  QEMU's monitor shows it, and QEMU's
 * stub passes commands to the monitor.  That takes as long as a sample, so the answer
 * is remembered by selector and asked for again every US_GDB_CODE_TRUST samples.
 */
#ifndef US_BACKEND_GDB_CODE_H
#define US_BACKEND_GDB_CODE_H

#include "backend/gdb/client.h"
#include "backend/gdb/target.h"

#define US_GDB_CODE_TRUST 64 /* samples */
#define US_GDB_CODE_SLOTS 8

struct us_gdb_code_slot {
	bool known;
	uint8_t mode, bits;
	uint16_t selector;
	uint16_t age; /* samples since it was asked for */
	uint32_t base;
};

/* If zeroed: a stub without a monitor; nothing is asked and nothing is changed. */
struct us_gdb_codes {
	char *text; /* the monitor's output; owned */
	size_t text_size;
	unsigned n_vcpu;
	struct us_gdb_code_slot (*slot)[US_GDB_CODE_SLOTS]; /* of each vCPU; owned */
};

US_MUST_CHECK int us_gdb_codes_init(struct us_gdb_codes *c, unsigned n_vcpu,
				    struct us_err *e);
void us_gdb_codes_fini(struct us_gdb_codes *c);

/*
 * Hot path: correct bits and pc of the vCPUs in mask whose code is open.  It may ask
 * the monitor, so the guest must be stopped.  0 also if the monitor does not answer;
 * -ETIMEDOUT, -ECONNRESET, -EPROTO as us_gdb_ask().
 */
US_MUST_CHECK int us_gdb_codes_settle(struct us_gdb_codes *c, struct us_gdb *g,
				      uint64_t mask, const struct us_gdb_code *code,
				      struct us_regs *regs, uint64_t deadline_ns);

#endif
