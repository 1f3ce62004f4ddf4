/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linux-image.h: a small kernel image with kallsyms and ORC tables as Linux's build
 * makes them, in each of the forms that they have had.
 */
#ifndef US_TEST_LINUX_IMAGE_H
#define US_TEST_LINUX_IMAGE_H

#include "linux/orc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST_START 0xffffffff8a200000ULL
#define TEST_BYTES (256U << 10)
#ifndef TEST_RODATA
#define TEST_RODATA (64U << 10) /* offset; text lies before it */
#endif
#define TEST_PERCPU 8
#ifndef TEST_STEP
#define TEST_STEP 64 /* bytes from function to function */
#endif

struct test_form {
	enum us_kallsyms_form form;
	bool late;	/* 6.4: addresses behind the tokens */
	unsigned seqs;	/* bytes of a number in kallsyms_seqs_of_names; 0: none */
	unsigned align; /* of the tables */
	bool big;	/* one name is longer than 127 codes (6.1) */
	unsigned n;	/* of functions; 0: 700 */
	bool wide;	/* before 4.20: markers of 8 bytes */
};

struct test_image {
	uint8_t bytes[TEST_BYTES];
	us_gva start;
	size_t at; /* where the next table goes */
	/* What must be found. */
	char name[1200][256];
	us_gva addr[1200];
	char type[1200];
	size_t n;
	size_t num_at, orc_ip_at, orc_at, n_orc;
};

static inline void test_align(struct test_image *t, unsigned to)
{
	t->at = (t->at + to - 1) & ~(size_t)(to - 1);
}

static inline void test_put(struct test_image *t, const void *p, size_t len)
{
	if (t->at + len > TEST_BYTES)
		abort();
	memcpy(t->bytes + t->at, p, len);
	t->at += len;
}

static inline void test_put32(struct test_image *t, uint32_t v)
{
	test_put(t, &v, 4);
}

static inline void test_put64(struct test_image *t, uint64_t v)
{
	test_put(t, &v, 8);
}

static inline void test_symbol(struct test_image *t, us_gva addr, char type,
			       const char *name)
{
	t->addr[t->n] = addr;
	t->type[t->n] = type;
	snprintf(t->name[t->n++], sizeof(t->name[0]), "%s", name);
}

static inline void test_symbols(struct test_image *t, const struct test_form *f)
{
	char name[256];
	if (f->form == US_KALLSYMS_PERCPU)
		for (unsigned i = 0; i < TEST_PERCPU; i++) {
			snprintf(name, sizeof(name), "percpu_%u", i);
			test_symbol(t, 0x1000 * i, 'A', name);
		}
	test_symbol(t, t->start, 'T', "_text");
	test_symbol(t, t->start, 'T', "_stext");
	for (unsigned i = 0; i < (f->n ? f->n : 700); i++) {
		snprintf(name, sizeof(name), "vfs_function_%u.part.%u", i * 7919,
			 i % 3);
		if (f->big && i == 300) {
			memset(name, 'q', 200);
			name[200] = '\0';
		}
		test_symbol(t, t->start + 64 + TEST_STEP * i, i % 5 ? 't' : 'T', name);
	}
	test_symbol(t, t->start + TEST_RODATA, 'D', "some_data");
}

/* The tokens: each character stands for itself; the other codes for pieces. */
static inline void test_tokens(char token[256][32])
{
	static const char *const pieces[] = { "vfs_",	 "function", "part.",
					      "percpu_", "tv",	     "__" };
	for (unsigned i = 0; i < 256; i++)
		snprintf(token[i], 32, "%c%c", 'a' + i % 26, 'A' + i / 26 % 26);
	for (int c = '!'; c < 0x7f; c++)
		snprintf(token[c], 32, "%c", c);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		snprintf(token[200 + i], 32, "%s", pieces[i]);
}

static inline size_t test_compress(char token[256][32], const char *text, uint8_t *to)
{
	size_t n = 0;
	while (*text) {
		unsigned best = (uint8_t)*text;
		for (unsigned c = 200; c < 206; c++)
			if (!strncmp(token[c], text, strlen(token[c])))
				best = c;
		text += strlen(token[best]);
		to[n++] = (uint8_t)best;
	}
	return n;
}

static inline void test_addresses(struct test_image *t, const struct test_form *f)
{
	us_gva base = t->start;
	test_align(t, f->align);
	for (size_t i = 0; i < t->n; i++) {
		us_gva a = t->addr[i];
		if (f->form == US_KALLSYMS_ABSOLUTE)
			test_put64(t, a);
		else if (f->form == US_KALLSYMS_RELATIVE)
			test_put32(t, (uint32_t)(a - base));
		else if (f->form == US_KALLSYMS_PLACE)
			test_put32(t, (uint32_t)(a - t->start - t->at));
		else
			test_put32(t, (uint32_t)(a < base ? a : base - a - 1));
	}
	test_align(t, f->align);
	if (f->form == US_KALLSYMS_RELATIVE || f->form == US_KALLSYMS_PERCPU)
		test_put64(t, base);
}

static inline void test_seqs(struct test_image *t, const struct test_form *f)
{
	test_align(t, f->align);
	for (size_t i = 0; f->seqs && i < t->n; i++) {
		uint32_t seq = (uint32_t)(i * 131 % t->n);
		test_put(t, &seq, f->seqs);
	}
}

static inline void test_kallsyms(struct test_image *t, const struct test_form *f)
{
	char token[256][32], text[300];
	uint8_t code[300];
	uint32_t marker[8];
	uint16_t index[256];
	size_t n_marker = 0, table;
	test_tokens(token);
	if (!f->late)
		test_addresses(t, f);
	test_align(t, f->align);
	t->num_at = t->at;
	test_put32(t, (uint32_t)t->n);
	test_align(t, f->align);
	size_t names = t->at;
	for (size_t i = 0; i < t->n; i++) {
		if (i % 256 == 0)
			marker[n_marker++] = (uint32_t)(t->at - names);
		snprintf(text, sizeof(text), "%c%s", t->type[i], t->name[i]);
		size_t n = test_compress(token, text, code);
		uint8_t head[2] = { (uint8_t)(n > 127 ? (n & 127) | 128 : n),
				    (uint8_t)(n >> 7) };
		test_put(t, head, n > 127 ? 2 : 1);
		test_put(t, code, n);
	}
	test_align(t, f->align);
	for (size_t i = 0; i < n_marker; i++) {
		test_put32(t, marker[i]);
		if (f->wide)
			test_put32(t, 0);
	}
	if (!f->late)
		test_seqs(t, f);
	test_align(t, f->align);
	table = t->at;
	for (unsigned i = 0; i < 256; i++) {
		index[i] = (uint16_t)(t->at - table);
		test_put(t, token[i], strlen(token[i]) + 1);
	}
	test_align(t, f->align);
	test_put(t, index, sizeof(index));
	if (f->late) {
		test_addresses(t, f);
		test_seqs(t, f);
	}
}

/* For each function: [rsp + 8], after two bytes [rsp + 16] with rbp saved; then, for
 * some, the frames of an exception, an end and a gap. */
static inline void test_orc(struct test_image *t, const struct us_orc_format *f)
{
	unsigned sp = f->registers_of_7 ? 3 : 5, cfa = f->registers_of_7 ? 8 : 1;
	unsigned call = f->types_of_64 ? 2 : 0, regs = f->types_of_64 ? 3 : 1;
	unsigned iret = f->types_of_64 ? 4 : 2;
	unsigned end = f->types_of_64 ? 1 : f->signal_bit ? 8 : 4;
	struct {
		us_gva at;
		int16_t sp_off, bp_off;
		uint8_t base, bits;
	} row[4000];
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++) {
		us_gva at = t->addr[i];
		if (at < t->start || (i && t->addr[i - 1] == at) || t->type[i] == 'D')
			continue;
		row[n].at = at, row[n].sp_off = 8, row[n].bp_off = 0;
		row[n].base = (uint8_t)sp, row[n++].bits = (uint8_t)call;
		row[n].at = at + 2, row[n].sp_off = 16, row[n].bp_off = -16;
		row[n].base = (uint8_t)(sp | cfa << 4), row[n++].bits = (uint8_t)call;
		if (i % 100 == 50) {
			row[n].at = at + 8, row[n].sp_off = 24, row[n].bp_off = 0;
			row[n].base = (uint8_t)sp, row[n++].bits = (uint8_t)regs;
			row[n].at = at + 9, row[n].sp_off = 16, row[n].bp_off = 0;
			row[n].base = (uint8_t)sp, row[n++].bits = (uint8_t)iret;
			row[n].at = at + 10, row[n].sp_off = 0, row[n].bp_off = 0;
			row[n].base = 0, row[n++].bits = (uint8_t)end;
			row[n].at = at + 11, row[n].sp_off = 0, row[n].bp_off = 0;
			row[n].base = 0, row[n++].bits = 0;
		}
	}
	test_align(t, 4);
	t->orc_ip_at = t->at;
	t->n_orc = n;
	for (size_t i = 0; i < n; i++)
		test_put32(t, (uint32_t)(row[i].at - t->start - t->at));
	t->orc_at = t->at;
	for (size_t i = 0; i < n; i++) {
		test_put(t, &row[i].sp_off, 2);
		test_put(t, &row[i].bp_off, 2);
		test_put(t, &row[i].base, 1);
		test_put(t, &row[i].bits, 1);
	}
}

static inline void test_image_make(struct test_image *t, const struct test_form *f,
				   const struct us_orc_format *orc)
{
	uint32_t noise = 1;
	memset(t, 0, sizeof(*t));
	t->start = TEST_START;
	for (size_t i = 0; i < TEST_RODATA; i++) {
		noise = noise * 1103515245 + 12345;
		t->bytes[i] = (uint8_t)(noise >> 16);
	}
	t->at = TEST_RODATA;
	test_symbols(t, f);
	test_kallsyms(t, f);
	if (orc)
		test_orc(t, orc);
}

static inline bool test_image_read(void *ctx, us_gva va, void *buf, size_t len)
{
	const struct test_image *t = ctx;
	if (va < t->start || va - t->start > TEST_BYTES ||
	    len > TEST_BYTES - (va - t->start))
		return false;
	memcpy(buf, t->bytes + (va - t->start), len);
	return true;
}

static inline void test_image_open(struct test_image *t, struct us_linux_image *ret)
{
	const struct us_linux_memory m = { test_image_read, t };
	if (us_linux_image_init(ret, t->start, TEST_BYTES, &m) < 0)
		abort();
}

#endif
