/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, files, lines and inlined calls, address by address, against addr2line. */
#include "unit.h"
#include "toolchain.h"

#include "base/cleanup.h"
#include "symbol/elf_file.h"
#include "symbol/symbol.h"

#include <unistd.h>

#define MAX_FRAMES 32

/*
 * Where the two differ and both are right:
 * - padding between functions is of none for us, of the one before for addr2line;
 * - a clone ("f.part.0", "f.cold") has its symbol's name with us, the source's there;
 * - without a line we name no file, addr2line that of the file symbol;
 * - binutils 2.40 confuses files of DWARF 5 units whose file 0 is not file 1: the
 *   line is equal, the file is not.
 */
struct tally {
	unsigned same, padding, clone, no_line, file, differ;
};

struct answer {
	char func[256];
	char file[256];
	unsigned line;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool read_line(FILE *f, char *line, size_t size)
{
	if (!fgets(line, (int)size, f))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* addr2line -a prints the address, then two lines a frame.  *next is the line that
 * was read too far. */
static size_t read_answers(FILE *f, char *next, size_t size, struct answer *ret)
{
	size_t n = 0;
	assert_memory_equal(next, "0x", 2);
	while (read_line(f, next, size) && strncmp(next, "0x", 2) != 0) {
		struct answer *a = &ret[n < MAX_FRAMES ? n++ : n - 1];
		snprintf(a->func, sizeof(a->func), "%.255s", next);
		assert_true(read_line(f, next, size));
		char *colon = strrchr(next, ':');
		assert_non_null(colon);
		*colon = '\0';
		a->line = (unsigned)strtoul(colon + 1, NULL, 10);
		snprintf(a->file, sizeof(a->file), "%.255s", base_name(next));
	}
	return n;
}

static bool same_frames(const struct us_frame *f, const struct answer *a, size_t n,
			bool clones, bool files)
{
	for (size_t i = 0; i < n; i++) {
		const char *func = f[i].func ? f[i].func : "??";
		const char *file = f[i].file ? base_name(f[i].file) : "??";
		size_t len = clones ? strcspn(func, ".") : strlen(func);
		if (strncmp(func, a[i].func, len) != 0 || (!clones && a[i].func[len]) ||
		    f[i].line != a[i].line || (files && strcmp(file, a[i].file) != 0))
			return false;
	}
	return true;
}

static void judge(const struct us_frame *f, size_t n, const struct answer *a,
		  size_t n_answer, uint64_t addr, struct tally *t)
{
	if (!n || !f[0].func)
		t->padding++;
	else if (n == n_answer && same_frames(f, a, n, false, true))
		t->same++;
	else if (n == n_answer && same_frames(f, a, n, true, true))
		t->clone++;
	else if (n == 1 && !f[0].file && !a[0].line)
		t->no_line++;
	else if (n == n_answer && same_frames(f, a, n, true, false))
		t->file++;
	else if (t->differ++ < 5)
		print_message(
			"# 0x%llx: %zu frames, %s %s:%u; addr2line %zu, %s %s:%u\n",
			(unsigned long long)addr, n, f[0].func,
			f[0].file ? f[0].file : "?", f[0].line, n_answer, a[0].func,
			a[0].file, a[0].line);
}

static void ask_addr2line(const char *path, const struct us_elf_file *file,
			  uint64_t step)
{
	FILE *f = fopen(in_work_dir("addrs"), "w");
	assert_non_null(f);
	for (size_t i = 0; i < file->n_code; i++)
		for (uint64_t at = file->code[i].start; at < file->code[i].end;
		     at += step)
			fprintf(f, "%llx\n", (unsigned long long)at);
	assert_int_equal(fclose(f), 0);
	assert_true(run("addr2line -ifa -e %s < addrs > answers", path));
}

static struct tally compare(const char *path, uint64_t step)
{
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[MAX_FRAMES];
	struct answer a[MAX_FRAMES] = { 0 };
	struct tally t = { 0 };
	char next[8192] = "";
	assert_int_equal(us_elf_image_open(path, &image, NULL), 0);
	ask_addr2line(path, us_elf_image_file(image), step);
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
	FILE *answers = fopen(in_work_dir("answers"), "r");
	assert_non_null(answers);
	read_line(answers, next, sizeof(next));
	while (!feof(answers)) {
		uint64_t addr = strtoull(next, NULL, 16);
		size_t n_answer = read_answers(answers, next, sizeof(next), a);
		size_t n = us_symbols_lookup(s, addr, false, f, MAX_FRAMES);
		judge(f, n, a, n_answer, addr, &t);
	}
	fclose(answers);
	us_symbols_free(s);
	print_message("# %s: %u same, %u padding, %u clones, %u without line, "
		      "%u other file, %u differ\n",
		      base_name(path), t.same, t.padding, t.clone, t.no_line, t.file,
		      t.differ);
	return t;
}

static const char program[] =
	"#define INLINE static inline __attribute__((always_inline))\n"
	"#define NOINLINE __attribute__((noinline))\n"
	"volatile int sink;\n"
	"INLINE int third(int a) {\n"
	"	return a * sink + 3;\n"
	"}\n"
	"INLINE int second(int a) {\n"
	"	int r = 0;\n"
	"	for (int i = 0; i < a; i++) {\n"
	"		int b = third(i);\n"
	"		r += b + third(b);\n"
	"	}\n"
	"	return r;\n"
	"}\n"
	"NOINLINE int first(int a) {\n"
	"	if (a > sink)\n"
	"		return second(a);\n"
	"	return second(a + 1) + third(a);\n"
	"}\n"
	"NOINLINE int recurse(int n) {\n"
	"	return n ? recurse(n - 1) + first(n) : third(n);\n"
	"}\n"
	"void _start(void) {\n"
	"	sink = recurse(5);\n"
	"	for (;;)\n"
	"		sink++;\n"
	"}\n";

static void c_programs(void **state)
{
	(void)state;
	static const char *const how[] = {
		"-O2 -gdwarf-2",
		"-O2 -gdwarf-3",
		"-O2 -gdwarf-4",
		"-O2 -gdwarf-5",
		"-O1 -gdwarf-4 -gz",
		"-O0 -gdwarf-4",
		"-Os -gdwarf-4 -ffunction-sections",
		"-O2 -gdwarf-4 -gno-as-loc-support",
	};
	write_file("p.c", program, sizeof(program) - 1);
	need("addr2line --version > version && cc -c p.c");
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		assert_true(run("cc -static -nostdlib %s -o p p.c", how[i]));
		struct tally t = compare(in_work_dir("p"), 1);
		assert_true(t.same > 100);
		assert_int_equal(t.differ, 0);
		assert_int_equal(t.file, 0);
	}
	if (!run("cc -m32 -O2 -g -static -nostdlib -o p32 p.c 2> errors")) {
		print_message("# SKIP: no 32-bit compiler here\n");
		return;
	}
	assert_int_equal(compare(in_work_dir("p32"), 1).differ, 0);
}

/* The code of a nested function, and of a lambda, is told of within the abstract copy
 * of the inlined function around it; with types in a section of their own, offsets
 * begin again there. */
static void within_inlined_ones(void **state)
{
	(void)state;
	static const char nested[] =
		"static inline __attribute__((always_inline)) int step(int x) {\n"
		"	return x * 3 + 1;\n"
		"}\n"
		"volatile int sink;\n"
		"static inline __attribute__((always_inline)) void poll(int n) {\n"
		"	__attribute__((noinline)) int inner(int i) {\n"
		"		for (int k = 0; k < i; k++)\n"
		"			sink += step(sink);\n"
		"		return sink;\n"
		"	}\n"
		"	for (int i = 0; i < n; i++)\n"
		"		sink += inner(i);\n"
		"}\n"
		"void _start(void) {\n"
		"	for (;;)\n"
		"		poll(sink);\n"
		"}\n";
	static const char lambda[] =
		"volatile int sink;\n"
		"struct S {\n"
		"	inline __attribute__((always_inline)) int step(int x) {\n"
		"		return x * sink + n;\n"
		"	}\n"
		"	__attribute__((noinline)) int m(int x) {\n"
		"		int r = 0;\n"
		"		for (int k = 0; k < x; k++)\n"
		"			r += step(k);\n"
		"		return r;\n"
		"	}\n"
		"	int n;\n"
		"};\n"
		"template <class F> __attribute__((noinline)) void each(int n, F f) {\n"
		"	for (int i = 0; i < n; i++)\n"
		"		f(i);\n"
		"}\n"
		"inline __attribute__((always_inline)) void poll(int n) {\n"
		"	each(n, [](int i) __attribute__((noinline)) {\n"
		"		S s;\n"
		"		s.n = i;\n"
		"		for (int k = 0; k < i; k++)\n"
		"			sink += s.step(k) + s.m(k);\n"
		"	});\n"
		"}\n"
		"extern \"C\" void _start() {\n"
		"	for (;;)\n"
		"		poll(sink);\n"
		"}\n";
	static const char *const how[] = {
		"cc -gdwarf-4 n.c",
		"cc -gdwarf-5 n.c",
		"g++ -gdwarf-4 l.cc",
		"g++ -gdwarf-5 l.cc",
		"g++ -gdwarf-4 -fdebug-types-section l.cc",
	};
	write_file("n.c", nested, sizeof(nested) - 1);
	write_file("l.cc", lambda, sizeof(lambda) - 1);
	need("addr2line --version > version && g++ -c l.cc");
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		assert_true(run("%s -O2 -static -nostdlib -o n", how[i]));
		struct tally t = compare(in_work_dir("n"), 1);
		assert_true(t.same + t.clone > 50);
		assert_int_equal(t.differ, 0);
		assert_int_equal(t.file, 0);
	}
}

/* Where the image's code begins at 0, that is also the address in DWARF of what the
 * linker dropped. */
static void dropped_functions(void **state)
{
	(void)state;
	static const char source[] =
		"volatile int sink;\n"
		"static inline __attribute__((always_inline)) void add(int n) {\n"
		"	sink += n;\n"
		"}\n"
		"void _start(void) {\n"
		"	for (;;) sink++;\n"
		"}\n"
		"void dropped(void) { add(1); }\n";
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[8];
	write_file("d.c", source, sizeof(source) - 1);
	need("cc -O2 -g -ffunction-sections -static -nostdlib -Wl,--build-id=none "
	     "-Wl,-Ttext=0,--gc-sections -o d d.c");
	assert_int_equal(us_elf_image_open(in_work_dir("d"), &image, NULL), 0);
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
	for (uint64_t at = 0; at < 8; at++) {
		assert_int_equal(us_symbols_lookup(s, at, false, f, 8), 1);
		assert_string_equal(f[0].func, "_start");
		assert_int_equal(f[0].decl_line, 5);
	}
	us_symbols_free(s);
}

/* Their lines, too: those of a sequence in DWARF that lies over the kept one, at 0 or
 * behind it. */
static void dropped_lines(void **state)
{
	(void)state;
	static const char source[] = "volatile int sink;\n"
				     "void dropped(int n) {\n"
				     "	for (int i = 0; i < n; i++) {\n"
				     "		sink = 1;\n"
				     "		sink = 2;\n"
				     "		sink = 3;\n"
				     "		sink = 4;\n"
				     "		sink = 5;\n"
				     "	}\n"
				     "}\n"
				     "__attribute__((noinline)) void second(void) {\n"
				     "	sink = 6;\n"
				     "	sink = 7;\n"
				     "}\n"
				     "void _start(void) {\n"
				     "	sink = 8;\n"
				     "	second();\n"
				     "	for (;;) sink = 9;\n"
				     "}\n";
	static const char *const how[] = { "-gdwarf-4 -Wl,-Ttext=0",
					   "-gdwarf-5 -Wl,-Ttext=0",
					   "-gdwarf-5 -Wl,-Ttext=0x10" };
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[8];
	write_file("d.c", source, sizeof(source) - 1);
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		need("cc -O2 -ffunction-sections -static -nostdlib -Wl,--build-id=none "
		     "-Wl,--gc-sections %s -o d d.c",
		     how[i]);
		assert_int_equal(us_elf_image_open(in_work_dir("d"), &image, NULL), 0);
		assert_int_equal(us_symbols_new(&s, NULL), 0);
		assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
		size_t n;
		const struct us_elf_symbol *v = us_elf_image_symbols(image, &n);
		assert_int_equal(n, 2);
		for (size_t k = 0; k < n; k++)
			for (uint64_t at = 0; at < v[k].size; at++) {
				bool second = !strcmp(v[k].name, "second");
				assert_true(us_symbols_lookup(s, v[k].addr + at, false,
							      f, 8) > 0);
				assert_in_range(f[0].line, second ? 11 : 12,
						second ? 14 : 18);
			}
		us_symbols_free(s);
	}
}

/* In another file, all of whose code may be dropped. */
static void dropped_units(void **state)
{
	(void)state;
	static const char live[] = "volatile int sink;\n"
				   "int used(int);\n"
				   "static inline void add(int n) {\n"
				   "	sink += n;\n"
				   "}\n"
				   "void _start(void) {\n"
				   "	for (;;) add(used(1));\n"
				   "}\n";
	static const char other[] = "extern volatile int sink;\n"
				    "void gone(void) {\n"
				    "	sink = 3;\n"
				    "}\n"
				    "int used(int n) {\n"
				    "	return sink + n;\n"
				    "}\n";
	static const char *const how[] = { "-ffunction-sections -gdwarf-4",
					   "-ffunction-sections -gdwarf-5",
					   "-gdwarf-5 -DALL" };
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[8];
	write_file("live.c", live, sizeof(live) - 1);
	write_file("other.c", other, sizeof(other) - 1);
	write_file("used.c", "int used(int n) { return n; }\n", 30);
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		bool all = strstr(how[i], "ALL");
		need("cc -O2 %s -c live.c && cc -O2 %s %s -c other.c && "
		     "cc -O2 %s -c used.c && ld --gc-sections -Ttext=0 -o d live.o %s",
		     how[i], how[i], all ? "-Dused=gone_too" : "", how[i],
		     all ? "used.o other.o" : "other.o");
		assert_int_equal(us_elf_image_open(in_work_dir("d"), &image, NULL), 0);
		assert_int_equal(us_symbols_new(&s, NULL), 0);
		assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
		size_t n_inlined = 0;
		for (uint64_t at = 0; at < 20; at++) {
			size_t n = us_symbols_lookup(s, at, false, f, 8);
			assert_true(n > 0);
			assert_string_equal(f[n - 1].func, "_start");
			assert_string_equal(f[0].file, "live.c");
			assert_int_equal(f[n - 1].decl_line, 6);
			n_inlined += n > 1;
		}
		assert_true(n_inlined > 0);
		us_symbols_free(s);
	}
}

static void assembly(void **state)
{
	(void)state;
	static const char text[] = "	.text\n"
				   "	.globl _start\n"
				   "_start:\n"
				   "	nop\n"
				   "	call callee\n"
				   "	hlt\n"
				   "callee:\n"
				   "	xor %eax, %eax\n"
				   "	ret\n"
				   "	.section .boot,\"ax\"\n"
				   "boot:	nop\n"
				   "	ret\n";
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[4];
	write_file("a.s", text, sizeof(text) - 1);
	for (int version = 2; version <= 5; version++) {
		need("as -gdwarf-%d -o a.o a.s && "
		     "ld -Ttext=0x100000 --section-start=.boot=0x1000 -o a a.o",
		     version);
		assert_int_equal(us_elf_image_open(in_work_dir("a"), &image, NULL), 0);
		assert_int_equal(us_symbols_new(&s, NULL), 0);
		assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
		assert_int_equal(us_symbols_lookup(s, 0x100009, false, f, 4), 1);
		assert_string_equal(f[0].func, "callee");
		assert_string_equal(f[0].file, "a.s");
		assert_int_equal(f[0].line, 9);
		assert_int_equal(f[0].decl_line, 8);
		assert_int_equal(f[0].start, 0x100007);
		/* A return address: the call's line, not the one it returns to. */
		assert_int_equal(us_symbols_lookup(s, 0x100006, true, f, 4), 1);
		assert_int_equal(f[0].line, 5);
		assert_int_equal(us_symbols_lookup(s, 0x1001, false, f, 4), 1);
		assert_string_equal(f[0].func, "boot");
		assert_int_equal(f[0].line, 12);
		us_symbols_free(s);
	}
}

/* A unit without ranges, whose methods are where no reader looks for them. */
static void no_ranges(void **state)
{
	(void)state;
	static const char text[] = "	.file 1 \"m.pas\"\n"
				   "	.text\n"
				   "	.globl _start\n"
				   "	.type _start, @function\n"
				   "_start:	.loc 1 7\n"
				   "	nop\n"
				   "	.loc 1 8\n"
				   "	hlt\n"
				   "	.size _start, . - _start\n"
				   "	.section .boot,\"ax\"\n"
				   "	.type method, @function\n"
				   "method:	.loc 1 20\n"
				   "	nop\n"
				   "	ret\n"
				   "end:\n"
				   "	.size method, . - method\n"
				   "	.section .debug_info\n"
				   "	.long 2f - 1f\n"
				   "1:	.value 3\n"
				   "	.long .debug_abbrev\n"
				   "	.byte 8\n"
				   "	.uleb128 1\n" /* the unit */
				   "	.long .debug_line\n"
				   "	.uleb128 2\n" /* an interface */
				   "	.uleb128 3\n" /* its method */
				   "	.asciz \"METHOD\"\n"
				   "	.quad method, end\n"
				   "	.byte 0, 0\n"
				   "2:\n"
				   "	.section .debug_abbrev\n"
				   "	.byte 1, 0x11, 1, 0x10, 6, 0, 0\n"
				   "	.byte 2, 0x38, 1, 0, 0\n"
				   "	.byte 3, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 1\n"
				   "	.byte 0, 0, 0\n"
				   "	.section .debug_line\n";
	static const struct {
		uint64_t at;
		const char *func;
		unsigned line;
	} want[] = { { 0x100000, "_start", 7 },
		     { 0x100001, "_start", 8 },
		     { 0x1001, "method", 20 } };
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[4];
	write_file("m.s", text, sizeof(text) - 1);
	need("as -o m.o m.s && "
	     "ld -Ttext=0x100000 --section-start=.boot=0x1000 -o m m.o");
	assert_int_equal(us_elf_image_open(in_work_dir("m"), &image, NULL), 0);
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(us_symbols_lookup(s, want[i].at, false, f, 4), 1);
		assert_string_equal(f[0].func, want[i].func);
		assert_non_null(f[0].file);
		assert_string_equal(base_name(f[0].file), "m.pas");
		assert_int_equal(f[0].line, want[i].line);
	}
	us_symbols_free(s);
}

static void inline_chain(void **state)
{
	(void)state;
	need("addr2line --version > version && "
	     "cc -static -nostdlib -O2 -gdwarf-5 -o p p.c && "
	     "nm p | sed -n 's/ T first$//p' > at");
	size_t len;
	_cleanup_free_ uint8_t *at = load_file("at", &len);
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[4], all[8];
	us_gva first = strtoull((char *)at, NULL, 16);
	assert_int_equal(us_elf_image_open(in_work_dir("p"), &image, NULL), 0);
	size_t size = us_elf_image_find(image, first)->size;
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	const us_gva bias = 0xffffffff80000000;
	assert_int_equal(us_symbols_add(s, image, bias, NULL), 0);
	bool seen = false;
	for (us_gva pc = bias + first; pc < bias + first + size; pc++) {
		size_t n = us_symbols_lookup(s, pc, false, all, 8);
		assert_true(n > 0 && !all[n - 1].inlined);
		assert_string_equal(all[n - 1].func, "first");
		assert_int_equal(all[n - 1].decl_line, 15);
		assert_int_equal(all[0].start, bias + first);
		/* Fewer than there are: the innermost. */
		assert_int_equal(us_symbols_lookup(s, pc, false, f, 1), 1);
		assert_memory_equal(&f[0], &all[0], sizeof(f[0]));
		if (n != 3)
			continue;
		seen = true;
		assert_string_equal(all[0].func, "third");
		assert_string_equal(all[1].func, "second");
		assert_true(all[0].inlined && all[1].inlined);
		assert_int_equal(all[0].line, 5);
		assert_int_equal(all[0].decl_line, 4);
		assert_true(all[1].line == 10 || all[1].line == 11);
		assert_true(all[2].line == 17 || all[2].line == 18);
	}
	assert_true(seen);
	us_symbols_free(s);
}

static void this_program(void **state)
{
	(void)state;
	need("addr2line --version > version");
	char path[4096] = "";
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	struct tally t = compare(path, 7);
	unsigned all = t.same + t.clone + t.no_line + t.file + t.differ;
	assert_true(all > 500);
	assert_true(t.differ * 1000 < all);
	assert_true(t.file * 20 < all);
}

/* The debug build of GNU Mach that Debian ships: 64-bit, DWARF 5, assembly. */
static void gnu_mach(void **state)
{
	(void)state;
	need("apt-get download gnumach-image-1.8-486-dbg > log 2>&1 && "
	     "dpkg -x gnumach*.deb . && gunzip -c boot/gnumach-1.8-486-dbg.gz > mach");
	struct tally t = compare(in_work_dir("mach"), 5);
	assert_true(t.same > 10000);
	assert_int_equal(t.differ, 0);
	assert_int_equal(t.file, 0);
	struct us_elf_image *image;
	struct us_symbols *s;
	struct us_frame f[8];
	assert_int_equal(us_elf_image_open(in_work_dir("mach"), &image, NULL), 0);
	assert_int_equal(us_symbols_new(&s, NULL), 0);
	assert_int_equal(us_symbols_add(s, image, 0, NULL), 0);
	/* Where it waits, and what waits there. */
	assert_int_equal(us_symbols_lookup(s, 0x4105924d, false, f, 8), 1);
	assert_string_equal(f[0].func, "comcngetc");
	assert_string_equal(base_name(f[0].file), "com.c");
	assert_true(f[0].line >= 919 && f[0].line < 935);
	/* Return addresses that Mach prints itself when it panics. */
	assert_int_equal(us_symbols_lookup(s, 0x41051c1c, true, f, 8), 1);
	assert_string_equal(f[0].func, "cngetc");
	assert_string_equal(base_name(f[0].file), "cons.c");
	assert_int_equal(us_symbols_lookup(s, 0x41030275, true, f, 8), 2);
	assert_string_equal(f[0].func, "SoftDebugger");
	assert_true(f[0].inlined);
	assert_string_equal(f[1].func, "Debugger");
	/* Panic() was called here; what follows is inlined from elsewhere. */
	assert_int_equal(us_symbols_lookup(s, 0x41069701, true, f, 8), 1);
	assert_string_equal(f[0].func, "bootstrap_create");
	assert_int_equal(f[0].line, 181);
	assert_int_equal(us_symbols_lookup(s, 0x41069701, false, f, 8), 2);
	assert_string_equal(f[0].func, "bootstrap_exec_compat");
	assert_int_equal(f[1].line, 198);
	us_symbols_free(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_programs),
		cmocka_unit_test(assembly),
		cmocka_unit_test(no_ranges),
		cmocka_unit_test(inline_chain),
		cmocka_unit_test(this_program),
		cmocka_unit_test(gnu_mach),
		cmocka_unit_test(within_inlined_ones),
		cmocka_unit_test(dropped_functions),
		cmocka_unit_test(dropped_lines),
		cmocka_unit_test(dropped_units),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
