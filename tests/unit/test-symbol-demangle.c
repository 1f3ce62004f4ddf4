/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that real compilers made (g++ 12, rustc 1.95, gdc 12, ocamlopt 4.13, fpc 3.2).
 */
#include "unit.h"
#include "toolchain.h"

#include "symbol/demangle.h"

#include <ctype.h>

struct example {
	const char *raw, *name, *distinct; /* distinct NULL: the same */
};

static void check(const struct example *v, size_t n)
{
	char got[US_DEMANGLED_MAX];
	for (size_t i = 0; i < n; i++) {
		const char *want = v[i].distinct ? v[i].distinct : v[i].name;
		const char *name = us_demangle(v[i].raw, US_NAME_SHORT, got,
					       sizeof(got));
		assert_string_equal(name ? name : v[i].raw, v[i].name);
		name = us_demangle(v[i].raw, US_NAME_LONG, got, sizeof(got));
		assert_string_equal(name ? name : v[i].raw, want);
	}
}

#define CHECK(v) check(v, sizeof(v) / sizeof((v)[0]))

static void need_libiberty(void)
{
	char got[16];
	if (us_demangle("_Z1fv", US_NAME_SHORT, got, sizeof(got)))
		return;
	print_message("# SKIP: built without libiberty\n");
	skip();
}

static void test_cplusplus(void **state)
{
	static const struct example v[] = {
		{ "_ZL2cbiPKc", "cb(int, char const*)", NULL },
		{ "_ZN3net4RingIiLi4EE4pushERKi.isra.0",
		  "net::Ring<int, 4>::push(int const&) [clone .isra.0]", NULL },
		{ "_ZNK3net12_GLOBAL__N_16Hidden3getEv.isra.0.cold",
		  "net::(anonymous namespace)::Hidden::get() const "
		  "[clone .isra.0.cold]",
		  NULL },
		{ "_ZNK3net4RingIiLi4EEcvbEv",
		  "net::Ring<int, 4>::operator bool() const", NULL },
		{ "_ZN3net3sumIJilcEEEiDpT_",
		  "int net::sum<int, long, char>(int, long, char)", NULL },
		{ "_ZNSt17_Function_handlerIFiiEZ4mainEUliE_E9_M_invokeERKSt9_Any_"
		  "dataOi",
		  "std::_Function_handler<int (int), main::{lambda(int)#1}>::"
		  "_M_invoke(std::_Any_data const&, int&&)",
		  NULL },
		{ "_Zli3_kmy", "operator\"\" _km(unsigned long long)", NULL },
		{ "_ZN3net6handle", "_ZN3net6handle", NULL },
		{ "main", "main", NULL },
		{ "foo.part.0", "foo.part.0", NULL }, /* C: nothing to be told */
	};
	(void)state;
	need_libiberty();
	CHECK(v);
}

static void test_rust(void **state)
{
	static const struct example v[] = {
		{ "_ZN1w4slow17h1a11d2ce4edcbe0bE", "w::slow",
		  "w::slow::h1a11d2ce4edcbe0b" },
		{ "_ZN45_$LT$w..Sq$LT$f64$GT$$u20$as$u20$w..Shape$GT$"
		  "4area17ha4ef9c0b8aa02cd6E",
		  "<w::Sq<f64> as w::Shape>::area",
		  "<w::Sq<f64> as w::Shape>::area::ha4ef9c0b8aa02cd6" },
		{ "_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$"
		  "17h44b5d49c8f651249E.llvm.173809049460166301",
		  "core::ptr::drop_in_place<alloc::vec::Vec<u8>> "
		  "[clone .llvm.173809049460166301]",
		  "core::ptr::drop_in_place<alloc::vec::Vec<u8>>::h44b5d49c8f651249 "
		  "[clone .llvm.173809049460166301]" },
		{ "_RNvCsbsFkZsjFIc5_1w4slow", "w::slow", "w[85826001e2513947]::slow" },
		{ "_RINvNtCsbsFkZsjFIc5_1w5inner3runNCNvB4_4main0EB4_",
		  "w::inner::run::<w::main::{closure#0}>",
		  "w[85826001e2513947]::inner::run::<w[85826001e2513947]::main::"
		  "{closure#0}>" },
		{ "_RNvXCsbsFkZsjFIc5_1wINtB2_2SqdENtB2_5Shape4area",
		  "<w::Sq<f64> as w::Shape>::area",
		  "<w[85826001e2513947]::Sq<f64> as w[85826001e2513947]::Shape>::"
		  "area" },
	};
	(void)state;
	need_libiberty();
	CHECK(v);
}

static void test_all_builds(void **state)
{
	static const struct {
		const char *name, *same; /* NULL: as it is */
	} v[] = {
		{ "f.constprop.1", "f.constprop" },
		{ "f.isra.0.cold", "f.isra.cold" },
		{ "f.part.12.lto_priv.3", "f.part.lto_priv" },
		{ "net_poll.llvm.7328951806774425260", "net_poll" },
		{ "w::f(int) [clone .constprop.1]", "w::f(int) [clone .constprop]" },
		{ "w::f [clone .llvm.17]", "w::f" },
		{ "w::f [clone .llvm.17.cold]", "w::f [clone .cold]" },
		{ "f", NULL },
		{ "f.__part.3", "f.__part" },
		{ "f.cold", NULL },
		{ "v1.2", NULL }, /* no word of a clone */
		{ "List.map.3", NULL },
		{ "f [clone ]", NULL },
		{ "f [clone ", NULL },
		{ "", NULL },
	};
	char got[64];
	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		bool is = us_name_of_all_builds(v[i].name, got, sizeof(got));
		print_message("# %s\n", v[i].name);
		assert_int_equal(is, v[i].same != NULL);
		if (is)
			assert_string_equal(got, v[i].same);
	}
	assert_false(us_name_of_all_builds("much_too_long.constprop.1", got, 8));
}

static void test_rust_paths(void **state)
{
	static const struct {
		const char *raw, *name, *path; /* NULL: no Rust function */
		bool v0;
	} v[] = {
		{ "_RINvCs1_1k4workyE", "k::work::<u64>", "k::work", true },
		{ "_RNCNvCs1_1k3run0B3_", "k::run::{closure#0}", "k::run::{{closure}}",
		  true },
		{ "_R", "<k::S<u8> as k::T>::f::<fn(u8) -> k::V<u8>>::{closure#1}",
		  "<k::S<u8> as k::T>::f::{{closure}}", true },
		{ "_R", "k::f::<", "k::f", true },
		{ "_R", "k::{closure#", "k::{{closure}}", true },
		{ "_ZN1k4work17h0123456789abcdefE", "k::work", "k::work", false },
		{ "_ZN1k4work17h0123456789abcdeE", "k::work", NULL, false },
		{ "_ZN1k4workEv", "k::work()", NULL, false },
		{ "work", "work", NULL, false },
	};
	char got[64];
	bool v0;
	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		bool is = us_name_rust_path(v[i].raw, v[i].name, got, sizeof(got), &v0);
		print_message("# %s\n", v[i].name);
		assert_int_equal(is, v[i].path != NULL);
		if (is)
			assert_string_equal(got, v[i].path);
		if (is)
			assert_int_equal(v0, v[i].v0);
	}
	assert_false(us_name_rust_path("_R", "much_too_long", got, 8, &v0));
}

static void test_d(void **state)
{
	static const struct example v[] = {
		{ "_Dmain", "D main", NULL },
		{ "_D3app4work1C1fMFNbAyaxAiZi",
		  "app.work.C.f(immutable(char)[], const(int[]))", NULL },
		{ "_D3app4work__T1STiZQf3putMFNaNbNiNfiZv",
		  "app.work.S!(int).S.put(int)", NULL },
		{ "_D3app4mainFZ__T9__lam", "_D3app4mainFZ__T9__lam", NULL },
		{ "_DYNAMIC", "_DYNAMIC", NULL },
	};
	(void)state;
	need_libiberty();
	CHECK(v);
}

static void test_ocaml(void **state)
{
	static const struct example v[] = {
		{ "camlStdlib__List__map_236", "Stdlib.List.map",
		  "Stdlib.List.map_236" },
		{ "camlStdlib__unsafe_really_input_304", "Stdlib.unsafe_really_input",
		  "Stdlib.unsafe_really_input_304" },
		{ "camlStdlib__$5e$5e_444", "Stdlib.^^", "Stdlib.^^_444" },
		{ "camlWork__$2b$2b$2b_87", "Work.+++", "Work.+++_87" },
		{ "camlWork__do$27_91", "Work.do'", "Work.do'_91" },
		{ "camlWork__let$2a_129", "Work.let*", "Work.let*_129" },
		{ "camlWork__Make_100", "Work.Make", "Work.Make_100" },
		{ "camlWork__fun_314", "Work.fun_314", NULL },
		{ "camlWork__entry", "Work.entry", NULL },
		{ "camlDune__exe__Main__run_12", "Dune.exe.Main.run",
		  "Dune.exe.Main.run_12" },
		/* since OCaml 5.1 */
		{ "camlStdlib__List.map_456", "Stdlib.List.map",
		  "Stdlib.List.map_456" },
		{ "camlWork.fn_123", "Work.fn", "Work.fn_123" },
		{ "caml_alloc_small", "caml_alloc_small", NULL },
		{ "camlWork__a$0ab_1", "camlWork__a$0ab_1", NULL },
		{ "camlWork__a$2", "camlWork__a$2", NULL },
		{ "camlWork", "camlWork", NULL },
	};
	(void)state;
	CHECK(v);
}

static void test_pascal(void **state)
{
	static const struct example v[] = {
		{ "P$DEMO$_$TCPU_$__$$_SYSTHREADSWITCH$LONGINT", "TCPU.SYSTHREADSWITCH",
		  "TCPU.SYSTHREADSWITCH(LONGINT)" },
		{ "PROCESS_$$_SYSTHREADSWITCH", "PROCESS.SYSTHREADSWITCH",
		  "PROCESS.SYSTHREADSWITCH()" },
		{ "ARCH_X_$$_BOOT_NOW$LONGINT", "ARCH_X.BOOT_NOW",
		  "ARCH_X.BOOT_NOW(LONGINT)" },
		{ "PROCESS$_$TCPU_$__$$_GET$ANSISTRING$BYTE$$INT64", "PROCESS.TCPU.GET",
		  "PROCESS.TCPU.GET(ANSISTRING, BYTE): INT64" },
		{ "PROCESS$_$TBASE_$_TINNER_$__$$_INNERPROC$POINTER",
		  "PROCESS.TBASE.TINNER.INNERPROC",
		  "PROCESS.TBASE.TINNER.INNERPROC(POINTER)" },
		{ "PROCESS$_$NEST$LONGINT$$LONGINT_$$_INNER2", "PROCESS.NEST.INNER2",
		  "PROCESS.NEST.INNER2()" },
		{ "PROCESS$_$NEST$LONGINT$$LONGINT_INNER$LONGINT_$$_DEEPER$$LONGINT",
		  "PROCESS.NEST.DEEPER", "PROCESS.NEST.DEEPER(): LONGINT" },
		{ "MORE$_$TQ_$_METH$LONGINT_$$_INMETH$LONGINT", "MORE.TQ.METH.INMETH",
		  "MORE.TQ.METH.INMETH(LONGINT)" },
		{ "MORE$_$TREC_UNDER_$__$$_P_Q$BYTE", "MORE.TREC_UNDER.P_Q",
		  "MORE.TREC_UNDER.P_Q(BYTE)" },
		{ "P$DEMO_PROG$_$LOCAL$LONGINT_$$_IN1", "LOCAL.IN1", "LOCAL.IN1()" },
		{ "PROCESS$_$TLIST$1$CRC6824777A_$__$$_ADD$ANSISTRING",
		  "PROCESS.TLIST<CRC6824777A>.ADD",
		  "PROCESS.TLIST<CRC6824777A>.ADD(ANSISTRING)" },
		{ "P$DEMO_PROG_$$_GMAX$1$CRC9F312717$LONGINT$LONGINT$$LONGINT",
		  "GMAX<CRC9F312717>", "GMAX<CRC9F312717>(LONGINT, LONGINT): LONGINT" },
		{ "PROCESS_$$_$starstar$TTHREAD$TTHREAD$$LONGINT",
		  "PROCESS.operator **",
		  "PROCESS.operator **(TTHREAD, TTHREAD): LONGINT" },
		{ "PROCESS_$$_OVER$crc5A7A478E", "PROCESS.OVER",
		  "PROCESS.OVER(crc5A7A478E)" },
		{ "PROCESS_$$_OVER$VARIANT$array_of_const", "PROCESS.OVER",
		  "PROCESS.OVER(VARIANT, array of const)" },
		{ "PROCESS_$$_OVER$formal$BYTE$WORD", "PROCESS.OVER",
		  "PROCESS.OVER(untyped, BYTE, WORD)" },
		{ "PROCESS_$$_init$", "PROCESS.initialization", NULL },
		{ "FINALIZE$_$SYSUTILS", "SYSUTILS.finalization", NULL },
		{ "SYSUTILS$_$TENCODING_$__$$_$create",
		  "SYSUTILS.TENCODING.class constructor", NULL },
		{ "WRPR_$PROCESS_$$_TBASE_$_ITHING_$_3_$_PROCESS$_$TBASE_$__$$_DOIT",
		  "PROCESS.TBASE.DOIT [wrapper]", "PROCESS.TBASE.DOIT() [wrapper]" },
		{ "fpc_ansistr_decr_ref", "fpc_ansistr_decr_ref", NULL },
		{ "DEBUGSTART_$PROCESS", "DEBUGSTART_$PROCESS", NULL },
		{ "PROCESS_$$_$nosuchthing$LONGINT", "PROCESS_$$_$nosuchthing$LONGINT",
		  NULL },
		{ "_$$_", "_$$_", NULL },
		{ "$_$_$$_$", "$_$_$$_$", NULL },
	};
	(void)state;
	CHECK(v);
}

static void test_case_of_source(void **state)
{
	char name[] = "TCPU.SYSTHREADSWITCH(LONGINT)", other[] = "PROCESS.OVER",
	     alone[] = "LOCAL";
	(void)state;
	us_demangled_case(name, "SysThreadSwitch");
	assert_string_equal(name, "TCPU.SysThreadSwitch(LONGINT)");
	us_demangled_case(other, "Over2");
	assert_string_equal(other, "PROCESS.OVER");
	us_demangled_case(alone, "Local");
	assert_string_equal(alone, "Local");
}

/* A name of 180 bytes that stands for one of a million. */
static void test_exploding_names_are_left_alone(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char raw[1000] = "_Z1f1AIiiE", got[US_DEMANGLED_MAX];
	(void)state;
	need_libiberty();
	/* Each B<...> has the one before it twice: S0_ is A<int, int>, S2_ the first.
	 */
	for (unsigned i = 0; i < 16; i++)
		sprintf(raw + strlen(raw), "1BIS%c_S%c_E", digits[2 * i],
			digits[2 * i]);
	assert_null(us_demangle(raw, US_NAME_SHORT, got, sizeof(got)));
	assert_null(us_demangle("_Z1fv", US_NAME_SHORT, got, 3));
	assert_non_null(us_demangle("_Z1fv", US_NAME_SHORT, got, 4));
}

static void test_long_names_are_left_alone(void **state)
{
	static char raw[US_MANGLED_MAX + 100];
	char got[US_DEMANGLED_MAX];
	(void)state;
	memset(raw, 'P', sizeof(raw) - 1);
	memcpy(raw, "_Z1f", 4);
	assert_null(us_demangle(raw, US_NAME_SHORT, got, sizeof(got)));
	raw[1000] = '\0';
	us_demangle(raw, US_NAME_SHORT, got, sizeof(got));
	memset(raw, 'A', sizeof(raw) - 1);
	memcpy(raw, "U_$$_", 5);
	assert_null(us_demangle(raw, US_NAME_SHORT, got, sizeof(got)));
}

/* C++, and Pascal's by its samples: with too little room it must not turn into that. */
static void test_what_does_not_fit_has_no_other_name(void **state)
{
	static const char raw[] = "_ZN37A__$$_ADD$ANSIST_$XL3Aca_$__$RIn1PROCEet";
	static const char name[] =
		"A__$$_ADD$ANSIST_$XL3Aca_$__$RIn1PROC(long double, unsigned short)";
	char got[sizeof(name)];
	(void)state;
	need_libiberty();
	assert_non_null(us_demangle(raw, US_NAME_SHORT, got, sizeof(name)));
	assert_string_equal(got, name);
	for (size_t room = 0; room < sizeof(name); room++)
		assert_null(us_demangle(raw, US_NAME_SHORT, got, room));
}

/* Every Pascal name of a program against the name that its DWARF gives it. */
static void test_pascal_against_dwarf(void **state)
{
	(void)state;
	static const char program[] =
		"program Demo;\n{$mode objfpc}\n"
		"type TCPU = object x: longint; procedure SysThreadSwitch(a: "
		"longint);\n"
		"  function Get(a, b: byte): word; end;\n"
		"  TNode = class constructor Create(n: longint); procedure Walk; end;\n"
		"  TMat = record v: longint; end;\n"
		"procedure TCPU.SysThreadSwitch(a: longint); begin x := a; end;\n"
		"function TCPU.Get(a, b: byte): word; begin Get := a + b; end;\n"
		"constructor TNode.Create(n: longint); begin end;\n"
		"procedure TNode.Walk; procedure Step(d: longint); begin\n"
		"  if d > 0 then Step(d - 1); end; begin Step(3); end;\n"
		"procedure Over(a: longint); overload; begin writeln(a); end;\n"
		"procedure Over(a: string); overload; begin writeln(a); end;\n"
		"var c: TCPU; n: TNode;\n"
		"begin c.SysThreadSwitch(1); writeln(c.Get(1, 2));\n"
		"  n := TNode.Create(1); n.Walk; Over(1); Over('a'); end.\n";
	char line[1024], got[US_DEMANGLED_MAX];
	unsigned n = 0;
	write_file("demo.pas", program, strlen(program));
	need("fpc -O1 -gw3 demo.pas >/dev/null 2>&1");
	/* "ADDRESS NAME" of the symbols, "NAME ADDRESS" of DWARF, joined by address */
	need("nm demo | awk '{print $1, $3}' | sort >symbols");
	need("objdump -Wi demo | awk '/DW_TAG_/ {p = /subprogram/} "
	     "p && /DW_AT_name/ {n = $NF} p && /DW_AT_low_pc/ "
	     "{a = $NF; sub(/^0x/, \"\", a); while (length(a) < 16) a = \"0\" a; "
	     "print a, n}' | sort >dwarf");
	need("join symbols dwarf | grep '_\\$\\$_' >both");
	FILE *f = fopen(in_work_dir("both"), "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char raw[512], name[256];
		assert_int_equal(sscanf(line, "%*s %511s %255s", raw, name), 2);
		assert_non_null(us_demangle(raw, US_NAME_SHORT, got, sizeof(got)));
		us_demangled_case(got, name);
		const char *dot = strrchr(got, '.');
		if (strcmp(dot ? dot + 1 : got, name) != 0)
			print_message("# %s: %s, not %s\n", raw, got, name);
		assert_string_equal(dot ? dot + 1 : got, name);
		n++;
	}
	fclose(f);
	print_message("# %u names\n", n);
	assert_true(n >= 5);
}

struct asked {
	const char *name;
	unsigned n; /* forms that were passed */
};

static bool is_asked(void *ctx, const char *name, bool any_case)
{
	struct asked *a = ctx;
	a->n++;
	return any_case ? !strcasecmp(a->name, name) : !strcmp(a->name, name);
}

static bool is_called(const char *raw, const char *name)
{
	struct asked a = { .name = name };
	return us_name_is(raw, is_asked, &a);
}

/* DWARF has the source's case ("Spin"), and reports tell overloads apart by types. */
static void test_each_name_that_is_shown(void **state)
{
	static const char over[] = "WORK_$$_OVER$INT64";
	struct asked none = { .name = "nothing" };
	(void)state;
	assert_true(is_called(over, over));
	assert_true(is_called(over, "WORK.OVER"));
	assert_true(is_called(over, "WORK.Over"));
	assert_true(is_called(over, "WORK.OVER(INT64)"));
	assert_true(is_called(over, "WORK.Over(INT64)"));
	assert_false(is_called(over, "WORK.OVER(LONGINT)"));
	assert_false(is_called(over, "work_$$_over$int64"));
	assert_true(is_called("camlK__map_236", "K.map_236"));
	assert_false(is_called("camlK__map_236", "K.Map"));
	assert_false(is_called("main", "Main"));
	assert_false(us_name_is("main", is_asked, &none));
	assert_int_equal(none.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_all_builds),
		cmocka_unit_test(test_rust_paths),
		cmocka_unit_test(test_ocaml),
		cmocka_unit_test(test_pascal),
		cmocka_unit_test(test_case_of_source),
		cmocka_unit_test(test_each_name_that_is_shown),
		cmocka_unit_test(test_exploding_names_are_left_alone),
		cmocka_unit_test(test_long_names_are_left_alone),
		cmocka_unit_test(test_what_does_not_fit_has_no_other_name),
		cmocka_unit_test(test_pascal_against_dwarf),
	};
	return cmocka_run_group_tests(tests, enter_work_dir, leave_work_dir);
}
