/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a vCPU is in the tree of calls, where a register has the return address. */
#include "tracked.h"

static int start(void **state)
{
	struct machine *m = new_machine(state);
	m->f[TICK].by_interrupt = true;
	m->t.link = true;
	return 0;
}

static struct us_track_site site(struct machine *m, int in, int to)
{
	return (struct us_track_site){ .in = in < 0 ? &us_track_unnamed : &m->f[in],
				       .target = to < 0 ? NULL : &m->f[to],
				       .by_stack = true };
}

static void call(struct machine *m, int from, int to)
{
	struct us_track_site s = site(m, from, to);
	us_track_link_call(&m->t, &s);
}

static void saved(struct machine *m, int in, uint64_t sp)
{
	struct us_track_site s = site(m, in, -1);
	us_track_link_saved(&m->t, &s, sp);
}

static void loaded(struct machine *m, int in, uint64_t sp)
{
	struct us_track_site s = site(m, in, -1);
	us_track_link_loaded(&m->t, &s, sp);
}

static void loaded_elsewhere(struct machine *m, int in, uint64_t gva)
{
	struct us_track_site s = site(m, in, -1);
	s.by_stack = false;
	us_track_link_loaded(&m->t, &s, gva);
}

static void set(struct machine *m, int in)
{
	struct us_track_site s = site(m, in, -1);
	us_track_link_set(&m->t, &s);
}

static void ret(struct machine *m, int from)
{
	struct us_track_site s = site(m, from, -1);
	us_track_link_return(&m->t, &s);
}

static void jump(struct machine *m, int from, int to)
{
	struct us_track_site s = site(m, from, to);
	us_track_jump(&m->t, &s);
}

static void switch_stack(struct machine *m, int in)
{
	struct us_track_site s = site(m, in, -1);
	us_track_switch(&m->t, &s, 0);
}

static void eret(struct machine *m, int from)
{
	struct us_track_site s = site(m, from, -1);
	us_track_iret(&m->t, &s, 0);
}

static void trap(struct machine *m, int in)
{
	struct us_track_site s = site(m, in, -1);
	us_track_trap(&m->t, &s);
}

static void expect_function(const struct machine *m, uint64_t address, uint64_t calls,
			    uint64_t self)
{
	uint64_t c = 0, s = 0;
	for (uint32_t i = 1; i < m->vcpu.n_node; i++) {
		c += m->node[i].address == address ? m->node[i].calls : 0;
		s += m->node[i].address == address ? m->node[i].self : 0;
	}
	assert_int_equal(c, calls);
	assert_int_equal(s, self);
}

/* main is at work, the first of the machine, and has stored its register. */
static void begin(struct machine *m)
{
	enter(m, MAIN, 4);
	saved(m, MAIN, 0x8008);
	expect_path(m, "1000");
}

/* A function that calls nobody stores nothing. */
static void calls_and_returns(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, -1);
	enter(m, G, 5);
	saved(m, G, 0x7fe8);
	expect_path(m, "1000;3000");
	call(m, G, G);
	enter(m, G, 5);
	saved(m, G, 0x7fc8);
	call(m, G, F);
	enter(m, F, 3);
	expect_path(m, "1000;3000;3000;2000");
	ret(m, F);
	loaded(m, G, 0x7fc8);
	ret(m, G);
	loaded(m, G, 0x7fe8);
	ret(m, G);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 1, 3);
	expect_function(m, 0x3000, 2, 10);
	assert_int_equal(m->vcpu.unmatched + m->vcpu.resyncs, 0);
}

static void jumps_by_returns(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 3);
	set(m, F); /* to G */
	ret(m, F);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	set(m, G); /* from a copy */
	ret(m, G);
	m->insns += 4;
	call(m, MAIN, F);
	expect_path(m, "1000;2000");
	us_track_settle(&m->t);
	expect_function(m, 0x1000, 1, 8);
	expect_function(m, 0x3000, 1, 2);
}

/* By another register, to have this one stored; and by a jump, to have it loaded. */
static void routines_that_store_and_load(void **state)
{
	struct machine *m = *state;
	struct us_track_site s = site(m, F, G);
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 1);
	s.alternate = true;
	us_track_link_call(&m->t, &s);
	enter(m, G, 4);
	saved(m, G, 0x7fe8);
	s = site(m, G, -1);
	s.alternate = true;
	us_track_link_return(&m->t, &s);
	expect_path(m, "1000;2000");
	call(m, F, H);
	enter(m, H, 1);
	ret(m, H);
	jump(m, F, H);
	enter(m, H, 4);
	loaded(m, H, 0x7fe8);
	ret(m, H);
	expect_path(m, "1000");
}

static void a_call_within(void **state)
{
	struct machine *m = *state;
	struct us_track_site s = site(m, F, -1);
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 2);
	s.local = true;
	us_track_link_call(&m->t, &s);
	m->insns += 2;
	ret(m, F);
	expect_path(m, "1000;2000");
	set(m, F);
	ret(m, F);
	m->insns++;
	us_track_settle(&m->t);
	expect_path(m, "1000");
	expect_function(m, 0x2000, 1, 4);
}

/* Two threads that change places in H; stack: its address as it is loaded, 0: H keeps
 * the register elsewhere. */
static void change_places(struct machine *m, uint64_t from, uint64_t to)
{
	call(m, F, H);
	enter(m, H, 6);
	if (from)
		saved(m, H, from);
	switch_stack(m, H);
	if (from)
		loaded(m, H, to);
	else
		loaded_elsewhere(m, H, 0x12340);
	ret(m, H);
}

static void threads(struct machine *m, bool by_stack)
{
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 2);
	saved(m, F, 0x7fe8);
	change_places(m, by_stack ? 0x7fd8 : 0, 0x1ffd8);
	enter(m, G, 2); /* a thread begins */
	expect_path(m, "3000");
	saved(m, G, 0x1fff8);
	call(m, G, F);
	enter(m, F, 2);
	saved(m, F, 0x1ffe8);
	change_places(m, by_stack ? 0x1ffd8 : 0, 0x7fd8);
	loaded(m, F, 0x7fe8);
	ret(m, F);
	expect_path(m, "1000");
	call(m, MAIN, F);
	enter(m, F, 2);
	saved(m, F, 0x7fe8);
	change_places(m, by_stack ? 0x7fd8 : 0, 0x1ffd8);
	call(m, F, F); /* before an address has told where it is */
	enter(m, F, 2);
	saved(m, F, 0x1ffc8);
	expect_path(m, "3000;2000;2000");
	loaded(m, F, 0x1ffc8);
	ret(m, F);
	loaded(m, F, 0x1ffe8);
	ret(m, F);
	expect_path(m, "3000");
	assert_int_equal(m->vcpu.resyncs, 0);
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 4, 8);
	expect_function(m, 0x4000, 3, 18);
}

static void threads_by_stack(void **state)
{
	threads(*state, true);
}

static void threads_by_register(void **state)
{
	threads(*state, false);
}

/* Out of G in F in F, back into main; then it calls one that stores nothing and one
 * that does. */
static void a_jump_out_of_calls(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (int i = 0; i < 2; i++) {
		call(m, i ? F : MAIN, F);
		enter(m, F, 1);
		saved(m, F, 0x7fe8 - 0x20 * (uint64_t)i);
	}
	call(m, F, G);
	enter(m, G, 3);
	loaded_elsewhere(m, G, 0x12340);
	switch_stack(m, G);
	ret(m, G);
	m->insns += 2;
	call(m, MAIN, H);
	enter(m, H, 1);
	enter(m, TICK, 2); /* in the midst of it */
	eret(m, TICK);
	ret(m, H);
	call(m, MAIN, G);
	enter(m, G, 5);
	saved(m, G, 0x7f88);
	expect_path(m, "1000;3000");
	loaded(m, G, 0x7f88);
	ret(m, G);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	expect_function(m, 0x1000, 1, 6);
	expect_function(m, 0x3000, 2, 8);
	expect_function(m, 0x4000, 1, 1);
}

/* By then a function was called, and an interrupt came before that stored the register:
 * whoever reads it sees one call on one stack. */
static void a_call_behind_a_jump_is_one(void **state)
{
	struct machine *m = *state;
	struct traced t;
	trace_on(m, &t);
	m->f[F].choice = m->f[TICK].choice = 0;
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 1);
	saved(m, F, 0x7fe8);
	switch_stack(m, F);
	ret(m, F);
	m->insns += 2;
	call(m, MAIN, G);
	enter(m, TICK, 3);
	saved(m, TICK, 0x7f08);
	loaded(m, TICK, 0x7f08);
	eret(m, TICK);
	enter(m, G, 5);
	saved(m, G, 0x7fc8);
	expect_path(m, "1000;3000");
	loaded(m, G, 0x7fc8);
	ret(m, G);
	expect_path(m, "1000");
	expect_events(&t, "#0? +m +g -g");
}

/* It stores the interrupted function's register, and calls. */
static void an_interrupt(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (int direct = 0; direct < 2; direct++) {
		call(m, MAIN, direct ? F : -1);
		enter(m, TICK, 3); /* before the first instruction of F */
		saved(m, TICK, 0x7f08);
		call(m, TICK, G);
		enter(m, G, 1);
		expect_path(m, "2;5000;3000");
		ret(m, G);
		loaded(m, TICK, 0x7f08);
		eret(m, TICK);
		enter(m, F, 2);
		expect_path(m, "1000;2000");
		ret(m, F);
	}
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 2);
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 2, 4);
}

/* Its entry stores the register before it goes to the stack for interrupts.  What it
 * calls there stores it, too, or not before its own calls. */
static void an_interrupt_with_its_own_stack(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (unsigned n = 0; n < 4; n++) {
		m->insns += 2;
		enter(m, TICK, 3);
		saved(m, TICK, 0x7f08);
		switch_stack(m, TICK);
		call(m, TICK, F);
		enter(m, F, 2);
		if (n & 1)
			saved(m, F, 0x100008);
		call(m, F, G);
		enter(m, G, 2);
		saved(m, G, 0xffff8);
		expect_path(m, "2;5000;2000;3000");
		loaded(m, G, 0xffff8);
		ret(m, G);
		if (n & 1)
			loaded(m, F, 0x100008);
		ret(m, F);
		expect_path(m, "2;5000");
		m->insns += 1;
		switch_stack(m, TICK);
		loaded(m, TICK, 0x7f08);
		eret(m, TICK);
		expect_path(m, "1000");
	}
	expect_function(m, 0x2000, 4, 8);
	expect_function(m, 0x3000, 4, 8);
	expect_function(m, 0x5000, 4, 16);
}

/* Code without names, on a stack of its own: by a trap, and by an interrupt between a
 * call and its function. */
static void firmware(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (int by_trap = 0; by_trap < 2; by_trap++) {
		if (by_trap)
			trap(m, MAIN);
		else
			call(m, MAIN, F);
		m->insns += 4;
		switch_stack(m, -1);
		call(m, -1, -1);
		m->insns += 2;
		saved(m, -1, 0x90008);
		loaded(m, -1, 0x90008);
		ret(m, -1);
		eret(m, -1);
		expect_path(m, by_trap ? "1000" : "1000;2000");
		if (by_trap)
			continue;
		enter(m, F, 1);
		ret(m, F);
	}
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 1, 1);
	eret(m, -1); /* one of which nothing else was seen */
	expect_path(m, "1000");
}

/* A kernel leaves for a program without names; there a trap leads, by code without
 * names, to the top of the kernel's stack again. */
static void a_kernel_below_a_program(void **state)
{
	struct machine *m = *state;
	struct us_track_site jump_by_return = site(m, -1, -1);
	jump_by_return.alternate = true;
	begin(m);
	call(m, MAIN, F);
	for (int i = 0; i < 3; i++) {
		enter(m, F, 2);
		saved(m, F, 0x7fe8);
		expect_path(m, "1000;2000");
		call(m, F, G);
		enter(m, G, 3);
		saved(m, G, 0x7fc8);
		call(m, G, -1);
		m->insns += 4;
		loaded_elsewhere(m, -1, 0x3028);
		switch_stack(m, -1);
		eret(m, -1);
		ret(m, -1);
		m->insns += 2;
		call(m, -1, -1);
		trap(m, -1);
		m->insns += 5;
		switch_stack(m, -1);
		us_track_link_return(&m->t, &jump_by_return);
	}
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 3, 6);
	expect_function(m, 0x3000, 3, 9);
}

/* No interrupt was seen yet, and the first comes where anything may be entered. */
static void unknown_tick(struct machine *m)
{
	m->f[TICK].by_interrupt = false;
	enter(m, TICK, 3);
	jump(m, TICK, H);
	enter(m, H, 2);
	saved(m, H, 0x7f08);
	call(m, H, G);
	enter(m, G, 1);
	ret(m, G);
	loaded(m, H, 0x7f08);
	eret(m, H);
	us_track_settle(&m->t);
}

static void first_tick(struct machine *m)
{
	unknown_tick(m);
	expect_function(m, 0x5000, 1, 3);
	expect_function(m, 0x4000, 1, 2);
	assert_int_equal(m->vcpu.interrupts, 1);
}

static void the_first_interrupt(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 2);
	saved(m, F, 0x7fe8);
	call(m, F, -1);
	first_tick(m);
	enter(m, MAIN, 1);
	expect_path(m, "1000;2000;1000");
	ret(m, MAIN);
	expect_path(m, "1000;2000");
	loaded(m, F, 0x7fe8);
	ret(m, F);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.resyncs + m->vcpu.unmatched, 0);
}

static void the_first_interrupt_behind_a_jump(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 2);
	saved(m, F, 0x7fe8);
	jump(m, F, -1); /* to another place in it */
	first_tick(m);
	expect_path(m, "1000;2000");
	loaded(m, F, 0x7fe8);
	ret(m, F);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.resyncs + m->vcpu.unmatched, 0);
}

/* A return was a jump, or none. */
static void the_first_interrupt_behind_a_return(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F);
	enter(m, F, 3);
	set(m, F); /* to G */
	ret(m, F);
	first_tick(m);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	set(m, G); /* from a copy */
	ret(m, G);
	unknown_tick(m);
	m->insns += 4;
	us_track_settle(&m->t);
	expect_path(m, "1000");
	expect_function(m, 0x1000, 1, 8);
	expect_function(m, 0x2000, 1, 3);
	expect_function(m, 0x3000, 3, 4);
	expect_function(m, 0x4000, 2, 4);
	expect_function(m, 0x5000, 2, 6);
	assert_int_equal(m->vcpu.interrupts, 2);
	assert_int_equal(m->vcpu.resyncs + m->vcpu.unmatched, 0);
}

/* Boot code that was jumped to goes to another privilege level. */
static void another_level(void **state)
{
	struct machine *m = *state;
	begin(m);
	jump(m, MAIN, -1);
	enter(m, F, 3);
	eret(m, F);
	enter(m, G, 2);
	expect_path(m, "3000");
	us_track_settle(&m->t);
	expect_function(m, 0x2000, 1, 3);
	assert_int_equal(m->vcpu.interrupts, 0);
}

static void no_room(void **state)
{
	struct machine *m = *state;
	begin(m);
	saved(m, MAIN, 0x8000008);
	for (unsigned i = 0; i < 2 * US_TRACK_DEPTH; i++) {
		call(m, i ? F : MAIN, F);
		enter(m, F, 1);
		saved(m, F, 0x7ff0000 - 16 * i);
	}
	assert_true(m->vcpu.lost > 0);
	assert_true(m->vcpu.too_deep > 0);
	for (unsigned i = 2 * US_TRACK_DEPTH; i-- > 0;) {
		loaded(m, F, 0x7ff0000 - 16 * i);
		ret(m, F);
	}
	expect_path(m, "1000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_and_returns, start, stop),
		cmocka_unit_test_setup_teardown(jumps_by_returns, start, stop),
		cmocka_unit_test_setup_teardown(routines_that_store_and_load, start,
						stop),
		cmocka_unit_test_setup_teardown(a_call_within, start, stop),
		cmocka_unit_test_setup_teardown(threads_by_stack, start, stop),
		cmocka_unit_test_setup_teardown(threads_by_register, start, stop),
		cmocka_unit_test_setup_teardown(a_jump_out_of_calls, start, stop),
		cmocka_unit_test_setup_teardown(a_call_behind_a_jump_is_one, start,
						stop),
		cmocka_unit_test_setup_teardown(an_interrupt, start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt_with_its_own_stack, start,
						stop),
		cmocka_unit_test_setup_teardown(a_kernel_below_a_program, start, stop),
		cmocka_unit_test_setup_teardown(firmware, start, stop),
		cmocka_unit_test_setup_teardown(the_first_interrupt, start, stop),
		cmocka_unit_test_setup_teardown(the_first_interrupt_behind_a_jump,
						start, stop),
		cmocka_unit_test_setup_teardown(the_first_interrupt_behind_a_return,
						start, stop),
		cmocka_unit_test_setup_teardown(another_level, start, stop),
		cmocka_unit_test_setup_teardown(no_room, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
