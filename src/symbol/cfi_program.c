/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cfi_program.c: see cfi_program.h. */
#include "symbol/cfi_program.h"

#include "symbol/cfi_expression.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_REMEMBERED 32

/* Not in DWARF 5, or not in dwarf.h of old. */
#define CFA_MIPS_ADVANCE_LOC8 0x1d
#define CFA_AARCH64_SIGN      0x2d /* of SPARC: window_save */
#define CFA_AARCH64_SIGN_PC   0x2c

/* Beyond enum us_cfi_how and enum us_cfi_cfa. */
#define HOW_SAME    0xfe /* stated to be unchanged */
#define HOW_UNKNOWN 0xfd /* stated in an unsupported way */
#define CFA_UNKNOWN 0xff
#define CFA_UNSAID  0xfe /* not stated yet */

static const struct us_cfi_machine machines[] = {
	{ .machine = EM_X86_64, .word = 8, .stack_pointer = 7, .n_column = 17 },
	{ .machine = EM_386, .word = 4, .stack_pointer = 4, .n_column = 9 },
	{ .machine = EM_AARCH64,
	  .word = 8,
	  .stack_pointer = 31,
	  .n_column = 32,
	  .link = 30,
	  .has_link = true },
	{ .machine = EM_RISCV,
	  .stack_pointer = 2,
	  .n_column = 32,
	  .link = 1,
	  .has_link = true },
};

const struct us_cfi_machine *us_cfi_machine(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

/* One program at work. */
struct program {
	struct us_cfi_run *run;
	const struct us_cfi_cie *cie;
	struct us_cursor c;
	struct us_cfi_state state;
	struct us_cfi_state *remembered; /* MAX_REMEMBERED of them; NULL: a CIE's */
	unsigned n_remembered;
	uint64_t at, end; /* address; end is behind the last */
	bool first;	  /* no row was made yet */
	bool changed;	  /* the state, since the last row */
	bool bad;
	int error; /* of the builder */
};

/* --- from a state to a rule --- */

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static bool set_cfa(const struct us_cfi_state *st, struct us_cfi_rule *rule)
{
	rule->cfa = st->cfa;
	rule->cfa_reg = st->cfa_reg;
	rule->cfa_off = (int32_t)st->cfa_off;
	rule->cfa_next = (int16_t)st->cfa_next;
	rule->cfa_add = (int32_t)st->cfa_add;
	return st->cfa < CFA_UNSAID && fits(st->cfa_off) && fits(st->cfa_add) &&
	       st->cfa_next >= INT16_MIN && st->cfa_next <= INT16_MAX;
}

/* A rule has one base register for all columns that are relative to a register. */
static bool set_base(struct us_cfi_rule *rule, bool *has_base,
		     const struct us_cfi_column *col)
{
	if (col->how != US_CFI_AT_BASE && col->how != US_CFI_IS_BASE)
		return true;
	if (*has_base && rule->base != col->base)
		return false;
	*has_base = true;
	rule->base = col->base;
	return true;
}

static unsigned pc_column(const struct program *p)
{
	uint64_t column = p->cie->pc_column;
	return column < p->run->machine->n_column ? (unsigned)column
						  : US_CFI_COLUMNS - 1;
}

static bool set_pc(const struct program *p, struct us_cfi_rule *rule, bool *has_base)
{
	const struct us_cfi_machine *m = p->run->machine;
	unsigned k = pc_column(p);
	const struct us_cfi_column *col = &p->state.column[k];
	bool said = p->state.said >> k & 1 && col->how != HOW_SAME;
	if (!said) {
		rule->pc = US_CFI_IN_REG;
		rule->pc_off = m->link;
		return m->has_link;
	}
	rule->pc = col->how;
	rule->pc_off = (int32_t)col->off;
	return col->how != HOW_UNKNOWN && fits(col->off) &&
	       set_base(rule, has_base, col);
}

static void set_saved(const struct program *p, struct us_cfi_rule *rule, bool *has_base,
		      struct us_cfi_saved saved[US_CFI_MAX_SAVED])
{
	uint64_t said = p->state.said & ~(1ULL << pc_column(p)) & UINT32_MAX;
	for (; said; said &= said - 1) {
		unsigned k = (unsigned)__builtin_ctzll(said);
		const struct us_cfi_column *col = &p->state.column[k];
		struct us_cfi_saved s = { .reg = (uint8_t)k, .how = col->how };
		s.off = (int32_t)col->off;
		if (col->how == HOW_SAME) {
			s.how = US_CFI_IN_REG;
			s.off = (int32_t)k;
		} else if (col->how == HOW_UNKNOWN || !fits(col->off) ||
			   !set_base(rule, has_base, col)) {
			s.how = US_CFI_LOST;
			s.off = 0;
		}
		saved[rule->n_saved++] = s;
	}
}

/* Gives the state's rule to the builder; US_CFI_NO_RULE: the state cannot be a rule. */
static int make_rule(struct program *p, uint32_t *ret)
{
	struct us_cfi_saved saved[US_CFI_MAX_SAVED];
	struct us_cfi_rule rule = { 0 };
	bool has_base = false;
	*ret = US_CFI_NO_RULE;
	if (!set_cfa(&p->state, &rule) || !set_pc(p, &rule, &has_base)) {
		p->run->stats->n_unknown++;
		return 0;
	}
	set_saved(p, &rule, &has_base, saved);
	rule.flags = (p->cie->signal ? US_CFI_SIGNAL : 0) |
		     (p->state.signed_pc ? US_CFI_SIGNED : 0) |
		     (p->cie->lands ? US_CFI_LANDS : 0);
	return us_cfi_builder_rule(p->run->builder, &rule, saved, ret);
}

/* Where a function begins, nothing is saved yet; parts that were split off begin
 * differently. */
static unsigned border_flags(const struct program *p)
{
	if (!p->first)
		return 0;
	bool entry = !p->changed && !p->cie->signal && p->state.cfa == US_CFI_CFA_REG;
	return entry ? US_CFI_START : US_CFI_BORDER;
}

static void emit_row(struct program *p, uint32_t id)
{
	unsigned flags = border_flags(p) | p->run->row_flags;
	p->error = us_cfi_builder_row(p->run->builder, p->at, id, flags);
	p->first = p->changed = false;
}

/* The current state is valid up to this address. */
static void advance(struct program *p, uint64_t to)
{
	uint32_t id;
	if (to == p->at)
		return;
	if (p->first || p->changed) {
		p->error = make_rule(p, &id);
		if (!p->error)
			emit_row(p, id);
		if (p->error)
			return;
	}
	p->at = to > p->at && to < p->end ? to : p->end;
}

/* --- instructions --- */

static uint64_t factored(const struct program *p, uint64_t n)
{
	return n * (uint64_t)p->cie->data_align;
}

/* Registers that are not tracked have no column. */
static void set_column(struct program *p, uint64_t reg, struct us_cfi_column col)
{
	struct us_cfi_state *st = &p->state;
	if (reg == p->cie->pc_column)
		reg = pc_column(p);
	else if (reg >= p->run->machine->n_column)
		return;
	p->changed |= !(st->said >> reg & 1) || st->column[reg].how != col.how ||
		      st->column[reg].off != col.off ||
		      st->column[reg].base != col.base;
	st->said |= 1ULL << reg;
	st->column[reg] = col;
}

static void set_how(struct program *p, uint64_t reg, uint8_t how, uint64_t off)
{
	set_column(p, reg, (struct us_cfi_column){ .off = (int64_t)off, .how = how });
}

static void restore_column(struct program *p, uint64_t reg)
{
	const struct us_cfi_state *from = &p->run->initial;
	if (!p->remembered) { /* in the CIE itself: there is nothing yet */
		p->bad = true;
		return;
	}
	if (reg == p->cie->pc_column)
		reg = pc_column(p);
	else if (reg >= p->run->machine->n_column)
		return;
	p->state.said &= ~(1ULL << reg);
	p->state.said |= from->said & 1ULL << reg;
	p->state.column[reg] = from->column[reg];
	p->changed = true;
}

static void define_cfa(struct program *p, uint64_t reg, int64_t off)
{
	struct us_cfi_state *st = &p->state;
	bool known = reg < p->run->machine->n_column;
	uint8_t cfa = known ? US_CFI_CFA_REG : CFA_UNKNOWN;
	p->changed |= st->cfa != cfa || st->cfa_reg != reg || st->cfa_off != off;
	st->cfa = cfa;
	st->cfa_reg = (uint8_t)reg;
	st->cfa_off = off;
	st->cfa_next = st->cfa_add = 0;
}

/* Changes part of the CFA's rule, which must be a register and an offset. */
static void redefine_cfa(struct program *p, uint64_t reg, int64_t off)
{
	if (p->state.cfa == US_CFI_CFA_REG)
		define_cfa(p, reg, off);
	else
		p->bad = true;
}

static bool evaluate(struct program *p, bool with_cfa, struct us_cfi_value *ret)
{
	struct us_cursor block = us_cursor_take(&p->c, us_cursor_uleb(&p->c));
	struct us_cfi_expression x = {
		.bytes = block.at,
		.len = us_cursor_left(&block),
		.word = p->run->word,
		.pc_column = p->run->machine->has_link ? UINT8_MAX
						       : (uint8_t)p->cie->pc_column,
		.with_cfa = with_cfa,
	};
	return us_cfi_evaluate(&x, ret);
}

static void define_cfa_expression(struct program *p)
{
	struct us_cfi_state *st = &p->state;
	struct us_cfi_value v;
	p->changed = true;
	st->cfa = CFA_UNKNOWN;
	if (!evaluate(p, false, &v))
		return;
	st->cfa_reg = v.reg;
	st->cfa_off = v.off;
	st->cfa_next = v.next;
	st->cfa_add = v.add;
	if (v.form == US_CFI_FORM_REG)
		st->cfa = US_CFI_CFA_REG;
	else if (v.form == US_CFI_FORM_MEM)
		st->cfa = US_CFI_CFA_MEM;
	else if (v.form == US_CFI_FORM_MEM_MEM)
		st->cfa = US_CFI_CFA_MEM_MEM;
	else if (v.form == US_CFI_FORM_REG_STEP)
		st->cfa = US_CFI_CFA_PLT;
}

static void set_expression(struct program *p, bool is_value)
{
	uint64_t reg = us_cursor_uleb(&p->c);
	struct us_cfi_column col = { .how = HOW_UNKNOWN };
	struct us_cfi_value v;
	if (evaluate(p, true, &v)) {
		if (v.form == US_CFI_FORM_CFA)
			col.how = is_value ? US_CFI_IS_CFA : US_CFI_AT_CFA;
		else if (v.form == US_CFI_FORM_REG)
			col.how = is_value ? US_CFI_IS_BASE : US_CFI_AT_BASE;
		else if (v.form == US_CFI_FORM_MEM && is_value && v.add == 0)
			col.how = US_CFI_AT_BASE;
		if (col.how != HOW_UNKNOWN) {
			col.off = v.off;
			col.base = v.form == US_CFI_FORM_CFA ? 0 : v.reg;
		}
	}
	set_column(p, reg, col);
}

static void remember(struct program *p)
{
	if (!p->remembered || p->n_remembered == MAX_REMEMBERED)
		p->bad = true;
	else
		p->remembered[p->n_remembered++] = p->state;
}

static void recall(struct program *p)
{
	if (!p->n_remembered) {
		p->bad = true;
		return;
	}
	p->state = p->remembered[--p->n_remembered];
	p->changed = true;
}

static void set_location(struct program *p)
{
	uint64_t to;
	const struct us_cfi_cie *cie = p->cie;
	if (us_cfi_pointer(&p->run->records->section, &p->c, cie->encoding,
			   cie->pointer_size, &to) &&
	    to >= p->at)
		advance(p, to);
	else
		p->bad = true;
}

static void move_on(struct program *p, uint64_t units)
{
	uint64_t by;
	if (__builtin_mul_overflow(units, p->cie->code_align, &by) ||
	    by > UINT64_MAX - p->at)
		by = UINT64_MAX - p->at;
	advance(p, p->at + by);
}

static void register_to_register(struct program *p)
{
	uint64_t reg = us_cursor_uleb(&p->c), from = us_cursor_uleb(&p->c);
	bool known = from < p->run->machine->n_column;
	set_how(p, reg, known ? US_CFI_IN_REG : HOW_UNKNOWN, known ? from : 0);
}

/* arm64: from here on the return address is signed, or no longer is. */
static void toggle_sign(struct program *p)
{
	if (p->run->machine->machine != EM_AARCH64)
		p->bad = true;
	p->state.signed_pc = !p->state.signed_pc;
	p->changed = true;
}

/* Instructions for registers.  False: another kind. */
static bool do_register(struct program *p, uint8_t op)
{
	struct us_cursor *c = &p->c;
	uint64_t reg;
	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
		reg = us_cursor_uleb(c);
		set_how(p, reg, op == DW_CFA_val_offset ? US_CFI_IS_CFA : US_CFI_AT_CFA,
			factored(p, us_cursor_uleb(c)));
		return true;
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
		reg = us_cursor_uleb(c);
		set_how(p, reg,
			op == DW_CFA_val_offset_sf ? US_CFI_IS_CFA : US_CFI_AT_CFA,
			factored(p, (uint64_t)us_cursor_sleb(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = us_cursor_uleb(c);
		set_how(p, reg, US_CFI_AT_CFA, 0 - factored(p, us_cursor_uleb(c)));
		return true;
	case DW_CFA_restore_extended:
		restore_column(p, us_cursor_uleb(c));
		return true;
	case DW_CFA_undefined:
		set_how(p, us_cursor_uleb(c), US_CFI_LOST, 0);
		return true;
	case DW_CFA_same_value:
		set_how(p, us_cursor_uleb(c), HOW_SAME, 0);
		return true;
	case DW_CFA_register:
		register_to_register(p);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_expression(p, op == DW_CFA_val_expression);
		return true;
	default:
		return false;
	}
}

/* Instructions for the CFA.  False: another kind. */
static bool do_cfa(struct program *p, uint8_t op)
{
	struct us_cursor *c = &p->c;
	struct us_cfi_state *st = &p->state;
	uint64_t reg;
	switch (op) {
	case DW_CFA_def_cfa:
		reg = us_cursor_uleb(c);
		define_cfa(p, reg, (int64_t)us_cursor_uleb(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = us_cursor_uleb(c);
		define_cfa(p, reg, (int64_t)factored(p, (uint64_t)us_cursor_sleb(c)));
		return true;
	case DW_CFA_def_cfa_register:
		reg = us_cursor_uleb(c);
		/* gas for RISC-V up to 2.40 begins with this opcode; the offset is then
		 * 0. */
		if (st->cfa == CFA_UNSAID)
			define_cfa(p, reg, 0);
		else
			redefine_cfa(p, reg, st->cfa_off);
		return true;
	case DW_CFA_def_cfa_offset:
		redefine_cfa(p, st->cfa_reg, (int64_t)us_cursor_uleb(c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		redefine_cfa(p, st->cfa_reg,
			     (int64_t)factored(p, (uint64_t)us_cursor_sleb(c)));
		return true;
	case DW_CFA_def_cfa_expression:
		define_cfa_expression(p);
		return true;
	default:
		return false;
	}
}

static void do_other(struct program *p, uint8_t op)
{
	struct us_cursor *c = &p->c;
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		set_location(p);
		break;
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		move_on(p, us_cursor_fixed(c, 1U << (op - DW_CFA_advance_loc1)));
		break;
	case CFA_MIPS_ADVANCE_LOC8:
		move_on(p, us_cursor_fixed(c, 8));
		break;
	case DW_CFA_remember_state:
		remember(p);
		break;
	case DW_CFA_restore_state:
		recall(p);
		break;
	case DW_CFA_GNU_args_size:
		us_cursor_uleb(c);
		break;
	case CFA_AARCH64_SIGN:
	case CFA_AARCH64_SIGN_PC:
		toggle_sign(p);
		break;
	default:
		p->bad = true;
	}
}

static void step(struct program *p)
{
	uint8_t op = us_cursor_u8(&p->c), low = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		move_on(p, low);
		break;
	case DW_CFA_offset:
		set_how(p, low, US_CFI_AT_CFA, factored(p, us_cursor_uleb(&p->c)));
		break;
	case DW_CFA_restore:
		restore_column(p, low);
		break;
	default:
		if (!do_register(p, op) && !do_cfa(p, op))
			do_other(p, op);
	}
	p->bad |= p->c.bad;
}

/* --- programs --- */

static void run_cie(struct us_cfi_run *r, const struct us_cfi_cie *cie)
{
	struct program p = { .run = r,
			     .cie = cie,
			     .c = { cie->program, cie->end, false },
			     .state = { .cfa = CFA_UNSAID } };
	while (p.c.at < p.c.end && !p.bad && r->budget) {
		r->budget--;
		step(&p);
	}
	r->cie = cie;
	r->initial = p.state;
	r->initial_ok = !p.bad && r->budget;
}

int us_cfi_run_fde(struct us_cfi_run *r, const struct us_cfi_fde *fde, uint64_t end)
{
	struct us_cfi_state remembered[MAX_REMEMBERED];
	const struct us_cfi_cie *cie = &r->records->cies.v[fde->cie];
	if (r->cie != cie)
		run_cie(r, cie);
	struct program p = { .run = r,
			     .cie = cie,
			     .c = { fde->program, fde->program_end, false },
			     .state = r->initial,
			     .remembered = remembered,
			     .at = fde->start,
			     .end = end,
			     .first = true,
			     .bad = !r->initial_ok };
	while (p.c.at < p.c.end && p.at < p.end && !p.bad && !p.error)
		step(&p);
	if (p.bad)
		r->stats->n_bad++;
	else if (p.at < p.end && !p.error)
		advance(&p, p.end);
	/* The code after an invalid instruction, or after the builder is full, has no
	 * rule up to the next FDE. */
	bool whole = !p.bad && !p.error;
	int r_end = us_cfi_builder_row(r->builder, whole ? p.end : p.at, US_CFI_NO_RULE,
				       r->row_flags);
	return p.error ? p.error : r_end;
}
