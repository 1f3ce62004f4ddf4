/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_length.c: cut an instruction into its parts, and so find its length. */
#include "unwind/x86_parts.h"

#include <string.h>

/* What follows an opcode. */
enum {
	M = 1,	   /* a ModRM byte */
	I8 = 2,	   /* 1 byte */
	I16 = 4,   /* 2 bytes */
	IZ = 8,	   /* 4 bytes; 2 with an operand size prefix; with I16: both */
	IV = 16,   /* as IZ; 8 with REX.W */
	MO = 32,   /* an address; half of it with an address size prefix */
	G3 = 64,   /* ModRM, and an operand if its reg field is 0 or 1 */
	BAD = 128, /* not in 64-bit code; or a prefix, which is met earlier */
};

#define ALU   M, M, M, M, I8, IZ, BAD, BAD
#define X8(x) x, x, x, x, x, x, x, x

static const uint8_t one_byte[256] = {
	/* 00 */ ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	ALU,
	/* 40 */ X8(BAD),
	X8(BAD),
	/* 50 */ X8(0),
	X8(0),
	/* 60 */ BAD,
	BAD,
	BAD,
	M,
	BAD,
	BAD,
	BAD,
	BAD,
	IZ,
	M | IZ,
	I8,
	M | I8,
	0,
	0,
	0,
	0,
	/* 70 */ X8(I8),
	X8(I8),
	/* 80 */ M | I8,
	M | IZ,
	BAD,
	M | I8,
	M,
	M,
	M,
	M,
	X8(M),
	/* 90 */ X8(0),
	0,
	0,
	BAD,
	0,
	0,
	0,
	0,
	0,
	/* a0 */ MO,
	MO,
	MO,
	MO,
	0,
	0,
	0,
	0,
	I8,
	IZ,
	0,
	0,
	0,
	0,
	0,
	0,
	/* b0 */ X8(I8),
	X8(IV),
	/* c0 */ M | I8,
	M | I8,
	I16,
	0,
	BAD,
	BAD,
	M | I8,
	M | IZ,
	/* c8 */ I16 | I8,
	0,
	I16,
	0,
	0,
	I8,
	BAD,
	0,
	/* d0 */ M,
	M,
	M,
	M,
	BAD,
	BAD,
	BAD,
	0,
	X8(M),
	/* e0 */ X8(I8),
	IZ,
	IZ,
	BAD,
	I8,
	0,
	0,
	0,
	0,
	/* f0 */ BAD,
	0,
	BAD,
	BAD,
	0,
	0,
	M | G3 | I8,
	M | G3 | IZ,
	0,
	0,
	0,
	0,
	0,
	0,
	M,
	M,
};

static const uint8_t two_byte[256] = {
	/* 00 */ M,
	M,
	M,
	M,
	BAD,
	0,
	0,
	0,
	0,
	0,
	BAD,
	0,
	BAD,
	M,
	0,
	M | I8,
	/* 10 */ X8(M),
	X8(M),
	/* 20 */ M,
	M,
	M,
	M,
	BAD,
	BAD,
	BAD,
	BAD,
	X8(M),
	/* 30 */ 0,
	0,
	0,
	0,
	0,
	0,
	BAD,
	0,
	X8(BAD),
	/* 40 */ X8(M),
	X8(M),
	/* 50 */ X8(M),
	X8(M),
	/* 60 */ X8(M),
	X8(M),
	/* 70 */ M | I8,
	M | I8,
	M | I8,
	M | I8,
	M,
	M,
	M,
	0,
	M,
	M,
	BAD,
	BAD,
	M,
	M,
	M,
	M,
	/* 80 */ X8(IZ),
	X8(IZ),
	/* 90 */ X8(M),
	X8(M),
	/* a0 */ 0,
	0,
	0,
	M,
	M | I8,
	M,
	M,
	M,
	0,
	0,
	0,
	M,
	M | I8,
	M,
	M,
	M,
	/* b0 */ X8(M),
	M,
	M,
	M | I8,
	M,
	M,
	M,
	M,
	M,
	/* c0 */ M,
	M,
	M | I8,
	M,
	M | I8,
	M | I8,
	M | I8,
	M,
	X8(0),
	/* d0 */ X8(M),
	X8(M),
	/* e0 */ X8(M),
	X8(M),
	/* f0 */ X8(M),
	X8(M),
};

/* 32-bit code has what 64-bit mode gave up for its prefixes, or altogether. */
static uint8_t form_of(const struct us_x86_parts *p)
{
	if (p->bits == 64)
		return one_byte[p->op];
	switch (p->op) {
	case 0x06: /* push, pop of segment registers; decimal arithmetic */
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x17:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x40 ... 0x4f: /* inc, dec */
	case 0x60 ... 0x61: /* pusha, popa */
	case 0xce:
	case 0xd6:
		return 0;
	case 0x62: /* bound, les, lds */
	case 0xc4 ... 0xc5:
		return M;
	case 0x82:
		return M | I8;
	case 0x9a: /* far call and jmp */
	case 0xea:
		return IZ | I16;
	case 0xd4 ... 0xd5:
		return I8;
	default:
		return one_byte[p->op];
	}
}

static bool take(struct us_x86_parts *p, uint8_t *ret)
{
	if (p->at >= p->n)
		return false;
	*ret = p->code[p->at++];
	return true;
}

/* A signed little-endian number of 1, 2, 4 or 8 bytes, of which 4 are kept. */
static bool take_number(struct us_x86_parts *p, size_t size, int32_t *ret)
{
	int32_t v = 0;
	if (p->n - p->at < size)
		return false;
	memcpy(&v, p->code + p->at, size < 4 ? size : 4);
	p->at += size;
	*ret = size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : v;
	return true;
}

static bool is_prefix(uint8_t c)
{
	switch (c) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return false;
	}
}

size_t us_x86_prefixes(const uint8_t *code, size_t n)
{
	size_t i = 0;
	while (i < n && is_prefix(code[i]))
		i++;
	return i;
}

static bool take_prefixes(struct us_x86_parts *p, uint8_t *ret)
{
	uint8_t c;
	for (;;) {
		if (!take(p, &c))
			return false;
		if (!is_prefix(c))
			break;
		p->size16 |= c == 0x66;
		p->addr_half |= c == 0x67;
		p->rep |= c == 0xf3;
	}
	if (p->bits == 64 && (c & 0xf0) == 0x40) {
		p->rex = true;
		p->w = c & 8;
		p->r = c & 4 ? 8 : 0;
		p->x = c & 2 ? 8 : 0;
		p->b = c & 1 ? 8 : 0;
		/* A REX prefix that another prefix follows is void: not written by
		 * any compiler, so it is not decoded. */
		if (!take(p, &c) || is_prefix(c) || (c & 0xf0) == 0x40)
			return false;
	}
	*ret = c;
	return true;
}

/* The bytes between c4, c5, 62 or 8f and the opcode. */
static bool take_vector(struct us_x86_parts *p, uint8_t c)
{
	uint8_t b[3] = { 0 };
	size_t n = c == 0xc5 ? 1 : c == 0x62 ? 3 : 2;
	for (size_t i = 0; i < n; i++)
		if (!take(p, &b[i]))
			return false;
	p->vector = true;
	p->rep = (b[n > 1] & 3) == 2; /* the prefix that pp stands for */
	p->r = b[0] & 0x80 ? 0 : 8;
	p->map = US_X86_MAP_0F;
	if (n > 1) {
		static const uint8_t maps[8] = { US_X86_MAP_1,	   US_X86_MAP_0F,
						 US_X86_MAP_0F38,  US_X86_MAP_0F3A,
						 US_X86_MAP_1,	   US_X86_MAP_OTHER,
						 US_X86_MAP_OTHER, US_X86_MAP_1 };
		p->x = b[0] & 0x40 ? 0 : 8;
		p->b = b[0] & 0x20 ? 0 : 8;
		p->w = b[1] & 0x80;
		p->map = maps[b[0] & 7];
	}
	if (p->bits != 64)
		p->r = p->x = p->b = 0;
	return take(p, &p->op);
}

static bool take_opcode(struct us_x86_parts *p)
{
	uint8_t c;
	if (!take_prefixes(p, &c))
		return false;
	uint8_t next = p->at < p->n ? p->code[p->at] : 0;
	bool xop = c == 0x8f && (next & 0x1f) >= 8;
	/* In 32-bit code les, lds and bound, unless the operand were a register. */
	bool vector = (c == 0xc4 || c == 0xc5 || c == 0x62) &&
		      (p->bits == 64 || next >= 0xc0);
	if (vector) {
		if (p->rex || !take_vector(p, c) || p->map == US_X86_MAP_1)
			return false;
	} else if (xop) {
		uint8_t map = next & 0x1f;
		if (p->rex || map > 10 || !take_vector(p, c))
			return false;
		p->map = US_X86_MAP_OTHER;
		p->form = map == 8 ? M | I8 : map == 9 ? M : M | IZ;
		return true;
	} else if (c != 0x0f) {
		p->op = c;
	} else {
		if (!take(p, &p->op))
			return false;
		p->map = p->op == 0x38	 ? US_X86_MAP_0F38
			 : p->op == 0x3a ? US_X86_MAP_0F3A
					 : US_X86_MAP_0F;
		if (p->map != US_X86_MAP_0F && !take(p, &p->op))
			return false;
	}
	static const uint8_t fixed[] = { [US_X86_MAP_0F38] = M,
					 [US_X86_MAP_0F3A] = M | I8,
					 [US_X86_MAP_OTHER] = M };
	if (p->vector && p->map == US_X86_MAP_0F && (p->op & 0xfe) == 0x7a) {
		p->form = M; /* EVEX conversions, in a gap of the old map */
		return true;
	}
	p->form = p->map == US_X86_MAP_1    ? form_of(p)
		  : p->map == US_X86_MAP_0F ? two_byte[p->op]
					    : fixed[p->map];
	return p->form != BAD;
}

/* 16-bit addresses: of bx, bp, si and di, in eight fixed ways. */
static bool take_address_16(struct us_x86_parts *p)
{
	size_t disp = p->mod == 1 ? 1 : p->mod == 2 || p->rm == 6 ? 2 : 0;
	return disp == 0 || take_number(p, disp, &p->disp);
}

static bool take_modrm(struct us_x86_parts *p)
{
	uint8_t c, sib;
	p->mem_base = US_X86_NO_REG;
	if (!take(p, &c))
		return false;
	p->modrm = true;
	/* Moves to and from control registers ignore the mod field. */
	p->mod = p->map == US_X86_MAP_0F && (p->op & 0xfc) == 0x20 && !p->vector
			 ? 3
			 : c >> 6;
	p->reg = (c >> 3 & 7) | p->r;
	p->rm = (c & 7) | p->b;
	if (p->mod == 3)
		return true;
	if (p->addr_half && p->bits != 64)
		return take_address_16(p);
	size_t disp = p->mod == 1 ? 1 : p->mod == 2 ? 4 : 0;
	if ((c & 7) == 4) {
		if (!take(p, &sib))
			return false;
		bool based = (sib & 7) != 5 || p->mod != 0;
		p->by_sp = ((sib & 7) | p->b) == 4;
		if (based && (sib >> 3 & 7) == 4 && !p->x && !p->addr_half)
			p->mem_base = (sib & 7) | p->b;
		if (!based)
			disp = 4;
	} else if ((c & 7) == 5 && p->mod == 0) {
		disp = 4;
	} else if (!p->addr_half) {
		p->mem_base = p->rm;
	}
	return disp == 0 || take_number(p, disp, &p->disp);
}

static bool take_immediate(struct us_x86_parts *p)
{
	int32_t more;
	size_t z = p->size16 && !p->w ? 2 : 4;
	bool flow = (p->map == US_X86_MAP_1 && (p->op & 0xfe) == 0xe8) ||
		    (p->map == US_X86_MAP_0F && (p->op & 0xf0) == 0x80);
	if ((p->form & G3) && (p->reg & 7) > 1)
		return true;
	if ((p->form & I16) && (p->form & IZ))
		return take_number(p, z, &p->imm) && take_number(p, 2, &more);
	if (p->form & I16)
		return take_number(p, 2, &p->imm) &&
		       (!(p->form & I8) || take_number(p, 1, &more));
	if (p->form & I8)
		return take_number(p, 1, &p->imm);
	if (p->form & IZ) /* 64-bit near jumps keep 32 bits whatever the prefix says */
		return take_number(p, flow && p->bits == 64 ? 4 : z, &p->imm);
	if (p->form & IV)
		return take_number(p, p->w ? 8 : z, &p->imm);
	if (p->form & MO)
		return take_number(p, p->bits / 8 >> p->addr_half, &p->imm);
	return true;
}

bool us_x86_cut(struct us_x86_parts *p, const uint8_t *code, size_t n, unsigned bits)
{
	*p = (struct us_x86_parts){ .code = code,
				    .n = n < US_X86_MAX_INSN ? n : US_X86_MAX_INSN,
				    .bits = (uint8_t)bits };
	if (!take_opcode(p))
		return false;
	if ((p->form & M) && !take_modrm(p))
		return false;
	/* SSE4a: extrq and insertq have two bytes behind them. */
	bool sse4a = p->map == US_X86_MAP_0F && p->op == 0x78 && !p->vector &&
		     p->mod == 3 && p->n > 0 &&
		     (p->code[0] == 0xf2 || p->code[0] == 0x66);
	if (sse4a)
		return take_number(p, 2, &p->imm);
	return take_immediate(p);
}
