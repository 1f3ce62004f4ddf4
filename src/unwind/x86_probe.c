/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86_probe.c: loops that touch each page of a large frame (gcc
 *-fstack-clash-protection, which some distributions have by default; Rust).  See
 *x86_flow.h.
 *
 *	lea -N(%rsp),%r11	or	mov %rsp,%r11; sub $N,%r11
 * 1:	sub $4096,%rsp
 *	orq $0,(%rsp)		or	movq $0,(%rsp)
 *	cmp %r11,%rsp
 *	jne 1b
 */
#include "unwind/x86_flow.h"
#include "unwind/x86_parts.h"

#define RSP	  US_X86_CODE_RSP
#define MOST_LOOP 32 /* bytes */
#define MOST_SET  16 /* bytes before it that set its end */

static bool is_alu(const struct us_x86_parts *p, uint8_t sub)
{
	return p->map == US_X86_MAP_1 && (p->op == 0x81 || p->op == 0x83) &&
	       (p->reg & 7) == sub;
}

/* Cut the n bytes at code into one instruction; false: they are more, or less. */
static bool is_one(const struct us_x86_flow *f, const uint8_t *code, size_t n,
		   struct us_x86_parts *p)
{
	return us_x86_cut(p, code, n, f->word * 8U) && p->at == n;
}

/* N, if what ends at `end` sets this register to rsp - N; 0: it does not. */
static int32_t distance(const struct us_x86_flow *f, const uint8_t *end, uint8_t reg)
{
	struct us_x86_parts p;
	for (size_t n = 5; n <= 8; n++) {
		if (!is_one(f, end - n, n, &p) || p.map != US_X86_MAP_1)
			continue;
		if (p.op == 0x8d && p.reg == reg && p.mem_base == RSP)
			return p.disp < 0 ? -p.disp : 0;
		bool sub = (is_alu(&p, 5) && p.mod == 3 && p.rm == reg) ||
			   (p.op == 0x2d && reg == 0);
		size_t mov = f->word == 8 ? 3 : 2;
		struct us_x86_parts q;
		if (sub && is_one(f, end - n - mov, mov, &q) && q.op == 0x89 &&
		    q.mod == 3 && q.rm == reg && q.reg == RSP)
			return p.imm > 0 ? p.imm : 0;
	}
	return 0;
}

/* The loop's body, of len bytes with the branch at its end. */
static bool is_body(const struct us_x86_flow *f, const uint8_t *code, size_t len,
		    struct us_x86_probe *ret)
{
	struct us_x86_parts sub, touch, cmp, jump;
	const uint8_t *end = code + len;
	unsigned bits = f->word * 8U;
	if (!us_x86_cut(&sub, code, (size_t)(end - code), bits) || !is_alu(&sub, 5) ||
	    sub.mod != 3 || sub.rm != RSP || sub.imm <= 0)
		return false;
	code += sub.at;
	if (!us_x86_cut(&touch, code, (size_t)(end - code), bits) || !touch.by_sp ||
	    touch.mod == 3 || !(is_alu(&touch, 1) || touch.op == 0xc7))
		return false;
	code += touch.at;
	if (!us_x86_cut(&cmp, code, (size_t)(end - code), bits) || cmp.op != 0x39 ||
	    cmp.mod != 3 || cmp.rm != RSP)
		return false;
	code += cmp.at;
	ret->step = sub.imm;
	ret->reg = cmp.reg;
	return is_one(f, code, (size_t)(end - code), &jump) && jump.op == 0x75;
}

bool us_x86_probe_loop(const struct us_x86_flow *f, us_gva head, us_gva end,
		       struct us_x86_probe *ret)
{
	uint8_t code[MOST_SET + MOST_LOOP];
	size_t len = (size_t)(end - head);
	if (head < MOST_SET || end <= head || len > MOST_LOOP ||
	    !us_paging_read(f->path.paging, f->path.space, head - MOST_SET, code,
			    MOST_SET + len) ||
	    !is_body(f, code + MOST_SET, len, ret))
		return false;
	ret->head = head;
	ret->total = distance(f, code + MOST_SET, ret->reg);
	return ret->total >= ret->step && ret->total % ret->step == 0;
}

bool us_x86_in_probe_loop(const struct us_x86_flow *f, us_gva pc,
			  struct us_x86_probe *ret)
{
	uint8_t code[MOST_LOOP];
	struct us_x86_insn insn;
	size_t at = 0;
	if (!us_paging_read(f->path.paging, f->path.space, pc, code, sizeof(code)))
		return false;
	for (unsigned i = 0; i < 4; i++, at += insn.len) {
		if (!us_x86_decode(code + at, sizeof(code) - at, f->word * 8U, &insn))
			return false;
		us_gva end = pc + at + insn.len;
		us_gva head = end + (us_gva)(int64_t)insn.imm;
		if (insn.kind == US_X86_BRANCH)
			return head <= pc && us_x86_probe_loop(f, head, end, ret);
	}
	return false;
}
