/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_expression.c: see cfi_expression.h. */
#include "symbol/cfi_expression.h"

#include "symbol/byte_cursor.h"

#include <dwarf.h>

#define MAX_DEPTH 8

struct stack {
	struct us_cfi_value v[MAX_DEPTH];
	unsigned n;
	bool bad;
};

static void push(struct stack *s, struct us_cfi_value v)
{
	if (s->n == MAX_DEPTH)
		s->bad = true;
	else
		s->v[s->n++] = v;
}

static struct us_cfi_value pop(struct stack *s)
{
	if (!s->n) {
		s->bad = true;
		return (struct us_cfi_value){ 0 };
	}
	return s->v[--s->n];
}

static void push_const(struct stack *s, int64_t value)
{
	push(s, (struct us_cfi_value){ .form = US_CFI_FORM_CONST, .off = value });
}

static void push_reg(struct stack *s, const struct us_cfi_expression *x, uint64_t reg,
		     int64_t off)
{
	struct us_cfi_value v = { .form = US_CFI_FORM_REG,
				  .off = off,
				  .reg = (uint8_t)reg };
	if (reg == x->pc_column)
		v.form = US_CFI_FORM_PC;
	else if (reg >= 32)
		s->bad = true;
	push(s, v);
}

static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* a + b, where b is a constant or a linkage table's step. */
static bool add(struct us_cfi_value *a, const struct us_cfi_value *b, uint8_t word)
{
	bool step = b->form == US_CFI_FORM_PC_STEP && b->add == word;
	if (step && a->form == US_CFI_FORM_REG) {
		a->form = US_CFI_FORM_REG_STEP;
		a->add = b->off;
		return true;
	}
	if (b->form != US_CFI_FORM_CONST || a->form == US_CFI_FORM_PC_LOW ||
	    a->form == US_CFI_FORM_PC_STEP)
		return false;
	if (a->form == US_CFI_FORM_MEM || a->form == US_CFI_FORM_MEM_MEM)
		a->add = sum(a->add, b->off);
	else
		a->off = sum(a->off, b->off);
	return true;
}

static void do_plus(struct stack *s, uint8_t word)
{
	struct us_cfi_value b = pop(s), a = pop(s);
	if (add(&a, &b, word))
		push(s, a);
	else if (add(&b, &a, word))
		push(s, b);
	else
		s->bad = true;
}

static void do_minus(struct stack *s, uint8_t word)
{
	struct us_cfi_value b = pop(s), a = pop(s);
	bool ok = b.form == US_CFI_FORM_CONST;
	b.off = (int64_t)(0 - (uint64_t)b.off);
	if (ok && add(&a, &b, word))
		push(s, a);
	else
		s->bad = true;
}

static void do_deref(struct stack *s)
{
	struct us_cfi_value a = pop(s);
	s->bad |= a.form != US_CFI_FORM_REG && a.form != US_CFI_FORM_MEM;
	a.form = a.form == US_CFI_FORM_MEM ? US_CFI_FORM_MEM_MEM : US_CFI_FORM_MEM;
	a.next = a.add;
	a.add = 0;
	push(s, a);
}

/* The parts of a linkage table's expression: ((pc & 15) >= n) << k. */
static void do_linkage(struct stack *s, uint8_t op)
{
	struct us_cfi_value b = pop(s), a = pop(s);
	bool ok = b.form == US_CFI_FORM_CONST;
	if (op == DW_OP_and) {
		ok &= a.form == US_CFI_FORM_PC && a.off == 0 && b.off == 15;
		a.form = US_CFI_FORM_PC_LOW;
	} else if (op == DW_OP_ge) {
		ok &= a.form == US_CFI_FORM_PC_LOW && b.off >= 0 && b.off <= 16;
		a.form = US_CFI_FORM_PC_STEP;
		a.off = b.off;
		a.add = 1;
	} else {
		ok &= a.form == US_CFI_FORM_PC_STEP && a.add == 1 && b.off >= 0 &&
		      b.off <= 3;
		a.add = ok ? 1LL << b.off : 0;
	}
	s->bad |= !ok;
	push(s, a);
}

static bool push_operand(struct stack *s, const struct us_cfi_expression *x, uint8_t op,
			 struct us_cursor *c)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push_const(s, op - DW_OP_lit0);
	else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		push_reg(s, x, op - DW_OP_breg0, us_cursor_sleb(c));
	else if (op == DW_OP_bregx) {
		uint64_t reg = us_cursor_uleb(c);
		push_reg(s, x, reg, us_cursor_sleb(c));
	} else if (op >= DW_OP_const1u && op <= DW_OP_const8s) {
		unsigned k = op - DW_OP_const1u;
		push_const(s, k % 2 ? us_cursor_signed(c, 1U << k / 2)
				    : (int64_t)us_cursor_fixed(c, 1U << k / 2));
	} else if (op == DW_OP_constu)
		push_const(s, (int64_t)us_cursor_uleb(c));
	else if (op == DW_OP_consts)
		push_const(s, us_cursor_sleb(c));
	else
		return false;
	return true;
}

static void step(struct stack *s, const struct us_cfi_expression *x, uint8_t op,
		 struct us_cursor *c)
{
	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_deref:
		do_deref(s);
		break;
	case DW_OP_plus:
		do_plus(s, x->word);
		break;
	case DW_OP_plus_uconst:
		push_const(s, (int64_t)us_cursor_uleb(c));
		do_plus(s, x->word);
		break;
	case DW_OP_minus:
		do_minus(s, x->word);
		break;
	case DW_OP_and:
	case DW_OP_ge:
	case DW_OP_shl:
		do_linkage(s, op);
		break;
	default:
		s->bad |= !push_operand(s, x, op, c);
	}
}

bool us_cfi_evaluate(const struct us_cfi_expression *x, struct us_cfi_value *ret)
{
	struct us_cursor c = { x->bytes, x->bytes + x->len, false };
	struct stack s = { 0 };
	if (x->with_cfa)
		push(&s, (struct us_cfi_value){ .form = US_CFI_FORM_CFA });
	while (c.at < c.end && !s.bad)
		step(&s, x, us_cursor_u8(&c), &c);
	if (s.bad || c.bad || !s.n)
		return false;
	*ret = s.v[s.n - 1];
	return true;
}
