/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_aarch64.c: instructions of A64 (Arm ARM, C4). */
#include "guest/regs.h"
#include "unwind/link_insn.h"

#include <string.h>

#define SP 31

static int64_t field(uint32_t insn, unsigned at, unsigned n)
{
	return insn >> at & ((1U << n) - 1);
}

static int64_t signed_field(uint32_t insn, unsigned at, unsigned n)
{
	return (int32_t)(insn << (32 - at - n)) >> (32 - n);
}

static void set(struct us_link_insn *ret, uint8_t reg)
{
	ret->kind = reg == 31 ? US_LINK_OTHER : US_LINK_SET;
	ret->reg = reg;
}

static void decode_immediate(uint32_t insn, struct us_link_insn *ret)
{
	uint8_t rd = insn & 31, opc = insn >> 29 & 3;
	if ((insn & 0x1f800000) == 0x11000000 || (insn & 0x1f800000) == 0x11800000) {
		/* add, sub; those that set flags write no stack pointer */
		if ((opc & 1) || (insn & 0x00800000) || !(insn >> 31)) {
			set(ret, rd);
			ret->kind = rd == SP && !(opc & 1) ? US_LINK_SET : ret->kind;
			return;
		}
		ret->kind = US_LINK_MOVE;
		ret->reg = rd;
		ret->base = insn >> 5 & 31;
		ret->imm = field(insn, 10, 12) << (insn & 0x00400000 ? 12 : 0);
		if (opc & 2)
			ret->imm = -ret->imm;
	} else if ((insn & 0x1f800000) == 0x12800000) { /* movn, movz, movk */
		uint8_t shift = (uint8_t)(16 * field(insn, 21, 2));
		uint64_t imm = (uint64_t)field(insn, 5, 16);
		set(ret, rd);
		if (rd == 31 || !(insn >> 31))
			return;
		ret->kind = opc == 3 ? US_LINK_INSERT : US_LINK_CONST;
		ret->reg2 = shift;
		ret->imm = (int64_t)(opc == 3 ? imm : imm << shift);
		if (opc == 0)
			ret->imm = ~ret->imm;
	} else if ((insn & 0x1f800000) == 0x12000000) { /* and, orr, eor; ands */
		ret->kind = opc == 3 && rd == 31 ? US_LINK_OTHER : US_LINK_SET;
		ret->reg = rd;
	} else if ((insn & 0x9f000000) == 0x90000000 && rd != 31) { /* adrp */
		set(ret, rd);
		ret->also = US_LINK_ALSO_PAGE;
		ret->imm = (signed_field(insn, 5, 19) * 4 + field(insn, 29, 2)) * 4096;
	} else {
		set(ret, rd);
	}
}

static void decode_register(uint32_t insn, struct us_link_insn *ret)
{
	uint8_t rd = insn & 31, rm = insn >> 16 & 31;
	if ((insn & 0xffffc000) == 0xdac10000 || (insn & 0xfffffbe0) == 0xdac143e0)
		return; /* pacia, autia ..., xpaci: rd is the same, but for its
			   signature */
	set(ret, rd);
	if ((insn & 0xffe0ffe0) == 0xaa0003e0 && rd != 31) { /* mov */
		ret->kind = rm == 31 ? US_LINK_CONST : US_LINK_MOVE;
		ret->base = rm;
	} else if ((insn & 0xbfe0e000) == 0x8b206000 ||
		   ((insn & 0xbfe0fc00) == 0x8b000000 && rd != 31 &&
		    (insn >> 5 & 31) != 31)) {
		/* add, sub: extended (of the stack pointer), or plain */
		bool shifted = insn & 0x1c00;
		ret->kind = shifted || rm == 31 ? US_LINK_SET : US_LINK_ADD;
		ret->reg = rd;
		ret->base = insn >> 5 & 31;
		ret->reg2 = rm;
		ret->imm = insn & 1U << 30 ? -1 : 1;
	} else if ((insn & 0x3fe00000) == 0x0b200000 && rd == SP) {
		ret->kind = US_LINK_SET;
	}
}

/* ldp, stp; also of vectors, because they may write to the base. */
static void decode_pair(uint32_t insn, struct us_link_insn *ret)
{
	bool vector = insn & 1U << 26, load = insn & 1U << 22;
	unsigned opc = insn >> 30, mode = insn >> 23 & 3;
	unsigned scale = vector ? 2 + opc : opc == 2 ? 3 : 2;
	int64_t off = signed_field(insn, 15, 7) * (1 << scale);
	ret->base = insn >> 5 & 31;
	ret->reg = insn & 31;
	ret->reg2 = insn >> 10 & 31;
	ret->imm = mode == 1 ? 0 : off;
	ret->write = mode & 1 ? (int32_t)off : 0;
	ret->kind = vector ? US_LINK_WRITE : load ? US_LINK_LOAD : US_LINK_STORE;
	if (!vector && opc != 2) {
		/* Two halves of a word: treated as not known. */
		ret->kind = load ? US_LINK_SET : US_LINK_WRITE;
	}
	/* Register 31 is zero here, not the stack pointer. */
	ret->reg = ret->reg == 31 ? US_LINK_NO_REG : ret->reg;
	ret->reg2 = ret->reg2 == 31 ? US_LINK_NO_REG : ret->reg2;
	if (ret->kind == US_LINK_SET && ret->reg == US_LINK_NO_REG)
		ret->kind = US_LINK_WRITE;
}

static void decode_single(uint32_t insn, struct us_link_insn *ret)
{
	bool vector = insn & 1U << 26, wide = insn >> 30 == 3;
	unsigned opc = insn >> 22 & 3, size = insn >> 30;
	bool scaled = insn & 1U << 24;
	unsigned mode = insn >> 10 & 3;
	int64_t off = scaled ? field(insn, 10, 12) << size : signed_field(insn, 12, 9);
	ret->base = insn >> 5 & 31;
	ret->reg = insn & 31;
	ret->reg2 = US_LINK_NO_REG;
	bool indexed = !scaled && (insn & 1U << 21);
	bool writes = !scaled && !indexed && (mode & 1);
	ret->imm = writes && mode == 1 ? 0 : off;
	ret->write = writes ? (int32_t)off : 0;
	bool plain = !vector && wide && !indexed && opc < 2;
	if (plain)
		ret->kind = opc ? US_LINK_LOAD : US_LINK_STORE;
	else if (!vector && opc && !(wide && opc == 2))
		ret->kind = US_LINK_SET;
	else
		ret->kind = US_LINK_WRITE;
	if (ret->reg != 31)
		return;
	ret->reg = US_LINK_NO_REG;
	if (ret->kind == US_LINK_SET)
		ret->kind = US_LINK_WRITE;
}

static void decode_memory(uint32_t insn, struct us_link_insn *ret)
{
	if ((insn & 0x3a000000) == 0x28000000)
		decode_pair(insn, ret);
	else if ((insn & 0x3a000000) == 0x38000000)
		decode_single(insn, ret);
	else if ((insn & 0x3f000000) == 0x18000000 || (insn & 0x3f000000) == 0x08000000)
		set(ret, insn & 31); /* literals; exclusives */
	if ((insn & 0xff000000) == 0x58000000 && (insn & 31) != 31) {
		ret->also = US_LINK_ALSO_LITERAL;
		ret->imm = signed_field(insn, 5, 19) * 4;
	}
}

static void decode_indirect(uint32_t insn, struct us_link_insn *ret)
{
	static const uint8_t kinds[16] = {
		[0] = US_LINK_JUMP_INDIRECT, [1] = US_LINK_CALL_INDIRECT,
		[2] = US_LINK_RET,	     [4] = US_LINK_EXIT,
		[8] = US_LINK_JUMP_INDIRECT, [9] = US_LINK_CALL_INDIRECT,
	};
	ret->kind = kinds[insn >> 21 & 15];
	ret->reg = insn >> 5 & 31;
	ret->reg2 = US_AARCH64_LR;
	if (ret->kind == US_LINK_OTHER)
		ret->kind = US_LINK_STOP;
	/* retaa, retab name no register */
	if (ret->kind == US_LINK_RET && ret->reg == 31)
		ret->reg = US_AARCH64_LR;
}

/* A system register of EL1, or the same one of EL2 or EL3. */
static bool at_level(uint32_t insn, uint32_t of_el1)
{
	uint32_t level = insn >> 16 & 7;
	return (insn & 0xfff8ffe0) == of_el1 &&
	       (level == 0 || level == 4 || level == 6);
}

static void decode_flow(uint32_t insn, struct us_link_insn *ret)
{
	if ((insn & 0x7c000000) == 0x14000000) {
		ret->kind = insn >> 31 ? US_LINK_CALL : US_LINK_JUMP;
		ret->reg2 = US_AARCH64_LR;
		ret->imm = signed_field(insn, 0, 26) * 4;
	} else if ((insn & 0xff000000) == 0x54000000 ||
		   (insn & 0x7e000000) == 0x34000000) {
		ret->kind = US_LINK_BRANCH;
		ret->imm = signed_field(insn, 5, 19) * 4;
	} else if ((insn & 0x7e000000) == 0x36000000) {
		ret->kind = US_LINK_BRANCH;
		ret->imm = signed_field(insn, 5, 14) * 4;
	} else if ((insn & 0xfe000000) == 0xd6000000) {
		decode_indirect(insn, ret);
	} else if ((insn & 0xffe0001f) == 0xd4200000) { /* brk */
		ret->kind = US_LINK_STOP;
	} else if (at_level(insn, 0xd5184020)) { /* msr elr_el1, ... */
		ret->kind = US_LINK_EXIT_PC;
		ret->reg = insn & 31;
	} else if (at_level(insn, 0xd5184000)) { /* msr spsr_el1, ... */
		ret->kind = US_LINK_EXIT_STATE;
		ret->reg = (insn & 31) == 31 ? US_LINK_NO_REG : insn & 31;
	} else if ((insn & 0xffffffe0) == 0xd5186000) { /* msr far_el1: Linux, KPTI */
		ret->reg = insn & 31;
		ret->also = ret->reg == 31 ? 0 : US_LINK_ALSO_ASIDE;
	} else if ((insn & 0xffffffe0) == 0xd5386000) { /* mrs far_el1 */
		set(ret, insn & 31);
		ret->also = ret->reg == 31 ? 0 : US_LINK_ALSO_BACK;
	} else if ((insn & 0xffffffe0) == 0xd5184100) { /* msr sp_el0 */
		ret->kind = US_LINK_EXIT_SP;
		ret->reg = (insn & 31) == 31 ? US_LINK_NO_REG : insn & 31;
	} else if ((insn & 0xffffffc0) == 0xd5182000) { /* msr ttbr0_el1, ttbr1_el1 */
		ret->kind = US_LINK_ROOT;
		ret->reg = (insn & 31) == 31 ? US_LINK_NO_REG : insn & 31;
		ret->imm = insn >> 5 & 1;
	} else if ((insn & 0xfff00000) == 0xd5300000) { /* mrs */
		set(ret, insn & 31);
		ret->reads_pc = at_level(insn, 0xd5384020); /* elr_el1, ... */
	}
}

/* SVE and SME count in vectors, whose length is not known here. */
static void decode_scalable(uint32_t insn, struct us_link_insn *ret)
{
	uint8_t rd = insn & 31;
	bool adds = (insn & 0xffa0f000) == 0x04205000;	 /* addvl, addpl, addsvl, ... */
	bool reads = (insn & 0xfffff000) == 0x04bf5000;	 /* rdvl, rdsvl */
	bool counts = (insn & 0xff20f800) == 0x0420e000; /* cntd, incd, decd, ... */
	if (adds || reads || counts)
		set(ret, rd);
	if (adds && rd == SP)
		ret->kind = US_LINK_SET;
}

static bool decode(const uint8_t *code, size_t n, struct us_link_insn *ret)
{
	uint32_t insn;
	if (n < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	*ret = (struct us_link_insn){ .len = 4, .reg2 = US_LINK_NO_REG };
	switch (insn >> 25 & 15) {
	case 0: /* udf and what is reserved (C4.1), or SME */
		ret->kind = insn >> 31 ? US_LINK_OTHER : US_LINK_STOP;
		break;
	case 2:
		decode_scalable(insn, ret);
		break;
	case 8:
	case 9:
		decode_immediate(insn, ret);
		break;
	case 10:
	case 11:
		decode_flow(insn, ret);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		decode_memory(insn, ret);
		break;
	case 5:
	case 13:
		decode_register(insn, ret);
		break;
	default: /* vectors */
		break;
	}
	return true;
}

static bool call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm)
{
	struct us_link_insn insn;
	if (!decode(before + 4, 4, &insn) ||
	    (insn.kind != US_LINK_CALL && insn.kind != US_LINK_CALL_INDIRECT))
		return false;
	*ret_direct = insn.kind == US_LINK_CALL;
	*ret_imm = *ret_direct ? (int32_t)insn.imm - 4 : 0;
	return true;
}

/* mov x0, x0; bl */
static bool goexit_at(const uint8_t code[8])
{
	uint32_t insn[2];
	memcpy(insn, code, sizeof(insn));
	return insn[0] == 0xaa0003e0 && insn[1] >> 26 == 0x25;
}

/* mov x9, x30; bl: Linux, -fpatchable-function-entry */
static bool traced_at(const uint8_t code[8])
{
	uint32_t insn[2];
	memcpy(insn, code, sizeof(insn));
	return insn[0] == 0xaa1e03e9 && insn[1] >> 26 == 0x25;
}

/* svc, hvc, smc */
static bool trap_before(const uint8_t before[8])
{
	uint32_t insn;
	memcpy(&insn, before + 4, sizeof(insn));
	return (insn & 0xffe0001c) == 0xd4000000 && insn & 3;
}

const struct us_link_machine us_link_aarch64 = {
	.sp = US_AARCH64_SP,
	.fp = US_AARCH64_FP,
	.ra = US_AARCH64_LR,
	.routine = US_LINK_NO_REG,
	.shadow = 18,
	.result = 0,
	.align = 4,
	.frame_fp = 0,
	.frame_ra = 8,
	.frame_cfa = 16,
	.banked_sp = true,
	.preserved = US_AARCH64_PRESERVED | 1U << US_AARCH64_SP,
	.decode = decode,
	.call_before = call_before,
	.goexit_at = goexit_at,
	.traced_at = traced_at,
	.trap_before = trap_before,
};
