/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tracker writes into a trace. */
#include "tracked-x86.h"

static int start(void **state)
{
	new_machine(state);
	return 0;
}

static void calls_are_written_down(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	begin(m);
	call(m, MAIN, G, 0x7ff8);
	enter(m, G, 3);
	jump(m, G, H);
	enter(m, H, 1);
	ret(m, H, 0x7ff8);
	expect_events(&t, "#0? +m +f -f +g >h -h");
}

static void interrupts_are_written_down(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	begin(m);
	m->insns += 5;
	enter(m, TICK, 4);
	call(m, TICK, F, 0x7f00); /* on the same stack */
	enter(m, F, 2);
	ret(m, F, 0x7f00);
	iret(m, TICK, 0x7f08);
	call(m, MAIN, G, 0x7ff8);
	expect_events(&t, "#0? +m +f -f !T +f -f -T +g");
}

static void another_stack_is_written_down(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	begin(m);
	m->insns += 5;
	enter(m, TICK, 4);
	call(m, TICK, F, 0x100000); /* on a stack of its own */
	enter(m, F, 2);
	ret(m, F, 0x100000);
	iret(m, TICK, 0x100008);
	call(m, MAIN, G, 0x7ff8);
	expect_events(&t, "#0? +m +f -f !T #1? ~ +f -f -T #0 +g");
}

/* Only what is asked for, and only so deep. */
static void a_choice_is_written_down(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	m->f[MAIN].choice = 0;
	t.events.max_depth = 1;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 3);
	call(m, F, G, 0x7ff0);
	enter(m, G, 3);
	ret(m, G, 0x7ff0);
	ret(m, F, 0x7ff8);
	expect_events(&t, "#0? +f -f +f -f");
}

static void off_and_on(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	begin(m);
	us_events_switch(&t.head, false);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 3);
	us_events_switch(&t.head, true);
	call(m, F, G, 0x7ff0);
	enter(m, G, 3);
	ret(m, G, 0x7ff0);
	expect_events(&t, "#0? +m +f -f #0? =m =f +g -g");
}

static void from_a_function_until_another(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	us_events_switch(&t.head, false);
	m->f[G].choice |= US_FUNCTION_FROM;
	m->f[H].choice |= US_FUNCTION_UNTIL;
	begin(m);
	call(m, MAIN, G, 0x7ff8);
	enter(m, G, 3);
	call(m, G, H, 0x7ff0);
	enter(m, H, 3);
	ret(m, H, 0x7ff0);
	ret(m, G, 0x7ff8);
	expect_events(&t, "#0? =m +g +h");
}

/* The oldest are written over, unless a reader is there that takes them. */
static void a_full_ring(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	begin(m);
	for (unsigned i = 0; i < 2000; i++) {
		call(m, MAIN, G, 0x7ff8);
		enter(m, G, 3);
		ret(m, G, 0x7ff8);
	}
	assert_int_equal(t.vcpu.written, 4 + 4000);
	assert_false(t.head.abandoned);
	t.head.stream = 1; /* whose reader was never there */
	call(m, MAIN, G, 0x7ff8);
	for (unsigned i = 0; i < 2000; i++) {
		enter(m, G, 3);
		ret(m, G, 0x7ff8);
		call(m, MAIN, G, 0x7ff8);
	}
	assert_true(t.head.abandoned);
	assert_int_equal(t.vcpu.written, 4 + 4000 + 4001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_are_written_down, start, stop),
		cmocka_unit_test_setup_teardown(interrupts_are_written_down, start,
						stop),
		cmocka_unit_test_setup_teardown(another_stack_is_written_down, start,
						stop),
		cmocka_unit_test_setup_teardown(a_choice_is_written_down, start, stop),
		cmocka_unit_test_setup_teardown(off_and_on, start, stop),
		cmocka_unit_test_setup_teardown(from_a_function_until_another, start,
						stop),
		cmocka_unit_test_setup_teardown(a_full_ring, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
