/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information that lies, or costs more than it should. */
#include "unit.h"

#include "symbol/elf_cfi.h"
#include "unwind/cfi_build.h"

#include <elf.h>
#include <zlib.h>

#define CODE	 0x1000
#define CODE_END 0x2000000

/* A section under construction. */
struct bytes {
	uint8_t *v;
	size_t n, cap;
};

static void put(struct bytes *b, const void *p, size_t len)
{
	while (b->n + len > b->cap) {
		b->cap = b->cap ? b->cap * 2 : 4096;
		b->v = realloc(b->v, b->cap);
		assert_non_null(b->v);
	}
	memcpy(b->v + b->n, p, len);
	b->n += len;
}

static void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, 4);
}

static void put64(struct bytes *b, uint64_t v)
{
	put(b, &v, 8);
}

/* A CIE of x86-64 at the start of .debug_frame, and more instructions for it. */
static void put_cie(struct bytes *b, const void *more, size_t n)
{
	static const uint8_t head[] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };
	put32(b, (uint32_t)(4 + sizeof(head) + n));
	put32(b, UINT32_MAX);
	put(b, head, sizeof(head));
	put(b, more, n);
}

static void put_fde(struct bytes *b, uint32_t cie, uint64_t start, uint64_t len,
		    const void *program, size_t n)
{
	put32(b, (uint32_t)(20 + n));
	put32(b, cie);
	put64(b, start);
	put64(b, len);
	put(b, program, n);
}

static struct us_elf_cfi_stats stats;

/* What is made of it as .debug_frame; frees it. */
static struct us_cfi_table *read_flagged(struct bytes *b, uint64_t flags)
{
	static const struct us_elf_code code = { .start = CODE, .end = CODE_END };
	struct us_elf_section s[2] = {
		{ .name = "" },
		{ .name = ".debug_frame",
		  .type = SHT_PROGBITS,
		  .flags = flags,
		  .size = b->n },
	};
	struct us_elf_file f = { .bytes = b->v,
				 .size = b->n,
				 .is64 = true,
				 .machine = EM_X86_64,
				 .section = s,
				 .n_section = 2,
				 .code = (struct us_elf_code *)&code,
				 .n_code = 1 };
	struct us_cfi_table *t;
	struct us_err e;
	assert_int_equal(us_elf_cfi_read(&f, NULL, &t, &stats, &e), 0);
	free(b->v);
	memset(b, 0, sizeof(*b));
	return t;
}

static struct us_cfi_table *read_table(struct bytes *b)
{
	return read_flagged(b, 0);
}

/* The CFA's offset at addr; 0: no rule. */
static int offset_at(const struct us_cfi_table *t, uint64_t addr)
{
	struct us_cfi_row row;
	return us_cfi_table_find(t, addr, &row) ? row.rule->cfa_off : 0;
}

static size_t rows_of(const struct us_cfi_table *t)
{
	struct us_cfi_table_info info;
	us_cfi_table_info(t, &info);
	return info.n_row;
}

/* After a fault in a program there is no rule, up to the next function. */
static void test_faults_end_a_program(void **state)
{
	(void)state;
	static const uint8_t faults[][8] = {
		{ 0x41, 0x0e, 16, 0x41, 0x3f },		 /* no such opcode */
		{ 0x41, 0x0e, 16, 0x41, 0x0b },		 /* restore without remember */
		{ 0x41, 0x0e, 16, 0x41, 0x0e, 0x80 },	 /* its operand is cut */
		{ 0x41, 0x0e, 16, 0x41, 0x01, 0, 0, 0 }, /* back in the code */
		{ 0x41, 0x0e, 16, 0x41, 0x2d },		 /* of another machine */
	};
	static const uint8_t len[] = { 5, 5, 6, 8, 5 };
	for (size_t i = 0; i < sizeof(len); i++) {
		struct bytes b = { 0 };
		put_cie(&b, "", 0);
		put_fde(&b, 0, 0x1000, 0x100, faults[i], len[i]);
		put_fde(&b, 0, 0x1100, 0x100, "", 0);
		struct us_cfi_table *t = read_table(&b);
		assert_int_equal(stats.n_bad, 1);
		assert_int_equal(offset_at(t, 0x1000), 8);
		assert_int_equal(offset_at(t, 0x1001), 16);
		assert_int_equal(offset_at(t, 0x1002), 0);
		assert_int_equal(offset_at(t, 0x1100), 8);
		us_cfi_table_free(t);
	}
}

/* A register alone is the CFA if nothing was said of it before; an offset alone, or a
 * register for an expression, is not. */
static void test_cfa_in_parts(void **state)
{
	(void)state;
	static const struct {
		uint8_t cie[8], n;
		uint16_t off; /* at the second instruction */
	} cases[] = { { { 0x0d, 7 }, 2, 16 },
		      { { 0x0e, 8 }, 2, 0 },
		      { { 0x0d, 99, 0x0d, 7 }, 4, 0 },
		      { { 0x0f, 1, 0x9c, 0x0d, 7 }, 5, 0 } };
	static const uint8_t head[] = { 1, 0, 1, 0x78, 16, 0x90, 1 };
	static const uint8_t program[] = { 0x41, 0x0e, 16 };
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bytes b = { 0 };
		put32(&b, 4 + sizeof(head) + cases[i].n);
		put32(&b, UINT32_MAX);
		put(&b, head, sizeof(head));
		put(&b, cases[i].cie, cases[i].n);
		put_fde(&b, 0, 0x1000, 0x100, program, sizeof(program));
		struct us_cfi_table *t = read_table(&b);
		assert_int_equal(offset_at(t, 0x1000), 0);
		assert_int_equal(offset_at(t, 0x1001), cases[i].off);
		us_cfi_table_free(t);
	}
}

static void test_remembers_not_for_ever(void **state)
{
	(void)state;
	static uint8_t program[100000];
	struct bytes b = { 0 };
	memset(program, 0x0a, sizeof(program));
	put_cie(&b, "", 0);
	put_fde(&b, 0, 0x1000, 0x100, program, sizeof(program));
	us_cfi_table_free(read_table(&b));
	assert_int_equal(stats.n_bad, 1);
}

/* An unknown CFA, or an unknown place of the caller's pc, is no rule. */
static void test_unknown_is_no_rule(void **state)
{
	(void)state;
	static const uint8_t cfa[] = { 0x41, 0x0f, 2, 0x30, 0x1e, 0x41, 0x0c, 7, 24 };
	static const uint8_t pc[] = { 0x41, 0x10, 16, 2, 0x30, 0x1e, 0x41, 0x90, 1 };
	struct bytes b = { 0 };
	put_cie(&b, "", 0);
	put_fde(&b, 0, 0x1000, 0x100, cfa, sizeof(cfa));
	put_fde(&b, 0, 0x1100, 0x100, pc, sizeof(pc));
	struct us_cfi_table *t = read_table(&b);
	assert_int_equal(offset_at(t, 0x1000), 8);
	assert_int_equal(offset_at(t, 0x1001), 0);
	assert_int_equal(offset_at(t, 0x1002), 24);
	assert_int_equal(offset_at(t, 0x1100), 8);
	assert_int_equal(offset_at(t, 0x1101), 0);
	assert_int_equal(offset_at(t, 0x1102), 8);
	assert_int_equal(stats.n_unknown, 2);
	us_cfi_table_free(t);
}

/* Functions over functions: each address has one, that which starts last. */
static void test_overlaps(void **state)
{
	(void)state;
	struct bytes b = { 0 };
	static const uint8_t deeper[] = { 0x0e, 32 };
	put_cie(&b, "", 0);
	put_fde(&b, 0, 0x1000, 0x1000, "", 0);
	put_fde(&b, 0, 0x1800, 0x10, deeper, sizeof(deeper));
	put_fde(&b, 0, 0x1800, 0x1000, "", 0); /* has no say */
	for (unsigned i = 0; i < 50000; i++)
		put_fde(&b, 0, 0x100000, UINT64_MAX, "", 0);
	for (unsigned i = 0; i < 50000; i++)
		put_fde(&b, 0, 0x200000 - i, UINT64_MAX / 2 + i, "", 0);
	struct us_cfi_table *t = read_table(&b);
	assert_int_equal(stats.n_shadowed, 50000);
	assert_int_equal(offset_at(t, 0x17ff), 8);
	assert_int_equal(offset_at(t, 0x1800), 32);
	assert_int_equal(offset_at(t, 0x1810), 0);
	assert_int_equal(offset_at(t, 0x100000), 8);
	assert_int_equal(offset_at(t, CODE_END - 1), 8);
	assert_int_equal(offset_at(t, CODE_END), 0);
	us_cfi_table_free(t);
}

static void test_functions_that_are_no_code(void **state)
{
	(void)state;
	struct bytes b = { 0 };
	put_cie(&b, "", 0);
	put_fde(&b, 0, 0, 0x100, "", 0); /* thrown away by the linker */
	put_fde(&b, 0, CODE_END, 0x100, "", 0);
	put_fde(&b, 0, UINT64_MAX, 0x100, "", 0);
	put_fde(&b, 0, 0x1000, 0, "", 0);
	struct us_cfi_table *t = read_table(&b);
	assert_int_equal(stats.n_outside, 4);
	assert_int_equal(rows_of(t), 0);
	us_cfi_table_free(t);
}

/* A long program of a CIE that many functions ask for in turn: not run each time. */
static void test_dear_cies(void **state)
{
	(void)state;
	static uint8_t nops[200000];
	struct bytes b = { 0 };
	put_cie(&b, nops, sizeof(nops));
	uint32_t other = (uint32_t)b.n;
	put_cie(&b, nops, sizeof(nops));
	for (unsigned i = 0; i < 100000; i++)
		put_fde(&b, i % 2 ? other : 0, 0x1000 + 16 * i, 16, "", 0);
	us_cfi_table_free(read_table(&b));
	assert_int_equal(stats.n_fde, 100000);
	assert_true(stats.n_bad > 90000);
}

/* Bytes of CFI make a row each at most, and rows have an end. */
static void test_many_rows(void **state)
{
	(void)state;
	struct bytes b = { 0 };
	struct bytes program = { 0 };
	struct us_cfi_table_info info;
	for (unsigned i = 0; i < 8 << 20; i++)
		put(&program, i % 2 ? "\x41\x0e\x10" : "\x41\x0e\x18", 3);
	put_cie(&b, "", 0);
	put_fde(&b, 0, CODE, CODE_END - CODE, program.v, program.n);
	free(program.v);
	struct us_cfi_table *t = read_table(&b);
	us_cfi_table_info(t, &info);
	assert_int_equal(info.n_row, (8 << 20) + 2);
	assert_true(info.bytes < 7 * info.n_row);
	assert_int_equal(offset_at(t, CODE + 1001), 24);
	assert_int_equal(offset_at(t, CODE + 1002), 16);
	us_cfi_table_free(t);
}

/* A program in which each row has another rule: the k-th is at CODE + k. */
static struct us_cfi_table *read_rules(unsigned n)
{
	struct bytes b = { 0 };
	struct bytes program = { 0 };
	for (unsigned i = 1; i <= n; i++) {
		uint8_t op[5] = { 0x41, 0x0e, (uint8_t)(i & 127) | 128,
				  (uint8_t)(i >> 7 & 127) | 128, (uint8_t)(i >> 14) };
		put(&program, op, sizeof(op));
	}
	put_cie(&b, "", 0);
	put_fde(&b, 0, CODE, CODE_END - CODE, program.v, program.n);
	free(program.v);
	return read_table(&b);
}

/* More than one part, and all are found. */
static void test_many_rules(void **state)
{
	(void)state;
	struct us_cfi_table *t = read_rules(200000);
	for (int i = 1; i <= 200000; i += 37)
		assert_int_equal(offset_at(t, CODE + (uint64_t)i), i);
	assert_int_equal(offset_at(t, CODE_END - 1), 200000);
	us_cfi_table_free(t);
}

/* Where there is no room for more, the last one does not hold for all the rest. */
static void test_too_many_rules(void **state)
{
	(void)state;
	struct us_cfi_table *t = read_rules(1100000);
	assert_int_equal(stats.n_left_out, 1);
	assert_int_equal(offset_at(t, CODE + US_CFI_MAX_RULES), US_CFI_MAX_RULES);
	assert_int_equal(offset_at(t, CODE + US_CFI_MAX_RULES + 1), 0);
	assert_int_equal(offset_at(t, CODE_END - 1), 0);
	us_cfi_table_free(t);
}

static void test_lengths(void **state)
{
	(void)state;
	static const uint32_t lengths[] = { 0xfffffff0, 0xfffffffe, 0xffffffff, 100 };
	for (size_t i = 0; i < 4; i++) {
		struct bytes b = { 0 };
		put_cie(&b, "", 0);
		put_fde(&b, 0, 0x1000, 0x100, "", 0);
		put32(&b, lengths[i]);
		put64(&b, UINT64_MAX - 3);
		struct us_cfi_table *t = read_table(&b);
		assert_int_equal(stats.n_bad, 1);
		assert_int_equal(offset_at(t, 0x1000), 8);
		us_cfi_table_free(t);
	}
}

/* Each cut of a good section: what comes before the cut is there. */
static void test_cuts(void **state)
{
	(void)state;
	static const uint8_t program[] = { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6 };
	for (size_t cut = 0; cut < 80; cut++) {
		struct bytes b = { 0 };
		put_cie(&b, "", 0);
		size_t first = b.n;
		put_fde(&b, 0, 0x1000, 0x100, program, sizeof(program));
		put_fde(&b, 0, 0x1100, 0x100, program, sizeof(program));
		size_t second = b.n;
		b.n = cut < b.n ? cut : b.n;
		b.v = realloc(b.v, b.n ? b.n : 1);
		struct us_cfi_table *t = read_table(&b);
		assert_int_equal(offset_at(t, 0x1101), cut >= second ? 16 : 0);
		if (cut < first + 32)
			assert_int_equal(rows_of(t), 0);
		us_cfi_table_free(t);
	}
}

static struct us_cfi_table *read_packed(uint64_t claim, size_t cut)
{
	struct bytes b = { 0 }, z = { 0 };
	Elf64_Chdr h = { .ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1 };
	put_cie(&b, "", 0);
	put_fde(&b, 0, 0x1000, 0x100, "", 0);
	h.ch_size = claim ? claim : b.n;
	uLongf n = compressBound(b.n);
	uint8_t *packed = malloc(n);
	assert_int_equal(compress(packed, &n, b.v, b.n), Z_OK);
	put(&z, &h, sizeof(h));
	put(&z, packed, n - cut);
	free(packed);
	free(b.v);
	return read_flagged(&z, SHF_COMPRESSED);
}

static void test_packed(void **state)
{
	(void)state;
	static const uint64_t claims[] = { 1, 100000000, 1ULL << 40, UINT64_MAX };
	struct us_cfi_table *t = read_packed(0, 0);
	assert_int_equal(offset_at(t, 0x1000), 8);
	us_cfi_table_free(t);
	t = read_packed(0, 3);
	assert_int_equal(rows_of(t), 0);
	assert_int_equal(stats.n_bad, 1);
	us_cfi_table_free(t);
	for (size_t i = 0; i < 4; i++) {
		t = read_packed(claims[i], 0);
		assert_int_equal(rows_of(t), 0);
		assert_int_equal(stats.n_bad, 1);
		us_cfi_table_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults_end_a_program),
		cmocka_unit_test(test_cfa_in_parts),
		cmocka_unit_test(test_remembers_not_for_ever),
		cmocka_unit_test(test_unknown_is_no_rule),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_functions_that_are_no_code),
		cmocka_unit_test(test_dear_cies),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_too_many_rules),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_packed),
	};
	return cmocka_run_group_tests_name("symbol-cfi-hostile", tests, NULL, NULL);
}
