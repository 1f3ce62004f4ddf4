/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are cut or overwritten in place while they are open. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/elf_bytes.h"
#include "symbol/symbol.h"

#include <errno.h>

static const char source[] =
	"static inline __attribute__((always_inline)) int in(int a) { return a * 3; }\n"
	"int leaf(volatile int *p) { *p = in(*p) + in(7); return *p; }\n"
	"void _start(void) { volatile int x = 3; leaf(&x); }\n";

static struct us_symbols *symbols;
static struct us_elf_image *image;
static uint64_t leaf;

static void open_image(void)
{
	struct us_err e;
	size_t n;
	write_file("c.c", source, strlen(source));
	need("cc -g -O2 -static -nostdlib -o c c.c");
	assert_int_equal(us_elf_image_open(in_work_dir("c"), &image, &e), 0);
	assert_int_equal(us_symbols_new(&symbols, &e), 0);
	assert_int_equal(us_symbols_add(symbols, image, 0, &e), 0);
	const struct us_elf_symbol *v = us_elf_image_symbols(image, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, "leaf"))
			leaf = v[i].addr;
	assert_true(leaf);
}

static void must_know(bool lines)
{
	struct us_frame f[4];
	size_t n = us_symbols_lookup(symbols, leaf, false, f, 4);
	assert_true(n > 0);
	assert_string_equal(f[n - 1].func, "leaf");
	assert_int_equal(f[n - 1].line != 0, lines);
}

static void cut_before_lines(void **state)
{
	(void)state;
	open_image();
	uint64_t hash = us_elf_image_code_hash(image);
	assert_true(run("truncate -s 100 c"));
	must_know(false);
	assert_true(us_elf_image_code_hash(image) == hash);
	assert_string_equal(us_symbols_changed(symbols), in_work_dir("c"));
	us_symbols_free(symbols);
}

static void cut_after_lines(void **state)
{
	(void)state;
	open_image();
	must_know(true);
	assert_true(run("truncate -s 100 c"));
	struct us_frame f[4];
	assert_true(us_symbols_lookup(symbols, leaf + 1, false, f, 4) > 0);
	assert_int_not_equal(f[0].line, 0);
	assert_null(us_symbols_changed(symbols));
	us_symbols_free(symbols);
}

/* As long as before, so that each section is still there. */
static void overwritten(void **state)
{
	(void)state;
	open_image();
	assert_true(run("tr a-z b-za <c >other && sleep .02 && cat other >c"));
	must_know(false);
	assert_non_null(us_symbols_changed(symbols));
	us_symbols_free(symbols);
}

static void replaced(void **state)
{
	(void)state;
	open_image();
	assert_true(run("echo >other && mv other c"));
	must_know(true);
	assert_null(us_symbols_changed(symbols));
	us_symbols_free(symbols);
}

static void only_notes(void **state)
{
	struct us_elf_file f;
	struct us_elf_bytes b;
	struct us_err e;
	(void)state;
	need("test -e c.c && cc -g -O2 -static -nostdlib -o c c.c");
	assert_int_equal(us_elf_file_open_notes(in_work_dir("c"), &f, &e), 0);
	assert_int_equal(us_elf_bytes(&f, ".debug_line", 4096, &b), 0);
	assert_true(b.size > 4 && (b.at[0] || b.at[1]));
	assert_true(run("truncate -s 100 c"));
	assert_int_equal(us_elf_bytes(&f, ".text", 4096, &b), -ESTALE);
	assert_true(us_elf_file_changed(&f));
	us_elf_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_before_lines), cmocka_unit_test(cut_after_lines),
		cmocka_unit_test(overwritten),	    cmocka_unit_test(replaced),
		cmocka_unit_test(only_notes),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
