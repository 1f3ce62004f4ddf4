/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interrupt's handler makes the code that it interrupted call H, as for a signal:
 * the exception return leads there. */
#include "tracked-x86.h"

#include "trace/plugin/x86_entered.h"

static uint64_t asked_sp;
static bool is_interrupt;

static enum us_track_how say(const struct us_tracker *t,
			     const struct us_track_entering *e)
{
	asked_sp = e->sp;
	if (e->function->address == 0x5000)
		return US_HOW_INTERRUPT;
	bool up = e->resumed && e->function->address == 0x4000 && !is_interrupt;
	return up && !t->link ? US_HOW_UPCALL : US_HOW_SAID;
}

static int start(void **state)
{
	struct machine *m = new_machine(state);
	m->t.how = say;
	is_interrupt = false;
	begin(m);
	return 0;
}

static int start_link(void **state)
{
	struct machine *m = new_machine(state);
	m->t.how = say;
	m->t.link = true;
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	return 0;
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

/* The handler, and what it makes be called, up to its end. */
static void upcall(struct machine *m, const char *path)
{
	enter(m, TICK, 3);
	expect_path(m, "2;5000");
	iret(m, TICK, 0x7fb0);
	enter(m, H, 4);
	expect_path(m, path);
	call(m, H, G, 0x7f00);
	enter(m, G, 2);
	ret(m, G, 0x7f00);
	expect_path(m, path);
}

static void returns(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	upcall(m, "1000;2000;4000");
	assert_int_equal(asked_sp, 0x7ff8);
	ret(m, H, 0x7fd8);
	expect_path(m, "1000;2000");
	m->insns += 3;
	call(m, F, G, 0x7fe0);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fe0);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(calls_of(m, "1000;2000;4000;3000"), 1);
	assert_int_equal(m->vcpu.interrupts, 1);
	assert_int_equal(m->vcpu.resyncs + m->vcpu.unmatched, 0);
}

/* Between a call and what it calls. */
static void before_an_entry(void **state)
{
	struct machine *m = *state;
	for (int direct = 0; direct < 2; direct++) {
		call(m, MAIN, direct ? F : -1, 0x7ff8);
		upcall(m, direct ? "1000;2000;4000" : "1000;4000");
		ret(m, H, 0x7fd8);
		enter(m, F, 2);
		expect_path(m, "1000;2000");
		ret(m, F, 0x7ff8);
		expect_path(m, "1000");
	}
	assert_int_equal(calls_of(m, "1000;2000"), 1 + 2); /* and begin()'s */
	assert_int_equal(m->vcpu.interrupts, 2);
}

static void ends_with_an_exception_return(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	upcall(m, "1000;2000;4000");
	iret(m, H, 0x7fa0);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(calls_of(m, "1000;2000"), 2);
}

/* As where a signal's handler returns by a system call. */
static void ends_with_a_trap(void **state)
{
	struct machine *m = *state;
	struct us_track_site s = { .in = &m->f[H] };
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	upcall(m, "1000;2000;4000");
	us_track_trap(&m->t, &s);
	enter(m, TICK, 3);
	iret(m, TICK, 0);
	m->insns += 3;
	call(m, F, G, 0x7fe0);
	enter(m, G, 2);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fe0);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
}

static void ends_with_a_jump(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	upcall(m, "1000;2000;4000");
	jump(m, H, -1);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	assert_int_equal(calls_of(m, "1000;2000"), 2);
}

/* A handler that comes right behind another one's end. */
static void is_no_interrupt(void **state)
{
	struct machine *m = *state;
	is_interrupt = true;
	enter(m, TICK, 3);
	iret(m, TICK, 0x7fb0);
	enter(m, H, 4);
	expect_path(m, "2;4000");
	iret(m, H, 0x7fb0);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 2);
}

static void with_link_registers(void **state)
{
	struct machine *m = *state;
	struct us_track_site to_f = { .in = &m->f[MAIN], .target = &m->f[F] };
	struct us_track_site h = { .in = &m->f[H], .by_stack = true },
			     f = { .in = &m->f[F], .by_stack = true };
	for (int before = 0; before < 2; before++) {
		us_track_link_call(&m->t, &to_f);
		if (!before)
			enter(m, F, 2);
		enter(m, TICK, 3);
		expect_path(m, "2;5000");
		iret(m, TICK, 0);
		enter(m, H, 4);
		expect_path(m, "1000;2000;4000");
		us_track_link_saved(&m->t, &h, 0x7fd8);
		us_track_link_loaded(&m->t, &h, 0x7fd8);
		us_track_link_return(&m->t, &h);
		if (before)
			enter(m, F, 2);
		expect_path(m, "1000;2000");
		us_track_link_return(&m->t, &f);
		expect_path(m, "1000");
	}
	assert_int_equal(calls_of(m, "1000;2000"), 2);
	assert_int_equal(m->vcpu.interrupts, 2);
}

/* Between a tail call and its target, which is no upcall then. */
static void behind_a_tail_call(void **state)
{
	struct machine *m = *state;
	struct us_track_site to_f = { .in = &m->f[MAIN], .target = &m->f[F] };
	us_track_link_call(&m->t, &to_f);
	enter(m, F, 2);
	for (int from = F; from < H; from++) {
		jump(m, from, from + 1);
		enter(m, TICK, 3);
		expect_path(m, "2;5000");
		iret(m, TICK, 0);
		enter(m, from + 1, 4);
		expect_path(m, from == F ? "1000;3000" : "1000;4000");
	}
	struct us_track_site h = { .in = &m->f[H], .by_stack = true };
	us_track_link_return(&m->t, &h);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 2);
	assert_int_equal(m->vcpu.resyncs, 0);
}

/* ---- What the processor says ---- */

static enum us_track_how how(uint64_t from, uint64_t sp, int gate)
{
	struct us_track_entering e = { .sp = from, .resumed = true };
	struct us_x86_entered x = { .sp = sp, .e = &e, .gate = gate };
	return us_x86_entered(&x);
}

static void below_what_was_interrupted(void **state)
{
	struct us_track_entering e = { .sp = 0x7ff8, .resumed = true };
	struct us_x86_entered x = { .sp = 0x7f00, .e = &e, .gate = -1 };
	(void)state;
	assert_int_equal(how(0x7ff8, 0x7f00, 0), US_HOW_UPCALL);
	assert_int_equal(how(0, 0x7f00, 0), US_HOW_UPCALL);
	/* Without the interrupt's table: by what is on the stack. */
	x.has_words = true;
	assert_int_equal(us_x86_entered(&x), US_HOW_UPCALL);
	x.word[1] = 8;
	x.word[2] = 0x202;
	assert_int_not_equal(us_x86_entered(&x), US_HOW_UPCALL);
	/* What was announced; another stack; not known; an interrupt. */
	assert_int_not_equal(how(0x7ff8, 0x7ff8, 0), US_HOW_UPCALL);
	assert_int_not_equal(how(0x107ff8, 0x7f00, 0), US_HOW_UPCALL);
	assert_int_not_equal(how(0x7ff8, 0x17f00, 0), US_HOW_UPCALL);
	assert_int_not_equal(how(0x7ff8, 0x7f00, -1), US_HOW_UPCALL);
	assert_int_not_equal(how(0x7ff8, 0x7f00, 1), US_HOW_UPCALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(returns, start, stop),
		cmocka_unit_test_setup_teardown(before_an_entry, start, stop),
		cmocka_unit_test_setup_teardown(ends_with_an_exception_return, start,
						stop),
		cmocka_unit_test_setup_teardown(ends_with_a_trap, start, stop),
		cmocka_unit_test_setup_teardown(ends_with_a_jump, start, stop),
		cmocka_unit_test_setup_teardown(is_no_interrupt, start, stop),
		cmocka_unit_test_setup_teardown(with_link_registers, start_link, stop),
		cmocka_unit_test_setup_teardown(behind_a_tail_call, start_link, stop),
		cmocka_unit_test(below_what_was_interrupted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
