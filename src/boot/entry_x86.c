/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entry_x86.c: the path of an x86 kernel from its entry.
 *
 * Multiboot and PVH enter 32-bit code.  A far jump (or a far return, or iret) leads to
 * 64-bit code if a model-specific register was written before: that is how long mode is
 * enabled (Intel SDM volume 3, 9.8.5).  A header's entry may be 32-bit or 64-bit: both
 * are tried.
 */
#include "boot/entry_path.h"

#include "unwind/x86_decode.h"

#include <elf.h>
#include <string.h>

#define N_REG	 16
#define N_PUSHED 8

/* What is known about a register, or about a word that was pushed. */
struct value {
	uint64_t v;
	bool known;
};

struct x86 {
	struct us_boot_path *path;
	unsigned bits;
	bool wrmsr, crossed; /* into 64-bit code */
	struct value reg[N_REG];
	struct value pushed[N_PUSHED]; /* the last one is on top */
	size_t n_pushed;
};

static void push(struct x86 *x, struct value v)
{
	if (x->n_pushed == N_PUSHED)
		memmove(x->pushed, x->pushed + 1, --x->n_pushed * sizeof(v));
	x->pushed[x->n_pushed++] = v;
}

static struct value pop(struct x86 *x)
{
	return x->n_pushed ? x->pushed[--x->n_pushed] : (struct value){ 0 };
}

/* An instruction without its prefixes. */
struct parts {
	const uint8_t *op;
	size_t n;
	uint8_t rex;
	uint64_t end; /* address after it */
};

static struct parts cut(const struct x86 *x, const uint8_t *code, size_t n,
			uint64_t end)
{
	size_t i = 0;
	while (i + 1 < n && (code[i] == 0x66 || code[i] == 0x67 || code[i] == 0xf2 ||
			     code[i] == 0xf3 || code[i] == 0x2e || code[i] == 0x3e))
		i++;
	struct parts p = { .end = end };
	if (x->bits == 64 && i + 1 < n && (code[i] & 0xf0) == 0x40)
		p.rex = code[i++];
	p.op = code + i;
	p.n = n - i;
	return p;
}

static uint32_t number(const uint8_t *bytes)
{
	uint32_t v;
	memcpy(&v, bytes, sizeof(v));
	return v;
}

/* The address of a memory operand that needs no register. */
static bool memory_of(const struct x86 *x, const struct parts *p, uint64_t *ret)
{
	if (p->n < 6 || (p->op[1] & 0xc7) != 0x05)
		return false;
	*ret = number(p->op + 2);
	if (x->bits == 64)
		*ret = p->end + (uint64_t)(int64_t)(int32_t)*ret;
	return true;
}

/* Where ff /2, /4 and /5 lead. */
static struct value operand(const struct x86 *x, const struct parts *p, size_t size)
{
	struct value v = { 0 };
	uint64_t at;
	if (p->n < 2)
		return v;
	if (p->op[1] >> 6 == 3)
		return x->reg[(p->op[1] & 7) | (p->rex & 1) << 3];
	v.known = memory_of(x, p, &at) &&
		  us_boot_number_at(x->path->file, at, size, &v.v);
	return v;
}

static void set(struct x86 *x, const struct parts *p, const struct us_x86_insn *i)
{
	uint64_t at;
	bool lea = p->op[0] == 0x8d && memory_of(x, p, &at);
	if (lea)
		x->reg[(p->op[1] >> 3 & 7) | (p->rex & 4) << 1] =
			(struct value){ at, true };
	else if (i->general < N_REG && i->kind != US_X86_JUMP_INDIRECT)
		x->reg[i->general] = (struct value){ x->bits == 64 ? i->value
								   : (uint32_t)i->value,
						     true };
}

/* Registers that are written in any other way become unknown.  Only the usual forms
 * count, because there is no code at a wrong address. */
static void forget(struct x86 *x, const struct parts *p)
{
	static const uint8_t to_rm[] = { 0x01, 0x09, 0x11, 0x19, 0x21, 0x29,
					 0x31, 0x81, 0x83, 0x89, 0xc1, 0xd1 };
	static const uint8_t to_reg[] = { 0x03, 0x0b, 0x23, 0x2b, 0x33, 0x8b, 0x8d };
	if (p->n < 2)
		return;
	if (p->op[1] >> 6 == 3 && memchr(to_rm, p->op[0], sizeof(to_rm)))
		x->reg[(p->op[1] & 7) | (p->rex & 1) << 3].known = false;
	if (memchr(to_reg, p->op[0], sizeof(to_reg)))
		x->reg[(p->op[1] >> 3 & 7) | (p->rex & 4) << 1].known = false;
}

static void change_stack(struct x86 *x, const struct parts *p,
			 const struct us_x86_insn *i)
{
	uint8_t op = p->op[0];
	if (i->kind == US_X86_POP) {
		struct value v = pop(x);
		if (op >= 0x58 && op <= 0x5f)
			x->reg[(op & 7) | (p->rex & 1) << 3] = v;
	} else if (op == 0x68 && p->n == 5) {
		push(x, (struct value){ number(p->op + 1), true });
	} else if (op >= 0x50 && op <= 0x57) {
		push(x, x->reg[(op & 7) | (p->rex & 1) << 3]);
	} else {
		push(x, (struct value){ 0 });
	}
}

/* Functions may change these: System V ABI, AMD64 3.2.1 and i386. */
static void forget_call(struct x86 *x)
{
	static const uint8_t lost[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 };
	for (size_t i = 0; i < sizeof(lost); i++)
		x->reg[lost[i]].known = false;
}

static bool go(struct x86 *x, struct value to, bool far)
{
	if (!to.known)
		return us_boot_path_end(x->path);
	if (x->bits == 32)
		to.v = (uint32_t)to.v;
	if (far && x->bits == 32 && x->wrmsr) {
		x->bits = 64;
		x->crossed = true;
		x->path->narrow = false;
	}
	return us_boot_path_jump(x->path, to.v);
}

/* Instructions that leave the code segment; false: it is not one. */
static bool is_far(const struct x86 *x, const struct parts *p, struct value *ret)
{
	uint8_t op = p->op[0];
	*ret = (struct value){ 0 };
	if (op == 0xea && x->bits == 32 && p->n == 7)
		*ret = (struct value){ number(p->op + 1), true };
	else if (op == 0xff && p->n > 1 && (p->op[1] >> 3 & 7) == 5)
		*ret = operand(x, p, p->rex & 8 ? 8 : 4);
	else if ((op == 0xcb || op == 0xcf) && x->n_pushed)
		*ret = x->pushed[x->n_pushed - 1];
	else
		return op == 0xcb || op == 0xcf;
	return true;
}

/* A call: the path continues after it. */
static bool call(struct x86 *x, struct value to)
{
	if (to.known)
		us_boot_path_call(x->path, x->bits == 32 ? (uint32_t)to.v : to.v,
				  false);
	forget_call(x);
	return true;
}

/* To the next instruction; false: the path has ended. */
static bool step(struct x86 *x, const uint8_t *code, const struct us_x86_insn *i)
{
	struct us_boot_path *path = x->path;
	uint64_t end = path->pc + i->len, to = end + (uint64_t)(int64_t)i->imm;
	struct parts p = cut(x, code, i->len, end);
	struct value far, direct = { to, true };
	size_t word = x->bits / 8;
	x->wrmsr |= p.n == 2 && p.op[0] == 0x0f && p.op[1] == 0x30;
	if (is_far(x, &p, &far))
		return go(x, far, true);
	switch (i->kind) {
	case US_X86_PUSH_PC:
		push(x, (struct value){ end, true });
		path->pc = end;
		return i->imm == 0 || go(x, direct, false);
	case US_X86_CALL:
	case US_X86_CALL_INDIRECT:
		call(x, i->kind == US_X86_CALL ? direct : operand(x, &p, word));
		break;
	case US_X86_JUMP:
		return go(x, direct, false);
	case US_X86_JUMP_INDIRECT:
		return go(x, operand(x, &p, word), false);
	case US_X86_RET:
		return go(x, pop(x), false);
	case US_X86_BRANCH:
		us_boot_path_branch(path, to);
		break;
	case US_X86_SYSRET:
	case US_X86_FAR_RET:
	case US_X86_IRET:
	case US_X86_STOP:
		return us_boot_path_end(path);
	case US_X86_PUSH:
	case US_X86_POP:
		change_stack(x, &p, i);
		break;
	default:
		forget(x, &p);
		set(x, &p, i);
		break;
	}
	path->pc = end;
	return true;
}

static bool is_far_jump_32(const struct x86 *x, const uint8_t *code, size_t n)
{
	return x->bits == 32 && n >= 7 && code[0] == 0xea;
}

/* Has the path reached 64-bit code? */
static bool follow(struct us_boot_path *p, unsigned bits)
{
	struct x86 x = { .path = p, .bits = bits };
	p->narrow = bits == 32 && p->file->machine == EM_X86_64;
	while (p->steps) {
		struct us_x86_insn i;
		size_t n;
		const uint8_t *code = us_boot_code_at(p->file, p->pc, &n);
		bool on;
		p->steps--;
		if (code && is_far_jump_32(&x, code, n))
			on = go(&x, (struct value){ number(code + 1), true }, true);
		else if (code && us_x86_decode(code, n, x.bits, &i))
			on = step(&x, code, &i);
		else
			on = us_boot_path_end(p);
		if (!on)
			break;
	}
	return x.crossed;
}

void us_boot_follow_x86(struct us_boot_path *p)
{
	struct us_boot_path again = *p;
	if (follow(p, 32) || p->file->machine != EM_X86_64)
		return;
	p->calls->n = 0;
	follow(&again, 64);
}
