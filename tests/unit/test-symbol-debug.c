/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols and lines that are kept apart from an image, wherever they may lie; and those
 * of another build, which are refused. */
#include "unit.h"
#include "toolchain.h"

#include "symbol/debug_file.h"
#include "symbol/symbol.h"

#include <errno.h>

static const char source[] = "volatile int sink;\n"
			     "static __attribute__((noinline)) int work(int x)\n"
			     "{\n"
			     "\treturn sink + x;\n"
			     "}\n"
			     "int main(void)\n"
			     "{\n"
			     "\tsink = VALUE;\n"
			     "\treturn work(VALUE);\n"
			     "}\n";

static uint64_t work_at; /* address of work() */

static uint64_t address_of(const char *path, const char *name)
{
	struct us_elf_image *i;
	struct us_err e;
	size_t n;
	uint64_t ret = 0;
	if (us_elf_image_open(path, &i, &e) < 0)
		fail_msg("%s", e.msg);
	const struct us_elf_symbol *s = us_elf_image_symbols(i, &n);
	for (size_t k = 0; k < n; k++)
		if (!strcmp(s[k].name, name))
			ret = s[k].addr;
	us_elf_image_close(i);
	return ret;
}

/* app: stripped, with a link to app.debug; other.debug: of another build. */
static void build(const char *more)
{
	write_file("a.c", source, sizeof(source) - 1);
	need("cc -g -O1 %s -DVALUE=1 -o app a.c", more);
	need("cc -g -O1 %s -DVALUE=2 -o other a.c", more);
	work_at = address_of(in_work_dir("app"), "work");
	assert_true(work_at);
	need("for f in app other; do objcopy --only-keep-debug $f $f.debug && "
	     "strip $f; done");
	need("objcopy --add-gnu-debuglink=app.debug app");
}

static struct us_elf_image *open_app(const struct us_debug_dirs *dirs, int code)
{
	struct us_elf_image *i;
	struct us_err e;
	assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
	int r = us_elf_image_find_debug(i, dirs, &e);
	if (r != code)
		fail_msg("%d, not %d: %s", r, code, e.msg);
	return i;
}

/* work() is known by its name and line, through the folder (NULL: without one). */
static void found_in(const char *folder)
{
	const char *const dir[] = { folder ? in_work_dir(folder) : NULL };
	const struct us_debug_dirs dirs = { .dir = dir,
					    .n = folder != NULL,
					    .not_beside = true };
	struct us_elf_image *i = open_app(&dirs, 0);
	struct us_symbols *s;
	struct us_frame f[4];
	struct us_err e;
	assert_non_null(us_elf_image_debug_path(i));
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, 0x1000, &e), 0);
	assert_true(us_symbols_lookup(s, work_at + 0x1000, false, f, 4) >= 1);
	assert_string_equal(f[0].func, "work");
	assert_true(f[0].line >= 2 && f[0].line <= 5);
	assert_non_null(strstr(f[0].file, "a.c"));
	us_symbols_free(s);
}

static void not_found(const char *folder, int code)
{
	const char *const dir[] = { folder ? in_work_dir(folder) : NULL };
	const struct us_debug_dirs dirs = { .dir = dir,
					    .n = folder != NULL,
					    .not_beside = true };
	struct us_elf_image *i = open_app(&dirs, code);
	assert_null(us_elf_image_debug_path(i));
	assert_null(us_elf_image_find(i, work_at));
	us_elf_image_close(i);
}

/* The build-id of app in hexadecimal. */
static const char *id_of_app(void)
{
	static char text[41];
	struct us_elf_image *i;
	struct us_err e;
	size_t len;
	assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
	const uint8_t *id = us_elf_image_build_id(i, &len);
	assert_int_equal(len, 20);
	for (size_t k = 0; k < len; k++)
		sprintf(text + 2 * k, "%02x", id[k]);
	us_elf_image_close(i);
	return text;
}

/* The path that the report warns of, after work() was looked up; NULL: none. */
static const char *unreadable(const char *name, uint32_t *ret_line)
{
	static char path[US_DEBUG_PATH];
	struct us_elf_image *i;
	struct us_symbols *s;
	struct us_frame f[4];
	struct us_err e;
	assert_int_equal(us_elf_image_open(in_work_dir(name), &i, &e), 0);
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, 0, &e), 0);
	assert_null(us_symbols_unreadable(s));
	assert_true(us_symbols_lookup(s, work_at, false, f, 4) >= 1);
	assert_string_equal(f[0].func, "work");
	*ret_line = f[0].line;
	const char *ret = us_symbols_unreadable(s);
	if (ret)
		ret = strcpy(path, ret);
	us_symbols_free(s);
	return ret;
}

/* DWARF in zstd: said, and the names are there; in zlib: read. */
static void compressed(void **state)
{
	(void)state;
	uint32_t line;
	write_file("a.c", source, sizeof(source) - 1);
	need("cc -g -O1 -DVALUE=1 -o app a.c");
	work_at = address_of(in_work_dir("app"), "work");
	need("objcopy --compress-debug-sections=zlib app app.zlib");
	assert_null(unreadable("app.zlib", &line));
	assert_true(line >= 2 && line <= 5);
	need("objcopy --compress-debug-sections=zstd app app.zstd");
	assert_string_equal(unreadable("app.zstd", &line), in_work_dir("app.zstd"));
	assert_int_equal(line, 0);
	need("objcopy --decompress-debug-sections app.zstd app.plain");
	assert_null(unreadable("app.plain", &line));
	assert_true(line >= 2 && line <= 5);
}

/* Lines alone are in the image; inlined calls are where nobody reads them. */
static void split(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct us_elf_image *i;
		struct us_symbols *s;
		struct us_frame f[4];
		struct us_err e;
		write_file("a.c", source, sizeof(source) - 1);
		need("cc -g -O1 -DVALUE=1 %s -o app a.c", on ? "-gsplit-dwarf" : "");
		uint64_t at = address_of(in_work_dir("app"), "work");
		assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
		assert_int_equal(us_symbols_new(&s, &e), 0);
		assert_int_equal(us_symbols_add(s, i, 0, &e), 0);
		assert_null(us_symbols_split(s));
		assert_true(us_symbols_lookup(s, at, false, f, 4) >= 1);
		assert_in_range(f[0].line, 2, 5);
		if (on)
			assert_string_equal(us_symbols_split(s), "app");
		else
			assert_null(us_symbols_split(s));
		us_symbols_free(s);
	}
}

static void found_wherever_it_lies(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	const char *id = id_of_app();
	found_in(NULL); /* beside the image */
	need("mkdir .debug && mv app.debug .debug/");
	found_in(NULL);
	need("mkdir -p ids/.build-id/%.2s && mv .debug/app.debug ids/.build-id/%.2s/"
	     "%s.debug",
	     id, id, id + 2);
	not_found(NULL, -ENOENT);
	found_in("ids");
	need("mkdir -p server/buildid/%s cache/%s", id, id);
	need("cp ids/.build-id/*/*.debug server/buildid/%s/debuginfo", id);
	found_in("server");
	need("cp ids/.build-id/*/*.debug cache/%s/debuginfo", id);
	found_in("cache");
	need("mkdir named && cp ids/.build-id/*/*.debug named/app.debug");
	found_in("named");
	setenv("DEBUGINFOD_CACHE_PATH", in_work_dir("cache"), 1);
	found_in(NULL);
	unsetenv("DEBUGINFOD_CACHE_PATH");
}

static void another_build_is_refused(void **state)
{
	(void)state;
	build("-Wl,--build-id=sha1");
	need("cp other.debug app.debug"); /* beside it, with the right name */
	not_found(NULL, -EBADMSG);
	need("mkdir -p ids/.build-id/%.2s && cp other.debug "
	     "ids/.build-id/%.2s/%s.debug",
	     id_of_app(), id_of_app(), id_of_app() + 2);
	not_found("ids", -EBADMSG);
	write_file("app.debug", "no ELF at all, but long enough", 30);
	need("rm -r ids");
	not_found(NULL, -ENOEXEC);
}

static void checked_by_its_sum(void **state)
{
	(void)state;
	build("-Wl,--build-id=none");
	found_in(NULL);
	need("cp app.debug good.debug && cp other.debug app.debug");
	not_found(NULL, -EBADMSG);
	need("cp good.debug app.debug && printf x >> app.debug");
	not_found(NULL, -EBADMSG);
}

/* What is left in a stripped program: .dynsym, and the rest packed in a section. */
static void a_small_table_in_the_image(void **state)
{
	(void)state;
	const struct us_debug_dirs none = { .not_beside = true };
	struct us_elf_image *i;
	struct us_err e;
	write_file("a.c", source, sizeof(source) - 1);
	need("cc -O1 -rdynamic -DVALUE=1 -o app a.c");
	work_at = address_of(in_work_dir("app"), "work");
	uint64_t main_at = address_of(in_work_dir("app"), "main");
	need("objcopy --only-keep-debug app mini && objcopy -K work mini && xz -k "
	     "mini");
	need("strip app && objcopy --add-section .gnu_debugdata=mini.xz app");
	assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
	assert_null(us_elf_image_find(i, work_at));
	assert_int_equal(us_elf_image_find_debug(i, &none, &e), -ENOENT);
	if (!us_elf_image_find(i, work_at)) {
		print_message("# SKIP: made without liblzma\n");
		us_elf_image_close(i);
		skip();
	}
	assert_string_equal(us_elf_image_find(i, work_at)->name, "work");
	assert_string_equal(us_elf_image_find(i, main_at)->name, "main");
	us_elf_image_close(i);
	/* Damaged: nothing is taken. */
	size_t len;
	uint8_t *bytes = load_file("mini.xz", &len);
	bytes[len / 2] ^= 0x55;
	write_file("mini.xz", bytes, len);
	free(bytes);
	need("objcopy -R .gnu_debugdata app && "
	     "objcopy --add-section .gnu_debugdata=mini.xz app");
	assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
	assert_int_equal(us_elf_image_find_debug(i, &none, &e), -ENOENT);
	assert_null(us_elf_image_find(i, work_at));
	assert_string_equal(us_elf_image_find(i, main_at)->name, "main");
	us_elf_image_close(i);
}

/* Two files share what dwz finds in both, by a third. */
static void common_parts_are_joined(void **state)
{
	(void)state;
	static const char more[] =
		"struct big { int a, b, c; char text[100]; };\n"
		"extern struct big global;\n"
		"struct big global;\n"
		"static inline __attribute__((always_inline)) int inner(struct big "
		"*b)\n"
		"{\n\treturn b->a + b->b * 3 + b->c;\n}\n"
		"int outer(struct big *b)\n{\n\treturn inner(b) * 5;\n}\n"
		"#ifdef ONE\nint main(void) { return outer(&global); }\n"
		"#else\nint main(void) { return outer(&global) + 7; }\n#endif\n";
	const struct us_debug_dirs none = { .not_beside = true };
	struct us_symbols *s;
	struct us_elf_image *i;
	struct us_frame f[8];
	struct us_err e;
	bool found = false;
	write_file("b.c", more, sizeof(more) - 1);
	need("dwz --version > /dev/null 2>&1");
	need("cc -g -O2 -DONE -Wl,--build-id=sha1 -o one b.c && "
	     "cc -g -O2 -Wl,--build-id=sha1 -o two b.c");
	need("dwz -m common.debug one two && readelf -SW one | grep -q debugaltlink");
	assert_int_equal(us_elf_image_open(in_work_dir("one"), &i, &e), 0);
	if (us_elf_image_find_debug(i, &none, &e) < 0)
		fail_msg("%s", e.msg);
	assert_non_null(us_elf_image_dwarf_alt(i));
	uint64_t at = address_of(in_work_dir("one"), "outer");
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, 0, &e), 0);
	for (uint64_t k = 0; k < 8; k++) {
		size_t n = us_symbols_lookup(s, at + k, false, f, 8);
		found |= n == 2 && f[0].inlined && !strcmp(f[0].func, "inner");
		assert_true(n >= 1 && !strcmp(f[n - 1].func, "outer"));
	}
	assert_true(found);
	us_symbols_free(s);
	/* Gone: the function's own name is left; another one: refused. */
	need("mv common.debug other.debug");
	assert_int_equal(us_elf_image_open(in_work_dir("one"), &i, &e), 0);
	assert_int_equal(us_elf_image_find_debug(i, &none, &e), -ENOENT);
	assert_int_equal(us_symbols_new(&s, &e), 0);
	assert_int_equal(us_symbols_add(s, i, 0, &e), 0);
	for (uint64_t k = 0; k < 8; k++)
		assert_true(us_symbols_lookup(s, at + k, false, f, 8) >= 1);
	us_symbols_free(s);
	need("cp two common.debug");
	assert_int_equal(us_elf_image_open(in_work_dir("one"), &i, &e), 0);
	assert_int_equal(us_elf_image_find_debug(i, &none, &e), -EBADMSG);
	us_elf_image_close(i);
}

static void images_are_found_by_their_number(void **state)
{
	(void)state;
	char path[US_DEBUG_PATH];
	build("-Wl,--build-id=sha1");
	const char *dir[] = { in_work_dir("ids") };
	const struct us_debug_dirs dirs = { .dir = dir, .n = 1 };
	struct us_elf_image *i;
	struct us_err e;
	uint8_t id[20];
	size_t len;
	assert_int_equal(us_elf_image_open(in_work_dir("app"), &i, &e), 0);
	memcpy(id, us_elf_image_build_id(i, &len), sizeof(id));
	us_elf_image_close(i);
	assert_false(us_debug_file_by_id(id, 20, &dirs, path));
	need("mkdir -p ids/buildid/%s && cp app ids/buildid/%s/executable", id_of_app(),
	     id_of_app());
	assert_true(us_debug_file_by_id(id, 20, &dirs, path));
	assert_non_null(strstr(path, "/executable"));
	assert_false(us_debug_file_by_id(id, 0, &dirs, path));
	assert_false(us_debug_file_by_id(id, 1, &dirs, path));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_work_dir, leave_work_dir)
	static const struct CMUnitTest tests[] = {
		TEST(found_wherever_it_lies),
		TEST(another_build_is_refused),
		TEST(checked_by_its_sum),
		TEST(a_small_table_in_the_image),
		TEST(common_parts_are_joined),
		TEST(images_are_found_by_their_number),
		TEST(compressed),
		TEST(split),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
