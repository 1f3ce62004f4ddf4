/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a profile: demangled or not, namesakes told apart, and what a focus finds.
 */
#include "unit.h"
#include "toolchain.h"

#include "base/clock.h"
#include "report/report.h"

#include <fcntl.h>
#include <sys/mman.h>

#define MAX_PC 16

struct given {
	us_gva pc[MAX_PC];
	size_t n;
};

/* The addresses of all symbols of that name, lowest first. */
static struct given address_of(const char *elf, const char *symbol)
{
	struct given g = { .n = 0 };
	char line[512];
	assert_true(
		run("nm -n %s | awk '$3 == \"%s\" {print $1}' >found", elf, symbol));
	FILE *f = fopen(in_work_dir("found"), "re");
	assert_non_null(f);
	while (g.n < MAX_PC && fgets(line, sizeof(line), f))
		g.pc[g.n++] = strtoull(line, NULL, 16);
	fclose(f);
	return g;
}

static void append(struct given *to, struct given from)
{
	for (size_t i = 0; i < from.n && to->n < MAX_PC; i++)
		to->pc[to->n++] = from.pc[i];
}

/* One sample at each address. */
static struct us_profile *profile_of(const char *elf, const struct given *g,
				     const struct us_profile_opts *o)
{
	struct us_err e = { 0 };
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100 };
	struct us_module m = { .start = 1,
			       .end = UINT64_MAX,
			       .match = US_MATCH_YES,
			       .path = in_work_dir(elf) };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	assert_int_equal(us_writer_module(w, &m, &e), 0);
	for (size_t i = 0; i < g->n; i++) {
		struct us_sample x = { .t_ns = i,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		assert_int_equal(us_writer_sample(w, &x, &g->pc[i], NULL, 1, &e), 0);
	}
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, o, &p, &e), 0);
	close(fd);
	return p;
}

static bool has(const struct us_profile *p, const char *name)
{
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return true;
	for (size_t i = 0; i < n; i++)
		print_message("# there is %s\n", f[i].name);
	return false;
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void build_c(const char *flags)
{
	write_text("a.c", "int x; static __attribute__((noinline)) void init(void)\n"
			  "{ x++; }\nvoid a(void) { init(); }\n");
	write_text("b.c", "int y; static __attribute__((noinline)) void init(void)\n"
			  "{ y++; }\nvoid b(void) { init(); }\n");
	write_text("main.c",
		   "void a(void); void b(void);\n"
		   "int z; static __attribute__((noinline)) void once(void) { z++; }\n"
		   "int main(void) { once(); a(); b(); return 0; }\n");
	need("gcc -O1 -no-pie %s a.c b.c main.c -o namesakes", flags);
}

/* By DWARF's file of the declaration, or the symbol table's file without DWARF. */
static void check_namesakes(const char *flags)
{
	struct given g;
	build_c(flags);
	g = address_of("namesakes", "init");
	assert_int_equal(g.n, 2);
	append(&g, address_of("namesakes", "once"));
	struct us_profile *p = profile_of("namesakes", &g, NULL);
	assert_true(has(p, "init (a.c)"));
	assert_true(has(p, "init (b.c)"));
	assert_true(has(p, "once"));
	us_profile_free(p);
	/* One of the two alone is not ambiguous. */
	g.n = 1;
	p = profile_of("namesakes", &g, NULL);
	assert_true(has(p, "init"));
	us_profile_free(p);
}

static void test_namesakes_with_dwarf(void **state)
{
	(void)state;
	check_namesakes("-g");
}

static void test_namesakes_without_dwarf(void **state)
{
	(void)state;
	check_namesakes("-g0");
}

static void build_cplusplus(void)
{
	write_text(
		"w.cc",
		"namespace net { struct P { int v; };\n"
		"__attribute__((noinline)) int take(P *p) { return p->v; }\n"
		"__attribute__((noinline)) int take(int v) { return v + 1; } }\n"
		"int main() { net::P p{3}; return net::take(&p) + net::take(3); }\n");
	need("g++ -O1 -g -no-pie w.cc -o w");
}

static void test_demangled_and_focus(void **state)
{
	(void)state;
	static const char *const focus[] = { "^net::take\\(int\\)$",
					     "^_ZN3net4takeEi$" };
	struct us_profile_opts o = { 0 };
	build_cplusplus();
	struct given g = address_of("w", "_ZN3net4takeEi");
	append(&g, address_of("w", "_ZN3net4takeEPNS_1PE"));
	assert_int_equal(g.n, 2);
	o.raw_names = true;
	struct us_profile *p = profile_of("w", &g, &o);
	assert_true(has(p, "_ZN3net4takeEi"));
	us_profile_free(p);
	o.raw_names = false;
	p = profile_of("w", &g, &o);
	if (!has(p, "net::take(int)")) {
		us_profile_free(p);
		print_message("# SKIP: built without libiberty\n");
		skip();
	}
	assert_true(has(p, "net::take(net::P*)"));
	assert_string_equal(us_profile_filters(p), "");
	us_profile_free(p);
	for (size_t i = 0; i < 2; i++) {
		o.focus = focus[i];
		p = profile_of("w", &g, &o);
		assert_int_equal(us_profile_summary(p)->running, 1);
		assert_non_null(strstr(us_profile_filters(p), focus[i]));
		us_profile_free(p);
	}
}

/* What the parameters' types tell apart in Pascal, and the number in OCaml. */
static void test_namesakes_by_their_long_names(void **state)
{
	(void)state;
	write_text("long.S", ".text\n"
			     ".macro f name\n.globl \"\\name\"\n"
			     ".type \"\\name\", @function\n\"\\name\": nop\nnop\n"
			     ".size \"\\name\", 2\n.endm\n"
			     "f U_$$_OVER$LONGINT\nf U_$$_OVER$BYTE\n"
			     "f U_$$_ALONE$BYTE\n"
			     "f camlList__rev_merge_12\nf camlList__rev_merge_13\n");
	need("gcc -c long.S && ld -Ttext=0x1000 -e 0x1000 long.o -o long");
	struct given g = { { 0x1000, 0x1002, 0x1004, 0x1006, 0x1008 }, 5 };
	struct us_profile *p = profile_of("long", &g, NULL);
	assert_true(has(p, "U.OVER(LONGINT)"));
	assert_true(has(p, "U.OVER(BYTE)"));
	assert_true(has(p, "U.ALONE"));
	assert_true(has(p, "List.rev_merge_12"));
	assert_true(has(p, "List.rev_merge_13"));
	us_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_namesakes_with_dwarf),
		cmocka_unit_test(test_namesakes_without_dwarf),
		cmocka_unit_test(test_demangled_and_focus),
		cmocka_unit_test(test_namesakes_by_their_long_names),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
