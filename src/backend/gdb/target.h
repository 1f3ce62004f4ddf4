/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gdb/target.h: where in the stub's `g` packet each register is.
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
	US_GDB_APART, /* from here on they are not in the packet of `g` */
	US_GDB_TTBR0 = US_GDB_APART,
	US_GDB_TTBR1,
	US_GDB_TCR,
	US_GDB_SCTLR,
	US_GDB_SATP,
	US_GDB_PRIV,
	US_GDB_ENTRY, /* from here on they are asked for where an exception enters */
	US_GDB_VBAR = US_GDB_ENTRY,
	US_GDB_ELR,
	US_GDB_SPSR,
	US_GDB_SP_EL0,
	US_GDB_TPIDRRO, /* Linux has a program's x30 in it where it enters by KPTI */
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

#define US_GDB_TABLES 4

struct us_gdb_machine;

struct us_gdb_layout {
	struct {
		uint16_t at;  /* byte in the decoded packet; of those apart: number */
		uint8_t size; /* bytes, little-endian; 0: the stub has it not */
	} reg[US_GDB_N_REG];
	const struct us_gdb_machine *machine; /* NULL: x86 */
	uint8_t arch;			      /* enum us_arch */
	bool wide;			      /* x86-64, not i386 */
	bool controls; /* all that tells how addresses are translated is there */
	/* Where exceptions enter, as far as it was seen: a kernel may have several, as
	 * Linux has for KPTI. */
	us_gva table[US_GDB_TABLES];
	unsigned n_table, next_table;
};

/* Fetch a document of the description; the caller frees *ret (NUL after len). */
typedef int (*us_gdb_fetch)(void *ctx, const char *name, char **ret, size_t *ret_len,
			    struct us_err *e);

/*
 * Read target.xml and what it includes: of x86, aarch64 and riscv64.  -ENOTSUP: the
 * processor is none we know; -ENODATA: it names no registers (*ret->wide is set then:
 * use the classical layout); -EPROTO: it makes no sense; or what fetch gave.
 */
US_MUST_CHECK int us_gdb_layout_read(us_gdb_fetch fetch, void *ctx,
				     struct us_gdb_layout *ret, struct us_err *e);

/* The classical layout, x86-64 or i386. */
void us_gdb_layout_classic(bool wide, struct us_gdb_layout *ret);

/* What is not in the packet of `g`: system registers of aarch64 and RISC-V. */
struct us_gdb_apart {
	uint64_t v[US_GDB_N_APART]; /* from US_GDB_APART on */
	uint32_t got;		    /* bit n: v[n] is known */
};

/* A code segment, of which a stub shows the selector only. */
struct us_gdb_code {
	bool open;    /* its descriptor, which is not known, has a say in bits and pc */
	uint8_t mode; /* the bits of the control registers that give it its meaning; or
			 the exception level of aarch64 */
	uint16_t selector;
	us_gva ip; /* without its base */
};

/*
 * Hot path: the reply to `g` (hexadecimal, "xx" for what is not available) as
 * registers.  -EPROTO: too short for the layout, or no hexadecimal.  Without control
 * registers the paging mode is US_PAGING_UNKNOWN and long mode is assumed if wide.
 * Where *ret_code is open, bits and pc are those of the usual descriptors: base 0, and
 * 64 bits wide in long mode, else 32.  The stack segment is taken to begin at 0 too.
 */
int us_gdb_decode(const struct us_gdb_layout *l, const char *hex, size_t len,
		  struct us_regs *ret, struct us_gdb_code *ret_code);

/* The reply to `p` for the register with this number less US_GDB_APART. */
void us_gdb_decode_apart(const struct us_gdb_layout *l, unsigned index, const char *hex,
			 size_t len, struct us_gdb_apart *ret);

/* The space of registers that us_gdb_decode() gave, by those that are apart. */
void us_gdb_set_space(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		      const struct us_gdb_code *code, struct us_regs *regs);

/* May the vCPU be where exceptions enter?  Then these registers, from US_GDB_ENTRY on,
 * say whether it is (bit n: the register of number US_GDB_APART + n), and
 * us_gdb_set_entered() sets that. */
bool us_gdb_may_be_entering(const struct us_gdb_layout *l, const struct us_regs *regs);
uint64_t us_gdb_entry_needs(const struct us_gdb_layout *l, const struct us_regs *regs);
/* Besides these, what is of use. */
uint64_t us_gdb_entry_also(const struct us_gdb_layout *l);
/* Of a vCPU for which that was set: from now on any instruction of all its entries may
 * be one. */
void us_gdb_learn_entry(struct us_gdb_layout *l, const struct us_regs *regs);
void us_gdb_set_entered(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
			struct us_regs *regs);

/* What an exception broke off last, by the same registers; false: not known. */
bool us_gdb_get_left(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		     const struct us_regs *regs, struct us_entered *ret);

/* Is the vCPU where reset leaves it: not started yet? */
bool us_x86_at_reset(const struct us_regs *r);

#endif
