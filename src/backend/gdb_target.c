/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gdb_target.c: see gdb_target.h. */
#include "backend/gdb_target.h"

#include "backend/gdb_client.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define MAX_REGISTERS 1024
#define MAX_DOCUMENTS 16
#define MAX_DEPTH     4

#define CR0_PE	  1u
#define EFLAGS_VM (1u << 17)
#define EFER_LMA  (1u << 10)

static const struct {
	const char *name;
	uint8_t id;
} names[] = {
	{ "rax", US_X86_RAX },	    { "eax", US_X86_RAX }, { "rdx", US_X86_RDX },
	{ "edx", US_X86_RDX },	    { "rcx", US_X86_RCX }, { "ecx", US_X86_RCX },
	{ "rbx", US_X86_RBX },	    { "ebx", US_X86_RBX }, { "rsi", US_X86_RSI },
	{ "esi", US_X86_RSI },	    { "rdi", US_X86_RDI }, { "edi", US_X86_RDI },
	{ "rbp", US_X86_RBP },	    { "ebp", US_X86_RBP }, { "rsp", US_X86_RSP },
	{ "esp", US_X86_RSP },	    { "r8", US_X86_R8 },   { "r9", US_X86_R9 },
	{ "r10", US_X86_R10 },	    { "r11", US_X86_R11 }, { "r12", US_X86_R12 },
	{ "r13", US_X86_R13 },	    { "r14", US_X86_R14 }, { "r15", US_X86_R15 },
	{ "rip", US_GDB_PC },	    { "eip", US_GDB_PC },  { "eflags", US_GDB_FLAGS },
	{ "rflags", US_GDB_FLAGS }, { "cs", US_GDB_CS },   { "cr0", US_GDB_CR0 },
	{ "cr3", US_GDB_CR3 },	    { "cr4", US_GDB_CR4 }, { "efer", US_GDB_EFER },
};

/* Orders of GDB's classical packets. */
static const uint8_t classic_wide[] = {
	US_X86_RAX, US_X86_RBX, US_X86_RCX, US_X86_RDX, US_X86_RSI, US_X86_RDI,
	US_X86_RBP, US_X86_RSP, US_X86_R8,  US_X86_R9,	US_X86_R10, US_X86_R11,
	US_X86_R12, US_X86_R13, US_X86_R14, US_X86_R15, US_GDB_PC,
};
static const uint8_t classic_narrow[] = {
	US_X86_RAX, US_X86_RCX, US_X86_RDX, US_X86_RBX,	  US_X86_RSP, US_X86_RBP,
	US_X86_RSI, US_X86_RDI, US_GDB_PC,  US_GDB_FLAGS, US_GDB_CS,
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

/* The next start tag; comments, declarations and end tags are passed over. */
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

/* What has been read of a description. */
struct description {
	us_gdb_fetch fetch;
	void *ctx;
	unsigned n_document, n_register;
	int next;		     /* number of the next register without one */
	uint8_t size[MAX_REGISTERS]; /* by number; 0: none */
	uint8_t id[MAX_REGISTERS];   /* enum us_gdb_reg, US_GDB_N_REG: other */
	char processor[48];
	bool wide;
};

static int read_register(struct description *d, const struct tag *t, struct us_err *e)
{
	char name[32];
	int at = number(t, "regnum"), bits = number(t, "bitsize");
	if (at < 0)
		at = d->next;
	if (bits < 0 || bits > 2040 || at >= MAX_REGISTERS)
		return us_fail(e, -EPROTO,
			       "a register without a size, or with number %d", at);
	d->next = at + 1;
	d->n_register++;
	d->size[at] = (uint8_t)((bits + 7) / 8);
	d->id[at] = US_GDB_N_REG;
	if (!attribute(t, "name", name, sizeof(name)))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].name, name))
			d->id[at] = names[i].id;
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
	if (id >= US_GDB_N_REG || size > 8)
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
		if (at + d->size[i] > UINT16_MAX)
			return us_fail(e, -EPROTO, "its registers are too large");
		if (d->size[i])
			place(l, d->id[i], at, d->size[i]);
		at += d->size[i];
	}
	if (!l->reg[US_GDB_PC].size || !l->reg[US_X86_RSP].size)
		return us_fail(e, -EPROTO,
			       "it has no program counter or stack pointer");
	l->controls = l->reg[US_GDB_CR0].size && l->reg[US_GDB_CR3].size &&
		      l->reg[US_GDB_CR4].size && l->reg[US_GDB_EFER].size;
	return 0;
}

int us_gdb_layout_read(us_gdb_fetch fetch, void *ctx, struct us_gdb_layout *ret,
		       struct us_err *e)
{
	struct description d = { .fetch = fetch, .ctx = ctx };
	struct us_gdb_layout l = { 0 };
	int r = read_document(&d, "target.xml", 0, e);
	if (r == 0 && d.processor[0] && strncmp(d.processor, "i386", 4) != 0)
		r = us_fail(e, -ENOTSUP, "its processor is %s, not x86", d.processor);
	if (r < 0)
		return us_wrap(e, "read the stub's target.xml"), r;
	l.wide = d.wide;
	if (!d.n_register) {
		*ret = l;
		return us_fail(e, -ENODATA, "target.xml names no registers");
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
	*ret = (struct us_gdb_layout){ .wide = wide };
	for (size_t i = 0; i < n; i++)
		place(ret, order[i], (unsigned)i * size, size);
	if (!wide)
		return;
	/* Flags and segments have four bytes there too. */
	place(ret, US_GDB_FLAGS, (unsigned)n * 8, 4);
	place(ret, US_GDB_CS, (unsigned)n * 8 + 4, 4);
}

/* 0, -ENODATA (not available), -EPROTO. */
static int read_value(const struct us_gdb_layout *l, unsigned id, const char *hex,
		      size_t len, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned size = l->reg[id].size;
	if (!size)
		return -ENODATA;
	if ((l->reg[id].at + size) * 2u > len)
		return -EPROTO;
	const char *p = hex + l->reg[id].at * 2u;
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

/* A stub shows selectors, not descriptors: in real mode the base follows from the
 * selector, in protected mode it is taken to be 0 and the code to be 32 bits wide. */
static void decode_mode(bool wide, bool controls, const uint64_t *v, struct us_regs *r)
{
	r->space.mode = US_PAGING_UNKNOWN;
	r->bits = wide ? 64 : 32;
	if (!controls) {
		r->user = (v[US_GDB_CS] & 3) == 3;
		return;
	}
	r->space.root = v[US_GDB_CR3];
	r->space.mode = us_x86_paging_mode(v[US_GDB_CR0], v[US_GDB_CR4],
					   v[US_GDB_EFER]);
	bool real = !(v[US_GDB_CR0] & CR0_PE) || (v[US_GDB_FLAGS] & EFLAGS_VM);
	r->user = (v[US_GDB_CR0] & CR0_PE) &&
		  ((v[US_GDB_CS] & 3) == 3 || (v[US_GDB_FLAGS] & EFLAGS_VM));
	if (!(v[US_GDB_EFER] & EFER_LMA))
		r->bits = real ? 16 : 32;
	if (r->bits != 16)
		return;
	bool reset = v[US_GDB_CS] == 0xf000 && r->pc == 0xfff0;
	r->pc += reset ? 0xffff0000 : v[US_GDB_CS] << 4;
}

int us_gdb_decode(const struct us_gdb_layout *l, const char *hex, size_t len,
		  struct us_regs *ret)
{
	uint64_t v[US_GDB_N_REG] = { 0 };
	struct us_regs r = { 0 };
	bool controls = l->controls;
	for (unsigned i = 0; i < US_GDB_N_REG; i++) {
		int got = read_value(l, i, hex, len, &v[i]);
		if (got == -EPROTO)
			return got;
		if (got == 0 && i < 16)
			r.valid |= (uint16_t)(1u << i);
		if (got < 0 && i >= US_GDB_CR0)
			controls = false;
		if (got < 0 && (i == US_GDB_PC || i == US_X86_RSP))
			return -EPROTO;
	}
	memcpy(r.gpr, v, US_GDB_PC * sizeof(*v));
	r.pc = v[US_GDB_PC];
	r.sp = v[US_X86_RSP];
	r.fp = v[US_X86_RBP];
	decode_mode(l->wide, controls, v, &r);
	*ret = r;
	return 0;
}

bool us_x86_at_reset(const struct us_regs *r)
{
	return r->bits == 16 && r->pc == 0xfffffff0;
}
