/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack that is taken for what is called, and given back by a return that no load of
 * the stack pointer was seen before: x86's leave. */
#include "tracked-x86.h"

#include "trace/plugin/arch.h"

/* main has called F. */
static struct machine *start_in_f(void **state)
{
	struct machine *m = *state;
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	call(m, MAIN, H, 0x8000);
	enter(m, H, 2);
	call(m, H, F, 0x7f00);
	enter(m, F, 2);
	return m;
}

/* F calls G on another stack, and is on that still. */
static void call_on_another(struct machine *m)
{
	struct us_track_site s = { .in = &m->f[F] };
	us_track_switch(&m->t, &s, 0);
	call(m, F, G, 0x17ff8);
	enter(m, G, 2);
	ret(m, G, 0x17ff8);
	m->insns++;
}

static void given_back_by_a_frame(void **state)
{
	struct machine *m = start_in_f(state);
	for (unsigned i = 0; i < 3; i++) {
		call_on_another(m);
		ret(m, F, 0x7f00); /* leave; ret */
		m->insns += 2;
		expect_path(m, "1000;4000");
		assert_int_equal(m->vcpu.unmatched, 0);
		call(m, H, F, 0x7f00);
		enter(m, F, 2);
		expect_path(m, "1000;4000;2000");
	}
	/* Farther out, over H. */
	call_on_another(m);
	ret(m, F, 0x8000);
	m->insns += 2;
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.unmatched, 0);
}

/* No call's return address lies there: it is a jump, as a retpoline's. */
static void a_jump_by_a_return(void **state)
{
	struct machine *m = start_in_f(state);
	call_on_another(m);
	ret(m, F, 0x7f80);
	m->insns += 2;
	assert_int_equal(m->vcpu.unmatched, 1);
	expect_path(m, "2000");
	/* And where it could be the same stack, it is. */
	ret(m, F, 0x17ff0);
	m->insns += 2;
	assert_int_equal(m->vcpu.unmatched, 2);
	expect_path(m, "2000");
}

static bool loads(const uint8_t *code, size_t n)
{
	struct us_flow_insn f;
	us_plugin_arch_find("x86_64")->flow(code, n, 0x1000, &f);
	return f.loads_stack;
}
#define LOADS(...)                                                                     \
	loads((const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

/* Of either width: which it is, the plugin does not know. */
static void stack_pointers_are_loaded(void **state)
{
	(void)state;
	assert_true(LOADS(0x48, 0x89, 0xf4));		   /* mov rsi, rsp */
	assert_true(LOADS(0x48, 0x8b, 0x26));		   /* mov (rsi), rsp */
	assert_true(LOADS(0x49, 0x87, 0xe7));		   /* xchg rsp, r15 */
	assert_true(LOADS(0x48, 0x94));			   /* xchg rax, rsp */
	assert_true(LOADS(0x5c));			   /* pop rsp */
	assert_true(LOADS(0x48, 0x8b, 0x64, 0x24, 0x10));  /* mov 16(rsp), rsp */
	assert_true(LOADS(0x8b, 0x22));			   /* mov (edx), esp */
	assert_true(LOADS(0x89, 0xd4));			   /* mov edx, esp */
	assert_true(LOADS(0x8b, 0x64, 0x24, 0x0c));	   /* mov 12(esp), esp */
	assert_true(LOADS(0x8b, 0x65, 0x0c));		   /* mov 12(ebp), esp */
	assert_true(LOADS(0x87, 0xe6));			   /* xchg esp, esi */
	assert_true(LOADS(0xbc, 0x00, 0x10, 0x00, 0x00));  /* mov $0x1000, esp */
	assert_false(LOADS(0x48, 0x89, 0xec));		   /* mov rbp, rsp */
	assert_false(LOADS(0x89, 0xec));		   /* mov ebp, esp */
	assert_false(LOADS(0x8d, 0x65, 0xf4));		   /* lea -12(ebp), esp */
	assert_false(LOADS(0x8d, 0x61, 0xfc));		   /* lea -4(ecx), esp */
	assert_false(LOADS(0x83, 0xec, 0x0c));		   /* sub $12, esp */
	assert_false(LOADS(0x48, 0x8d, 0x64, 0x24, 0x08)); /* lea 8(rsp), rsp */
	assert_false(LOADS(0x8b, 0x44, 0x24, 0x04));	   /* mov 4(esp), eax */
	assert_false(LOADS(0xc9));			   /* leave */
}

static int start(void **state)
{
	new_machine(state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(given_back_by_a_frame, start, stop),
		cmocka_unit_test_setup_teardown(a_jump_by_a_return, start, stop),
		cmocka_unit_test(stack_pointers_are_loaded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
