/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orc.c: see orc.h. */
#include "linux/orc.h"

#include "symbol/function_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES	   4096 /* entries that are checked to detect the format */
#define CACHE	   4096
#define REGS_SIZE  168 /* struct pt_regs of x86-64 */
#define IRET_SIZE  40  /* what the processor pushes */
#define IRET_PC	   (-40)
#define IRET_SP	   (-16)
#define REGS_R15   (-168)
#define GAP	   (US_CFI_NO_RULE - 1) /* in the cache: known to have no rule */
#define TEXT_AFTER 16 /* bytes behind the last place to which its rule applies */

/* What an entry's 4-bit register numbers mean. */
enum base {
	BASE_NONE,
	BASE_CFA,
	BASE_REG,
	BASE_AT_SP, /* the word at rsp, plus the offset */
	BASE_AT_BP, /* the word at rbp + offset */
};

struct base_of {
	uint8_t base;
	uint8_t reg; /* enum us_x86_reg */
};

static const struct base_of old_bases[16] = {
	[1] = { BASE_CFA, 0 },
	[2] = { BASE_REG, US_X86_RDX },
	[3] = { BASE_REG, US_X86_RDI },
	[4] = { BASE_REG, US_X86_RBP },
	[5] = { BASE_REG, US_X86_RSP },
	[6] = { BASE_REG, US_X86_R10 },
	[7] = { BASE_REG, US_X86_R13 },
	[8] = { BASE_AT_BP, US_X86_RBP },
	[9] = { BASE_AT_SP, US_X86_RSP },
};

static const struct base_of new_bases[16] = {
	[1] = { BASE_REG, US_X86_RAX },	  [2] = { BASE_REG, US_X86_RDX },
	[3] = { BASE_REG, US_X86_RSP },	  [4] = { BASE_REG, US_X86_RBP },
	[5] = { BASE_REG, US_X86_RDI },	  [6] = { BASE_REG, US_X86_R10 },
	[7] = { BASE_REG, US_X86_R13 },	  [8] = { BASE_CFA, 0 },
	[9] = { BASE_AT_SP, US_X86_RSP }, [10] = { BASE_AT_BP, US_X86_RBP },
};

enum type {
	TYPE_NONE,
	TYPE_END,
	TYPE_CALL,
	TYPE_REGS,
	TYPE_IRET,
};

struct entry {
	int16_t sp_off, bp_off;
	struct base_of sp, bp;
	uint8_t type; /* enum type */
};

/* --- one entry --- */

us_gva us_orc_place(const struct us_orc *o, size_t k)
{
	int32_t off;
	memcpy(&off, o->ip + 4 * k, sizeof(off));
	return o->ip_at + 4 * k + (uint64_t)(int64_t)off;
}

static uint8_t type_of(unsigned bits, const struct us_orc_format *f)
{
	static const uint8_t early[] = { TYPE_CALL, TYPE_REGS, TYPE_IRET, TYPE_NONE };
	if (f->types_of_64)
		return (bits & 7) <= TYPE_IRET ? bits & 7 : TYPE_NONE;
	if (bits & (f->signal_bit ? 8 : 4))
		return TYPE_END;
	return early[bits & 3];
}

static struct entry decode(const uint8_t *p, const struct us_orc_format *f)
{
	const struct base_of *bases = f->registers_of_7 ? new_bases : old_bases;
	struct entry e = {
		.sp = bases[p[4] & 15],
		.bp = bases[p[4] >> 4],
		.type = type_of(p[5], f),
	};
	memcpy(&e.sp_off, p, 2);
	memcpy(&e.bp_off, p + 2, 2);
	/* Early kernels have no type for "nothing is known"; the base shows it. */
	if (e.type != TYPE_END && e.sp.base == BASE_NONE)
		e.type = TYPE_NONE;
	return e;
}

bool us_orc_detect(const struct us_orc *o, struct us_orc_format *ret)
{
	size_t step = o->n / SAMPLES + 1, seen = 0;
	size_t call_new = 0, call_old = 0, sp_new = 0, sp_old = 0, bit3 = 0;
	for (size_t k = 0; k < o->n; k += step) {
		const uint8_t *p = o->entry + US_ORC_ENTRY * k;
		if (!(p[4] & 15))
			continue; /* nothing known, or the end */
		seen++;
		call_new += (p[5] & 7) == TYPE_CALL;
		call_old += (p[5] & 7) == 0;
		sp_old += (p[4] & 15) == 5;
		sp_new += (p[4] & 15) == 3;
	}
	for (size_t k = 0; k < o->n; k++)
		bit3 += o->entry[US_ORC_ENTRY * k + 5] >> 3 & 1;
	ret->types_of_64 = call_new > call_old;
	ret->registers_of_7 = sp_new > sp_old;
	ret->signal_bit = !ret->types_of_64 && bit3;
	size_t calls = call_new + call_old, bases = sp_new + sp_old;
	return seen && calls * 4 > seen * 3 && bases * 4 > seen * 3;
}

/* --- rules --- */

static bool cfa_of(const struct entry *e, struct us_cfi_rule *r)
{
	r->cfa_reg = e->sp.reg;
	switch (e->sp.base) {
	case BASE_REG:
		r->cfa = US_CFI_CFA_REG;
		/* For registers other than these two the kernel uses the value without
		 * an offset. */
		if (e->sp.reg == US_X86_RSP || e->sp.reg == US_X86_RBP)
			r->cfa_off = e->sp_off;
		return true;
	case BASE_AT_SP:
		r->cfa = US_CFI_CFA_MEM;
		r->cfa_add = e->sp_off;
		return true;
	case BASE_AT_BP:
		r->cfa = US_CFI_CFA_MEM;
		r->cfa_off = e->sp_off;
		return true;
	default:
		return false;
	}
}

/* An exception's frame counts as part of what is below the CFA, as a call's does. */
static void move_cfa(struct us_cfi_rule *r, int32_t size)
{
	if (r->cfa == US_CFI_CFA_REG)
		r->cfa_off += size;
	else
		r->cfa_add += size;
}

static size_t save_bp(const struct entry *e, struct us_cfi_rule *r,
		      struct us_cfi_saved *s)
{
	s->reg = US_X86_RBP;
	s->off = e->bp_off;
	if (e->bp.base == BASE_CFA) {
		s->how = US_CFI_AT_CFA;
		if (e->type == TYPE_IRET)
			s->off -= IRET_SIZE;
		return 1;
	}
	if (e->bp.base == BASE_REG && e->bp.reg == US_X86_RBP) {
		s->how = US_CFI_AT_BASE;
		r->base = US_X86_RBP;
		return 1;
	}
	return 0; /* it is unchanged */
}

/* pt_regs has the registers from r15 up, in its own order
 * (arch/x86/include/uapi/asm/ptrace.h); this table is in the order of DWARF's
 * numbers. */
static size_t save_all(struct us_cfi_saved *s)
{
	static const uint8_t slot[16] = {
		[US_X86_R15] = 0,  [US_X86_R14] = 1,  [US_X86_R13] = 2,
		[US_X86_R12] = 3,  [US_X86_RBP] = 4,  [US_X86_RBX] = 5,
		[US_X86_R11] = 6,  [US_X86_R10] = 7,  [US_X86_R9] = 8,
		[US_X86_R8] = 9,   [US_X86_RAX] = 10, [US_X86_RCX] = 11,
		[US_X86_RDX] = 12, [US_X86_RSI] = 13, [US_X86_RDI] = 14,
		[US_X86_RSP] = 19,
	};
	for (uint8_t reg = 0; reg < 16; reg++)
		s[reg] = (struct us_cfi_saved){ .reg = reg,
						.how = US_CFI_AT_CFA,
						.off = REGS_R15 + 8 * slot[reg] };
	return 16;
}

static bool rule_of(const struct entry *e, struct us_cfi_rule *r,
		    struct us_cfi_saved *s)
{
	size_t n = 0;
	memset(r, 0, sizeof(*r));
	memset(s, 0, 16 * sizeof(*s));
	if (e->type == TYPE_END) {
		r->cfa_reg = US_X86_RSP;
		r->pc = US_CFI_LOST;
		return true;
	}
	if (e->type == TYPE_NONE || !cfa_of(e, r))
		return false;
	r->pc = US_CFI_AT_CFA;
	r->pc_off = e->type == TYPE_CALL ? -8 : IRET_PC;
	r->flags = e->type == TYPE_CALL ? 0 : US_CFI_SIGNAL;
	if (e->type == TYPE_REGS) {
		move_cfa(r, REGS_SIZE);
		n = save_all(s);
	} else {
		n = save_bp(e, r, s);
	}
	if (e->type == TYPE_IRET) {
		move_cfa(r, IRET_SIZE);
		s[n++] = (struct us_cfi_saved){ .reg = US_X86_RSP,
						.how = US_CFI_AT_CFA,
						.off = IRET_SP };
	}
	r->n_saved = (uint8_t)n;
	return true;
}

/* --- the tables --- */

struct compiler {
	uint32_t end_id; /* the outermost frame */
	const struct us_orc_format *f;
	struct us_cfi_builder *b;
	struct known {
		uint64_t key; /* the entry's bytes, plus one */
		uint32_t id;
	} known[CACHE];
};

static int id_of(struct compiler *c, const uint8_t *bytes, uint32_t *ret)
{
	uint64_t key = 0;
	memcpy(&key, bytes, US_ORC_ENTRY);
	struct known *k = &c->known[(key * 0x9e3779b97f4a7c15) >> 52];
	struct us_cfi_saved saved[17];
	struct us_cfi_rule rule;
	*ret = US_CFI_NO_RULE;
	if (k->key != key + 1) {
		struct entry e = decode(bytes, c->f);
		uint32_t id = GAP;
		if (rule_of(&e, &rule, saved)) {
			int r = us_cfi_builder_rule(c->b, &rule, saved, &id);
			if (r < 0)
				return r;
		}
		*k = (struct known){ key + 1, id };
	}
	if (k->id != GAP)
		*ret = k->id;
	return 0;
}

static bool is_bounded(const struct us_orc *o)
{
	return o->only[0].end || o->only[1].end;
}

/* The span that has this address; NULL: none. */
static const struct us_orc_span *span_of(const struct us_orc *o, us_gva at)
{
	for (size_t k = 0; k < 2; k++)
		if (at >= o->only[k].start && at < o->only[k].end)
			return &o->only[k];
	return NULL;
}

/* A row is for all up to the next one, which may be another module's. */
static int end_rows(struct compiler *c, const struct us_orc *o, us_gva last)
{
	const struct us_orc_span *in = span_of(o, last);
	us_gva end = last + TEXT_AFTER;
	if (!last || last >= UINT64_MAX - TEXT_AFTER)
		return 0;
	if (in && end > in->end)
		end = in->end;
	return us_cfi_builder_row(c->b, end, US_CFI_NO_RULE, 0);
}

/* The same where the tables go on in other code. */
static int end_span(struct compiler *c, const struct us_orc *o, us_gva last, us_gva at)
{
	const struct us_orc_span *in = span_of(o, last);
	return in && at >= in->end
		       ? us_cfi_builder_row(c->b, in->end, US_CFI_NO_RULE, 0)
		       : 0;
}

void us_orc_blank(struct us_orc *o, const char *name, us_gva start, us_gva end)
{
	/* What was traced returns there, and then goes on in its caller. */
	if (us_is_return_trampoline(name) && o->n_blank < US_ORC_BLANK)
		o->blank[o->n_blank++] = (struct us_orc_span){ start, end };
}

static bool is_blank(const struct compiler *c, const struct us_orc *o, us_gva at,
		     const uint8_t *bytes)
{
	for (unsigned i = 0; i < o->n_blank; i++)
		if (at >= o->blank[i].start && at < o->blank[i].end)
			return decode(bytes, c->f).type == TYPE_END;
	return false;
}

static int add_rows(struct compiler *c, const struct us_orc *o)
{
	const struct us_cfi_rule end = { .cfa_reg = US_X86_RSP, .pc = US_CFI_LOST };
	const struct us_cfi_rule gone = { .cfa_reg = US_X86_RSP,
					  .pc = US_CFI_LOST,
					  .flags = US_CFI_GONE };
	uint32_t gone_id;
	us_gva last = 0;
	int r = us_cfi_builder_rule(c->b, &end, NULL, &c->end_id);
	if (r == 0)
		r = us_cfi_builder_rule(c->b, &gone, NULL, &gone_id);
	for (size_t i = 0; r == 0 && i < o->n; i++) {
		us_gva at = us_orc_place(o, i);
		uint32_t id = US_CFI_NO_RULE;
		if (at < last || (is_bounded(o) && !span_of(o, at)))
			continue;
		r = end_span(c, o, last, at);
		last = at;
		if (r == 0)
			r = id_of(c, o->entry + US_ORC_ENTRY * i, &id);
		if (at >= o->gone_start && at < o->gone_end)
			id = gone_id;
		if (is_blank(c, o, at, o->entry + US_ORC_ENTRY * i))
			id = US_CFI_NO_RULE;
		if (r == 0)
			r = us_cfi_builder_row(c->b, at, id, 0);
	}
	return r ? r : end_rows(c, o, last);
}

int us_orc_compile(const struct us_orc *o, const struct us_orc_format *f,
		   struct us_cfi_builder *b)
{
	struct compiler *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->f = f;
	c->b = b;
	int r = o->n > US_ORC_MOST ? -E2BIG : add_rows(c, o);
	free(c);
	return r;
}
