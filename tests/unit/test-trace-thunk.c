/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls and jumps by a pointer whose target is pushed, and entered by a return, as
 * compilers make them against Spectre: retpolines, or thunks. */
#include "tracked-x86.h"

/* F is being executed; its return address is at 0x7ff8. */
static int start(void **state)
{
	struct machine *m = new_machine(state);
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	return 0;
}

static void return_from_f(struct machine *m)
{
	expect_path(m, "1000;2000");
	m->insns += 2;
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.resyncs, 0);
}

/* In F: "call A" stores a return address at 0x7fd0, and what it leads to, in F, pushes
 * the target. */
static void a_call_within_a_function(void **state)
{
	struct machine *m = *state;
	ret(m, F, 0x7fc8);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fd0);
	return_from_f(m);
}

/* The target is above F's own return address. */
static void a_jump_within_a_function(void **state)
{
	struct machine *m = *state;
	ret(m, F, 0x7ff0);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.resyncs, 0);
}

/* No function begins at the target. */
static void a_jump_on_in_the_function(void **state)
{
	struct machine *m = *state;
	ret(m, F, 0x7fc8);
	m->insns += 4;
	call(m, F, G, 0x7fd0);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fd0);
	return_from_f(m);
}

/* The target has no name, and jumps to G. */
static void code_without_a_name_in_between(void **state)
{
	struct machine *m = *state;
	struct us_track_site s = { .in = &us_track_unnamed };
	ret(m, F, 0x7fc8);
	m->insns += 2;
	us_track_jump(&m->t, &s);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fd0);
	return_from_f(m);
}

static void an_interrupt_before_the_target(void **state)
{
	struct machine *m = *state;
	m->f[TICK].by_interrupt = true;
	ret(m, F, 0x7fc8);
	enter(m, TICK, 3);
	expect_path(m, "2;5000");
	iret(m, TICK, 0x7fa8);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fd0);
	return_from_f(m);
}

/* F has pushed a return address, and jumps to H, which only enters what is pushed. */
static void a_thunk_with_a_name(void **state)
{
	struct machine *m = *state;
	m->f[H].thunk = true;
	jump(m, F, H);
	enter(m, H, 2);
	ret(m, H, 0x7fc8);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fd0);
	expect_path(m, "1000;2000");
	jump(m, F, H);
	enter(m, H, 2);
	ret(m, H, 0x7ff0);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x7ff8);
	expect_path(m, "1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call_within_a_function, start, stop),
		cmocka_unit_test_setup_teardown(a_jump_within_a_function, start, stop),
		cmocka_unit_test_setup_teardown(a_jump_on_in_the_function, start, stop),
		cmocka_unit_test_setup_teardown(code_without_a_name_in_between, start,
						stop),
		cmocka_unit_test_setup_teardown(an_interrupt_before_the_target, start,
						stop),
		cmocka_unit_test_setup_teardown(a_thunk_with_a_name, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
