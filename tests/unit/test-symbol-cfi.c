/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information of real files: each rule against libdw's. */
#include "unit.h"
#include "toolchain.h"

#include "cfi-oracle.h"

#include <link.h>

/* Compare all of one file.  Nothing may differ; what libdw says by expressions that we
 * do not take on is a few addresses in a million at most. */
static void compare_file(const char *path, size_t at_least)
{
	struct oracle o;
	struct oracle_tally t;
	struct us_cfi_table_info info;
	oracle_open(&o, path);
	oracle_compare_all(&o, &t);
	us_cfi_table_info(o.table, &info);
	print_message("# %s: %zu equal, %zu by expressions; %zu FDEs, %zu rows, "
		      "%zu rules, %.2f bytes a row\n",
		      path, t.same, t.not_said, o.stats.n_fde, info.n_row, info.n_rule,
		      info.n_row ? (double)info.bytes / (double)info.n_row : 0);
	if (t.only_libdw || t.only_ours || t.differ || t.fault)
		fail_msg("%s: %zu only libdw's, %zu only ours, %zu differ, %zu are "
			 "faults for libdw; the first at 0x%llx",
			 path, t.only_libdw, t.only_ours, t.differ, t.fault,
			 (unsigned long long)t.first);
	assert_true(t.same >= at_least);
	assert_true(t.not_said <= t.same / 10000);
	assert_int_equal(o.stats.n_bad, 0);
	assert_int_equal(o.stats.n_left_out, 0);
	oracle_close(&o);
}

/* --- what this very process is made of --- */

static int compare_object(struct dl_phdr_info *info, size_t size, void *count)
{
	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	compare_file(info->dlpi_name, 100);
	++*(size_t *)count;
	return 0;
}

static void test_loaded_objects(void **state)
{
	(void)state;
	size_t n = 0;
	dl_iterate_phdr(compare_object, &n);
	assert_true(n >= 3); /* libc, ld.so and libdw at least */
	compare_file("/proc/self/exe", 100);
}

/* Programs that are not loaded here, where the machine has them. */
static void test_other_files(void **state)
{
	(void)state;
	static const char *const paths[] = { "/bin/busybox",
					     "/lib/x86_64-linux-gnu/libstdc++.so.6",
					     "/lib/x86_64-linux-gnu/libcrypto.so.3" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (access(paths[i], R_OK) == 0)
			compare_file(paths[i], 100);
		else
			print_message("# not here: %s\n", paths[i]);
	}
}

static void test_guests(void **state)
{
	(void)state;
	static const char *const names[] = { "demo", "shares", "shares-nofp",
					     "shares-o0", "switch" };
	const char *root = getenv("US_BUILD_ROOT");
	char path[512];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/tests/guests/%s.elf", root ? root : "",
			 names[i]);
		if (!root || access(path, R_OK) != 0)
			skip();
		compare_file(path, 1000);
	}
}

/* --- what compilers make --- */

static const char source[] =
	"#include <stdarg.h>\n"
	"#include <stdlib.h>\n"
	"#include <string.h>\n"
	"int external(void *p, int n);\n"
	"__attribute__((noinline)) int leaf(int a, int b) { return a * b + 7; }\n"
	"__attribute__((noinline)) int aligned(int n) {\n"
	"	_Alignas(64) char b[256]; memset(b, n, sizeof(b));\n"
	"	return external(b, n) + b[n & 63]; }\n"
	"__attribute__((noinline)) int aligned_alloca(int n) {\n"
	"	_Alignas(64) char b[256]; char *c = __builtin_alloca(n);\n"
	"	memset(b, n, sizeof(b)); return external(b, n) + external(c, n); }\n"
	"__attribute__((noinline)) int many(int a, int b, int c, int d, int e, int f,\n"
	"	int g, int h) { int x = external(&a, b), y = external(&c, d);\n"
	"	int z = external(&e, f), w = external(&g, h);\n"
	"	if (x + y + z + w == 3) return 0;\n"
	"	if (__builtin_expect(x == 99, 0)) abort();\n"
	"	return x * a + y * b + z * c + w * d + e + f + g + h; }\n"
	"__attribute__((noinline)) int va(int n, ...) { va_list l; va_start(l, n);\n"
	"	int s = 0; while (n--) s += va_arg(l, int); va_end(l); return s; }\n"
	"int large(int n) { char b[70000]; return external(b, n) + leaf(n, n); }\n"
	"int external(void *p, int n) { return p ? n : *(volatile int *)p; }\n"
	"int main(int c, char **v) { (void)v; char *p = malloc(10);\n"
	"	return leaf(c, 2) + aligned(c) + aligned_alloca(c) + large(c) +\n"
	"	va(2, c, c) + many(1, 2, 3, 4, 5, 6, 7, 8) + (p != 0); }\n";

static const char *const flags[] = {
	"-O0 -fno-omit-frame-pointer",
	"-O0 -fomit-frame-pointer -g",
	"-O2 -fno-omit-frame-pointer -g",
	"-O2 -fomit-frame-pointer",
	"-Os -fomit-frame-pointer",
	"-O2 -fomit-frame-pointer -fcf-protection=full -Wl,-z,lazy",
	/* .debug_frame for ours, .eh_frame for the C library's start-up code */
	"-O2 -fno-asynchronous-unwind-tables -fno-exceptions -g",
	"-O2 -fno-asynchronous-unwind-tables -fno-exceptions -g -static",
	"-O0 -fno-asynchronous-unwind-tables -fno-exceptions -gdwarf-3",
	"-O2 -fno-asynchronous-unwind-tables -fno-exceptions -gdwarf64 -gdwarf-5",
};

static void compare_compiler(const char *cc)
{
	need("%s --version >/dev/null 2>&1", cc);
	write_file("a.c", source, strlen(source));
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		if (!run("%s -w %s -o a.out a.c 2>/dev/null", cc, flags[i])) {
			print_message("# %s does not take %s\n", cc, flags[i]);
			continue;
		}
		print_message("# %s %s\n", cc, flags[i]);
		compare_file(in_work_dir("a.out"), 100);
	}
}

static void test_gcc(void **state)
{
	(void)state;
	compare_compiler("gcc");
}

static void test_clang(void **state)
{
	(void)state;
	compare_compiler("clang-14");
}

/* Without a C library: for other targets. */
static const char bare_source[] =
	"int external(void *p, int n);\n"
	"__attribute__((noinline)) int leaf(int a, int b) { return a * b + 7; }\n"
	"__attribute__((noinline)) int aligned(int n) {\n"
	"	_Alignas(64) char b[256]; b[n & 3] = 1;\n"
	"	return external(b, n) + b[n & 63]; }\n"
	"int many(int a, int b, int c, int d, int e, int f, int g, int h) {\n"
	"	int x = external(&a, b), y = external(&c, d);\n"
	"	int z = external(&e, f), w = external(&g, h);\n"
	"	if (x + y + z + w == 3) return 0;\n"
	"	return x * a + y * b + z * c + w * d + e + f + g + h; }\n"
	"int large(int n) { char b[70000]; return external(b, n) + leaf(n, n); }\n"
	"__attribute__((noinline))\n"
	"int external(void *p, int n) { return p ? n : *(volatile int *)p; }\n"
	"void _start(void) { many(1, 2, 3, 4, 5, 6, 7, 8); large(aligned(2)); }\n";

static void compare_bare(const char *cc)
{
	static const char *const how[] = { "-O0 -fasynchronous-unwind-tables",
					   "-O2 -fasynchronous-unwind-tables",
					   "-O2 -fno-asynchronous-unwind-tables -g" };
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		need("%s %s -w -ffreestanding -nostdlib -static -fno-pic "
		     "-fno-stack-protector -o a.out a.c 2>/dev/null",
		     cc, how[i]);
		compare_file(in_work_dir("a.out"), 30);
	}
}

static void test_i386(void **state)
{
	(void)state;
	write_file("a.c", bare_source, strlen(bare_source));
	compare_bare("gcc -m32 -no-pie");
}

static void test_arm64(void **state)
{
	(void)state;
	write_file("a.c", bare_source, strlen(bare_source));
	compare_bare("aarch64-linux-gnu-gcc");
}

/* --- special forms --- */

static struct us_cfi_row row_at(const struct oracle *o, uint64_t addr)
{
	struct us_cfi_row row = { 0 };
	assert_true(us_cfi_table_find(o->table, addr, &row));
	return row;
}

static uint64_t address_in(const char *symbol)
{
	unsigned long long addr = 0;
	char what[128];
	snprintf(what, sizeof(what), "nm a.out | grep ' %s$' | cut -d' ' -f1 >addr",
		 symbol);
	assert_true(run("%s", what));
	FILE *f = fopen(in_work_dir("addr"), "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llx", &addr), 1);
	fclose(f);
	return addr;
}

static const char assembly[] =
	"	.text\n"
	"	.globl _start\n"
	"_start:	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	nop; call f; hlt\n"
	"	.cfi_endproc\n"
	"trap:	.cfi_startproc simple\n" /* an interrupt's frame, as pushed */
	"	.cfi_signal_frame\n"
	"	.cfi_def_cfa rsp, 0\n"
	"	.cfi_offset rip, 0\n"
	"	.cfi_offset rsp, 24\n"
	"	nop; iretq\n"
	"	.cfi_endproc\n"
	"f:	.cfi_startproc\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	.cfi_remember_state\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_restore_state\n"
	"	nop\n"
	"	.cfi_register rbp, r11\n"
	"	nop\n"
	"	.cfi_same_value rax\n"
	"	.cfi_undefined rbp\n"
	"	nop\n"
	"	.cfi_endproc\n"
	"part:	.cfi_startproc\n" /* as gcc splits off what is cold */
	"	.cfi_def_cfa_offset 32\n"
	"	nop\n"
	"	.cfi_endproc\n";

static void test_assembly(void **state)
{
	(void)state;
	struct oracle o;
	write_file("a.s", assembly, strlen(assembly));
	need("gcc -nostdlib -static -o a.out a.s");
	compare_file(in_work_dir("a.out"), 8);
	oracle_open(&o, in_work_dir("a.out"));
	assert_int_equal(row_at(&o, address_in("_start")).rule->pc, US_CFI_LOST);
	struct us_cfi_row row = row_at(&o, address_in("trap"));
	assert_int_equal(row.rule->flags, US_CFI_SIGNAL);
	assert_int_equal(row.rule->pc_off, 0);
	assert_int_equal(row.rule->n_saved, 1);
	assert_int_equal(row.saved[0].reg, US_X86_RSP);
	assert_int_equal(row.saved[0].off, 24);
	assert_int_equal(row.start, 0);
	row = row_at(&o, address_in("f") + 4);
	assert_int_equal(row.start, address_in("f"));
	assert_int_equal(row.saved[1].how, US_CFI_IN_REG);
	assert_int_equal(row.saved[1].off, US_X86_R11);
	assert_int_equal(row_at(&o, address_in("part")).start, 0);
	oracle_close(&o);
}

/* The signal trampoline of the C library, and a linkage table. */
static void test_expressions(void **state)
{
	(void)state;
	static const char lazy[] = "#include <stdlib.h>\n"
				   "int main(void) { return rand(); }\n";
	struct oracle o;
	bool some = false;
	write_file("a.c", lazy, strlen(lazy));
	need("gcc -O2 -fcf-protection=none -Wl,-z,lazy -o a.out a.c");
	oracle_open(&o, in_work_dir("a.out"));
	const struct us_elf_section *plt = us_elf_file_section(&o.file, ".plt");
	assert_non_null(plt);
	assert_int_equal(row_at(&o, plt->addr + 16).rule->cfa, US_CFI_CFA_PLT);
	assert_int_equal(row_at(&o, plt->addr + 16).rule->cfa_add, 11);
	oracle_close(&o);
	if (access("/lib/x86_64-linux-gnu/libc.so.6", R_OK) != 0)
		skip();
	oracle_open(&o, "/lib/x86_64-linux-gnu/libc.so.6");
	for (uint64_t at = o.file.code[0].start; at < o.file.code[0].end + (1 << 21);
	     at++) {
		struct us_cfi_row row;
		if (!us_cfi_table_find(o.table, at, &row) ||
		    !(row.rule->flags & US_CFI_SIGNAL))
			continue;
		some = true;
		assert_int_equal(row.rule->cfa, US_CFI_CFA_MEM);
		assert_int_equal(row.rule->pc, US_CFI_AT_BASE);
		assert_int_equal(row.rule->base, US_X86_RSP);
		assert_int_equal(row.rule->n_saved, 16);
	}
	assert_true(some);
	oracle_close(&o);
}

/* As OCaml's runtime leads from a fiber to the stack that runs it: the CFA is 8 bytes
 * behind where the word at [rsp + 56] points to, 24 bytes on.  One more is refused. */
static void test_word_at_a_word(void **state)
{
	(void)state;
	static const char fibers[] =
		"f:	.cfi_startproc\n"
		"	nop\n"
		"	.cfi_escape 0x0f, 8, 0x77, 56, 0x06, 0x23, 24, 0x06, 0x23, 8\n"
		"	nop\n"
		"	.cfi_escape 0x0f, 5, 0x77, 56, 0x06, 0x06, 0x06\n"
		"	nop\n"
		"	.cfi_endproc\n";
	struct oracle o;
	struct us_cfi_row row;
	write_file("a.s", fibers, strlen(fibers));
	need("gcc -nostdlib -static -o a.out a.s");
	oracle_open(&o, in_work_dir("a.out"));
	const struct us_cfi_rule *r = row_at(&o, address_in("f") + 1).rule;
	assert_int_equal(r->cfa, US_CFI_CFA_MEM_MEM);
	assert_int_equal(r->cfa_reg, US_X86_RSP);
	assert_int_equal(r->cfa_off, 56);
	assert_int_equal(r->cfa_next, 24);
	assert_int_equal(r->cfa_add, 8);
	assert_false(us_cfi_table_find(o.table, address_in("f") + 2, &row));
	oracle_close(&o);
}

static size_t count_equal(const struct oracle *a, const struct oracle *b)
{
	struct us_cfi_row x, y;
	size_t n = 0;
	for (size_t i = 0; i < a->file.n_code; i++)
		for (uint64_t at = a->file.code[i].start; at < a->file.code[i].end;
		     at++) {
			bool has = us_cfi_table_find(a->table, at, &x);
			assert_int_equal(has, us_cfi_table_find(b->table, at, &y));
			if (!has)
				continue;
			assert_int_equal(x.rule->cfa_off, y.rule->cfa_off);
			assert_int_equal(x.start, y.start);
			n++;
		}
	return n;
}

/* A stripped program and its debug file give what the whole one gave, though the debug
 * file has .eh_frame in name only. */
static void test_separate_debug_file(void **state)
{
	(void)state;
	struct oracle whole, stripped, debug;
	struct us_cfi_table_info info;
	struct us_err e;
	write_file("a.c", source, strlen(source));
	need("gcc -w -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions -o a.out "
	     "a.c");
	need("objcopy --only-keep-debug a.out a.debug");
	need("objcopy --strip-debug a.out a.stripped");
	oracle_open(&whole, in_work_dir("a.out"));
	oracle_open(&stripped, in_work_dir("a.stripped"));
	oracle_open(&debug, in_work_dir("a.debug"));
	us_cfi_table_info(stripped.table, &info);
	assert_true(info.n_row > 0);
	us_cfi_table_free(stripped.table);
	assert_int_equal(us_elf_cfi_read(&stripped.file, &debug.file, &stripped.table,
					 &stripped.stats, &e),
			 0);
	assert_true(count_equal(&whole, &stripped) > 100);
	oracle_close(&whole);
	oracle_close(&stripped);
	oracle_close(&debug);
}

/* Without section headers the same rules are found, by the segment that points there.
 */
static void test_no_sections(void **state)
{
	(void)state;
	static const char *const modes[] = { "", "-m32" };
	write_file("a.c", bare_source, strlen(bare_source));
	for (size_t i = 0; i < 2; i++) {
		need("gcc %s -w -O2 -ffreestanding -fPIC -shared -nostdlib "
		     "-fasynchronous-unwind-tables -Wl,--eh-frame-hdr a.c -o whole.so",
		     modes[i]);
		size_t len;
		uint8_t *bytes = load_file("whole.so", &len);
		bool wide = bytes[4] == 2;
		memset(bytes + (wide ? 0x28 : 0x20), 0, wide ? 8 : 4); /* e_shoff */
		memset(bytes + (wide ? 0x3c : 0x30), 0, 4); /* e_shnum, e_shstrndx */
		write_file("bare.so", bytes, len);
		free(bytes);
		struct us_elf_file whole, bare;
		struct us_cfi_table *a, *b;
		struct us_elf_cfi_stats stats;
		struct us_err e;
		size_t n = 0;
		assert_int_equal(us_elf_file_open(in_work_dir("whole.so"), &whole, &e),
				 0);
		assert_int_equal(us_elf_file_open(in_work_dir("bare.so"), &bare, &e),
				 0);
		assert_int_equal(bare.n_section, 0);
		assert_int_equal(us_elf_cfi_read(&whole, NULL, &a, NULL, &e), 0);
		assert_int_equal(us_elf_cfi_read(&bare, NULL, &b, &stats, &e), 0);
		assert_int_equal(stats.n_bad, 0);
		for (uint64_t at = 0; at < len; at++) {
			struct us_cfi_row x, y;
			bool found = us_cfi_table_find(a, at, &x);
			assert_int_equal(us_cfi_table_find(b, at, &y), found);
			if (!found)
				continue;
			assert_int_equal(x.start, y.start);
			assert_memory_equal(x.rule, y.rule, sizeof(*x.rule));
			n++;
		}
		assert_true(n > 100);
		us_cfi_table_free(a);
		us_cfi_table_free(b);
		us_elf_file_close(&whole);
		us_elf_file_close(&bare);
	}
}

static void test_compressed(void **state)
{
	(void)state;
	static const char *const how[] = { "zlib-gabi", "zlib-gnu" };
	struct oracle plain, packed;
	write_file("a.c", source, strlen(source));
	need("gcc -w -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions -o a.out "
	     "a.c");
	oracle_open(&plain, in_work_dir("a.out"));
	for (size_t i = 0; i < 2; i++) {
		need("objcopy --compress-debug-sections=%s a.out a.packed", how[i]);
		oracle_open(&packed, in_work_dir("a.packed"));
		assert_true(count_equal(&plain, &packed) > 100);
		oracle_close(&packed);
	}
	oracle_close(&plain);
}

static const char pascal_source[] =
	"program demo;\n"
	"function leaf(n: longint): longint;\n"
	"var i, sum: longint;\n"
	"begin sum := 0; for i := 1 to n do sum := sum + i*i; leaf := sum; end;\n"
	"procedure outer(n: longint);\n"
	"var s: string;\n"
	"begin str(leaf(n), s); writeln(s); end;\n"
	"begin outer(10); end.\n";

/* Free Pascal's tables, which other readers cannot make out. */
static void test_pascal(void **state)
{
	(void)state;
	struct oracle o;
	struct us_cfi_table_info info;
	write_file("demo.pas", pascal_source, strlen(pascal_source));
	need("fpc -O2 -gw2 demo.pas >/dev/null 2>&1 && cp demo a.out");
	oracle_open(&o, in_work_dir("demo"));
	us_cfi_table_info(o.table, &info);
	print_message("# %zu FDEs, %zu bad, %zu of no code\n", o.stats.n_fde,
		      o.stats.n_bad, o.stats.n_outside);
	assert_true(info.untrusted);
	assert_true(o.stats.n_fde > 1000 && o.stats.n_pascal == o.stats.n_fde);
	assert_true(o.stats.n_bad + o.stats.n_outside < o.stats.n_fde / 100);
	/* The function that the program begins with is where the symbol says. */
	uint64_t start = address_in("PASCALMAIN");
	struct us_cfi_row row = row_at(&o, start);
	assert_int_equal(row.start, start);
	assert_int_equal(row.rule->cfa_off, 8);
	assert_true(row.untrusted);
	oracle_close(&o);
}

static const char go_source[] = "package main\n"
				"func main() { println(1) }\n";

/* Go counts the stack in the units that Free Pascal does. */
static void test_go(void **state)
{
	(void)state;
	static const char *const how[] = { "-buildmode=exe", "-ldflags=-buildid=" };
	struct us_cfi_table_info info;
	write_file("main.go", go_source, strlen(go_source));
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		struct oracle o;
		need("GO111MODULE=off GOCACHE=$PWD/cache go build %s -o demo main.go "
		     ">/dev/null 2>&1 && cp demo a.out",
		     how[i]);
		oracle_open(&o, in_work_dir("demo"));
		us_cfi_table_info(o.table, &info);
		assert_true(o.stats.n_fde > 500);
		assert_int_equal(o.stats.n_pascal, 0);
		assert_false(info.untrusted);
		assert_false(row_at(&o, address_in("main.main")).untrusted);
		oracle_close(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loaded_objects),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_guests),
		cmocka_unit_test(test_gcc),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_i386),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_assembly),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_word_at_a_word),
		cmocka_unit_test(test_separate_debug_file),
		cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_pascal),
		cmocka_unit_test(test_go),
	};
	return cmocka_run_group_tests_name("symbol-cfi", tests, enter_work_dir,
					   leave_work_dir);
}
