/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux's ORC tables as rules of the unwinder, in each form that they have had. */
#include "unit.h"

#include "linux-image.h"
#include "linux/orc_elf.h"
#include "toolchain.h"

#include <errno.h>

static const struct us_orc_format formats[] = {
	{ false, false, false }, /* to 6.2 */
	{ false, true, false },	 /* 6.3 */
	{ true, false, false },	 /* 6.4 */
	{ true, false, true },	 /* 7.0 */
};
#define N_FORMAT (sizeof(formats) / sizeof(formats[0]))

static const struct test_form form = {
	US_KALLSYMS_PERCPU, true, 3, 8, false, 0, false
};
static struct test_image image;

struct fixture {
	struct us_linux_image img;
	struct us_kallsyms k;
	struct us_orc orc;
	struct us_orc_format format;
	struct us_cfi_table *table;
};

static int open_image(struct fixture *f)
{
	struct us_err e;
	memset(f, 0, sizeof(*f));
	test_image_open(&image, &f->img);
	assert_int_equal(us_kallsyms_read(&f->img, &f->k, &e), 0);
	return us_orc_locate(&f->img, &f->k, &f->orc, &f->format);
}

static void compile(struct fixture *f)
{
	struct us_cfi_builder *b;
	assert_int_equal(us_cfi_builder_new(8, &b), 0);
	assert_int_equal(us_orc_compile(&f->orc, &f->format, b), 0);
	assert_int_equal(us_cfi_builder_finish(b, &f->table), 0);
	us_cfi_builder_free(b);
}

static void close_image(struct fixture *f)
{
	us_cfi_table_free(f->table);
	us_kallsyms_fini(&f->k);
	us_linux_image_fini(&f->img);
}

static struct us_cfi_row row_at(const struct fixture *f, us_gva at)
{
	struct us_cfi_row row;
	assert_true(us_cfi_table_find(f->table, at, &row));
	return row;
}

static struct us_cfi_saved saved(const struct us_cfi_row *row, uint8_t reg)
{
	for (unsigned i = 0; i < row->rule->n_saved; i++)
		if (row->saved[i].reg == reg)
			return row->saved[i];
	return (struct us_cfi_saved){ .how = US_CFI_BAD };
}

static void check_calls(const struct fixture *f, us_gva at)
{
	struct us_cfi_row row = row_at(f, at);
	assert_int_equal(row.rule->cfa, US_CFI_CFA_REG);
	assert_int_equal(row.rule->cfa_reg, US_X86_RSP);
	assert_int_equal(row.rule->cfa_off, 8);
	assert_int_equal(row.rule->pc, US_CFI_AT_CFA);
	assert_int_equal(row.rule->pc_off, -8);
	assert_int_equal(row.rule->flags, 0);
	assert_int_equal(saved(&row, US_X86_RBP).how, US_CFI_BAD);
	row = row_at(f, at + 2);
	assert_int_equal(row.rule->cfa_off, 16);
	struct us_cfi_saved bp = saved(&row, US_X86_RBP);
	assert_int_equal(bp.how, US_CFI_AT_CFA);
	assert_int_equal(bp.off, -16);
}

/* pt_regs at rsp + 24; what iret takes at rsp + 16; the end; nothing. */
static void check_exceptions(const struct fixture *f, us_gva at)
{
	struct us_cfi_row row = row_at(f, at + 8);
	assert_int_equal(row.rule->cfa_off + row.rule->pc_off, 24 + 128);
	assert_int_equal(row.rule->flags, US_CFI_SIGNAL);
	assert_int_equal(row.rule->n_saved, 16);
	assert_int_equal(row.rule->cfa_off + saved(&row, US_X86_RSP).off, 24 + 152);
	assert_int_equal(row.rule->cfa_off + saved(&row, US_X86_RBP).off, 24 + 32);
	assert_int_equal(row.rule->cfa_off + saved(&row, US_X86_R15).off, 24);
	assert_int_equal(row.rule->cfa_off + saved(&row, US_X86_RDI).off, 24 + 112);
	row = row_at(f, at + 9);
	assert_int_equal(row.rule->cfa_off + row.rule->pc_off, 16);
	assert_int_equal(row.rule->cfa_off + saved(&row, US_X86_RSP).off, 16 + 24);
	assert_int_equal(row.rule->flags, US_CFI_SIGNAL);
	assert_int_equal(saved(&row, US_X86_RBP).how, US_CFI_BAD);
	row = row_at(f, at + 10);
	assert_int_equal(row.rule->pc, US_CFI_LOST);
	assert_false(us_cfi_table_find(f->table, at + 11, &row));
}

static void test_formats(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_FORMAT; i++) {
		struct fixture f;
		test_image_make(&image, &form, &formats[i]);
		assert_int_equal(open_image(&f), 0);
		assert_int_equal(f.orc.ip_at, image.start + image.orc_ip_at);
		assert_int_equal(f.orc.n, image.n_orc);
		assert_memory_equal(&f.format, &formats[i], sizeof(f.format));
		compile(&f);
		check_calls(&f, image.addr[TEST_PERCPU + 20]);
		check_calls(&f, image.addr[150]);
		check_exceptions(&f, image.addr[150]);
		close_image(&f);
	}
}

/* One entry, by its bytes. */
static struct us_cfi_row one(const uint8_t bytes[6], struct us_cfi_table **table)
{
	static const int32_t ip[] = { 0 };
	const struct us_orc o = {
		.ip = (const uint8_t *)ip, .entry = bytes, .ip_at = 0x1000, .n = 1
	};
	const struct us_orc_format f = { true, false, false };
	struct us_cfi_builder *b;
	struct us_cfi_row row = { 0 };
	assert_int_equal(us_cfi_builder_new(8, &b), 0);
	assert_int_equal(us_orc_compile(&o, &f, b), 0);
	assert_int_equal(us_cfi_builder_finish(b, table), 0);
	us_cfi_builder_free(b);
	us_cfi_table_find(*table, 0x1000, &row);
	return row;
}

static void test_bases(void **state)
{
	(void)state;
	struct us_cfi_table *t;
	/* rbp + 16, rbp saved at rbp + 0 */
	struct us_cfi_row row = one((uint8_t[]){ 16, 0, 0, 0, 0x44, 2 }, &t);
	assert_int_equal(row.rule->cfa_reg, US_X86_RBP);
	assert_int_equal(row.rule->cfa_off, 16);
	assert_int_equal(row.rule->base, US_X86_RBP);
	assert_int_equal(saved(&row, US_X86_RBP).how, US_CFI_AT_BASE);
	us_cfi_table_free(t);
	/* [rbp - 8] */
	row = one((uint8_t[]){ 0xf8, 0xff, 0, 0, 0x08, 2 }, &t);
	assert_int_equal(row.rule->cfa, US_CFI_CFA_MEM);
	assert_int_equal(row.rule->cfa_reg, US_X86_RBP);
	assert_int_equal(row.rule->cfa_off, -8);
	assert_int_equal(row.rule->cfa_add, 0);
	us_cfi_table_free(t);
	/* [rsp] + 8 */
	row = one((uint8_t[]){ 8, 0, 0, 0, 0x09, 2 }, &t);
	assert_int_equal(row.rule->cfa, US_CFI_CFA_MEM);
	assert_int_equal(row.rule->cfa_reg, US_X86_RSP);
	assert_int_equal(row.rule->cfa_off, 0);
	assert_int_equal(row.rule->cfa_add, 8);
	us_cfi_table_free(t);
	/* r10, whatever the offset says; r13 */
	row = one((uint8_t[]){ 8, 0, 0, 0, 0x06, 2 }, &t);
	assert_int_equal(row.rule->cfa_reg, US_X86_R10);
	assert_int_equal(row.rule->cfa_off, 0);
	us_cfi_table_free(t);
	row = one((uint8_t[]){ 0, 0, 0, 0, 0x07, 2 }, &t);
	assert_int_equal(row.rule->cfa_reg, US_X86_R13);
	us_cfi_table_free(t);
	/* A base and a type that nobody has defined */
	row = one((uint8_t[]){ 8, 0, 0, 0, 0x0e, 2 }, &t);
	assert_null(row.rule);
	us_cfi_table_free(t);
	row = one((uint8_t[]){ 8, 0, 0, 0, 0x05, 7 }, &t);
	assert_null(row.rule);
	us_cfi_table_free(t);
}

static const void *rule_at(const struct us_cfi_table *t, us_gva at)
{
	struct us_cfi_row row = { 0 };
	us_cfi_table_find(t, at, &row);
	return row.rule;
}

/* A module's tables say nothing of code that is not its own: its freed init code, where
 * another may be by now, or the kernel. */
static void test_bounds(void **state)
{
	(void)state;
	enum { BEFORE, CODE, MORE, BETWEEN, INIT, AFTER, N };
	static const us_gva at[N] = { 0x800, 0x1000, 0x1800, 0x3000, 0x4000, 0x9000 };
	uint8_t entry[N][US_ORC_ENTRY];
	int32_t ip[N];
	struct us_orc o = { .ip = (const uint8_t *)ip,
			    .entry = entry[0],
			    .ip_at = 0x100,
			    .n = N,
			    .only = { { 0x1000, 0x2000 }, { 0x4000, 0x4008 } } };
	for (unsigned k = 0; k < N; k++) {
		memcpy(entry[k], (uint8_t[]){ 16, 0, 0, 0, 0x44, 2 }, US_ORC_ENTRY);
		ip[k] = (int32_t)(at[k] - o.ip_at - 4 * k);
	}
	for (unsigned init = 0; init < 2; init++) {
		const struct us_orc_format f = { true, false, false };
		struct us_cfi_builder *b;
		struct us_cfi_table *t;
		o.only[1].end = init ? 0x4008 : 0;
		assert_int_equal(us_cfi_builder_new(8, &b), 0);
		assert_int_equal(us_orc_compile(&o, &f, b), 0);
		assert_int_equal(us_cfi_builder_finish(b, &t), 0);
		us_cfi_builder_free(b);
		assert_true(rule_at(t, 0x1000) && rule_at(t, 0x1800));
		assert_null(rule_at(t, 0x800));
		assert_null(rule_at(t, 0x2000));
		assert_null(rule_at(t, 0x3000));
		assert_int_equal(rule_at(t, 0x4000) != NULL, init);
		assert_null(rule_at(t, 0x4008));
		assert_null(rule_at(t, 0x9000));
		us_cfi_table_free(t);
	}
}

/* That nobody has called it is not believed of code to which traced functions return;
 * its other rules are. */
static void test_trampolines(void **state)
{
	(void)state;
	static const int32_t ip[] = { 0, 12, 24, 36 };
	static const uint8_t entry[] = { 0, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0x05, 2,
					 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,    1 };
	const struct us_orc_format f = { .types_of_64 = true };
	struct us_orc o = {
		.ip = (const uint8_t *)ip, .entry = entry, .ip_at = 0x1000, .n = 4
	};
	struct us_cfi_builder *b;
	struct us_cfi_table *t;
	struct us_cfi_row row;
	us_orc_blank(&o, "entry_SYSCALL_64", 0x1000, 0x1010);
	us_orc_blank(&o, "return_to_handler", 0x1010, 0x1030);
	for (int i = 0; i < 100; i++) /* as often as a table may have it */
		us_orc_blank(&o, "return_to_handler", 0, 0);
	assert_int_equal(us_cfi_builder_new(8, &b), 0);
	assert_int_equal(us_orc_compile(&o, &f, b), 0);
	assert_int_equal(us_cfi_builder_finish(b, &t), 0);
	us_cfi_builder_free(b);
	assert_true(us_cfi_table_find(t, 0x1000, &row));
	assert_int_equal(row.rule->pc, US_CFI_LOST);
	assert_true(us_cfi_table_find(t, 0x1010, &row));
	assert_int_equal(row.rule->pc, US_CFI_AT_CFA);
	assert_false(us_cfi_table_find(t, 0x1020, &row));
	assert_true(us_cfi_table_find(t, 0x1030, &row));
	assert_int_equal(row.rule->pc, US_CFI_LOST);
	us_cfi_table_free(t);
}

/* Tables of other bytes, and of no functions of this kernel, are not believed. */
static void test_wrong(void **state)
{
	(void)state;
	struct fixture f;
	test_image_make(&image, &form, &formats[2]);
	for (size_t i = 0; i < image.n_orc; i++)
		image.bytes[image.orc_at + 6 * i] += 8;
	assert_int_equal(open_image(&f), -ENOENT);
	close_image(&f);
	test_image_make(&image, &form, NULL);
	assert_int_equal(open_image(&f), -ENOENT);
	close_image(&f);
}

/* vmlinux has the same bytes in sections of their own; links keep them together. */
static void test_elf(void **state)
{
	(void)state;
	static const char source[] = ".text\n.globl _start\n_start: .skip 65536, 0x90\n"
				     ".section .orc_unwind_ip,\"a\"\n.incbin \"ip\"\n"
				     ".section .orc_unwind,\"a\"\n.incbin \"entry\"\n";
	struct us_cfi_table_info info;
	struct us_cfi_table *t;
	struct us_elf_file f;
	struct us_cfi_row row;
	struct us_err e;
	test_image_make(&image, &form, &formats[3]);
	write_file("ip", image.bytes + image.orc_ip_at, 4 * image.n_orc);
	write_file("entry", image.bytes + image.orc_at, US_ORC_ENTRY * image.n_orc);
	write_file("v.s", source, strlen(source));
	need("gcc -nostdlib -static -no-pie -Wl,-Ttext=0x%llx "
	     "-Wl,--section-start=.orc_unwind_ip=0x%llx -o vmlinux v.s 2>log",
	     TEST_START, TEST_START + image.orc_ip_at);
	assert_int_equal(us_elf_file_open(in_work_dir("vmlinux"), &f, &e), 0);
	assert_int_equal(us_orc_elf_read(&f, NULL, 0, &t), 0);
	us_cfi_table_info(t, &info);
	assert_int_equal(info.start, TEST_START);
	assert_true(us_cfi_table_find(t, image.addr[150] + 2, &row));
	assert_int_equal(row.rule->cfa_off, 16);
	us_cfi_table_free(t);
	us_elf_file_close(&f);
	/* Of different lengths: not believed; and what has none. */
	write_file("entry", image.bytes + image.orc_at, US_ORC_ENTRY * 10);
	need("gcc -nostdlib -static -no-pie -o odd v.s 2>log");
	assert_int_equal(us_elf_file_open(in_work_dir("odd"), &f, &e), 0);
	assert_int_equal(us_orc_elf_read(&f, NULL, 0, &t), -ENOENT);
	us_elf_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),	    cmocka_unit_test(test_bases),
		cmocka_unit_test(test_bounds),	    cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_trampolines), cmocka_unit_test(test_elf),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
