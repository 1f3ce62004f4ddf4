/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that takes the registers off its stack into the program's own frame, never
 * goes back there, and resumes programs from their frames. */
#include "tracked-x86.h"

#define FRAME 0x200000 /* of a program's registers, among the kernel's data */

static int start(void **state)
{
	new_machine(state);
	return 0;
}

static void switch_stacks(struct machine *m, int f)
{
	struct us_track_site s = { .in = &m->f[f] };
	us_track_switch(&m->t, &s, 0);
}

/* An interrupt, after which the kernel resumes a program from its frame. */
static void preempt(struct machine *m)
{
	enter(m, TICK, 4);
	call(m, TICK, H, 0x100000);
	enter(m, H, 3);
	switch_stacks(m, H);
	iret(m, H, FRAME);
}

/* Another program runs for a while, on a stack of its own. */
static void run_another(struct machine *m)
{
	enter(m, F, 2);
	call(m, F, F, 0x17ff8);
	enter(m, F, 2);
	ret(m, F, 0x17ff8);
	preempt(m);
}

static uint64_t calls_of(const struct machine *m, const char *path)
{
	uint64_t calls = 0;
	for (uint32_t i = 1; i < m->vcpu.n_node; i++) {
		char text[256];
		path_of(m, i, text);
		if (!strcmp(text, path))
			calls += m->node[i].calls;
	}
	return calls;
}

/* Of the call by a pointer no caller is known, but those after it have theirs. */
static void behind_a_call(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (unsigned n = 1; n <= 4; n++) {
		bool direct = n & 1, other = n & 2;
		call(m, MAIN, direct ? G : -1, 0x7ff8);
		preempt(m);
		if (other)
			run_another(m);
		enter(m, G, 2);
		expect_path(m, direct ? "1000;3000" : "3000");
		ret(m, G, 0x7ff8);
		expect_path(m, "1000");
		assert_int_equal(calls_of(m, "1000;3000") + calls_of(m, "3000"), n);
	}
	assert_int_equal(calls_of(m, "3000"), 2);
}

static void behind_a_jump(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	jump(m, F, G);
	preempt(m);
	run_another(m);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(calls_of(m, "1000;3000"), 1);
	assert_int_equal(calls_of(m, "3000"), 0);
}

/* What was not interrupted there begins anew. */
static void a_thread_begins(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, G, 0x7ff8);
	enter(m, G, 2);
	preempt(m);
	enter(m, G, 2);
	expect_path(m, "3000");
	assert_int_equal(calls_of(m, "3000"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(behind_a_call, start, stop),
		cmocka_unit_test_setup_teardown(behind_a_jump, start, stop),
		cmocka_unit_test_setup_teardown(a_thread_begins, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
