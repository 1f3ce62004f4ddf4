/* SPDX-License-Identifier: GPL-2.0-or-later */
/* disassemble.c: see disassemble.h. */
#include "symbol/disassemble.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_bytes(const uint8_t *code, size_t len, uint64_t addr,
		       struct us_insn *ret)
{
	*ret = (struct us_insn){ .addr = addr, .len = (uint8_t)len };
	memcpy(ret->bytes, code, len);
}

#ifdef US_HAVE_CAPSTONE

#include <capstone/capstone.h>
#include <elf.h>

static const struct machine {
	uint16_t elf;
	uint8_t bits;
	uint8_t shortest; /* bytes of an instruction */
	cs_arch arch;
	cs_mode mode;
} machines[] = {
	{ EM_X86_64, 64, 1, CS_ARCH_X86, CS_MODE_64 },
	{ EM_X86_64, 32, 1, CS_ARCH_X86, CS_MODE_64 }, /* x32, or packed */
	{ EM_386, 32, 1, CS_ARCH_X86, CS_MODE_32 },
	{ EM_X86_64, 16, 1, CS_ARCH_X86, CS_MODE_16 }, /* a boot sector's ELF file */
	{ EM_386, 16, 1, CS_ARCH_X86, CS_MODE_16 },
	{ EM_AARCH64, 64, 4, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN },
#if CS_API_MAJOR >= 5
	{ EM_RISCV, 64, 2, CS_ARCH_RISCV, CS_MODE_RISCV64 | CS_MODE_RISCVC },
	{ EM_RISCV, 32, 2, CS_ARCH_RISCV, CS_MODE_RISCV32 | CS_MODE_RISCVC },
#endif
};

struct us_disassembler {
	const struct machine *machine;
	csh handle;
	cs_insn *insn;
};

struct us_disassembler *us_disassembler_open(uint16_t machine, unsigned bits)
{
	const struct machine *m = NULL;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf == machine && machines[i].bits == bits)
			m = &machines[i];
	struct us_disassembler *d = m ? calloc(1, sizeof(*d)) : NULL;
	if (!d)
		return NULL;
	d->machine = m;
	if (cs_open(m->arch, m->mode, &d->handle) != CS_ERR_OK) {
		free(d);
		return NULL;
	}
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	if (!d->insn) {
		us_disassembler_close(d);
		return NULL;
	}
	return d;
}

void us_disassembler_close(struct us_disassembler *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

static bool ends_block(const struct us_disassembler *d)
{
	static const unsigned groups[] = { CS_GRP_JUMP, CS_GRP_CALL, CS_GRP_RET,
					   CS_GRP_INT, CS_GRP_IRET };
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (cs_insn_group(d->handle, d->insn, groups[i]))
			return true;
	return false;
}

/* Capstone gives the offset in a segment that it takes to begin at a multiple of
 * 64 KiB; the distance tells where that is. */
static bool jumps_16(const struct us_disassembler *d, uint64_t *ret)
{
	const cs_x86 *x = &d->insn->detail->x86;
	uint64_t next = d->insn->address + d->insn->size;
	if (d->machine->mode != CS_MODE_16 || x->op_count != 1 ||
	    x->operands[0].type != X86_OP_IMM ||
	    !cs_insn_group(d->handle, d->insn, CS_GRP_BRANCH_RELATIVE))
		return false;
	*ret = next + (uint64_t)(int16_t)(x->operands[0].imm - (int64_t)next);
	return true;
}

static void print_insn(const struct us_disassembler *d, struct us_insn *ret)
{
	uint64_t to;
	if (jumps_16(d, &to))
		snprintf(ret->text, sizeof(ret->text), "%s 0x%" PRIx64,
			 d->insn->mnemonic, to);
	else
		snprintf(ret->text, sizeof(ret->text), "%s%s%s", d->insn->mnemonic,
			 d->insn->op_str[0] ? " " : "", d->insn->op_str);
}

static void decode(struct us_disassembler *d, const uint8_t *code, size_t n,
		   uint64_t addr, struct us_insn *ret)
{
	const uint8_t *at = code;
	size_t left = n, bad = d->machine->shortest < n ? d->machine->shortest : n;
	uint64_t pc = addr;
	if (!cs_disasm_iter(d->handle, &at, &left, &pc, d->insn) || !d->insn->size ||
	    d->insn->size > US_INSN_BYTES || d->insn->size > n) {
		take_bytes(code, bad, addr, ret);
		snprintf(ret->text, sizeof(ret->text), "(bad)");
		return;
	}
	take_bytes(code, d->insn->size, addr, ret);
	ret->ends_block = ends_block(d);
	print_insn(d, ret);
}

#else

struct us_disassembler *us_disassembler_open(uint16_t machine, unsigned bits)
{
	(void)machine;
	(void)bits;
	return NULL;
}

void us_disassembler_close(struct us_disassembler *d)
{
	(void)d;
}

static void decode(struct us_disassembler *d, const uint8_t *code, size_t n,
		   uint64_t addr, struct us_insn *ret)
{
	(void)d;
	take_bytes(code, n < US_INSN_BYTES ? n : US_INSN_BYTES, addr, ret);
}

#endif

void us_disassemble(struct us_disassembler *d, const uint8_t *code, size_t n,
		    uint64_t addr, struct us_insn *ret)
{
	if (d)
		decode(d, code, n, addr, ret);
	else
		take_bytes(code, n < US_INSN_BYTES ? n : US_INSN_BYTES, addr, ret);
}
