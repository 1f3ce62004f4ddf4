/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_decode.c: what an instruction does to the flow, to rsp and to rbp. */
#include "unwind/x86_parts.h"

#include <string.h>

#define RSP US_X86_CODE_RSP
#define RBP US_X86_CODE_RBP
#define RBX US_X86_CODE_RBX
#define R10 US_X86_CODE_R10
#define R13 US_X86_CODE_R13
#define ECX 1
#define ESI US_X86_CODE_RSI
#define EDI 7

/* What the opcode alone determines; all else is US_X86_OTHER. */
static const uint8_t kind_1[256] = {
	[0x50 ... 0x57] = US_X86_PUSH,
	[0x58 ... 0x5f] = US_X86_POP,
	[0x68] = US_X86_PUSH,
	[0x6a] = US_X86_PUSH,
	[0x70 ... 0x7f] = US_X86_BRANCH,
	[0x8f] = US_X86_POP,
	[0x9c] = US_X86_PUSH,
	[0x9d] = US_X86_POP,
	[0xc2 ... 0xc3] = US_X86_RET,
	[0xc8] = US_X86_ENTER,
	[0xc9] = US_X86_LEAVE,
	[0xca ... 0xcb] = US_X86_FAR_RET,
	[0xcc] = US_X86_BREAK,
	[0xcf] = US_X86_IRET,
	[0xe0 ... 0xe3] = US_X86_BRANCH,
	[0xe8] = US_X86_CALL,
	[0xe9] = US_X86_JUMP,
	[0xeb] = US_X86_JUMP,
};

static const uint8_t kind_0f[256] = {
	[0x07] = US_X86_SYSRET,
	[0x0b] = US_X86_STOP,
	[0x1f] = US_X86_NOP,
	[0x35] = US_X86_IRET,
	[0x80 ... 0x8f] = US_X86_BRANCH,
	[0xa0] = US_X86_PUSH,
	[0xa1] = US_X86_POP,
	[0xa8] = US_X86_PUSH,
	[0xa9] = US_X86_POP,
	[0xb9] = US_X86_STOP,
	[0xff] = US_X86_STOP,
};

static const uint8_t kind_ff[8] = {
	US_X86_OTHER,	      US_X86_OTHER, US_X86_CALL_INDIRECT, US_X86_STOP,
	US_X86_JUMP_INDIRECT, US_X86_STOP,  US_X86_PUSH,	  US_X86_STOP,
};

/* Which general register an opcode writes. */
enum {
	TO_RM = 1,     /* the r/m operand */
	TO_REG = 2,    /* the reg operand */
	TO_LOW = 4,    /* the one in the opcode's low bits */
	BYTE = 8,      /* its low byte only: without REX, 4 and 5 are ah and ch */
	IF_0_1 = 16,   /* only if the reg field, which extends the opcode, is 0, 1 */
	IF_2_3 = 32,   /* ... 2 or 3 */
	IF_NOT_7 = 64, /* ... not 7: that one compares */
	IF_5_7 = 128,  /* ... 5 to 7 */
};

#define ALU(x)                                                                         \
	[(x)] = TO_RM | BYTE, [(x) + 1] = TO_RM, [(x) + 2] = TO_REG | BYTE,            \
	[(x) + 3] = TO_REG

static const uint8_t writes_1[256] = {
	ALU(0x00),
	ALU(0x08),
	ALU(0x10),
	ALU(0x18),
	ALU(0x20),
	ALU(0x28),
	ALU(0x30),
	[0x63] = TO_REG,
	[0x69] = TO_REG,
	[0x6b] = TO_REG,
	[0x80] = TO_RM | IF_NOT_7 | BYTE,
	[0x81] = TO_RM | IF_NOT_7,
	[0x83] = TO_RM | IF_NOT_7,
	[0x86] = TO_RM | TO_REG | BYTE,
	[0x87] = TO_RM | TO_REG,
	[0x88] = TO_RM | BYTE,
	[0x89] = TO_RM,
	[0x8a] = TO_REG | BYTE,
	[0x8b] = TO_REG,
	[0x8c] = TO_RM,
	[0x8d] = TO_REG,
	[0x91 ... 0x97] = TO_LOW,
	[0xb0 ... 0xb7] = TO_LOW | BYTE,
	[0xb8 ... 0xbf] = TO_LOW,
	[0xc0] = TO_RM | BYTE,
	[0xc1] = TO_RM,
	[0xc6] = TO_RM | BYTE,
	[0xc7] = TO_RM,
	[0xd0] = TO_RM | BYTE,
	[0xd1] = TO_RM,
	[0xd2] = TO_RM | BYTE,
	[0xd3] = TO_RM,
	[0xf6] = TO_RM | IF_2_3 | BYTE,
	[0xf7] = TO_RM | IF_2_3,
	[0xfe] = TO_RM | IF_0_1 | BYTE,
	[0xff] = TO_RM | IF_0_1,
};

/* Where 32-bit code differs. */
static unsigned written_32(uint8_t op)
{
	switch (op) {
	case 0x40 ... 0x4f:
		return TO_LOW;
	case 0x63: /* arpl */
		return TO_RM;
	case 0xc4 ... 0xc5:
		return TO_REG;
	default:
		return writes_1[op];
	}
}

static const uint8_t writes_0f[256] = {
	[0x02 ... 0x03] = TO_REG,
	[0x20 ... 0x21] = TO_RM,
	[0x2c ... 0x2d] = TO_REG,
	[0x40 ... 0x4f] = TO_REG,
	[0x50] = TO_REG,
	[0x7e] = TO_RM,
	[0x90 ... 0x9f] = TO_RM | BYTE,
	[0xa4 ... 0xa5] = TO_RM,
	[0xab ... 0xad] = TO_RM,
	[0xaf] = TO_REG,
	[0xb0] = TO_RM | BYTE,
	[0xb1] = TO_RM,
	[0xb3] = TO_RM,
	[0xb6 ... 0xb8] = TO_REG,
	[0xba] = TO_RM | IF_5_7,
	[0xbb] = TO_RM,
	[0xbc ... 0xbf] = TO_REG,
	[0xc0] = TO_RM | TO_REG | BYTE,
	[0xc1] = TO_RM | TO_REG,
	[0xc5] = TO_REG,
	[0xc8 ... 0xcf] = TO_LOW,
	[0xd7] = TO_REG,
};

/* VEX and EVEX: from masks and vectors to general registers. */
static const uint8_t writes_vector[256] = {
	[0x2c ... 0x2d] = TO_REG, [0x50] = TO_REG, [0x7e] = TO_RM,
	[0x93] = TO_REG,	  [0xc5] = TO_REG, [0xd7] = TO_REG,
};

static unsigned written(const struct us_x86_parts *p)
{
	switch (p->map) {
	case US_X86_MAP_1:
		return p->bits == 64 ? writes_1[p->op] : written_32(p->op);
	case US_X86_MAP_0F:
		if (p->op == 0x7e && p->rep) /* movq between vector registers */
			return 0;
		return p->vector ? writes_vector[p->op] : writes_0f[p->op];
	case US_X86_MAP_0F38: /* BMI: andn, bzhi, pdep, mulx, shifts; movbe, crc32 */
		return p->op >= 0xf0 && p->op <= 0xf7 ? TO_REG : 0;
	case US_X86_MAP_0F3A: /* rorx */
		return p->vector && p->op == 0xf0 ? TO_REG : 0;
	default:
		return 0;
	}
}

/* The registers that gcc aligns a stack with: r10 or r13; in 32-bit code, ecx and edi
 * take their places. */
static uint8_t number(const struct us_x86_parts *p, uint8_t reg)
{
	if (p->bits == 64)
		return reg;
	return reg == ECX ? R10 : reg == EDI ? R13 : reg;
}

/* reg gets an unknown value, which matters only for registers that are followed.  If
 * there are two, i->reg is rsp. */
static void set(const struct us_x86_parts *p, struct us_x86_insn *i, uint8_t reg)
{
	bool rcx = p->bits == 64 && reg == US_X86_CODE_RCX;
	if (reg != RSP && reg != RBP && reg != R10 && !rcx &&
	    !us_x86_is_preserved(p->bits, reg))
		return;
	if (i->kind == US_X86_SET && reg != RSP) {
		i->base = reg;
		return;
	}
	if (i->kind == US_X86_SET)
		i->base = i->reg;
	i->reg = reg;
	i->kind = US_X86_SET;
}

/* Registers that are written without being named: by cpuid; and by string
 * instructions. */
static void implied_write(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	if (p->vector)
		return;
	if (p->map == US_X86_MAP_0F && p->op == 0xa2)
		set(p, i, RBX);
	bool string = (p->op >= 0x6c && p->op <= 0x6f) ||
		      (p->op >= 0xa4 && p->op <= 0xa7) ||
		      (p->op >= 0xaa && p->op <= 0xaf);
	if (p->map == US_X86_MAP_1 && p->bits == 32 && string) {
		set(p, i, ESI);
		set(p, i, number(p, EDI));
	}
}

static void named_write(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	unsigned to = written(p), sub = p->reg & 7;
	if (((to & IF_0_1) && sub > 1) || ((to & IF_2_3) && (sub & 6) != 2) ||
	    ((to & IF_NOT_7) && sub == 7) || ((to & IF_5_7) && sub < 5) ||
	    ((to & BYTE) && !p->rex))
		return;
	if ((to & TO_RM) && p->mod == 3)
		set(p, i, number(p, p->rm));
	if (to & TO_REG)
		set(p, i, number(p, p->reg));
	if (to & TO_LOW)
		set(p, i, number(p, (p->op & 7) | p->b));
}

static void general_write(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	named_write(p, i);
	implied_write(p, i);
}

/* For a register that functions preserve: is it saved, or does it keep rsp? */
static bool is_kept(const struct us_x86_parts *p, uint8_t kind, uint8_t reg,
		    uint8_t base)
{
	return us_x86_is_preserved(p->bits, reg) &&
	       (base == RSP || (base == RBP && kind != US_X86_MOVE));
}

static bool found(const struct us_x86_parts *p, struct us_x86_insn *i, uint8_t kind,
		  uint8_t reg, uint8_t base, int32_t imm)
{
	bool rcx = reg == US_X86_CODE_RCX && base == RSP &&
		   (kind == US_X86_LOAD || (kind == US_X86_STORE));
	bool follow = rcx || reg == RBP || (reg == RSP && kind != US_X86_STORE) ||
		      (reg == R10 && kind == US_X86_MOVE && base == RSP) ||
		      is_kept(p, kind, reg, base);
	if (!follow || base == US_X86_NO_REG)
		return false;
	i->kind = kind;
	i->reg = reg;
	i->base = base;
	i->imm = imm;
	return true;
}

/* A word of the stack changes, and nothing else that is followed. */
static bool stored(const struct us_x86_parts *p, struct us_x86_insn *i, uint8_t reg)
{
	if (p->mod == 3 || p->mem_base != RSP)
		return false;
	i->kind = US_X86_STORE;
	i->reg = reg;
	i->base = RSP;
	i->imm = p->disp;
	return true;
}

/* An exchange of rsp and a register that functions preserve. */
static bool swapped(const struct us_x86_parts *p, struct us_x86_insn *i, uint8_t reg,
		    uint8_t rm)
{
	uint8_t other = reg == RSP ? rm : reg;
	if ((reg != RSP && rm != RSP) ||
	    (other != RBP && !us_x86_is_preserved(p->bits, other)))
		return false;
	i->kind = US_X86_SWAP;
	i->reg = RSP;
	i->base = other;
	return true;
}

/* mov, lea, add, sub and xchg of rsp and rbp that can be followed exactly. */
static bool followed(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	uint8_t sub = p->reg & 7;
	uint8_t reg = number(p, p->reg), rm = number(p, p->rm);
	uint8_t base = number(p, p->mem_base);
	bool memory = p->mod != 3;
	bool xor_or_sub = p->op == 0x31 || p->op == 0x33 || p->op == 0x29 ||
			  p->op == 0x2b;
	if (xor_or_sub && !memory && p->reg == RBP && p->rm == RBP && !p->size16)
		return found(p, i, US_X86_ZERO, RBP, RBP, 0);
	if (p->bits == 64 ? !p->w : p->size16)
		return false;
	switch (p->op) {
	case 0x87:
		return !memory && swapped(p, i, reg, rm);
	case 0x89:
		return memory ? found(p, i, US_X86_STORE, reg, base, p->disp) ||
					stored(p, i, reg)
			      : found(p, i, US_X86_MOVE, rm, reg, 0);
	case 0xc7:
		return sub == 0 && stored(p, i, US_X86_NO_REG);
	case 0x8b:
		return memory ? found(p, i, US_X86_LOAD, reg, base, p->disp)
			      : found(p, i, US_X86_MOVE, reg, rm, 0);
	case 0x8d:
		return memory && found(p, i, US_X86_MOVE, reg, base, p->disp);
	case 0x81:
	case 0x83:
		if (memory || (sub != 0 && sub != 5) || p->imm == INT32_MIN)
			return false;
		return found(p, i, US_X86_MOVE, rm, rm, sub == 0 ? p->imm : -p->imm);
	default:
		return false;
	}
}

/* erets, eretu (Intel FRED specification, 6.3).  The frame that they return to lies
 * behind a word for an error code. */
static bool is_fred_return(const struct us_x86_parts *p)
{
	return p->map == US_X86_MAP_0F && p->op == 0x01 && p->mod == 3 && p->reg == 1 &&
	       p->rm == 2 && p->bits == 64 &&
	       (p->code[0] == 0xf2 || p->code[0] == 0xf3);
}

static void address(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	i->base = number(p, p->mem_base);
	i->imm = p->mem_base == US_X86_NO_REG ? 0 : p->disp;
}

/* Only instructions that read or write a register, or go somewhere, have operands
 * here. */
static void operands(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	switch (i->kind) {
	case US_X86_PUSH:
	case US_X86_POP:
		if (p->map != US_X86_MAP_1)
			return; /* fs, gs */
		if ((p->op & 0xf0) == 0x50)
			i->reg = number(p, (p->op & 7) | p->b);
		else if ((p->op == 0x8f || p->op == 0xff) && p->mod == 3)
			i->reg = number(p, p->rm);
		else if (p->op == 0xff)
			address(p, i);
		return;
	case US_X86_RET:
	case US_X86_FAR_RET:
	case US_X86_ENTER:
		i->imm = (uint16_t)p->imm;
		return;
	case US_X86_CALL:
	case US_X86_JUMP:
	case US_X86_BRANCH:
		i->imm = p->imm;
		return;
	case US_X86_IRET:
		i->imm = is_fred_return(p) ? 8 : 0;
		return;
	default:
		return;
	}
}

/* Opcodes that only 32-bit code has. */
static uint8_t kind_32(uint8_t op)
{
	switch (op) {
	case 0x06:
	case 0x0e:
	case 0x16:
	case 0x1e:
		return US_X86_PUSH;
	case 0x07:
	case 0x17:
	case 0x1f:
		return US_X86_POP;
	case 0x60:
		return US_X86_PUSH_ALL;
	case 0x61:
		return US_X86_POP_ALL;
	case 0x9a:
	case 0xea:
		return US_X86_STOP;
	default:
		return kind_1[op];
	}
}

static uint8_t kind_of(const struct us_x86_parts *p)
{
	if (p->vector || p->map > US_X86_MAP_0F)
		return US_X86_OTHER;
	if (p->map == US_X86_MAP_0F) {
		bool endbr = p->op == 0x1e && p->rep && p->mod == 3 && p->reg == 7 &&
			     p->rm == (p->bits == 64 ? 2 : 3);
		return endbr		   ? US_X86_ENDBR
		       : is_fred_return(p) ? US_X86_IRET
					   : kind_0f[p->op];
	}
	if (p->op == 0x90)
		return p->b ? US_X86_OTHER : US_X86_NOP; /* or xchg r8, rax */
	if (p->op == 0xff)
		return kind_ff[p->reg & 7];
	return p->bits == 64 ? kind_1[p->op] : kind_32(p->op);
}

/* With 16 bits these change only the low ones of rsp and rbp: no compiler does that. */
static void lose_both(struct us_x86_insn *i)
{
	i->kind = US_X86_SET;
	i->reg = RSP;
	i->base = RBP;
}

static bool moves_frame(uint8_t kind)
{
	switch (kind) {
	case US_X86_ENTER:
	case US_X86_LEAVE:
	case US_X86_PUSH_ALL:
	case US_X86_POP_ALL:
		return true;
	default:
		return false;
	}
}

/* In 32-bit code, with a prefix, these go to a 16-bit address.  A far ret without REX.W
 * goes to a 32-bit one, also in 64-bit code. */
static bool goes_16(const struct us_x86_parts *p, uint8_t kind)
{
	if (kind == US_X86_FAR_RET)
		return p->bits == 64 ? !p->w : p->size16;
	return p->size16 && p->bits != 64 && kind >= US_X86_CALL && kind <= US_X86_RET;
}

/* Opcodes whose reg field is a part of the opcode, or not a general register. */
static bool has_group(const struct us_x86_parts *p)
{
	if (p->map == US_X86_MAP_0F)
		return p->op <= 0x01 || (p->op >= 0x20 && p->op <= 0x23) ||
		       (p->op & 0xfe) == 0xae || p->op == 0xba;
	switch (p->op) {
	case 0x80 ... 0x83:
	case 0x8c:
	case 0x8e:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0 ... 0xd3:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return true;
	default:
		return false;
	}
}

/* Is rsp loaded as a whole word, from something other than rsp? */
static bool loads_stack(const struct us_x86_parts *p)
{
	bool whole = p->bits == 64 ? p->w : !p->size16, memory = p->mod != 3;
	if (p->map != US_X86_MAP_1)
		return false;
	if ((p->op & 0xf8) == 0xb8) /* 32 bits, too: the rest becomes 0 */
		return ((p->op & 7) | p->b) == RSP && !p->size16;
	switch (p->op) {
	case 0x89:
		return whole && !memory && p->rm == RSP && p->reg != RSP;
	case 0xc7:
		return whole && !memory && p->rm == RSP;
	case 0x8b:
		return whole && p->reg == RSP && (memory || p->rm != RSP);
	case 0x8d:
		return whole && p->reg == RSP && memory;
	default:
		return false;
	}
}

/* If in doubt, the stack counts as used. */
static uint8_t stack_of(const struct us_x86_parts *p, uint8_t kind)
{
	bool plain = p->map == US_X86_MAP_1 && !p->vector;
	switch (kind) {
	case US_X86_NOP:
	case US_X86_ENDBR:
	case US_X86_JUMP:
	case US_X86_BRANCH:
		return US_X86_STACK_NOT;
	case US_X86_OTHER:
		break;
	default:
		return US_X86_STACK_USED;
	}
	if (p->by_sp)
		return US_X86_STACK_USED;
	if (loads_stack(p))
		return US_X86_STACK_LOADS;
	if (!p->modrm) {
		bool low = plain &&
			   ((p->op >= 0x90 && p->op <= 0x97) || (p->op & 0xf8) == 0xb8);
		bool swap = p->map == US_X86_MAP_0F && (p->op & 0xf8) == 0xc8;
		return (low || swap) && ((p->op & 7) | p->b) == RSP ? US_X86_STACK_USED
								    : US_X86_STACK_NOT;
	}
	bool in_rm = p->mod == 3 && p->rm == RSP;
	bool in_reg = p->reg == RSP && !has_group(p);
	return in_rm || in_reg ? US_X86_STACK_USED : US_X86_STACK_NOT;
}

/* A 64-bit constant, or a 32-bit one with or without its sign. */
static uint64_t constant(const struct us_x86_parts *p, bool low)
{
	uint64_t value = 0;
	size_t n = low && p->w ? 8 : 4;
	memcpy(&value, p->code + p->at - n, n);
	return !low && p->w ? (uint64_t)(int64_t)(int32_t)value : value;
}

/* mov $value, reg; jmp *reg */
static void general(const struct us_x86_parts *p, struct us_x86_insn *i)
{
	bool low = (p->op & 0xf8) == 0xb8, rm = p->op == 0xc7 && p->mod == 3;
	if (p->map != US_X86_MAP_1 || p->vector || p->size16)
		return;
	if (i->kind == US_X86_JUMP_INDIRECT && p->mod == 3) {
		i->general = p->rm;
	} else if (low || rm) {
		i->general = low ? (p->op & 7) | p->b : p->rm;
		i->value = constant(p, low);
	}
}

bool us_x86_decode(const uint8_t *code, size_t n, unsigned bits,
		   struct us_x86_insn *ret)
{
	struct us_x86_parts p;
	if (!us_x86_cut(&p, code, n, bits))
		return false;
	*ret = (struct us_x86_insn){ .len = (uint8_t)p.at,
				     .kind = kind_of(&p),
				     .reg = US_X86_NO_REG,
				     .base = US_X86_NO_REG,
				     .general = US_X86_NO_REG };
	general(&p, ret);
	ret->stack = stack_of(&p, ret->kind);
	ret->half = p.size16 && (ret->kind == US_X86_PUSH || ret->kind == US_X86_POP);
	if (moves_frame(ret->kind) && p.size16)
		lose_both(ret);
	else if (goes_16(&p, ret->kind))
		ret->kind = US_X86_STOP;
	else if (ret->kind != US_X86_OTHER)
		operands(&p, ret);
	else if (p.map != US_X86_MAP_1 || p.vector || !followed(&p, ret))
		general_write(&p, ret);
	return true;
}

/* Are these n bytes, 2 to 7, the tail ff /2 of a CALL, without prefixes? */
static bool is_indirect_call(const uint8_t *c, size_t n)
{
	uint8_t mod = c[1] >> 6, rm = c[1] & 7;
	if (c[0] != 0xff || (c[1] >> 3 & 7) != 2)
		return false;
	if (mod == 3)
		return n == 2;
	size_t len = 2 + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
	if (rm == 4) {
		len++;
		if (mod == 0 && n >= 3 && (c[2] & 7) == 5)
			len += 4;
	} else if (rm == 5 && mod == 0) {
		len += 4;
	}
	return n == len;
}

bool us_x86_call_before(const uint8_t before[8], bool *ret_direct, int32_t *ret_imm)
{
	/* e8 can also be inside the longest forms of the other CALL.  Then the target
	 * is not known, but it is a CALL. */
	bool indirect = false;
	for (size_t n = 6; n <= 7; n++)
		indirect |= is_indirect_call(before + 8 - n, n);
	*ret_direct = before[3] == 0xe8 && !indirect;
	*ret_imm = 0;
	if (*ret_direct)
		memcpy(ret_imm, before + 4, 4);
	for (size_t n = 2; n <= 4; n++)
		indirect |= is_indirect_call(before + 8 - n, n);
	return *ret_direct || indirect;
}

bool us_x86_begins_with_call(const uint8_t code[8])
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	return code[0] == 0xe8 || (!memcmp(code, endbr64, sizeof(endbr64)) &&
				   code[sizeof(endbr64)] == 0xe8);
}

bool us_x86_ends_context(const uint8_t code[US_X86_CONTEXT_CODE])
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t start[] = { 0x48, 0x89, 0xdc, 0x48, 0x8b,
					 0x3c, 0x24, 0x48, 0x85, 0xff };
	static const uint8_t finish[] = { 0x48, 0x31, 0xff, 0xe8 };
	_Static_assert(sizeof(endbr64) + sizeof(start) == US_X86_CONTEXT_CODE, "size");
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		code += sizeof(endbr64);
	else if (!memcmp(code, finish, sizeof(finish)))
		return code[8] == 0xf4;
	return !memcmp(code, start, sizeof(start));
}

bool us_x86_is_goexit(const uint8_t code[8])
{
	return code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90;
}
