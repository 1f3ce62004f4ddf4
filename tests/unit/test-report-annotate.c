/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions are found by their names; samples go to the right line and instruction. */
#include "unit.h"
#include "toolchain.h"

#include "base/clock.h"
#include "report/annotate.h"
#include "report/html_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static const char source[] = "int x, y;\n"				  /* 1 */
			     "#define SELF __attribute__((noinline))\n"	  /* 2 */
			     "SELF void work_one(void)\n"		  /* 3 */
			     "{\n"					  /* 4 */
			     "	x += 1;\n"				  /* 5 */
			     "	y += 2;\n"				  /* 6 */
			     "}\n"					  /* 7 */
			     "SELF void work_two(void)\n"		  /* 8 */
			     "{\n"					  /* 9 */
			     "	work_one();\n"				  /* 10 */
			     "	x--;\n"					  /* 11 */
			     "}\n"					  /* 12 */
			     "int main(void) { work_two(); return 0; }\n" /* 13 */
			     "static inline __attribute__((always_inline))\n"
			     "int twice(int v)\n"	    /* 15 */
			     "{\n"			    /* 16 */
			     "	/* of v */\n"		    /* 17 */
			     "	return 2 * v + y;\n"	    /* 18 */
			     "}\n"			    /* 19 */
			     "\n"			    /* 20 */
			     "/* What is between. */\n"	    /* 21 */
			     "\n"			    /* 22 */
			     "SELF int third(int v)\n"	    /* 23 */
			     "{\n"			    /* 24 */
			     "	/* of what is inlined */\n" /* 25 */
			     "	return twice(v) * x;\n"	    /* 26 */
			     "}\n";

/* Functions by the names of other languages. */
static const char others[] = "int z;\n"
			     "#define NAMED(f, name) void f(void) __asm__(name); "
			     "void f(void) { z++; }\n"
			     "NAMED(a, \"_ZN12_GLOBAL__N_14workEi\")\n"
			     "NAMED(b, \"_ZN1SclEi\")\n"
			     "NAMED(c, \"_ZNK1S3getEPFviE\")\n"
			     "NAMED(d, \"_ZZ4hostiENKUlvE_clEv\")\n"
			     "NAMED(e, \"_D3app10__T1fVii1Z1gFiZv\")\n"
			     "NAMED(f, \"_ZN1S4lessEi.cold\")\n"
			     "NAMED(g, \"app_run\")\n"
			     "void h(void) __attribute__((alias(\"app_run\")));\n"
			     "void h(void) __asm__(\"_also_run\");\n";

static us_gva found_number(void)
{
	char line[256] = "";
	FILE *f = fopen(in_work_dir("found"), "re");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	return strtoull(line, NULL, 16);
}

static us_gva address_of(const char *symbol)
{
	assert_true(run("nm prog | awk '$3 == \"%s\" {print $1}' >found", symbol));
	return found_number();
}

/* The address after the call in work_two, as objdump has it. */
static us_gva after_call(void)
{
	assert_true(
		run("objdump -d --no-show-raw-insn prog | awk '/<work_two>:/ {f = 1} "
		    "f && n {print $1; exit} f && /call.*<work_one>/ {n = 1}' "
		    ">found"));
	return found_number();
}

static void build(void)
{
	write_file("work.c", source, strlen(source));
	write_file("others.c", others, strlen(others));
	need("gcc -O1 -c others.c && gcc -O1 -g -no-pie work.c others.o -o prog");
}

/* Two samples at the start of work_one called by work_two, one in work_two.  bits: how
 * wide the recording says that the code was, or NULL. */
static struct us_profile *profile_of_bits(enum us_match match, const char *bits,
					  us_gva *ret_one)
{
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100 };
	struct us_module m = { .start = 1,
			       .end = UINT64_MAX,
			       .match = (uint8_t)match,
			       .path = in_work_dir("prog") };
	us_gva one = address_of("work_one"), two = address_of("work_two");
	us_gva calls[2] = { one, after_call() };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	if (bits)
		assert_int_equal(us_writer_fact(w, US_FACT_CODE_BITS, bits, &e), 0);
	struct us_sample x = { .state = US_VCPU_GUEST,
			       .end = US_END_ROOT,
			       .weight = 1 };
	assert_int_equal(us_writer_sample(w, &x, calls, NULL, 2, &e), 0);
	assert_int_equal(us_writer_sample(w, &x, calls, NULL, 2, &e), 0);
	assert_int_equal(us_writer_sample(w, &x, &two, NULL, 1, &e), 0);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, &e), 0);
	close(fd);
	if (ret_one)
		*ret_one = one;
	return p;
}

static struct us_profile *profile_of(enum us_match match, us_gva *ret_one)
{
	return profile_of_bits(match, NULL, ret_one);
}

static void check_found(const struct us_profile *p, const char *text, size_t n,
			const char *first)
{
	struct us_function *f = NULL;
	struct us_err e = { 0 };
	size_t got = 0;
	int r = us_annotate_find(p, text, &f, &got, &e);
	assert_int_equal(r, n ? 0 : -ENOENT);
	assert_int_equal(got, n);
	if (n)
		assert_string_equal(f[0].raw, first);
	else
		assert_non_null(strstr(e.msg, text));
	free(f);
}

static void test_functions_are_found(void **state)
{
	(void)state;
	char address[100];
	us_gva one;
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, &one);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)one + 1);
	check_found(p, "work_one", 1, "work_one");
	check_found(p, "WORK_ONE", 1, "work_one");
	check_found(p, "work_t", 1, "work_two");
	check_found(p, "^work_(one|two)$", 2, "work_one");
	check_found(p, "work.c:6", 1, "work_one");
	check_found(p, "work.c:11", 1, "work_two");
	check_found(p, address, 1, "work_one");
	snprintf(address, sizeof(address), "%s/work.c:6", strrchr(work_dir, '/') + 1);
	check_found(p, address, 1, "work_one"); /* as if others were elsewhere */
	check_found(p, "work.c:2", 0, NULL);
	check_found(p, "ork.c:6", 0, NULL);
	check_found(p, "no(such", 0, NULL);
	check_found(p, "0xffffffffffffffff", 0, NULL);
	us_profile_free(p);
}

/* By their names without the types of parameters, whatever else is in parentheses. */
static void test_parentheses_in_names(void **state)
{
	(void)state;
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
#ifdef US_HAVE_LIBIBERTY
	check_found(p, "(anonymous namespace)::work", 1, "_ZN12_GLOBAL__N_14workEi");
	check_found(p, "(anonymous namespace)::work(int)", 1,
		    "_ZN12_GLOBAL__N_14workEi");
	check_found(p, "S::operator()", 1, "_ZN1SclEi");
	check_found(p, "S::get", 1, "_ZNK1S3getEPFviE");
	check_found(p, "host(int)::{lambda()#1}::operator()", 1,
		    "_ZZ4hostiENKUlvE_clEv");
	check_found(p, "app.f!(1).g", 1, "_D3app10__T1fVii1Z1gFiZv");
	check_found(p, "S::less", 1, "_ZN1S4lessEi.cold");
#endif
	/* By another name of its address. */
	check_found(p, "_also_run", 1, "app_run");
	us_profile_free(p);
}

/* Whether the compiler gave a line code of its own or not. */
static void test_each_line_of_a_function_finds_it(void **state)
{
	(void)state;
	static const struct {
		unsigned from, to;
		const char *name;
	} lines[] = { { 3, 7, "work_one" },
		      { 8, 12, "work_two" },
		      { 13, 13, "main" },
		      { 15, 18, "third" },
		      { 23, 27, "third" } };
	char text[32];
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (unsigned at = lines[i].from; at <= lines[i].to; at++) {
			snprintf(text, sizeof(text), "work.c:%u", at);
			print_message("# %s\n", text);
			check_found(p, text, 1, lines[i].name);
		}
	us_profile_free(p);
}

static void check_nearest(const struct us_profile *p, const char *text,
			  const char *line)
{
	struct us_function *f = NULL;
	struct us_err e = { 0 };
	size_t n;
	assert_int_equal(us_annotate_find(p, text, &f, &n, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "this line is in no function"));
	assert_non_null(strstr(e.hint, "the nearest line with code is "));
	assert_non_null(strstr(e.hint, line));
}

static void test_lines_of_no_function(void **state)
{
	(void)state;
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
	check_nearest(p, "work.c:1", "work.c:");
	check_nearest(p, "work.c:20", "work.c:1");
	check_nearest(p, "work.c:99", "work.c:27");
	check_nearest(p, "work.c:4294967295", "work.c:27");
	check_found(p, "work.c:0", 0, NULL);
	check_found(p, "work.c:4294967296", 0, NULL);
	us_profile_free(p);
}

/* What the report calls the place of a function is a name for it. */
static void test_rows_of_a_report_are_found(void **state)
{
	(void)state;
	char text[64];
	size_t n, got, some = 0;
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		struct us_function *found = NULL;
		if (!f[i].known)
			continue;
		snprintf(text, sizeof(text), "%s:%u", f[i].path, f[i].line);
		assert_int_equal(us_annotate_find(p, text, &found, &got, NULL), 0);
		assert_int_equal(got, 1);
		assert_string_equal(found->raw, f[i].raw);
		free(found);
		some++;
	}
	assert_int_equal(some, 2);
	us_profile_free(p);
}

static struct us_annotation *annotation_of(const struct us_profile *p,
					   const char *function)
{
	const char *dir = work_dir;
	struct us_annotate_opts o = { .dirs = &dir, .n_dir = 1 };
	struct us_annotation *a = NULL;
	struct us_function *f = NULL;
	struct us_err e = { 0 };
	size_t n;
	assert_int_equal(us_annotate_find(p, function, &f, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(us_annotate(p, f, &o, &a, &e), 0);
	free(f);
	return a;
}

static const struct us_annotated_line *line_of(const struct us_annotation *a,
					       uint32_t line)
{
	for (size_t i = 0; i < a->lines.n; i++)
		if (a->lines.v[i].line == line)
			return &a->lines.v[i];
	fail_msg("there is no line %u", line);
	return &a->lines.v[0];
}

static void test_samples_go_to_lines_and_instructions(void **state)
{
	(void)state;
	build();
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
	struct us_annotation *a = annotation_of(p, "work_one");
	uint64_t end = a->start;
	assert_string_equal(a->name, "work_one");
	assert_int_equal(a->self, 2);
	assert_int_equal(a->insns.v[0].self, 2);
	assert_string_equal(line_of(a, 5)->text, "\tx += 1;");
	for (size_t i = 0; i < a->insns.n; i++) {
		assert_int_equal(a->insns.v[i].i.addr, end);
		end += a->insns.v[i].i.len;
	}
	assert_int_equal(end, a->start + a->size);
	us_annotation_free(a);

	a = annotation_of(p, "work_two");
	assert_int_equal(a->self, 1);
	assert_int_equal(line_of(a, 10)->called, 2);
	for (size_t i = 0; i < a->insns.n; i++)
		if (a->insns.v[i].called && !a->bytes_only)
			assert_memory_equal(a->insns.v[i].i.text, "call", 4);
	us_annotation_free(a);

	a = annotation_of(p, "main"); /* no samples, but code */
	assert_int_equal(a->self, 0);
	assert_true(a->insns.n > 0);
	us_annotation_free(a);
	us_profile_free(p);
}

static void test_without_source_there_are_lines(void **state)
{
	(void)state;
	static const struct us_annotate_opts o = { .n_dir = 0 };
	struct us_annotation *a = NULL;
	struct us_function *f = NULL;
	struct us_err e = { 0 };
	size_t n;
	build();
	assert_true(run("mkdir -p away && mv work.c away"));
	struct us_profile *p = profile_of(US_MATCH_YES, NULL);
	assert_int_equal(us_annotate_find(p, "work_one", &f, &n, &e), 0);
	assert_int_equal(us_annotate(p, f, &o, &a, &e), 0);
	assert_non_null(strstr(a->no_source, "work.c"));
	assert_null(line_of(a, 5)->text);
	us_annotation_free(a);
	char rule[200];
	snprintf(rule, sizeof(rule), "%s=%s/away", work_dir, work_dir);
	const char *rules = rule;
	struct us_annotate_opts moved = { .prefixes = &rules, .n_prefix = 1 };
	assert_int_equal(us_annotate(p, f, &moved, &a, &e), 0);
	assert_null(a->no_source);
	assert_string_equal(line_of(a, 6)->text, "\ty += 2;");
	us_annotation_free(a);
	free(f);
	us_profile_free(p);
}

static void test_another_image_is_refused(void **state)
{
	(void)state;
	build();
	struct us_profile *p = profile_of(US_MATCH_NO, NULL);
	check_found(p, "work_one", 0, NULL);
	us_profile_free(p);
}

/* Samples of work_one, in two address spaces. */
static struct us_profile *profile_of_spaces(us_gva one)
{
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100 };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	for (uint32_t i = 0; i < 3; i++) {
		/* The first program runs twice. */
		struct us_module m = { .start = 1,
				       .end = 1ULL << 47,
				       .match = US_MATCH_YES,
				       .number = i + 1,
				       .root = (i + 1) << 12,
				       .path = in_work_dir(i == 1 ? "second"
								  : "prog") };
		assert_int_equal(us_writer_module(w, &m, NULL), 0);
	}
	struct us_sample x = { .state = US_VCPU_GUEST,
			       .end = US_END_ROOT,
			       .weight = 1 };
	for (unsigned i = 0; i < 13; i++) {
		us_gva pc[2] = { one, i < 3 ? 0x2000 : i < 8 ? 0x1000 : 0x3000 };
		uint8_t flags[2] = { US_PC_USER | US_PC_EXACT, US_PC_SPACE };
		assert_int_equal(us_writer_sample(w, &x, pc, flags, 2, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	return p;
}

static void check_space(const struct us_profile *p, const char *function,
			uint64_t samples, const char *file, const char *text)
{
	struct us_annotation *a = annotation_of(p, function);
	assert_int_equal(a->self, samples);
	assert_string_equal(a->file, file);
	assert_string_equal(line_of(a, 5)->text, text);
	us_annotation_free(a);
}

/* The page has the code of both. */
static void check_page(const struct us_profile *p)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct us_json j = us_json_to(out);
	us_json_object(&j, NULL);
	assert_int_equal(us_html_code(&j, p, NULL), 0);
	us_json_end(&j);
	fclose(out);
	const char *first = strstr(text, "work_one (work.c)");
	const char *second = strstr(text, "work_one (other.c)");
	assert_true(first && second && first < second);
	assert_non_null(strstr(first, "\"self\":10,"));
	assert_non_null(strstr(second, "\"self\":3,"));
	free(text);
}

/* Programs that are linked at one address have their own samples and sources. */
static void test_address_spaces(void **state)
{
	(void)state;
	struct us_function *f = NULL;
	size_t n;
	build();
	need("sed 's/x += 1/x += 3/' work.c >other.c && gcc -O1 -g -no-pie other.c -o "
	     "second");
	us_gva one = address_of("work_one");
	need("nm prog | grep work_ >a && nm second | grep work_ >b && cmp a b");
	struct us_profile *p = profile_of_spaces(one);
	assert_int_equal(us_annotate_find(p, "work_one", &f, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(f[0].module, "prog");
	assert_string_equal(f[1].module, "second");
	uint64_t samples[2];
	assert_int_equal(us_annotate_samples(p, f, 2, samples), 0);
	assert_int_equal(samples[0], 10);
	assert_int_equal(samples[1], 3);
	free(f);
	check_space(p, "work_one (prog)", 10, "work.c", "\tx += 1;");
	check_space(p, "work_one (second)", 3, "other.c", "\tx += 3;");
	check_space(p, "work_one (work.c)", 10, "work.c", "\tx += 1;");
	check_space(p, "work_one (other.c)", 3, "other.c", "\tx += 3;");
	check_page(p);
	us_profile_free(p);
}

/* Only 64-bit code has addresses relative to rip. */
static void check_bits(const char *how, const char *bits, bool want)
{
	struct us_profile *p = profile_of_bits(US_MATCH_YES, bits, NULL);
	struct us_annotation *a = annotation_of(p, "work_one");
	bool rip = false;
	for (size_t i = 0; i < a->insns.n; i++)
		rip |= strstr(a->insns.v[i].i.text, "[rip") != NULL;
	print_message("# %s: %s\n", how, a->insns.v[0].i.text);
	if (!a->bytes_only)
		assert_int_equal(rip, want);
	us_annotation_free(a);
	us_profile_free(p);
}

static void check_is_64_bit(const char *how, bool want)
{
	check_bits(how, NULL, want);
}

/* As 64-bit kernels are given to QEMU's multiboot loader. */
static void test_packed_as_32_bit_file(void **state)
{
	(void)state;
	build();
	check_is_64_bit("as it is", true);
	need("gcc -O1 -g -no-pie -static -nostdlib -Wl,-e,main work.c -o prog64");
	need("objcopy -O elf32-i386 prog64 prog");
	check_is_64_bit("packed", true);
	need("objcopy -g -O elf32-i386 prog64 prog && rm prog64");
	check_is_64_bit("packed, by .eh_frame", true);
	check_bits("packed, and the guest came from 32 bits", "32", true);
	need("objcopy -R .eh_frame prog");
	check_bits("packed, by what ran", "64", true);
	check_bits("packed, and nothing is known", NULL, false);
	need("gcc -m32 -c -O1 -g work.c -o work32.o && "
	     "ld -m elf_i386 -e main work32.o -o prog");
	check_is_64_bit("32-bit", false);
	need("strip -g prog");
	check_is_64_bit("32-bit, by .eh_frame", false);
	check_bits("32-bit, beside 64-bit code", "64", false);
	need("objcopy -R .eh_frame prog");
	check_bits("32-bit, by what ran", "32", false);
}

/* Its loop is on both sides of a multiple of 64 KiB. */
static const char narrow[] = "	.code16\n"		       /* 1 */
			     "	.globl narrow\n"	       /* 2 */
			     "	.type narrow,@function\n"      /* 3 */
			     "narrow:\n"		       /* 4 */
			     "	movw $0x1234,%ax\n"	       /* 5 */
			     "	movw $5000,%cx\n"	       /* 6 */
			     "1:	movw $0x5678,0x6000\n" /* 7 */
			     "	addw $0x1111,%ax\n"	       /* 8 */
			     "	loop 1b\n"		       /* 9 */
			     "	ret\n"			       /* 10 */
			     "	.size narrow,.-narrow\n";

#define NARROW_LOOP 0x1fff6

/* Three samples of line 7.  key: a fact that says how wide it was, or NULL. */
static struct us_profile *profile_of_narrow(const char *key, const char *bits,
					    enum us_unwind_end end)
{
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100 };
	struct us_module m = { .start = 1,
			       .end = UINT64_MAX,
			       .match = US_MATCH_YES,
			       .path = in_work_dir("prog") };
	us_gva pc = NARROW_LOOP;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	if (key)
		assert_int_equal(us_writer_fact(w, key, bits, &e), 0);
	struct us_sample x = { .state = US_VCPU_GUEST,
			       .end = (uint8_t)end,
			       .weight = 3 };
	assert_int_equal(us_writer_sample(w, &x, &pc, NULL, 1, &e), 0);
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, &e), 0);
	close(fd);
	return p;
}

/* The samples are at line 7 in any case. */
static void check_narrow(const char *key, const char *bits, enum us_unwind_end end,
			 bool want)
{
	struct us_profile *p = profile_of_narrow(key, bits, end);
	struct us_annotation *a = annotation_of(p, "narrow");
	bool found = false;
	assert_int_equal(a->self, 3);
	for (size_t i = 0; i < a->lines.n; i++)
		assert_int_equal(a->lines.v[i].self, a->lines.v[i].line == 7 ? 3 : 0);
	assert_int_equal(a->hottest_line, 3);
	for (size_t i = 0; i < a->insns.n; i++) {
		const struct us_annotated_insn *x = &a->insns.v[i];
		found |= x->self == 3 && x->i.addr == NARROW_LOOP &&
			 !strcmp(x->i.text, "mov word ptr [0x6000], 0x5678");
		if (want && !a->bytes_only && !strncmp(x->i.text, "loop", 4))
			assert_string_equal(x->i.text, "loop 0x1fff6");
	}
	if (!a->bytes_only)
		assert_int_equal(found, want);
	us_annotation_free(a);
	us_profile_free(p);
}

static void test_16_bit_code(void **state)
{
	(void)state;
	write_file("narrow.S", narrow, strlen(narrow));
	for (unsigned i = 0; i < 2; i++) {
		need(i ? "gcc -m32 -g -c narrow.S && ld -m elf_i386 -Ttext=0x1fff0 "
			 "-e narrow narrow.o -o prog"
		       : "gcc -g -c narrow.S && ld -Ttext=0x1fff0 -e narrow narrow.o "
			 "-o prog");
		check_narrow(US_FACT_MODE_BITS, "16", US_END_MODE, true);
		check_narrow(NULL, NULL, US_END_MODE, true);
		check_narrow(US_FACT_CODE_BITS, "64", US_END_MODE, true);
		check_narrow(US_FACT_MODE_BITS, "32", US_END_MODE, false);
		check_narrow(US_FACT_MODE_BITS, "16", US_END_NO_RULE, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_found),
		cmocka_unit_test(test_parentheses_in_names),
		cmocka_unit_test(test_each_line_of_a_function_finds_it),
		cmocka_unit_test(test_lines_of_no_function),
		cmocka_unit_test(test_rows_of_a_report_are_found),
		cmocka_unit_test(test_samples_go_to_lines_and_instructions),
		cmocka_unit_test(test_without_source_there_are_lines),
		cmocka_unit_test(test_another_image_is_refused),
		cmocka_unit_test(test_packed_as_32_bit_file),
		cmocka_unit_test(test_16_bit_code),
		cmocka_unit_test(test_address_spaces),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
