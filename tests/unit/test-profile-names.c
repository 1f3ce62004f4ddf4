/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a profile: demangled or not, namesakes told apart, and what a focus finds.
 */
#include "unit.h"
#include "toolchain.h"

#include "base/clock.h"
#include "profile/compare_tree.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define MAX_PC 300

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

/* One sample at each address; resolution: see profile.h; NULL: instructions. */
static struct us_profile *profile_in(const char *resolution, const char *elf,
				     const struct given *g,
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
	if (resolution)
		assert_int_equal(us_writer_fact(w, "resolution", resolution, &e), 0);
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

static struct us_profile *profile_of(const char *elf, const struct given *g,
				     const struct us_profile_opts *o)
{
	return profile_in(NULL, elf, g, o);
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

/* A user calls a function so: which is it, or why none? */
static void expect_named(const struct us_profile *p, const char *word, const char *want)
{
	const struct us_profile_func *f;
	struct us_err e = { 0 };
	int r = us_profile_named(p, word, &f, &e);
	assert_string_equal(r == 0 ? f->name : e.hint[0] ? e.hint : e.msg, want);
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
	expect_named(p, "once", "once");
	expect_named(p, "init (b.c)", "init (b.c)");
	expect_named(p, "init", "choose one of them: init (a.c), init (b.c)");
	expect_named(p, "onec",
		     "no function called onec is in a stack; did you mean "
		     "once?");
	us_profile_free(p);
	/* One of the two alone is not ambiguous. */
	g.n = 1;
	p = profile_of("namesakes", &g, NULL);
	assert_true(has(p, "init"));
	expect_named(p, "init", "init");
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

/* What has no address has a number, which is an address of a program linked at 0. */
static void test_pseudo_functions_are_not_at_0(void **state)
{
	(void)state;
	write_text("zero.S", ".text\n.globl start\n.type start, @function\n"
			     "start: .fill 32, 1, 0x90\n.size start, 32\n");
	need("gcc -c zero.S && ld -Ttext=0 -e 0 zero.o -o zero");
	struct given g = { { 1, 2, 3, 16 }, 4 };
	struct us_profile *p = profile_in("function", "zero", &g, NULL);
	assert_true(has(p, US_FRAME_UNNAMED));
	assert_true(has(p, US_FRAME_INTERRUPTS));
	assert_true(has(p, US_FRAME_FULL));
	assert_true(has(p, "start"));
	us_profile_free(p);
	p = profile_of("zero", &g, NULL);
	assert_false(has(p, US_FRAME_UNNAMED));
	us_profile_free(p);
}

static void add_sample(struct us_writer *w, uint64_t t, us_gva pc, uint8_t flags)
{
	struct us_sample x = {
		.t_ns = t, .state = US_VCPU_GUEST, .end = US_END_ROOT, .weight = 1
	};
	assert_int_equal(us_writer_sample(w, &x, &pc, &flags, 1, NULL), 0);
}

/* The kernel's decompressor and the firmware have low addresses, as programs have. */
static void test_low_code_of_ring_0_is_no_program(void **state)
{
	(void)state;
	struct us_writer *w;
	struct us_profile *p = NULL;
	struct us_record_stats s = { .elapsed_ns = 100 };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_writer_fact(w, "linux", "6.1", NULL), 0);
	add_sample(w, 1, 0x1000, 0);
	add_sample(w, 2, 0x2000, US_PC_USER);
	add_sample(w, 3, 0x2000, 0); /* the same address later, by the kernel itself */
	assert_int_equal(us_writer_end(w, &s, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	size_t n, users = 0;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (size_t i = 0; i < n; i++) {
		if (!f[i].user && !f[i].kernel)
			continue;
		assert_true(f[i].user != f[i].kernel);
		assert_true(f[i].user ? f[i].module && !strcmp(f[i].module, "[user]")
				      : !f[i].module);
		users += f[i].user;
	}
	assert_int_equal(users, 1);
	us_profile_free(p);
}

/* Before and after as a table: a row for each function, most changed first. */
static struct us_comparison compare(const struct us_profile *before,
				    const struct us_profile *after)
{
	struct us_compare_side a = { { before }, 1 }, b = { { after }, 1 };
	struct us_compare_opts o = { 0 };
	struct us_comparison c;
	struct us_compare_tree t;
	assert_int_equal(us_compare(&a, &b, &o, &c, NULL), 0);
	assert_int_equal(us_compare_trees(&a, &b, &o, &t, NULL), 0);
	assert_int_equal(t.n, c.n + 1); /* these stacks have one function each */
	us_compare_tree_fini(&t);
	for (size_t i = 0; i < c.n; i++)
		print_message("# %s: %g to %g\n", c.row[i].name, c.row[i].before,
			      c.row[i].after);
	return c;
}

static const struct us_compare_row *row_of(const struct us_comparison *c,
					   const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->row[i].name, name))
			return &c->row[i];
	fail_msg("no row of %s", name);
	return NULL;
}

/* `once` ran as often in both: relative to it, nothing has changed. */
static void check_per(const struct us_profile *p, const struct us_profile *q,
		      const char *per, bool ok, const char *words)
{
	struct us_compare_side a = { { p }, 1 }, b = { { q }, 1 };
	struct us_compare_opts o = { .by = US_COMPARE_PER, .per = per };
	struct us_comparison c;
	struct us_err e = { 0 };
	print_message("# --per %s\n", per);
	assert_int_equal(us_compare(&a, &b, &o, &c, &e), ok ? 0 : -EINVAL);
	if (!ok) {
		print_message("# %s; %s\n", e.msg, e.hint);
		assert_non_null(strstr(*e.hint ? e.hint : e.msg, words));
		return;
	}
	const struct us_compare_row *r = row_of(&c, words);
	assert_true(r->before > 0.999 && r->before < 1.001);
	assert_true(r->after > 0.999 && r->after < 1.001);
	us_comparison_fini(&c);
}

static struct given repeated(struct given g, size_t index, size_t times)
{
	struct given x = { .n = 0 };
	for (size_t i = 0; i < times; i++)
		x.pc[x.n++] = g.pc[index];
	return x;
}

/* n samples of each function, whose names are labels in one recording only. */
static void check_compared(const char *flags)
{
	struct given g, once;
	build_c(flags);
	g = address_of("namesakes", "init");
	once = address_of("namesakes", "once");
	assert_true(g.n == 2 && once.n == 1);
	struct given some = repeated(once, 0, 100);
	append(&some, repeated(g, 0, 100));
	append(&some, repeated(g, 1, 1));
	struct us_profile *p = profile_of("namesakes", &some, NULL);
	assert_true(has(p, "init (a.c)") && has(p, "init (b.c)"));
	/* Another build, in another folder, whose functions are elsewhere. */
	need("rm -rf later && mkdir later && for f in *.c; do "
	     "(echo 'void pad(void);'; cat $f) >later/$f; done");
	need("cd later && gcc -O1 -no-pie -Wl,-Ttext-segment=0x600000 %s a.c b.c "
	     "main.c -o ../namesakes",
	     flags);
	g = address_of("namesakes", "init");
	some = repeated(address_of("namesakes", "once"), 0, 100);
	append(&some, repeated(g, 0, 100));
	struct us_profile *q = profile_of("namesakes", &some, NULL);
	assert_true(has(q, "init"));
	struct us_comparison c = compare(p, q);
	assert_int_equal(c.n_changed, 0);
	assert_int_equal(c.n, 3);
	const struct us_compare_row *r = row_of(&c, "init (a.c)");
	assert_true(r->was && r->is);
	r = row_of(&c, "init (b.c)");
	assert_true(r->was && !r->is);
	row_of(&c, "once");
	us_comparison_fini(&c);
	/* One recording shows it as "init (a.c)", the other as "init". */
	check_per(p, q, "init (a.c)", true, "once");
	check_per(q, p, "init (a.c)", true, "init (a.c)");
	check_per(p, q, "once", true, "init (a.c)");
	check_per(p, q, "init", false, "init (a.c), init (b.c)");
	check_per(p, q, "init (b.c)", false, "the same work in each");
	check_per(p, q, "onec", false, "did you mean once?");
	us_profile_free(p);
	us_profile_free(q);
}

static void test_compared_with_dwarf(void **state)
{
	(void)state;
	check_compared("-g");
}

static void test_compared_without_dwarf(void **state)
{
	(void)state;
	check_compared("-g0");
}

/* One side has no files: what it has may be either. */
static void test_compared_with_a_file_without_files(void **state)
{
	(void)state;
	build_c("-g0");
	struct given g = address_of("namesakes", "init");
	struct us_profile *p = profile_of("namesakes", &g, NULL);
	g.n = 1;
	write_text("bare.S", ".text\n.globl init\n.type init, @function\n"
			     "init: nop\n.size init, 1\n");
	need("gcc -c bare.S && ld -Ttext=0x1000 -e 0x1000 bare.o -o bare");
	g.pc[0] = 0x1000;
	struct us_profile *q = profile_of("bare", &g, NULL);
	struct us_comparison c = compare(p, q);
	assert_true(c.n == 1 && !c.n_changed && !strcmp(c.row[0].name, "init"));
	us_comparison_fini(&c);
	us_profile_free(p);
	us_profile_free(q);
}

/* Rust's hashes differ from build to build; types of parameters do not. */
static void test_compared_by_what_builds_share(void **state)
{
	(void)state;
	static const char text[] =
		".text\n.macro f name\n.globl \"\\name\"\n"
		".type \"\\name\", @function\n\"\\name\": nop\nnop\n"
		".size \"\\name\", 2\n.endm\n"
		"f _ZN3app4work17h0123456789abcde%dE\n"
		"f _ZN3app4work17hfedcba987654321%dE\n"
		"f U_$$_OVER$LONGINT\nf U_$$_OVER$BYTE\nf U_$$_ALONE$BYTE\n";
	struct given g = { { 0x1000, 0x1002, 0x1004, 0x1006, 0x1008 }, 5 };
	struct us_profile *p[2];
	for (int i = 0; i < 2; i++) {
		char source[1000];
		snprintf(source, sizeof(source), text, i, i);
		write_text("rust.S", source);
		need("gcc -c rust.S && ld -Ttext=0x1000 -e 0x1000 rust.o -o rust");
		p[i] = profile_of("rust", &g, NULL);
	}
	if (!has(p[0], "U.ALONE") || has(p[0], "_ZN3app4work17h0123456789abcde0E")) {
		print_message("# SKIP: built without libiberty\n");
		us_profile_free(p[0]);
		us_profile_free(p[1]);
		skip();
	}
	struct us_comparison c = compare(p[0], p[1]);
	assert_true(c.n == 4 && !c.n_changed);
	assert_true(row_of(&c, "app::work")->before == 0.4);
	row_of(&c, "U.OVER(LONGINT)");
	row_of(&c, "U.OVER(BYTE)");
	row_of(&c, "U.ALONE");
	us_comparison_fini(&c);
	us_profile_free(p[0]);
	us_profile_free(p[1]);
}

/* The older mangling of rustc, then the newer; of "twice", both builds have two. */
static void test_compared_by_rust_paths(void **state)
{
	(void)state;
	static const char *const names[] = {
		"f _ZN1k7ap_work17h0123456789abcdefE\n"
		"f _ZN1k3run28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE\n"
		"f _ZN1k5twice17h0123456789abcdefE\n"
		"f _ZN1k5twice17hfedcba9876543210E\n",
		"f _RINvCs1_1k7ap_workNCNvB2_7ap_main0EB2_\n"
		"f _RNCNvCs1_1k3run0B3_\n"
		"f _RINvCs1_1k5twicemEB2_\nf _RINvCs1_1k5twiceyEB2_\n",
	};
	struct given g = { { 0x1000, 0x1002, 0x1004, 0x1006 }, 4 };
	struct us_profile *p[2];
	for (int i = 0; i < 2; i++) {
		char source[1000];
		snprintf(source, sizeof(source),
			 ".text\n.macro f name\n.globl \"\\name\"\n"
			 ".type \"\\name\", @function\n\"\\name\": nop\nnop\n"
			 ".size \"\\name\", 2\n.endm\n%s",
			 names[i]);
		write_text("rust.S", source);
		need("gcc -c rust.S && ld -Ttext=0x1000 -e 0x1000 rust.o -o rust");
		p[i] = profile_of("rust", &g, NULL);
	}
	if (has(p[0], "_ZN1k7ap_work17h0123456789abcdefE")) {
		print_message("# SKIP: built without libiberty\n");
		us_profile_free(p[0]);
		us_profile_free(p[1]);
		skip();
	}
	struct us_comparison c = compare(p[0], p[1]);
	assert_true(row_of(&c, "k::ap_work")->after == 0.25);
	assert_true(row_of(&c, "k::run::{{closure}}")->after == 0.25);
	assert_true(row_of(&c, "k::twice")->after == 0);
	assert_int_equal(c.n, 5);
	us_comparison_fini(&c);
	us_profile_free(p[0]);
	us_profile_free(p[1]);
}

/* What DWARF has of a Pascal function gives its name the case of the source. */
static void test_compared_in_any_case(void **state)
{
	static const char *const flags[] = { "-g0", "-g" };
	struct us_profile *p[2];
	(void)state;
	write_text("spin.c", "void Spin(int n) __asm__(\"WORK_$$_SPIN$LONGINT\");\n"
			     "int x; void Spin(int n) { x += n; }\n"
			     "int main(void) { Spin(1); return 0; }\n");
	for (int i = 0; i < 2; i++) {
		need("gcc -O1 -no-pie %s spin.c -o spin", flags[i]);
		struct given g = address_of("spin", "WORK_$$_SPIN$LONGINT");
		p[i] = profile_of("spin", &g, NULL);
	}
	assert_true(has(p[0], "WORK.SPIN"));
	assert_true(has(p[1], "WORK.Spin"));
	struct us_comparison c = compare(p[0], p[1]);
	assert_true(c.n == 1 && !c.n_changed);
	assert_string_equal(c.row[0].name, "WORK.Spin");
	us_comparison_fini(&c);
	us_profile_free(p[0]);
	us_profile_free(p[1]);
}

/* One header, in one unit relative to its directory, in the other with its whole path.
 */
static void test_spellings_of_one_path(void **state)
{
	struct us_profile_opts o = { 0 };
	size_t n;
	(void)state;
	need("mkdir -p unit.a/h unit.b");
	write_text("unit.a/h/step.h",
		   "extern volatile int x;\n"
		   "static inline __attribute__((always_inline)) void step(void)\n"
		   "{ x++; }\n");
	write_text("unit.a/a.c", "#include \"h/step.h\"\n"
				 "volatile int x; void a(void) { step(); }\n");
	write_text("unit.b/b.c",
		   "#include <step.h>\n"
		   "void b(void) { step(); }\n"
		   "void a(void); int main(void) { a(); b(); return 0; }\n");
	need("cd unit.a && gcc -g -O1 -c a.c -o ../a.o");
	need("cd unit.b && gcc -g -O1 -I$PWD/../unit.a/h -c b.c -o ../b.o");
	need("gcc -no-pie a.o b.o -o spellings");
	struct given all = address_of("spellings", "a");
	append(&all, address_of("spellings", "b"));
	struct us_profile *p = profile_of("spellings", &all, &o);
	assert_true(has(p, "step"));
	us_profile_funcs(p, &n);
	assert_int_equal(n, 3);
	us_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings_of_one_path),
		cmocka_unit_test(test_compared_in_any_case),
		cmocka_unit_test(test_namesakes_with_dwarf),
		cmocka_unit_test(test_namesakes_without_dwarf),
		cmocka_unit_test(test_demangled_and_focus),
		cmocka_unit_test(test_namesakes_by_their_long_names),
		cmocka_unit_test(test_pseudo_functions_are_not_at_0),
		cmocka_unit_test(test_low_code_of_ring_0_is_no_program),
		cmocka_unit_test(test_compared_with_dwarf),
		cmocka_unit_test(test_compared_without_dwarf),
		cmocka_unit_test(test_compared_with_a_file_without_files),
		cmocka_unit_test(test_compared_by_what_builds_share),
		cmocka_unit_test(test_compared_by_rust_paths),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
