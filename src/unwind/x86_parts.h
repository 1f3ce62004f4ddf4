/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_parts.h: an instruction cut into its parts; shared by the two decoder files. */
#ifndef US_X86_PARTS_H
#define US_X86_PARTS_H

#include "unwind/x86_decode.h"

enum us_x86_map {
	US_X86_MAP_1,
	US_X86_MAP_0F,
	US_X86_MAP_0F38,
	US_X86_MAP_0F3A,
	US_X86_MAP_OTHER
};

/* An instruction cut into its parts. */
struct us_x86_parts {
	const uint8_t *code;
	size_t n, at;
	uint8_t bits;			  /* of the code: 64 or 32 */
	bool rex, w, size16, rep, vector; /* vector: VEX, EVEX or XOP */
	bool addr_half;			  /* addresses of half the width: 67h */
	uint8_t r, x, b; /* 8 or 0: the upper halves of register numbers */
	uint8_t map, op;
	uint8_t form; /* what follows the opcode; a set of flags of x86_length.c */
	bool modrm;   /* mod, reg and rm are there */
	bool by_sp;   /* the memory operand is addressed by rsp */
	uint8_t mod, reg, rm;
	uint8_t mem_base; /* of a plain [base + disp]; else US_X86_NO_REG */
	int32_t disp, imm;
};

/* Cut the first instruction of n bytes; p->at is then its length.  False: not valid in
 * code of that width, or truncated. */
bool us_x86_cut(struct us_x86_parts *p, const uint8_t *code, size_t n, unsigned bits);

#endif
