/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/target.h: where in the stub's `g` packet each register is.
 *
 * A stub describes its registers in an XML file, target.xml, which may include others
 * (GDB manual, appendix G).  Without one the packet has GDB's classical layout.  QEMU
 * adds the control registers, which tell how the guest translates addresses.
 * Everything here works on untrusted bytes: it is bounded and fuzzed.
 */
#ifndef US_BACKEND_GDB_TARGET_H
#define US_BACKEND_GDB_TARGET_H

#include "base/err.h"
#include "guest/regs.h"

#include <stddef.h>

/* The registers that are used; those below US_GDB_PC are us_regs.gpr. */
enum us_gdb_reg {
	US_GDB_PC = US_MAX_GPR,
	US_GDB_FLAGS, /* rflags; cpsr */
	US_GDB_CS,
	US_GDB_SS,
	US_GDB_CR0,
	US_GDB_CR3,
	US_GDB_CR4,
	US_GDB_EFER,
	US_GDB_APART, /* from here on not in the packet of `g` */
	US_GDB_TTBR0 = US_GDB_APART,
	US_GDB_TTBR1,
	US_GDB_TCR,
	US_GDB_SCTLR,
	US_GDB_SATP,
	US_GDB_PRIV,
	US_GDB_ENTRY, /* from here on read only where an exception enters */
	US_GDB_VBAR = US_GDB_ENTRY,
	US_GDB_ELR,
	US_GDB_SPSR,
	US_GDB_SP_EL0,
	US_GDB_VBAR_EL2,
	US_GDB_ELR_EL2,
	US_GDB_SPSR_EL2,
	US_GDB_VBAR_EL3,
	US_GDB_ELR_EL3,
	US_GDB_SPSR_EL3,
	US_GDB_TPIDRRO, /* with KPTI, Linux saves a program's x30 there on entry */
	US_GDB_STVEC,
	US_GDB_SEPC,
	US_GDB_SSTATUS,
	US_GDB_MTVEC,
	US_GDB_MEPC,
	US_GDB_MSTATUS,
	US_GDB_N_REG,
};

#define US_GDB_N_APART (US_GDB_N_REG - US_GDB_APART)
#define US_GDB_N_ENTRY (US_GDB_N_REG - US_GDB_ENTRY)
_Static_assert(US_GDB_N_REG <= 64 && US_GDB_N_APART <= 32, "masks have a bit for each");

#define US_GDB_TABLES 4

struct us_gdb_machine;

struct us_gdb_layout {
	struct {
		uint16_t at; /* byte in the decoded packet; from US_GDB_APART on: number
			      */
		uint8_t size; /* bytes, little-endian; 0: the stub does not have it */
	} reg[US_GDB_N_REG];
	const struct us_gdb_machine *machine; /* NULL: x86 */
	uint8_t arch;			      /* enum us_arch */
	bool wide;			      /* x86-64, not i386 */
	bool controls; /* all registers that tell how addresses are translated are there
			*/
	/* Where exceptions enter, as far as seen: a kernel may have several entry
	 * tables, as Linux has for KPTI. */
	us_gva table[US_GDB_TABLES];
	unsigned n_table, next_table;
};

/* Fetch a document of the description; the caller frees *ret (NUL after len). */
typedef int (*us_gdb_fetch)(void *ctx, const char *name, char **ret, size_t *ret_len,
			    struct us_err *e);

/*
 * Read target.xml and what it includes, for x86, aarch64 and riscv64.  -ENOTSUP: an
 * unknown processor; -ENODATA: it names no registers (*ret->wide is set then: use the
 * classical layout); -EPROTO: it makes no sense; or the error from fetch.
 */
US_MUST_CHECK int us_gdb_layout_read(us_gdb_fetch fetch, void *ctx,
				     struct us_gdb_layout *ret, struct us_err *e);

/* The classical layout, x86-64 or i386. */
void us_gdb_layout_classic(bool wide, struct us_gdb_layout *ret);

/* Registers that are not in the packet of `g`: system registers of aarch64 and RISC-V.
 */
struct us_gdb_apart {
	uint64_t v[US_GDB_N_APART]; /* indexed from US_GDB_APART on */
	uint32_t got;		    /* bit n: v[n] is known */
};

/* A code segment, of which a stub shows the selector only. */
struct us_gdb_code {
	bool open; /* bits and pc also depend on its descriptor, which is not known */
	uint8_t mode; /* the bits of the control registers that determine its meaning;
			 or the exception level of aarch64 */
	uint16_t selector;
	us_gva ip; /* without its base */
};

/*
 * Hot path: decode the reply to `g` (hexadecimal, "xx" for what is not available).
 * -EPROTO: too short for the layout, or not hexadecimal.  Without control registers the
 * paging mode is US_PAGING_UNKNOWN, and long mode is assumed if wide.  If *ret_code is
 * open, bits and pc are those of the usual descriptors: base 0, and 64 bits wide in
 * long mode, else 32.  The stack segment is assumed to begin at 0 too.
 */
int us_gdb_decode(const struct us_gdb_layout *l, const char *hex, size_t len,
		  struct us_regs *ret, struct us_gdb_code *ret_code);

/* Decode the reply to `p` for the register with the number US_GDB_APART + index. */
void us_gdb_decode_apart(const struct us_gdb_layout *l, unsigned index, const char *hex,
			 size_t len, struct us_gdb_apart *ret);

/* Set the address space of registers from us_gdb_decode(), using those in apart. */
void us_gdb_set_space(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		      const struct us_gdb_code *code, struct us_regs *regs);

/* May the vCPU be where exceptions enter?  If so, us_gdb_entry_needs() says which
 * registers, from US_GDB_ENTRY on, decide it (bit n: register US_GDB_APART + n), and
 * us_gdb_set_entered() then sets regs->entered. */
bool us_gdb_may_be_entering(const struct us_gdb_layout *l, const struct us_regs *regs);
uint64_t us_gdb_entry_needs(const struct us_gdb_layout *l, const struct us_regs *regs);
/* Registers that are useful besides these. */
uint64_t us_gdb_entry_also(const struct us_gdb_layout *l);
/* Call it for a vCPU whose regs->entered was set: from now on us_gdb_may_be_entering()
 * is true at any instruction of that entry table. */
void us_gdb_learn_entry(struct us_gdb_layout *l, const struct us_regs *regs);
void us_gdb_set_entered(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
			struct us_regs *regs);

/* What an exception interrupted last, from the same registers; false: not known. */
bool us_gdb_get_left(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		     const struct us_regs *regs, struct us_entered *ret);

/* Is the vCPU where reset puts it: not started yet? */
bool us_x86_at_reset(const struct us_regs *r);
/* The same for a halted vCPU of aarch64, which the processor's reset does not start; or
 * has it turned itself off (PSCI's CPU_OFF)?  A vCPU that waits for an interrupt has
 * come there with other values. */
bool us_aarch64_is_off(const struct us_regs *r);

#endif
