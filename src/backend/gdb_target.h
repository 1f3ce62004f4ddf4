/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb_target.h: where in the stub's `g` packet each register is.
 *
 * A stub describes its registers by an XML file, target.xml, which may include others
 * (GDB manual, appendix G).  Without one the packet has GDB's classical layout.  QEMU
 * adds the control registers, which tell how the guest translates addresses.
 * Everything here works on bytes that a stranger sent: it is bounded and fuzzed.
 */
#ifndef US_BACKEND_GDB_TARGET_H
#define US_BACKEND_GDB_TARGET_H

#include "base/err.h"
#include "guest/regs.h"

#include <stddef.h>

/* The registers that are used; the first sixteen are enum us_x86_reg. */
enum us_gdb_reg {
	US_GDB_PC = 16,
	US_GDB_FLAGS,
	US_GDB_CS,
	US_GDB_CR0,
	US_GDB_CR3,
	US_GDB_CR4,
	US_GDB_EFER,
	US_GDB_N_REG,
};

struct us_gdb_layout {
	struct {
		uint16_t at;  /* byte in the decoded packet */
		uint8_t size; /* bytes, little-endian; 0: the stub has it not */
	} reg[US_GDB_N_REG];
	bool wide;     /* x86-64, not i386 */
	bool controls; /* CR0, CR3, CR4 and EFER are there */
};

/* Fetch a document of the description; the caller frees *ret (NUL after len). */
typedef int (*us_gdb_fetch)(void *ctx, const char *name, char **ret, size_t *ret_len,
			    struct us_err *e);

/*
 * Read target.xml and what it includes.  -ENOTSUP: the processor is none we know;
 * -ENODATA: it names no registers (*ret->wide is set then: use the classical layout);
 * -EPROTO: it makes no sense; or what fetch gave.
 */
US_MUST_CHECK int us_gdb_layout_read(us_gdb_fetch fetch, void *ctx,
				     struct us_gdb_layout *ret, struct us_err *e);

/* The classical layout, x86-64 or i386. */
void us_gdb_layout_classic(bool wide, struct us_gdb_layout *ret);

/*
 * Hot path: the reply to `g` (hexadecimal, "xx" for what is not available) as
 * registers.  -EPROTO: too short for the layout, or no hexadecimal.  Without control
 * registers the paging mode is US_PAGING_UNKNOWN and long mode is assumed if wide.
 */
int us_gdb_decode(const struct us_gdb_layout *l, const char *hex, size_t len,
		  struct us_regs *ret);

/* Is the vCPU where reset leaves it: not started yet? */
bool us_x86_at_reset(const struct us_regs *r);

#endif
