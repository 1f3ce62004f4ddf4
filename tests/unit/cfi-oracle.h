/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi-oracle.h: our rules against libdw's, address by address.
 *
 * Rules are not compared by how they look, but by what they give: both are applied to
 * the same invented registers and memory, and must lead to the same caller.
 */
#ifndef US_TEST_CFI_ORACLE_H
#define US_TEST_CFI_ORACLE_H

#include "symbol/elf_cfi.h"
#include "unwind/cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define ORACLE_COLUMNS 33

/* How many addresses were looked at, and what became of them. */
struct oracle_tally {
	size_t same;	   /* the caller's registers are equal, or none have a rule */
	size_t only_libdw; /* libdw has a rule, we none */
	size_t only_ours;
	size_t not_said; /* libdw's is an expression that we do not take on */
	size_t fault;	 /* libdw found the FDE faulty as a whole, we in part */
	size_t differ;
	uint64_t first; /* address of the first that counts against us */
};

struct oracle_machine {
	unsigned pc, sp;
	uint64_t callee_saved; /* bit k: register k */
	uint64_t known;	       /* registers that are compared */
	uint64_t doubtful;     /* not compared unless our rule names them */
	uint64_t seed, at;     /* what registers hold; the pc */
};

struct oracle_frame {
	bool known[ORACLE_COLUMNS]; /* else lost */
	bool skip[ORACLE_COLUMNS];
	uint64_t value[ORACLE_COLUMNS];
};

static uint64_t oracle_hash(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
	return (h ^ h >> 29) * 0x94d049bb133111eb;
}

static uint64_t oracle_reg(const struct oracle_machine *m, unsigned reg)
{
	return reg == m->pc ? m->at : oracle_hash(m->seed, reg) & ~7ULL;
}

static uint64_t oracle_word(const struct oracle_machine *m, uint64_t addr)
{
	return oracle_hash(m->seed + 1, addr);
}

/* --- libdw's --- */

#define ORACLE_MAX_STACK 16

/* DWARF expressions, for the operations that occur.  *ret_memory: the result is the
 * address of the value.  False: another operation. */
static bool oracle_evaluate(const struct oracle_machine *m, const Dwarf_Op *op,
			    size_t n, uint64_t cfa, uint64_t *ret, bool *ret_memory)
{
	uint64_t v[ORACLE_MAX_STACK] = { 0 };
	size_t top = 0; /* v[top - 1] is the last; v[0] may be read when empty */
	*ret_memory = true;
	for (size_t i = 0; i < n; i++, op++) {
		if (top >= ORACLE_MAX_STACK - 1)
			return false;
		uint64_t b = top ? v[top - 1] : 0;
		uint64_t *a = &v[top > 1 ? top - 2 : 0];
		switch (op->atom) {
		case DW_OP_call_frame_cfa:
			v[top++] = cfa;
			break;
		case DW_OP_breg0 ... DW_OP_breg31:
			v[top++] = oracle_reg(m, op->atom - DW_OP_breg0) + op->number;
			break;
		case DW_OP_bregx:
			v[top++] = oracle_reg(m, (unsigned)op->number) + op->number2;
			break;
		case DW_OP_reg0 ... DW_OP_reg31:
			v[top++] = oracle_reg(m, op->atom - DW_OP_reg0);
			*ret_memory = false;
			break;
		case DW_OP_regx:
			v[top++] = oracle_reg(m, (unsigned)op->number);
			*ret_memory = false;
			break;
		case DW_OP_lit0 ... DW_OP_lit31:
			v[top++] = op->atom - DW_OP_lit0;
			break;
		case DW_OP_const1u ... DW_OP_consts:
			v[top++] = op->number;
			break;
		case DW_OP_plus_uconst:
			v[top - 1] = b + op->number;
			break;
		case DW_OP_deref:
			v[top - 1] = oracle_word(m, b);
			break;
		case DW_OP_stack_value:
			*ret_memory = false;
			break;
		case DW_OP_nop:
			break;
		case DW_OP_plus:
			*a += b;
			top--;
			break;
		case DW_OP_minus:
			*a -= b;
			top--;
			break;
		case DW_OP_and:
			*a &= b;
			top--;
			break;
		case DW_OP_ge:
			*a = (int64_t)*a >= (int64_t)b;
			top--;
			break;
		case DW_OP_shl:
			*a <<= b;
			top--;
			break;
		default:
			return false;
		}
	}
	*ret = top ? v[top - 1] : 0;
	return top > 0;
}

/* False: an operation that is not known here. */
static bool oracle_libdw(const struct oracle_machine *m, Dwarf_Frame *f,
			 struct oracle_frame *ret)
{
	Dwarf_Op *op, mem[3];
	size_t n;
	uint64_t cfa, v;
	bool memory;
	memset(ret, 0, sizeof(*ret));
	if (dwarf_frame_cfa(f, &op, &n) != 0 ||
	    !oracle_evaluate(m, op, n, 0, &cfa, &memory))
		return false;
	for (unsigned k = 0; k < ORACLE_COLUMNS; k++) {
		if (!(m->known >> k & 1))
			continue;
		if (dwarf_frame_register(f, (int)k, mem, &op, &n) != 0)
			return false;
		if (n == 0 && op == mem) /* undefined */
			continue;
		ret->known[k] = true;
		ret->value[k] = oracle_reg(m, k);
		if (n == 0)
			continue;
		if (!oracle_evaluate(m, op, n, cfa, &v, &memory))
			return false;
		ret->value[k] = memory ? oracle_word(m, v) : v;
	}
	return true;
}

/* --- ours --- */

static void oracle_restore(const struct oracle_machine *m,
			   const struct us_cfi_rule *rule, uint64_t cfa, uint8_t how,
			   int32_t off, unsigned column, struct oracle_frame *ret)
{
	uint64_t at_cfa = cfa + (uint64_t)(int64_t)off;
	uint64_t at_base = oracle_reg(m, rule->base) + (uint64_t)(int64_t)off;
	ret->known[column] = true;
	ret->skip[column] = false;
	switch (how) {
	case US_CFI_AT_CFA:
		ret->value[column] = oracle_word(m, at_cfa);
		break;
	case US_CFI_IS_CFA:
		ret->value[column] = at_cfa;
		break;
	case US_CFI_AT_BASE:
		ret->value[column] = oracle_word(m, at_base);
		break;
	case US_CFI_IS_BASE:
		ret->value[column] = at_base;
		break;
	case US_CFI_IN_REG:
		ret->value[column] = oracle_reg(m, (unsigned)off);
		break;
	default:
		ret->known[column] = false;
	}
}

static uint64_t oracle_cfa(const struct oracle_machine *m, const struct us_cfi_row *row)
{
	const struct us_cfi_rule *r = row->rule;
	uint64_t at = oracle_reg(m, r->cfa_reg) + (uint64_t)(int64_t)r->cfa_off;
	if (r->cfa == US_CFI_CFA_MEM)
		return oracle_word(m, at) + (uint64_t)(int64_t)r->cfa_add;
	if (r->cfa == US_CFI_CFA_PLT && (int)(m->at & 15) >= r->cfa_add)
		at += row->word;
	return at;
}

static void oracle_ours(const struct oracle_machine *m, const struct us_cfi_row *row,
			struct oracle_frame *ret)
{
	const struct us_cfi_rule *r = row->rule;
	uint64_t cfa = oracle_cfa(m, row);
	memset(ret, 0, sizeof(*ret));
	for (unsigned k = 0; k < ORACLE_COLUMNS; k++) {
		ret->known[k] = m->callee_saved >> k & 1 || k == m->sp;
		ret->value[k] = k == m->sp ? cfa : oracle_reg(m, k);
		ret->skip[k] = m->doubtful >> k & 1;
	}
	for (unsigned i = 0; i < r->n_saved; i++)
		oracle_restore(m, r, cfa, row->saved[i].how, row->saved[i].off,
			       row->saved[i].reg, ret);
	oracle_restore(m, r, cfa, r->pc, r->pc_off, m->pc, ret);
}

/* --- both --- */

/* libdw 0.188 takes rax (0) for one of those that functions preserve, where the ABI
 * has rbx (3): what tables leave unsaid of the two is not compared. */
#define ORACLE_DOUBTFUL_X86_64 0x9

struct oracle {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	struct us_elf_file file;
	struct us_cfi_table *table;
	struct us_elf_cfi_stats stats;
	struct oracle_machine m;
};

static void oracle_open(struct oracle *o, const char *path)
{
	struct us_err e;
	memset(o, 0, sizeof(*o));
	assert_int_equal(us_elf_file_open(path, &o->file, &e), 0);
	assert_int_equal(us_elf_cfi_read(&o->file, NULL, &o->table, &o->stats, &e), 0);
	elf_version(EV_CURRENT);
	o->fd = open(path, O_RDONLY | O_CLOEXEC);
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	o->dwarf = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
	o->eh = dwarf_getcfi_elf(o->elf);
	o->debug = o->dwarf ? dwarf_getcfi(o->dwarf) : NULL;
	if (o->file.machine == EM_X86_64)
		o->m = (struct oracle_machine){ .pc = 16,
						.sp = 7,
						.callee_saved = 0xf048,
						.doubtful = ORACLE_DOUBTFUL_X86_64,
						.known = 0x1ffff };
	else if (o->file.machine == EM_386)
		o->m = (struct oracle_machine){
			.pc = 8, .sp = 4, .callee_saved = 0xe8, .known = 0x1ff
		};
	else if (o->file.machine == EM_AARCH64)
		o->m = (struct oracle_machine){ .pc = 30,
						.sp = 31,
						.callee_saved = 0x3ff80000,
						.known = 0xfff80000 };
	else
		fail_msg("%s: the oracle does not know this machine", path);
}

static void oracle_close(struct oracle *o)
{
	dwarf_cfi_end(o->eh);
	dwarf_end(o->dwarf);
	elf_end(o->elf);
	close(o->fd);
	us_cfi_table_free(o->table);
	us_elf_file_close(&o->file);
}

/* libdw's frame at addr, from .eh_frame first; NULL: none. *ret_fault: not for want of
 * an FDE. */
static Dwarf_Frame *oracle_frame_at(struct oracle *o, uint64_t addr, bool *ret_fault)
{
	Dwarf_Frame *f = NULL;
	*ret_fault = false;
	if (o->eh && dwarf_cfi_addrframe(o->eh, addr, &f) == 0)
		return f;
	int code = o->eh ? dwarf_errno() : 0;
	if (o->debug && dwarf_cfi_addrframe(o->debug, addr, &f) == 0)
		return f;
	if (o->debug)
		code = dwarf_errno();
	*ret_fault = code && !strstr(dwarf_errmsg(code), "no matching address range");
	return NULL;
}

static bool oracle_same(const struct oracle_frame *a, const struct oracle_frame *b,
			const struct oracle_machine *m)
{
	for (unsigned k = 0; k < ORACLE_COLUMNS; k++) {
		if (!(m->known >> k & 1) || b->skip[k])
			continue;
		if (a->known[k] != b->known[k] ||
		    (a->known[k] && a->value[k] != b->value[k]))
			return false;
	}
	return true;
}

/* One address; *ret_end is where libdw's frame ends, addr + 1 if there is none. */
static void oracle_compare(struct oracle *o, uint64_t addr, uint64_t *ret_end,
			   struct oracle_tally *t)
{
	struct us_cfi_row row;
	bool ours = us_cfi_table_find(o->table, addr, &row), fault;
	Dwarf_Frame *f = oracle_frame_at(o, addr, &fault);
	size_t before = t->only_libdw + t->only_ours + t->differ;
	*ret_end = addr + 1;
	if (!f) {
		t->same += !ours && !fault;
		t->fault += fault;
		t->only_ours += ours && !fault;
	} else {
		struct oracle_frame a = { 0 }, b = { 0 };
		Dwarf_Addr end;
		bool signal, same = ours, known = true;
		dwarf_frame_info(f, NULL, &end, &signal);
		*ret_end = end;
		for (uint64_t seed = 1; seed <= 2 && known; seed++) {
			o->m.seed = seed;
			o->m.at = addr;
			known = oracle_libdw(&o->m, f, &a);
			if (!known || !ours)
				continue;
			oracle_ours(&o->m, &row, &b);
			same &= oracle_same(&a, &b, &o->m) &&
				signal == ((row.rule->flags & US_CFI_SIGNAL) != 0);
		}
		t->not_said += !known && !ours;
		t->same += known && same;
		t->only_libdw += known && !ours;
		t->differ += ours && !same;
		free(f);
	}
	if (t->only_libdw + t->only_ours + t->differ > before && !t->first)
		t->first = addr;
}

/* All addresses of the file's code at which one of the two may change its mind, and
 * one between. */
static void oracle_compare_all(struct oracle *o, struct oracle_tally *t)
{
	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < o->file.n_code; i++) {
		uint64_t at = o->file.code[i].start, end, unused;
		while (at < o->file.code[i].end) {
			oracle_compare(o, at, &end, t);
			if (end - at > 2) {
				oracle_compare(o, at + (end - at) / 2, &unused, t);
				oracle_compare(o, end - 1, &unused, t);
			}
			at = end > at ? end : at + 1;
		}
	}
}

#endif
