/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Returns to addresses that were pushed, after a load of the stack pointer: to handlers
 * of exceptions, as OCaml has them, and to where threads go on or begin. */
#include "tracked-x86.h"

static struct us_track_memory memory; /* where all stacks are, now */

static struct us_track_memory memory_of(const struct us_tracker *t, uint64_t sp)
{
	(void)t;
	(void)sp;
	return memory;
}

static void switch_stacks(struct machine *m, int in)
{
	struct us_track_site s = { .in = &m->f[in] };
	us_track_switch(&m->t, &s, 0);
}

/* MAIN has called F. */
static int start(void **state)
{
	struct machine *m = new_machine(state);
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	call(m, MAIN, F, 0x8000);
	enter(m, F, 2);
	return 0;
}

/* F pushes a handler's address, and calls G; what that calls throws. */
static void throw(struct machine * m)
{
	call(m, F, G, 0x7fe8);
	enter(m, G, 2);
	call(m, G, H, 0x7fe0);
	enter(m, H, 2);
	m->insns++;
	switch_stacks(m, H);
	m->insns++;
	ret(m, H, 0x7ff0);
	expect_path(m, "1000;2000");
}

static void a_handler_returns(void **state)
{
	struct machine *m = *state;
	throw(m);
	m->insns += 3;
	ret(m, F, 0x8000);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.switches + m->vcpu.resyncs, 0);
}

static void a_handler_calls(void **state)
{
	struct machine *m = *state;
	for (unsigned i = 0; i < 3; i++) {
		throw(m);
		m->insns += 2;
		call(m, F, G, 0x7ff8);
		enter(m, G, 2);
		expect_path(m, "1000;2000;3000");
		ret(m, G, 0x7ff8);
		expect_path(m, "1000;2000");
	}
	call(m, F, -1, 0x7ff8);
	enter(m, H, 2);
	expect_path(m, "1000;2000;4000");
	assert_int_equal(m->vcpu.switches + m->vcpu.resyncs, 0);
}

static void a_handler_jumps(void **state)
{
	struct machine *m = *state;
	throw(m);
	m->insns += 2;
	jump(m, F, G);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x8000);
	expect_path(m, "1000");
}

static void a_handler_throws(void **state)
{
	struct machine *m = *state;
	throw(m);
	m->insns += 2;
	switch_stacks(m, F);
	m->insns++;
	ret(m, F, 0x8000); /* where F was called from, as it is */
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.switches + m->vcpu.resyncs, 0);
}

static void exceptions_are_written_down(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	throw(m);
	m->insns += 2;
	ret(m, F, 0x8000);
	call(m, MAIN, G, 0x8000);
	enter(m, G, 1);
	expect_events(&t, "#0? +g +h -h -g +g");
}

/* Right where the handler begins. */
static void an_interrupt_before_a_handler(void **state)
{
	struct machine *m = *state;
	m->f[TICK].by_interrupt = true;
	throw(m);
	enter(m, TICK, 3);
	expect_path(m, "2;5000");
	call(m, TICK, G, 0x7f00);
	enter(m, G, 1);
	ret(m, G, 0x7f00);
	iret(m, TICK, 0x7fc8);
	expect_path(m, "1000;2000");
	m->insns += 2;
	ret(m, F, 0x8000);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 1);
}

/* Nothing is known of TICK before: it looks like a thread's first function. */
static void the_first_interrupt_before_a_handler(void **state)
{
	struct machine *m = *state;
	throw(m);
	enter(m, TICK, 3);
	call(m, TICK, G, 0x7f00);
	enter(m, G, 1);
	ret(m, G, 0x7f00);
	iret(m, TICK, 0x7fc8);
	expect_path(m, "1000;2000");
	assert_int_equal(m->vcpu.interrupts, 1);
	m->insns += 2;
	call(m, F, G, 0x7ff8);
	enter(m, G, 1);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7ff8);
	ret(m, F, 0x8000);
	expect_path(m, "1000");
	for (uint32_t i = 1; i < m->vcpu.n_node; i++)
		if (m->node[i].address == 0x5000)
			assert_int_equal(m->node[i].calls, m->node[i].parent ? 1 : 0);
}

/* Where a thread goes on is pushed, not called from. */
static void threads_that_push_where_they_go_on(void **state)
{
	struct machine *m = *state;
	call(m, F, G, 0x7f80); /* deeper than where F changes threads */
	enter(m, G, 1);
	ret(m, G, 0x7f80);
	switch_stacks(m, F);
	ret(m, F, 0x17ff8);
	enter(m, H, 2); /* another one begins */
	expect_path(m, "4000");
	call(m, H, F, 0x17ff0);
	enter(m, F, 2);
	call(m, F, G, 0x17f80);
	enter(m, G, 1);
	ret(m, G, 0x17f80);
	for (unsigned i = 0; i < 3; i++) {
		switch_stacks(m, F);
		m->insns += 2;
		ret(m, F, 0x7fe0);
		m->insns += 2;
		expect_path(m, "1000;2000");
		switch_stacks(m, F);
		m->insns += 2;
		ret(m, F, 0x17fe0);
		m->insns += 2;
		expect_path(m, "4000;2000");
	}
	ret(m, F, 0x17ff0);
	expect_path(m, "4000");
	assert_int_equal(m->vcpu.resyncs, 0);
}

/* On the memory of one that has ended, in the midst of it. */
static void a_thread_begins(void **state)
{
	struct machine *m = *state;
	m->t.memory = memory_of;
	memory = (struct us_track_memory){ .root = 0x1000 };
	throw(m);
	m->insns += 2;
	switch_stacks(m, F);
	m->insns += 2;
	ret(m, F, 0x7ff0);
	enter(m, H, 2);
	expect_path(m, "4000");
	assert_int_equal(m->vcpu.switches, 1);
	call(m, H, G, 0x7ff0);
	enter(m, G, 2);
	expect_path(m, "4000;3000");
	/* It is the same program's; on another's stack there it is not. */
	memory.root = 0x2000;
	switch_stacks(m, G);
	call(m, F, G, 0x7fe0);
	expect_path(m, "2000;3000");
	memory.root = 0x1000;
	switch_stacks(m, G);
	ret(m, G, 0x7ff0);
	expect_path(m, "4000");
}

/* Below all that is known of the stack above it. */
static void a_thread_begins_in_the_midst_of_a_function(void **state)
{
	struct machine *m = *state;
	switch_stacks(m, F);
	m->insns += 2;
	ret(m, F, 0x7e00);
	m->insns += 2;
	expect_path(m, "");
	call(m, H, G, 0x7e00);
	expect_path(m, "4000;3000");
	assert_int_equal(m->vcpu.switches, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_handler_returns, start, stop),
		cmocka_unit_test_setup_teardown(a_handler_calls, start, stop),
		cmocka_unit_test_setup_teardown(a_handler_jumps, start, stop),
		cmocka_unit_test_setup_teardown(a_handler_throws, start, stop),
		cmocka_unit_test_setup_teardown(exceptions_are_written_down, start,
						stop),
		cmocka_unit_test_setup_teardown(an_interrupt_before_a_handler, start,
						stop),
		cmocka_unit_test_setup_teardown(the_first_interrupt_before_a_handler,
						start, stop),
		cmocka_unit_test_setup_teardown(threads_that_push_where_they_go_on,
						start, stop),
		cmocka_unit_test_setup_teardown(a_thread_begins, start, stop),
		cmocka_unit_test_setup_teardown(
			a_thread_begins_in_the_midst_of_a_function, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
