/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel image that lies: its kallsyms and ORC tables.
 *
 * A whole image takes kilobytes, so most of it is made here, in any of the forms that
 * there have been, and the input says what is different: 3 bytes of form; how many
 * edits (4 bits); each of an offset in the image (2 bytes), a length (3 bits) and the
 * bytes that are written there in the end; what is left are names as they are stored.
 * With RAW what follows the first bytes is the image itself.
 */
#include "linux/orc.h"

#include <sanitizer/asan_interface.h>
#include <stdint.h>
#include <string.h>

#define START 0xffffffff8a200000ULL
#define PAGE  4096U
#define MOST  (256U << 10)

/* First byte. */
#define FORM  3 /* enum us_kallsyms_form */
#define LATE  4
#define WIDE  8	 /* aligned to 8, not to 4 */
#define SEQS  16 /* kallsyms_seqs_of_names */
#define RAW   32
#define HOLES 64 /* what is not there cannot be read */
/* Second byte. */
#define ORC	  1
#define ORC_NAMED 2 /* and kallsyms says where */
#define ORC_64	  4
#define ORC_7	  8

#define HEAD	3
#define LEAST	(US_KALLSYMS_LEAST + 16) /* three markers */
#define N_ORC	512U
#define STEP	8U		      /* from function to function */
#define ORC_AT	((N_ORC + 64) * STEP) /* behind the functions */
#define MARKERS (MOST / 512)

struct input {
	const uint8_t *data;
	size_t size;
	bool holes;
};

static volatile size_t sink;

static bool read_input(void *ctx, us_gva va, void *buf, size_t len)
{
	const struct input *in = ctx;
	size_t at = va - START, have = at < in->size ? in->size - at : 0;
	if (in->holes && !have)
		return false;
	memset(buf, 0, len);
	if (have)
		memcpy(buf, in->data + at, have < len ? have : len);
	return true;
}

/* --- the image --- */

struct image {
	uint8_t bytes[MOST];
	size_t at;
	uint8_t name[MOST / 2]; /* as they are stored */
	size_t n_name;
	uint32_t marker[MARKERS];
	size_t n; /* names */
	uint8_t how, orc;
};

/* Inlined, so that a length which is known there costs a store, not a call. */
static inline __attribute__((always_inline)) void put(struct image *i, const void *p,
						      size_t len)
{
	if (i->at + len > sizeof(i->bytes))
		__builtin_trap();
	memcpy(i->bytes + i->at, p, len);
	i->at += len;
}

static inline __attribute__((always_inline)) void put_number(struct image *i,
							     uint64_t v, size_t len)
{
	put(i, &v, len);
}

static void align(struct image *i)
{
	while (i->at % (i->how & WIDE ? 8 : 4))
		put_number(i, 0, 1);
}

static us_gva address(size_t k)
{
	size_t at = k * STEP;
	return START + (at < ORC_AT ? at : ORC_AT);
}

/* Where a symbol lies; those of the ORC tables are the last four. */
static us_gva address_of(const struct image *i, size_t k)
{
	const us_gva table = START + ORC_AT, end = table + 4 * N_ORC;
	const us_gva last[4] = { table, end, end, end + US_ORC_ENTRY * N_ORC };
	if (i->orc & ORC_NAMED && k + 4 >= i->n)
		return last[k + 4 - i->n];
	return address(k);
}

/* In the form that the table has them, there. */
static uint64_t stored(const struct image *i, size_t k)
{
	us_gva a = address_of(i, k);
	switch (i->how & FORM) {
	case US_KALLSYMS_RELATIVE:
		return a - START;
	case US_KALLSYMS_PLACE:
		return a - START - i->at;
	case US_KALLSYMS_PERCPU:
		return START - 1 - a;
	default:
		return a;
	}
}

static void put_addresses(struct image *i)
{
	unsigned form = i->how & FORM;
	align(i);
	for (size_t k = 0; k < i->n; k++)
		if (form == US_KALLSYMS_ABSOLUTE)
			put_number(i, stored(i, k), 8);
		else
			put_number(i, stored(i, k), 4);
	align(i);
	if (form == US_KALLSYMS_RELATIVE || form == US_KALLSYMS_PERCPU)
		put_number(i, START, 8);
}

static void put_seqs(struct image *i)
{
	align(i);
	for (size_t k = 0; i->how & SEQS && k < i->n; k++)
		put_number(i, k * 131 % i->n, 3);
}

static const char *const tokens[] = { "T_text",
				      "T_stext",
				      "tf",
				      "df",
				      "Wlong_",
				      "Ap",
				      "d__start_orc_unwind_ip",
				      "d__stop_orc_unwind_ip",
				      "d__start_orc_unwind",
				      "d__stop_orc_unwind" };
#define TOKEN  128 /* code of the first of them */
#define N_ENDS 4   /* names of ORC's tables */

static void put_tokens(struct image *i)
{
	uint16_t index[256];
	align(i);
	size_t table = i->at;
	for (unsigned k = 0; k < 256; k++) {
		char one[2] = { k > ' ' && k < 0x7f ? (char)k : '\0', '\0' };
		const char *token = k - TOKEN < sizeof(tokens) / sizeof(tokens[0])
					    ? tokens[k - TOKEN]
					    : one;
		index[k] = (uint16_t)(i->at - table);
		put(i, token, strlen(token) + 1);
	}
	align(i);
	put(i, index, sizeof(index));
}

/* A name begins at `at` of the names. */
static void count_name(struct image *i, size_t at)
{
	if (i->n % 256 == 0)
		i->marker[i->n / 256] = (uint32_t)at;
	i->n++;
}

static size_t add_token(struct image *i, size_t at, unsigned k)
{
	count_name(i, at);
	i->name[at] = 1;
	i->name[at + 1] = (uint8_t)(TOKEN + k);
	return at + 2;
}

/* Lengths are cut to what is there. */
static size_t add_names(struct image *i, size_t at, const uint8_t *p, size_t size)
{
	while (size > 2) {
		size_t len = p[0] & 127, head = p[0] & 128 ? 2 : 1;
		if (head == 2)
			len |= (size_t)p[1] << 7;
		if (len > size - head)
			len = size - head;
		if (len) {
			count_name(i, at);
			memcpy(i->name + at, p, head);
			i->name[at] = (uint8_t)((len & 127) | (head == 2 ? 128 : 0));
			i->name[at + 1] = head == 2 ? (uint8_t)(len >> 7) : p[1];
			memcpy(i->name + at + head, p + head, len);
			at += head + len;
		}
		p += head + len;
		size -= head + len;
	}
	return at;
}

/* The input's, and as many more as there have to be. */
static void make_names(struct image *i, const uint8_t *p, size_t size)
{
	size_t at = add_token(i, 0, 0);
	at = add_token(i, at, 1);
	at = add_names(i, at, p, size);
	while (i->n < LEAST - N_ENDS)
		at = add_token(i, at, i->n % 4 ? 3 : 2);
	for (unsigned k = 0; k < N_ENDS; k++)
		at = add_token(i, at, i->orc & ORC_NAMED ? 6 + k : 3);
	i->n_name = at;
}

static void put_kallsyms(struct image *i, const uint8_t *p, size_t size)
{
	make_names(i, p, size);
	if (!(i->how & LATE))
		put_addresses(i);
	align(i);
	put_number(i, i->n, 4);
	align(i);
	put(i, i->name, i->n_name);
	align(i);
	put(i, i->marker, (i->n + 255) / 256 * 4);
	if (!(i->how & LATE))
		put_seqs(i);
	put_tokens(i);
	if (i->how & LATE) {
		put_addresses(i);
		put_seqs(i);
	}
}

static void put_orc(struct image *i)
{
	uint8_t sp = i->orc & ORC_7 ? 3 : 5, call = i->orc & ORC_64 ? 2 : 0;
	const uint8_t entry[US_ORC_ENTRY] = { 8, 0, 0, 0, sp, call };
	while (i->at < ORC_AT)
		put_number(i, 0x9090909090909090, 8);
	for (size_t k = 0; k < N_ORC; k++)
		put_number(i, address(k) - START - i->at, 4);
	for (size_t k = 0; k < N_ORC; k++)
		put(i, entry, sizeof(entry));
}

static void make(struct image *i, const uint8_t *p, size_t size)
{
	struct edit {
		const uint8_t *p;
		size_t at, len;
	} edit[15];
	unsigned n = 0, most = p[2] & 15;
	i->at = i->n = 0;
	i->how = p[0];
	i->orc = p[1] & ORC ? p[1] : 0;
	for (p += HEAD, size -= HEAD; n < most && size >= 3 + 8; n++) {
		edit[n] = (struct edit){ p + 3, p[0] | (size_t)p[1] << 8,
					 (p[2] & 7) + 1U };
		size -= 3 + edit[n].len;
		p += 3 + edit[n].len;
	}
	if (i->orc)
		put_orc(i);
	put_kallsyms(i, p, size);
	for (unsigned k = 0; k < n; k++)
		if (edit[k].at + edit[k].len <= i->at)
			memcpy(i->bytes + edit[k].at, edit[k].p, edit[k].len);
}

/* --- what is read of it --- */

/* Every name ends, addresses rise, look-ups stay inside. */
static void read_symbols(const struct us_kallsyms *k)
{
	us_gva end;
	for (size_t i = 0; i < k->n; i++) {
		sink += strlen(us_kallsym_name(k, &k->v[i]));
		if (i && k->v[i].addr < k->v[i - 1].addr)
			__builtin_trap();
	}
	for (us_gva at = START; at < START + 8192; at += 61) {
		const struct us_kallsym *s = us_kallsyms_find(k, at, &end);
		if (s && (s->addr > at || end <= at))
			__builtin_trap();
	}
}

static void read_orc(struct us_linux_image *i, const struct us_kallsyms *k)
{
	struct us_orc o = { 0 };
	struct us_orc_format f;
	struct us_cfi_builder *b;
	struct us_cfi_table *t;
	struct us_cfi_row row;
	if (us_orc_locate(i, k, &o, &f) < 0 || us_cfi_builder_new(8, &b) < 0)
		return;
	if (us_orc_compile(&o, &f, b) == 0 && us_cfi_builder_finish(b, &t) == 0) {
		for (us_gva at = START; at < START + 4096; at += 31)
			sink += us_cfi_table_find(t, at, &row);
		us_cfi_table_free(t);
	}
	us_cfi_builder_free(b);
}

/* The same memory each time: page faults would take longer than the reading.  What is
 * behind the image is poisoned, so that the sanitizer sees who reads there. */
static void open_image(struct us_linux_image *i, struct input *in)
{
	const struct us_linux_memory m = { read_input, in };
	if (!i->bytes && us_linux_image_init(i, START, MOST, &m) < 0)
		__builtin_trap();
	memset(i->state, 0, MOST / PAGE);
	i->size = (in->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	i->memory = m;
	ASAN_UNPOISON_MEMORY_REGION(i->bytes, i->size);
	ASAN_POISON_MEMORY_REGION(i->bytes + i->size, MOST - i->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image made;
	static struct us_linux_image i;
	if (size <= HEAD || size > 16384)
		return 0;
	struct input in = { data + HEAD, size - HEAD, data[0] & HOLES };
	if (!(data[0] & RAW)) {
		make(&made, data, size);
		in.data = made.bytes;
		in.size = made.at;
	}
	struct us_kallsyms k;
	struct us_err e;
	open_image(&i, &in);
	if (us_kallsyms_read(&i, &k, &e) == 0) {
		read_symbols(&k);
		read_orc(&i, &k);
		us_kallsyms_fini(&k);
	}
	return 0;
}
