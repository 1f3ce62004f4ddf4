/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our reader of line programs against libdw's, and against damaged programs. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/elf_bytes.h"
#include "symbol/line_program.h"

#include <dwarf.h>
#include <errno.h>

static const char source[] =
	"volatile int x;\n"
	"static inline __attribute__((always_inline)) int in(int a) {\n"
	"	return a * 3 + x;\n"
	"}\n"
	"#line 90000 \"far.h\"\n"
	"int far(int n) { for (int i = 0; i < n; i++) x += in(i) ^ in(n); return x; }\n"
	"#line 7 \"c.c\"\n"
	"void _start(void) {\n"
	"	x = 1;\n"
	"	__asm__(\".skip 70000, 0x90\");\n"
	"	x = in(far(x));\n"
	"}\n";

static struct us_elf_file file;
static struct us_elf_bytes bytes;

static bool take_all(void *ctx, uint64_t start, uint64_t end)
{
	(void)ctx;
	(void)start;
	(void)end;
	return true;
}

/* Wherever a sequence has code.  libdw forgets the end of one that has rows there, too,
 * unless it is the last, so between sequences it may have lines that nothing has. */
static unsigned compare_unit(Dwarf_Die *die)
{
	struct us_line_table theirs, ours = { 0 };
	struct us_line_rows rows;
	Dwarf_Attribute a;
	Dwarf_Word at;
	Dwarf_Lines *lines;
	size_t n;
	assert_non_null(dwarf_attr(die, DW_AT_stmt_list, &a));
	assert_int_equal(dwarf_formudata(&a, &at), 0);
	assert_int_equal(dwarf_getsrclines(die, &lines, &n), 0);
	assert_int_equal(us_line_table_build(&theirs, lines, n, NULL, 0, NULL, NULL),
			 0);
	assert_int_equal(us_line_program_read(bytes.at + at, bytes.size - at, 8,
					      take_all, NULL, &rows),
			 0);
	assert_int_equal(us_line_table_add_rows(&ours, rows.v, rows.n), 0);
	for (size_t i = 0; i + 1 < ours.n; i++) {
		const struct us_line_row *o = &ours.row[i], *t;
		assert_true(o[0].addr < o[1].addr);
		if (o->end)
			continue;
		t = us_line_table_find(&theirs, o->addr);
		assert_non_null(t);
		assert_int_equal(o->line, t->line);
		assert_int_equal(o->file, t->file);
		assert_ptr_equal(us_line_table_find(&theirs, o[1].addr - 1), t);
	}
	unsigned n_row = (unsigned)ours.n;
	us_line_table_fini(&ours);
	us_line_table_fini(&theirs);
	free(rows.v);
	return n_row;
}

static unsigned compare(const char *path)
{
	struct us_err e;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf *dw = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_Off at = 0, next;
	size_t head;
	unsigned n = 0;
	assert_non_null(dw);
	assert_int_equal(us_elf_file_open(path, &file, &e), 0);
	assert_int_equal(us_elf_bytes(&file, ".debug_line", 64 << 20, &bytes), 0);
	for (; dwarf_nextcu(dw, at, &next, &head, NULL, NULL, NULL) == 0; at = next) {
		Dwarf_Die die;
		assert_non_null(dwarf_offdie(dw, at + head, &die));
		n += compare_unit(&die);
	}
	dwarf_end(dw);
	close(fd);
	return n;
}

static void as_libdw(void **state)
{
	(void)state;
	write_file("c.c", source, sizeof(source) - 1);
	need("cc -g -c c.c");
	for (unsigned version = 2; version <= 5; version++) {
		assert_true(run("cc -g -gdwarf-%u -O2 "
				"-ffunction-sections -static -nostdlib -o c c.c",
				version));
		assert_true(compare(in_work_dir("c")) > 15);
		us_elf_file_close(&file);
		assert_true(
			run("cc -gdwarf-%u -O2 -static -nostdlib -o c c.c", version));
		assert_true(compare(in_work_dir("c")) > 15);
		us_elf_file_close(&file);
	}
}

static void this_program(void **state)
{
	(void)state;
	assert_true(compare("/proc/self/exe") > 1000);
	us_elf_file_close(&file);
}

/* No damage leads out of the bytes, or to more rows than bytes. */
static void damaged(void **state)
{
	(void)state;
	struct us_line_rows rows;
	need("cc -gdwarf-5 -O2 -static -nostdlib -o c c.c");
	compare(in_work_dir("c"));
	for (size_t n = 0; n <= bytes.size; n++) {
		uint8_t *copy = malloc(n + 1);
		memcpy(copy, bytes.at, n);
		int r = us_line_program_read(copy, n, 8, take_all, NULL, &rows);
		assert_true(n == bytes.size ? r == 0 : r == -EBADMSG);
		free(rows.v);
		for (unsigned bit = 0; n && bit < 8; bit++) {
			uint8_t *whole = malloc(bytes.size);
			memcpy(whole, bytes.at, bytes.size);
			whole[n - 1] ^= (uint8_t)(1 << bit);
			if (us_line_program_read(whole, bytes.size, 8, take_all, NULL,
						 &rows) == 0)
				assert_true(rows.n <= bytes.size);
			free(rows.v);
			free(whole);
		}
		free(copy);
	}
	us_elf_file_close(&file);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_libdw),
		cmocka_unit_test(this_program),
		cmocka_unit_test(damaged),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
