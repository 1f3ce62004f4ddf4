/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb/target.c: see gdb/target.h. */
#include "backend/gdb/target.h"

#include "backend/gdb/client.h"
#include "backend/gdb/machine.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define MAX_REGISTERS 1024
#define MAX_DOCUMENTS 16
#define MAX_DEPTH     4

/* Orders of GDB's classical packets. */
static const uint8_t classic_wide[] = {
	US_X86_RAX, US_X86_RBX, US_X86_RCX, US_X86_RDX, US_X86_RSI, US_X86_RDI,
	US_X86_RBP, US_X86_RSP, US_X86_R8,  US_X86_R9,	US_X86_R10, US_X86_R11,
	US_X86_R12, US_X86_R13, US_X86_R14, US_X86_R15, US_GDB_PC,
};
static const uint8_t classic_narrow[] = {
	US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RBX,	  US_X86_RSP, US_X86_RBP,
	US_X86_RSI, US_X86_RDI, US_GDB_PC,  US_GDB_FLAGS, US_GDB_CS,  US_GDB_SS,
};

/* A start tag of an XML document. */
struct tag {
	const char *name, *attributes, *end; /* end: its '>' */
	size_t name_len;
};

static const char *skip_past(const char *at, const char *end, const char *text)
{
	size_t n = strlen(text);
	const char *found = memmem(at, (size_t)(end - at), text, n);
	return found ? found + n : end;
}

static const char *tag_end(const char *at, const char *end)
{
	char quote = 0;
	for (; at < end; at++) {
		if (quote ? *at == quote : *at == '"' || *at == '\'')
			quote = quote ? 0 : *at;
		else if (!quote && *at == '>')
			return at;
	}
	return NULL;
}

/* The next start tag; skips comments, declarations and end tags. */
static bool next_tag(const char **at, const char *end, struct tag *ret)
{
	const char *p = *at;
	while (p < end && (p = memchr(p, '<', (size_t)(end - p)))) {
		p++;
		if (end - p >= 3 && !memcmp(p, "!--", 3)) {
			p = skip_past(p + 3, end, "-->");
			continue;
		}
		if (p < end && (*p == '!' || *p == '?' || *p == '/')) {
			p = skip_past(p, end, ">");
			continue;
		}
		ret->name = p;
		ret->end = tag_end(p, end);
		if (!ret->end)
			return false;
		while (p < ret->end && !strchr(" \t\r\n/", *p))
			p++;
		ret->name_len = (size_t)(p - ret->name);
		ret->attributes = p;
		*at = ret->end + 1;
		return true;
	}
	return false;
}

static bool tag_is(const struct tag *t, const char *name)
{
	return t->name_len == strlen(name) && !memcmp(t->name, name, t->name_len);
}

/* Copy the value of an attribute; false if it is not there or does not fit. */
static bool attribute(const struct tag *t, const char *name, char *buf, size_t size)
{
	const char *p = t->attributes;
	while (p < t->end) {
		while (p < t->end && strchr(" \t\r\n/", *p))
			p++;
		const char *key = p;
		while (p < t->end && *p != '=')
			p++;
		size_t key_len = (size_t)(p - key);
		if (t->end - p < 2 || (p[1] != '"' && p[1] != '\''))
			return false;
		const char *value = p + 2;
		const char *close = memchr(value, p[1], (size_t)(t->end - value));
		if (!close)
			return false;
		p = close + 1;
		size_t len = (size_t)(close - value);
		if (key_len != strlen(name) || memcmp(key, name, key_len))
			continue;
		if (len >= size)
			return false;
		memcpy(buf, value, len);
		buf[len] = '\0';
		return true;
	}
	return false;
}

/* A small decimal number, or -1. */
static int number(const struct tag *t, const char *name)
{
	char text[8], *stop;
	if (!attribute(t, name, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return -1;
	long n = strtol(text, &stop, 10);
	return *stop || n > 65535 ? -1 : (int)n;
}

/* The part of a description that has been read. */
struct description {
	us_gdb_fetch fetch;
	void *ctx;
	unsigned n_document, n_register;
	int next;		     /* number for the next register that states none */
	uint8_t size[MAX_REGISTERS]; /* by number; 0: none */
	uint8_t id[MAX_REGISTERS];   /* enum us_gdb_reg, US_GDB_N_REG: other */
	char processor[48];
	const struct us_gdb_machine *machine;
	bool wide;
};

static int read_register(struct description *d, const struct tag *t, struct us_err *e)
{
	char name[32];
	int at = number(t, "regnum"), bits = number(t, "bitsize");
	if (at < 0)
		at = d->next;
	if (bits < 0 || at > UINT16_MAX)
		return us_fail(e, -EPROTO, "a register has no size, or has number %d",
			       at);
	d->next = at + 1;
	d->n_register++;
	if (at >= MAX_REGISTERS || bits > 2040)
		return 0; /* not used here: RISC-V has 4,096 control registers */
	d->size[at] = (uint8_t)((bits + 7) / 8);
	d->id[at] = US_GDB_N_REG;
	if (!attribute(t, "name", name, sizeof(name)))
		return 0;
	int id = us_gdb_register(d->machine, name);
	if (id >= 0)
		d->id[at] = (uint8_t)id;
	return 0;
}

static void read_processor(struct description *d, const char *at, const char *end)
{
	const char *stop = at < end ? memchr(at, '<', (size_t)(end - at)) : NULL;
	size_t len = stop ? (size_t)(stop - at) : 0;
	if (len >= sizeof(d->processor))
		len = sizeof(d->processor) - 1;
	memcpy(d->processor, at, len);
	d->processor[len] = '\0';
	us_printable_inplace(d->processor);
	d->wide = !strncmp(d->processor, "i386:x86-64", 11);
	d->machine = us_gdb_machine_of(d->processor);
}

static int read_document(struct description *d, const char *name, unsigned depth,
			 struct us_err *e)
{
	if (depth > MAX_DEPTH || d->n_document++ >= MAX_DOCUMENTS)
		return us_fail(e, -EPROTO, "it includes too many files");
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r = d->fetch(d->ctx, name, &text, &len, e);
	if (r < 0)
		return r;
	const char *at = text;
	struct tag t;
	while (r == 0 && next_tag(&at, text + len, &t)) {
		char href[64];
		if (tag_is(&t, "reg"))
			r = read_register(d, &t, e);
		else if (tag_is(&t, "architecture"))
			read_processor(d, at, text + len);
		else if (tag_is(&t, "xi:include") &&
			 attribute(&t, "href", href, sizeof(href)))
			r = read_document(d, href, depth + 1, e);
	}
	return r;
}

static void place(struct us_gdb_layout *l, uint8_t id, unsigned at, uint8_t size)
{
	if (id >= US_GDB_N_REG || size > 8 || at > UINT16_MAX)
		return;
	l->reg[id].at = (uint16_t)at;
	l->reg[id].size = size;
}

/* The packet has the registers in the order of their numbers. */
static int lay_out(const struct description *d, struct us_gdb_layout *l,
		   struct us_err *e)
{
	unsigned at = 0;
	for (unsigned i = 0; i < MAX_REGISTERS; i++) {
		if (d->size[i] && d->id[i] >= US_GDB_APART && d->id[i] < US_GDB_N_REG) {
			place(l, d->id[i], i, d->size[i]);
			continue;
		}
		if (d->size[i])
			place(l, d->id[i], at, d->size[i]);
		at += d->size[i];
	}
	if (!l->reg[US_GDB_PC].size || !l->reg[d->machine->sp].size)
		return us_fail(e, -EPROTO,
			       "it has no program counter or stack pointer");
	l->controls = true;
	for (unsigned i = 0; i < US_GDB_N_REG; i++)
		if (d->machine->controls >> i & 1 && !l->reg[i].size)
			l->controls = false;
	return 0;
}

int us_gdb_layout_read(us_gdb_fetch fetch, void *ctx, struct us_gdb_layout *ret,
		       struct us_err *e)
{
	struct description d = { .fetch = fetch,
				 .ctx = ctx,
				 .machine = us_gdb_machine_of("i386") };
	struct us_gdb_layout l = { 0 };
	int r = read_document(&d, "target.xml", 0, e);
	if (r == 0 && !d.machine)
		r = us_fail(e, -ENOTSUP,
			    "its processor is %s, not x86, aarch64 or riscv64",
			    d.processor);
	if (r < 0)
		return us_wrap(e, "read the stub's target.xml"), r;
	l.wide = d.wide;
	l.machine = d.machine;
	l.arch = d.machine->arch;
	if (!d.n_register) {
		*ret = l;
		return us_fail(e, -ENODATA, "target.xml describes no registers");
	}
	r = lay_out(&d, &l, e);
	if (r < 0)
		return us_wrap(e, "read the stub's target.xml"), r;
	*ret = l;
	return 0;
}

void us_gdb_layout_classic(bool wide, struct us_gdb_layout *ret)
{
	const uint8_t *order = wide ? classic_wide : classic_narrow;
	size_t n = wide ? sizeof(classic_wide) : sizeof(classic_narrow);
	uint8_t size = wide ? 8 : 4;
	*ret = (struct us_gdb_layout){ .wide = wide,
				       .machine = us_gdb_machine_of("i386") };
	for (size_t i = 0; i < n; i++)
		place(ret, order[i], (unsigned)i * size, size);
	if (!wide)
		return;
	/* Flags and segments have four bytes there too. */
	place(ret, US_GDB_FLAGS, (unsigned)n * 8, 4);
	place(ret, US_GDB_CS, (unsigned)n * 8 + 4, 4);
	place(ret, US_GDB_SS, (unsigned)n * 8 + 8, 4);
}

/* size bytes from hex on: 0, -ENODATA (not available), -EPROTO. */
static int read_bytes(const char *p, unsigned size, uint64_t *ret)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < size; i++) {
		int high = us_gdb_hex(p[i * 2]), low = us_gdb_hex(p[i * 2 + 1]);
		if (p[i * 2] == 'x' && p[i * 2 + 1] == 'x')
			return -ENODATA;
		if (high < 0 || low < 0)
			return -EPROTO;
		v |= (uint64_t)(high << 4 | low) << (8 * i);
	}
	*ret = v;
	return 0;
}

static int read_value(const struct us_gdb_layout *l, unsigned id, const char *hex,
		      size_t len, uint64_t *ret)
{
	unsigned size = l->reg[id].size;
	if (!size)
		return -ENODATA;
	if ((l->reg[id].at + size) * 2u > len)
		return -EPROTO;
	return read_bytes(hex + l->reg[id].at * 2u, size, ret);
}

int us_gdb_decode(const struct us_gdb_layout *l, const char *hex, size_t len,
		  struct us_regs *ret, struct us_gdb_code *ret_code)
{
	uint64_t v[US_GDB_N_REG] = { 0 };
	struct us_regs r = { 0 };
	struct us_gdb_code code = { 0 };
	const struct us_gdb_machine *m = l->machine;
	bool controls = l->controls;
	for (unsigned i = 0; i < US_GDB_APART; i++) {
		int got = read_value(l, i, hex, len, &v[i]);
		if (got == -EPROTO)
			return got;
		if (got == 0 && i < US_MAX_GPR)
			r.valid |= 1u << i;
		if (got < 0 && i >= US_GDB_CR0)
			controls = false;
		if (got < 0 && (i == US_GDB_PC || i == m->sp))
			return -EPROTO;
	}
	memcpy(r.gpr, v, sizeof(r.gpr));
	r.arch = l->arch;
	r.pc = v[US_GDB_PC];
	r.sp = v[m->sp];
	r.fp = v[m->fp];
	r.space.mode = US_PAGING_UNKNOWN;
	m->decode(l->wide, controls, v, &r, &code);
	*ret = r;
	*ret_code = code;
	return 0;
}

void us_gdb_decode_apart(const struct us_gdb_layout *l, unsigned index, const char *hex,
			 size_t len, struct us_gdb_apart *ret)
{
	unsigned size = l->reg[US_GDB_APART + index].size;
	if (size && len == size * 2u && read_bytes(hex, size, &ret->v[index]) == 0)
		ret->got |= 1u << index;
}

void us_gdb_set_space(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		      const struct us_gdb_code *code, struct us_regs *regs)
{
	const struct us_gdb_machine *m = l->machine;
	uint64_t needed = m->controls >> US_GDB_APART;
	if (m->set_space && needed && (apart->got & needed) == needed)
		m->set_space(apart->v, code, regs);
}

static bool has_entries(const struct us_gdb_machine *m, const struct us_regs *regs)
{
	return m->set_entered && !regs->user && regs->bits == 64;
}

static bool is_in_table(const struct us_gdb_layout *l, us_gva pc)
{
	for (unsigned k = 0; k < l->n_table; k++)
		if (pc - l->table[k] < l->machine->entry_table)
			return true;
	return false;
}

bool us_gdb_may_be_entering(const struct us_gdb_layout *l, const struct us_regs *regs)
{
	return has_entries(l->machine, regs) &&
	       (regs->pc % l->machine->entry_align == 0 || is_in_table(l, regs->pc));
}

void us_gdb_learn_entry(struct us_gdb_layout *l, const struct us_regs *regs)
{
	us_gva at = regs->entered.vector;
	bool known = is_in_table(l, at);
	if (!regs->entered.valid || !at || known || !l->machine->entry_table)
		return;
	l->table[l->next_table++ % US_GDB_TABLES] = at;
	if (l->n_table < US_GDB_TABLES)
		l->n_table++;
}

uint64_t us_gdb_entry_needs(const struct us_gdb_layout *l, const struct us_regs *regs)
{
	const struct us_gdb_machine *m = l->machine;
	uint64_t needs = regs->machine	    ? m->machine_entry
			 : regs->level == 2 ? m->el2_entry
			 : regs->level == 3 ? m->el3_entry
					    : m->entry;
	return needs >> US_GDB_APART;
}

uint64_t us_gdb_entry_also(const struct us_gdb_layout *l)
{
	return l->machine->entry_also >> US_GDB_APART;
}

void us_gdb_set_entered(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
			struct us_regs *regs)
{
	const struct us_gdb_machine *m = l->machine;
	uint64_t needed = us_gdb_entry_needs(l, regs);
	if (has_entries(l->machine, regs) && (apart->got & needed) == needed)
		m->set_entered(apart->v, regs);
}

bool us_gdb_get_left(const struct us_gdb_layout *l, const struct us_gdb_apart *apart,
		     const struct us_regs *regs, struct us_entered *ret)
{
	const struct us_gdb_machine *m = l->machine;
	uint64_t needed = us_gdb_entry_needs(l, regs);
	return m->left && regs->bits == 64 && (apart->got & needed) == needed &&
	       m->left(apart->v, regs, ret);
}

#define PSCI_CPU_OFF 0x84000002 /* of the call that does not return, in w0 */

bool us_aarch64_is_off(const struct us_regs *r)
{
	const uint32_t all = (1U << (US_AARCH64_LR + 1)) - 1;
	if (r->arch != US_ARCH_AARCH64 || (r->valid & all) != all)
		return false;
	if ((uint32_t)r->gpr[0] == PSCI_CPU_OFF && !r->user)
		return true;
	for (unsigned i = 0; i <= US_AARCH64_LR; i++)
		if (r->gpr[i])
			return false;
	return !r->sp;
}

bool us_x86_at_reset(const struct us_regs *r)
{
	return r->arch == US_ARCH_X86_64 && r->bits == 16 && r->pc == 0xfffffff0;
}
