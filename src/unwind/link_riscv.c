/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_riscv.c: instructions of RV64GC (RISC-V unprivileged architecture, 2, 16, 24).
 */
#include "guest/regs.h"
#include "unwind/link_insn.h"

#include <string.h>

#define SP	2
#define ROUTINE 5 /* t0 */

static uint32_t bits(uint32_t insn, unsigned at, unsigned n)
{
	return insn >> at & ((1U << n) - 1);
}

static int64_t extend(uint32_t v, unsigned n)
{
	return (int32_t)(v << (32 - n)) >> (32 - n);
}

static void set(struct us_link_insn *ret, uint32_t reg)
{
	ret->kind = reg ? US_LINK_SET : US_LINK_OTHER;
	ret->reg = (uint8_t)reg;
}

static void move(struct us_link_insn *ret, uint32_t reg, uint32_t base, int64_t imm)
{
	ret->kind = !reg ? US_LINK_OTHER : base ? US_LINK_MOVE : US_LINK_CONST;
	ret->reg = (uint8_t)reg;
	ret->base = (uint8_t)base;
	ret->imm = imm;
}

static void add(struct us_link_insn *ret, uint32_t reg, uint32_t base, uint32_t reg2,
		int64_t sign)
{
	ret->kind = reg ? US_LINK_ADD : US_LINK_OTHER;
	ret->reg = (uint8_t)reg;
	ret->base = (uint8_t)base;
	ret->reg2 = (uint8_t)reg2;
	ret->imm = sign;
}

static void shift(struct us_link_insn *ret, uint32_t reg, uint32_t base, uint32_t by)
{
	ret->kind = reg ? US_LINK_SHIFT : US_LINK_OTHER;
	ret->reg = (uint8_t)reg;
	ret->base = (uint8_t)base;
	ret->imm = by;
}

static void memory(struct us_link_insn *ret, uint8_t kind, uint32_t reg, uint32_t base,
		   int64_t off)
{
	ret->kind = kind;
	ret->reg = reg ? (uint8_t)reg : US_LINK_NO_REG;
	ret->base = (uint8_t)base;
	ret->imm = off;
}

static void flow(struct us_link_insn *ret, uint8_t kind, int64_t imm)
{
	ret->kind = kind;
	ret->imm = imm;
}

/* jalr: the registers show whether it is a call, a return or a jump (2.5.1). */
static void jump_to(struct us_link_insn *ret, uint32_t rd, uint32_t rs1)
{
	ret->reg = (uint8_t)rs1;
	ret->reg2 = (uint8_t)rd;
	ret->kind = rd			 ? US_LINK_CALL_INDIRECT
		    : rs1 == US_RISCV_RA ? US_LINK_RET
					 : US_LINK_JUMP_INDIRECT;
}

/* sscratch or mscratch: where handlers keep a register, or a stack, for a while. */
static void scratch_insn(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = bits(insn, 7, 5), rs1 = bits(insn, 15, 5), f3 = bits(insn, 12, 3);
	if (f3 == 1 || f3 == 5) {
		ret->kind = rd ? US_LINK_SWAP : US_LINK_ASIDE;
		ret->base = f3 == 1 ? (uint8_t)rs1 : 0;
		ret->reg = rd ? (uint8_t)rd : ret->base;
	} else if (rd && !rs1) {
		ret->kind = US_LINK_BACK;
	}
}

static void system_insn(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = bits(insn, 7, 5), csr = insn >> 20;
	if (bits(insn, 12, 3) == 0) {
		if (csr == 0x102 || csr == 0x302) /* sret, mret */
			ret->kind = US_LINK_EXIT;
		else if (csr == 1)
			ret->kind = US_LINK_STOP; /* ebreak */
		return;
	}
	set(ret, rd);
	if (bits(insn, 12, 3) < 4) /* the CSR then holds this register */
		ret->base = (uint8_t)bits(insn, 15, 5);
	if (csr == 0x140 || csr == 0x340)
		scratch_insn(insn, ret);
	bool epc = csr == 0x141 || csr == 0x341; /* sepc, mepc */
	ret->reads_pc = epc && rd;
	if (rd == 0 && bits(insn, 12, 3) == 1 && epc) {
		ret->kind = US_LINK_EXIT_PC;
		ret->reg = (uint8_t)bits(insn, 15, 5);
	}
	if (rd == 0 && bits(insn, 12, 3) == 1 && csr == 0x180) {
		ret->kind = US_LINK_ROOT; /* satp */
		ret->reg = (uint8_t)bits(insn, 15, 5);
	}
}

static void decode_4(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = bits(insn, 7, 5), rs1 = bits(insn, 15, 5);
	uint32_t rs2 = bits(insn, 20, 5), f3 = bits(insn, 12, 3);
	int64_t imm = (int32_t)insn >> 20;
	switch (insn & 0x7f) {
	case 0x13:
	case 0x1b:
		set(ret, rd);
		if (f3 == 0)
			move(ret, rd, rs1, imm);
		else if (f3 == 1 && (insn & 0x7f) == 0x13)
			shift(ret, rd, rs1, imm & 63);
		ret->narrow = insn & 8;
		break;
	case 0x37:
		move(ret, rd, 0, (int32_t)(insn & 0xfffff000));
		break;
	case 0x33:
		set(ret, rd);
		if (f3 == 0 && insn >> 25 == 0 && (!rs1 || !rs2))
			move(ret, rd, rs1 | rs2, 0);
		else if (f3 == 0 && (insn >> 25 == 0 || insn >> 25 == 0x20))
			add(ret, rd, rs1, rs2, insn >> 25 ? -1 : 1);
		break;
	case 0x03:
		set(ret, rd);
		if (f3 == 3)
			memory(ret, US_LINK_LOAD, rd, rs1, imm);
		break;
	case 0x23:
		if (f3 == 3)
			memory(ret, US_LINK_STORE, rs2, rs1,
			       extend(insn >> 25 << 5 | rd, 12));
		break;
	case 0x6f:
		flow(ret, rd ? US_LINK_CALL : US_LINK_JUMP,
		     extend(bits(insn, 31, 1) << 20 | bits(insn, 12, 8) << 12 |
				    bits(insn, 20, 1) << 11 | bits(insn, 21, 10) << 1,
			    21));
		ret->reg2 = (uint8_t)rd;
		break;
	case 0x67:
		jump_to(ret, rd, rs1);
		ret->imm = imm;
		break;
	case 0x63:
		flow(ret, US_LINK_BRANCH,
		     extend(bits(insn, 31, 1) << 12 | bits(insn, 7, 1) << 11 |
				    bits(insn, 25, 6) << 5 | bits(insn, 8, 4) << 1,
			    13));
		break;
	case 0x73:
		system_insn(insn, ret);
		break;
	case 0x17:
		set(ret, rd);
		ret->fresh = true; /* auipc */
		ret->also = rd ? US_LINK_ALSO_PC : 0;
		ret->imm = (int32_t)(insn & 0xfffff000);
		break;
	case 0x2f:
	case 0x3b:
		set(ret, rd);
		break;
	default: /* fences, floating point, vectors */
		break;
	}
}

/* Quadrant 0: registers of three bits, x8 to x15. */
static void decode_0(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = 8 + bits(insn, 2, 3), rs1 = 8 + bits(insn, 7, 3);
	uint32_t off = bits(insn, 10, 3) << 3 | bits(insn, 5, 2) << 6;
	switch (bits(insn, 13, 3)) {
	case 0:
		if (insn == 0)
			ret->kind = US_LINK_STOP;
		else
			move(ret, rd, SP,
			     bits(insn, 11, 2) << 4 | bits(insn, 7, 4) << 6 |
				     bits(insn, 6, 1) << 2 | bits(insn, 5, 1) << 3);
		break;
	case 2:
		set(ret, rd);
		break;
	case 3:
		memory(ret, US_LINK_LOAD, rd, rs1, off);
		break;
	case 4: /* Zcb: c.lbu, c.lhu, c.lh; with bit 11, the stores */
		if (!bits(insn, 11, 1))
			set(ret, rd);
		break;
	case 7:
		memory(ret, US_LINK_STORE, rd, rs1, off);
		break;
	default:
		break;
	}
}

static int64_t jump_offset(uint32_t insn)
{
	return extend(bits(insn, 12, 1) << 11 | bits(insn, 11, 1) << 4 |
			      bits(insn, 9, 2) << 8 | bits(insn, 8, 1) << 10 |
			      bits(insn, 7, 1) << 6 | bits(insn, 6, 1) << 7 |
			      bits(insn, 3, 3) << 1 | bits(insn, 2, 1) << 5,
		      12);
}

static int64_t branch_offset(uint32_t insn)
{
	return extend(bits(insn, 12, 1) << 8 | bits(insn, 10, 2) << 3 |
			      bits(insn, 5, 2) << 6 | bits(insn, 3, 2) << 1 |
			      bits(insn, 2, 1) << 5,
		      9);
}

static void decode_1(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = bits(insn, 7, 5);
	int64_t imm = extend(bits(insn, 12, 1) << 5 | bits(insn, 2, 5), 6);
	switch (bits(insn, 13, 3)) {
	case 0:
	case 1:
		move(ret, rd, rd, imm);
		ret->narrow = bits(insn, 13, 3) == 1;
		break;
	case 2:
		move(ret, rd, 0, imm);
		break;
	case 3:
		if (rd == SP)
			move(ret, rd, rd,
			     extend(bits(insn, 12, 1) << 9 | bits(insn, 3, 2) << 7 |
					    bits(insn, 5, 1) << 6 |
					    bits(insn, 2, 1) << 5 |
					    bits(insn, 6, 1) << 4,
				    10));
		else if (imm) /* else it may be of a shadow stack: c.mop */
			move(ret, rd, 0, imm * 4096);
		break;
	case 4:
		set(ret, 8 + bits(insn, 7, 3));
		break;
	case 5:
		flow(ret, US_LINK_JUMP, jump_offset(insn));
		break;
	default:
		flow(ret, US_LINK_BRANCH, branch_offset(insn));
	}
}

static void decode_2(uint32_t insn, struct us_link_insn *ret)
{
	uint32_t rd = bits(insn, 7, 5), rs2 = bits(insn, 2, 5);
	bool upper = insn & 1U << 12;
	switch (bits(insn, 13, 3)) {
	case 0:
		shift(ret, rd, rd, bits(insn, 12, 1) << 5 | bits(insn, 2, 5));
		break;
	case 2:
		set(ret, rd);
		break;
	case 3:
		memory(ret, US_LINK_LOAD, rd, SP,
		       bits(insn, 12, 1) << 5 | bits(insn, 5, 2) << 3 |
			       bits(insn, 2, 3) << 6);
		break;
	case 4:
		if (rs2 && upper)
			add(ret, rd, rd, rs2, 1);
		else if (rs2)
			move(ret, rd, rs2, 0);
		else if (rd)
			jump_to(ret, upper ? US_RISCV_RA : 0, rd);
		else
			ret->kind = US_LINK_STOP; /* ebreak */
		break;
	case 7:
		memory(ret, US_LINK_STORE, rs2, SP,
		       bits(insn, 10, 3) << 3 | bits(insn, 7, 3) << 6);
		break;
	default:
		break;
	}
}

static bool decode(const uint8_t *code, size_t n, struct us_link_insn *ret)
{
	uint32_t insn = 0;
	if (n < 2)
		return false;
	memcpy(&insn, code, 2);
	*ret = (struct us_link_insn){ .len = 2, .reg2 = US_LINK_NO_REG };
	switch (insn & 3) {
	case 0:
		decode_0(insn, ret);
		return true;
	case 1:
		decode_1(insn, ret);
		return true;
	case 2:
		decode_2(insn, ret);
		return true;
	default:
		if (n < 4)
			return false;
		memcpy(&insn, code, 4);
		ret->len = 4;
		decode_4(insn, ret);
		return true;
	}
}

static bool is_call(const uint8_t *code, size_t n, uint8_t kind)
{
	struct us_link_insn insn;
	return decode(code, n, &insn) && insn.len == n && insn.kind == kind &&
	       insn.reg2 == US_RISCV_RA;
}

/* auipc and jalr together name a target that is far away. */
static bool is_far_call(const uint8_t before[8], int32_t *ret_imm)
{
	uint32_t pair[2];
	memcpy(pair, before, sizeof(pair));
	*ret_imm = (int32_t)((pair[0] & 0xfffff000) +
			     (uint32_t)((int32_t)pair[1] >> 20) - 8);
	return (pair[0] & 0x7f) == 0x17 && bits(pair[0], 7, 5) == bits(pair[1], 15, 5);
}

static bool call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm)
{
	struct us_link_insn insn;
	*ret_imm = 0;
	*ret_direct = true;
	if (is_call(before + 4, 4, US_LINK_CALL)) {
		decode(before + 4, 4, &insn);
		*ret_imm = (int32_t)insn.imm - 4;
		return true;
	}
	if (is_call(before + 4, 4, US_LINK_CALL_INDIRECT)) {
		*ret_direct = is_far_call(before, ret_imm);
		*ret_imm = *ret_direct ? *ret_imm : 0;
		return true;
	}
	*ret_direct = false;
	return is_call(before + 6, 2, US_LINK_CALL_INDIRECT);
}

static bool routine_before(const uint8_t before[8], int32_t *ret_imm)
{
	struct us_link_insn insn;
	if (!decode(before + 4, 4, &insn) || insn.len != 4 || insn.reg2 != ROUTINE)
		return false;
	*ret_imm = (int32_t)insn.imm - 4;
	return insn.kind == US_LINK_CALL ||
	       (insn.kind == US_LINK_CALL_INDIRECT && is_far_call(before, ret_imm));
}

/* auipc t0; jalr t0, t0: Linux, -fpatchable-function-entry */
static bool traced_at(const uint8_t code[8])
{
	uint32_t insn[2];
	memcpy(insn, code, sizeof(insn));
	return (insn[0] & 0xfff) == 0x297 && (insn[1] & 0xfffff) == 0x282e7;
}

static bool trap_before(const uint8_t before[8])
{
	uint32_t insn;
	memcpy(&insn, before + 4, sizeof(insn));
	return insn == 0x73; /* ecall */
}

const struct us_link_machine us_link_riscv = {
	.sp = US_RISCV_SP,
	.fp = US_RISCV_FP,
	.ra = US_RISCV_RA,
	.routine = ROUTINE,
	.shadow = 3,
	.result = 10,
	.align = 2,
	.frame_fp = -16,
	.frame_ra = -8,
	.frame_cfa = 0,
	.frame_exact = true,
	.preserved = US_RISCV_PRESERVED | 1U << US_RISCV_SP,
	.decode = decode,
	.call_before = call_before,
	.routine_before = routine_before,
	.trap_before = trap_before,
	.traced_at = traced_at,
};
