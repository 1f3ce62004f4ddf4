/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a vCPU is in the tree of calls, from what it executes, step by step. */
#include "tracked-x86.h"

static const struct us_track_site nowhere = { .in = &us_track_unnamed };

static int start(void **state)
{
	new_machine(state);
	return 0;
}

static const struct us_counts_node *node_of(const struct machine *m, uint64_t address)
{
	for (uint32_t i = 1; i < m->vcpu.n_node; i++)
		if (m->node[i].address == address)
			return &m->node[i];
	fail_msg("no node of %llx", (unsigned long long)address);
	return m->node;
}

static void calls_and_returns(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, -1, 0x7ff8); /* by a pointer */
	enter(m, G, 5);
	expect_path(m, "1000;3000");
	call(m, G, G, 0x7ff0);
	enter(m, G, 5);
	expect_path(m, "1000;3000;3000");
	ret(m, G, 0x7ff0);
	ret(m, G, 0x7ff8);
	us_track_settle(&m->t);
	assert_int_equal(node_of(m, 0x1000)->self, 7);
	assert_int_equal(node_of(m, 0x2000)->self, 2);
	assert_int_equal(node_of(m, 0x2000)->calls, 1);
	assert_int_equal(node_of(m, 0x3000)->calls, 1);
	assert_int_equal(m->vcpu.charged, m->insns);
	assert_int_equal(m->vcpu.unmatched, 0);
}

static void jumps_and_loops(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	jump(m, F, F); /* a loop to the first instruction */
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	jump(m, F, G);
	assert_false(m->t.moved);
	enter(m, G, 3);
	expect_path(m, "1000;3000");
	assert_true(m->t.moved); /* perhaps back into what has called it */
	struct us_track_entry below = { .function = &m->f[H],
					.n_insn = 4,
					.n_before = 1 };
	m->insns += 4;
	us_track_enter(&m->t, &below); /* fallen into */
	expect_path(m, "1000;4000");
	ret(m, H, 0x7ff8);
	assert_int_equal(m->t.awaits, 0);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	assert_int_equal(node_of(m, 0x2000)->calls, 2);
	assert_int_equal(node_of(m, 0x3000)->self, 4);
	assert_int_equal(node_of(m, 0x4000)->self, 3);
}

/* What is called returns to where a symbol is. */
static void a_label_behind_a_call(void **state)
{
	struct machine *m = *state;
	begin(m);
	m->f[G].within = &m->f[F];
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	call(m, F, H, 0x7ff0);
	enter(m, H, 3);
	ret(m, H, 0x7ff0);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x7ff8);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	assert_int_equal(node_of(m, 0x3000)->self, 2);
	assert_int_equal(m->vcpu.interrupts + m->vcpu.unmatched, 0);
	enter(m, G, 2); /* here it cannot be that */
	expect_path(m, "2;3000");
}

static void an_interrupt(void **state)
{
	struct machine *m = *state;
	begin(m);
	enter(m, TICK, 3);
	expect_path(m, "2;5000");
	call(m, TICK, G, 0x7f00);
	enter(m, G, 1);
	expect_path(m, "2;5000;3000");
	ret(m, G, 0x7f00);
	iret(m, TICK, 0x7fd0);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 1);
}

/* An exception return that nothing was interrupted for begins a thread, on the stack of
 * one that has ended. */
static void a_thread_after_another(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	iret(m, F, 0x7fd0);
	enter(m, G, 2);
	expect_path(m, "3000");
	call(m, G, H, 0x7fe8);
	enter(m, H, 1);
	expect_path(m, "3000;4000");
	enter(m, TICK, 3);
	iret(m, TICK, 0x7fb0);
	expect_path(m, "3000;4000");
	ret(m, H, 0x7fe8);
	expect_path(m, "3000");
}

/* Between a call and the first instruction of what it calls. */
static void an_interrupt_within_a_call(void **state)
{
	struct machine *m = *state;
	begin(m);
	enter(m, TICK, 1);
	iret(m, TICK, 0x7fd0);
	for (int direct = 0; direct < 2; direct++) {
		m->insns += 2;
		call(m, MAIN, direct ? F : -1, 0x7ff8);
		enter(m, TICK, 3);
		expect_path(m, "2;5000");
		iret(m, TICK, 0x7fd0);
		enter(m, F, 2);
		expect_path(m, "1000;2000");
		ret(m, F, 0x7ff8);
	}
	assert_int_equal(node_of(m, 0x2000)->calls, 3);
}

/* Of the node with this path from the root: its calls, and what was executed in it. */
static void expect_counts(const struct machine *m, const char *path, uint64_t calls,
			  uint64_t self)
{
	const struct us_counts_node *found = NULL;
	for (uint32_t i = 1; i < m->vcpu.n_node; i++) {
		char text[256] = "";
		for (uint32_t at = i; at; at = m->node[at].parent) {
			char more[256];
			snprintf(more, sizeof(more), "%llx%s%.200s",
				 (unsigned long long)m->node[at].address,
				 *text ? ";" : "", text);
			strcpy(text, more);
		}
		if (!strcmp(text, path))
			found = &m->node[i];
	}
	assert_int_equal(found ? found->calls : 0, calls);
	assert_int_equal(found ? found->self : 0, self);
}

/* TICK, which nothing was known of, has gone on in H, which has called G. */
static void first_tick(struct machine *m, uint64_t sp)
{
	enter(m, TICK, 3);
	jump(m, TICK, H);
	enter(m, H, 2);
	call(m, H, G, sp - 0x20);
	enter(m, G, 1);
	ret(m, G, sp - 0x20);
	m->insns += 4;
	iret(m, H, sp);
}

static void expect_ticks(const struct machine *m, unsigned n)
{
	assert_int_equal(m->vcpu.interrupts, n);
	expect_counts(m, "2;5000", n, 3 * n);
	expect_counts(m, "2;4000", n, 6 * n);
	expect_counts(m, "2;4000;3000", n, n);
	for (uint32_t i = 1; i < m->vcpu.n_node; i++)
		if (m->node[i].address == 0x5000 &&
		    m->node[m->node[i].parent].address != 2)
			assert_int_equal(m->node[i].calls, 0);
}

/* No interrupt was seen yet, and the first comes where anything may be entered. */
static void the_first_interrupt_behind_a_call_by_pointer(void **state)
{
	struct machine *m = *state;
	begin(m);
	m->insns += 2;
	call(m, MAIN, -1, 0x7ff8);
	first_tick(m, 0x7fc8);
	first_tick(m, 0x7fc8); /* and another one right behind it */
	expect_ticks(m, 2);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	expect_counts(m, "1000;2000", 2, 2);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	expect_counts(m, "1000;2000", 2, 4);
	expect_counts(m, "1000;4000", 0, 0);
	expect_counts(m, "1000;4000;3000", 0, 0);
	expect_counts(m, "1000", 1, 9);
}

static void the_first_interrupt_behind_a_jump_by_pointer(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	jump(m, F, -1); /* to another place in it */
	first_tick(m, 0x7fb8);
	expect_path(m, "1000;2000");
	expect_ticks(m, 1);
	m->insns += 3;
	first_tick(m, 0x7fb8);
	expect_ticks(m, 2);
	expect_path(m, "1000;2000");
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	expect_counts(m, "1000;2000", 2, 7);
	expect_counts(m, "1000", 1, 7);
	assert_int_equal(m->vcpu.resyncs, 0);
	assert_int_equal(m->vcpu.unmatched, 0);
}

/* What was called by a pointer enters a program, by an exception return for which it
 * has put the registers onto the stack: that is no interrupt. */
static void a_program_that_is_entered(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, -1, 0x7ff8);
	enter(m, F, 7);
	iret(m, F, 0x7fd0);
	enter(m, G, 2);
	expect_path(m, "3000");
	expect_counts(m, "1000;2000", 2, 9);
	assert_int_equal(m->vcpu.interrupts, 0);
}

/* The first instruction faults, and is executed again. */
static void a_fault_at_the_start(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	m->f[TICK].by_interrupt = true;
	enter(m, TICK, 3);
	iret(m, TICK, 0x7fd0);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	assert_int_equal(node_of(m, 0x2000)->calls, 2);
}

static struct us_track_memory memory; /* where all stacks are, now */

static struct us_track_memory memory_of(const struct us_tracker *t, uint64_t sp)
{
	(void)t;
	(void)sp;
	return memory;
}

static void switch_stacks(struct machine *m, int f)
{
	struct us_track_site s = { .in = &m->f[f] };
	us_track_switch(&m->t, &s, 0);
}

/* Two threads of a program, on stacks at these addresses. */
static void two_stacks(struct machine *m, int f)
{
	switch_stacks(m, f);
	call(m, f, F, 0x7ff8);
	enter(m, F, 2);
	switch_stacks(m, F);
	call(m, F, G, 0x17ff8);
	enter(m, G, 2);
}

/* By the kernel, on a stack of its own. */
static void change_program(struct machine *m, struct us_track_memory to)
{
	memory = (struct us_track_memory){ 0 };
	switch_stacks(m, TICK);
	call(m, TICK, TICK, 0xffff0);
	enter(m, TICK, 2);
	ret(m, TICK, 0xffff0);
	memory = to;
}

/* Two programs have all of this at the same addresses. */
static void programs_apart(struct machine *m, struct us_track_memory first,
			   struct us_track_memory second)
{
	m->t.memory = memory_of;
	memory = first;
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	two_stacks(m, MAIN);
	expect_path(m, "2000;3000");
	change_program(m, second);
	two_stacks(m, H);
	change_program(m, first);
	switch_stacks(m, TICK);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	change_program(m, second);
	switch_stacks(m, TICK);
	ret(m, F, 0x7ff8);
	expect_path(m, "4000");
	change_program(m, first);
	switch_stacks(m, TICK);
	ret(m, G, 0x17ff8);
	expect_path(m, "2000");
	assert_int_equal(m->vcpu.unmatched, 0);
}

static void programs_by_their_tables(void **state)
{
	programs_apart(*state, (struct us_track_memory){ .root = 0x1000 },
		       (struct us_track_memory){ .root = 0x2000 });
}

static void programs_by_their_memory(void **state)
{
	programs_apart(*state, (struct us_track_memory){ .page = 0x1000 },
		       (struct us_track_memory){ .page = 0x2000 });
}

/* One that forked: its stack was copied, its page tables are the same. */
static void a_program_whose_memory_moves(void **state)
{
	struct machine *m = *state;
	m->t.memory = memory_of;
	memory = (struct us_track_memory){ .root = 0x1000, .page = 0x5000 };
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	two_stacks(m, MAIN);
	memory.page = 0x6000;
	switch_stacks(m, G);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
}

static void threads(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, H, 0x7ff8); /* H changes stacks */
	enter(m, H, 6);
	us_track_switch(&m->t, &nowhere, 1);
	ret(m, H, 0x20000); /* to G, which nobody has called */
	enter(m, G, 2);
	expect_path(m, "3000");
	call(m, G, H, 0x1fff8);
	enter(m, H, 6);
	expect_path(m, "3000;4000");
	us_track_switch(&m->t, &nowhere, 1);
	ret(m, H, 0x7ff8);
	expect_path(m, "1000");
	call(m, MAIN, H, 0x7ff8);
	enter(m, H, 6);
	us_track_switch(&m->t, &nowhere, 1);
	ret(m, H, 0x1fff8);
	expect_path(m, "3000");
	assert_int_equal(m->vcpu.switches, 3);
}

/* Firmware has had its stacks here and there, and nobody saw how it changed them.  What
 * comes after it has two threads between these. */
static void threads_in_the_memory_of_firmware(void **state)
{
	struct machine *m = *state;
	static const uint64_t stacks[] = { 0x6ff8, 0xa7ffc, 0x6c78, 0x2fe7ffc };
	struct us_track_site firmware = { .in = &us_track_unnamed,
					  .target = &us_track_unnamed };
	struct us_track_site to_main = { .in = &us_track_unnamed,
					 .target = &m->f[MAIN] };
	us_track_site_prepare(&firmware);
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		us_track_call(&m->t, &firmware, stacks[i]);
		us_track_call(&m->t, &firmware, stacks[i] - 0x80);
		us_track_call(&m->t, &firmware, 0x6d7e); /* while those go on */
	}
	us_track_return(&m->t, &firmware, 0x2fe7ffc, 4);
	us_track_jump(&m->t, &to_main);
	enter(m, MAIN, 2);
	expect_path(m, "1000");
	call(m, MAIN, F, 0x10cff8);
	enter(m, F, 2);
	for (int i = 0; i < 3; i++) {
		call(m, F, H, 0x10cfc8); /* H changes stacks */
		enter(m, H, 6);
		us_track_switch(&m->t, &nowhere, 1);
		ret(m, H, i ? 0x1180e8 : 0x118100);
		if (i == 0)
			enter(m, G, 2); /* which nobody has called */
		expect_path(m, "3000");
		call(m, G, H, 0x1180e8);
		enter(m, H, 6);
		us_track_switch(&m->t, &nowhere, 1);
		ret(m, H, 0x10cfc8);
		expect_path(m, "1000;2000");
	}
}

static void a_jump_out_of_calls(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 1);
	call(m, F, G, 0x7fe8);
	enter(m, G, 1);
	call(m, G, H, 0x7fd8);
	enter(m, H, 4);
	us_track_switch(&m->t, &nowhere, 2); /* longjmp, back into F */
	m->insns += 5;
	call(m, F, G, 0x7fe8);
	enter(m, G, 1);
	expect_path(m, "1000;2000;3000");
	ret(m, G, 0x7fe8);
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	assert_int_equal(node_of(m, 0x4000)->self, 2);
}

/* longjmp() has loaded the stack pointer, and not jumped yet. */
static void an_interrupt_within_a_jump_out_of_calls(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	call(m, F, G, 0x7ff0);
	enter(m, G, 2);
	us_track_switch(&m->t, &nowhere, 0);
	m->insns += 1;
	enter(m, TICK, 3);
	call(m, TICK, H, 0x7ff4); /* back in F */
	enter(m, H, 1);
	expect_path(m, "2;5000;4000");
	ret(m, H, 0x7ff4);
	iret(m, TICK, 0x7fd8);
	jump(m, G, -1);
	m->insns += 4;
	call(m, MAIN, H, 0x7ff8);
	expect_path(m, "1000;4000");
	assert_int_equal(m->vcpu.resyncs, 0);
	assert_int_equal(m->vcpu.interrupts, 1);
}

/* It has loaded the stack pointer before it calls anybody, and loads it again before it
 * returns. */
static void an_interrupt_with_a_stack_for_its_calls(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	enter(m, TICK, 3);
	us_track_switch(&m->t, &nowhere, 0);
	call(m, TICK, G, 0x90000);
	enter(m, G, 1);
	expect_path(m, "2;5000;3000");
	ret(m, G, 0x90000);
	expect_path(m, "2;5000");
	m->insns += 1;
	us_track_switch(&m->t, &nowhere, 0);
	m->insns += 4;
	iret(m, TICK, 0x7fc8);
	expect_path(m, "1000;2000");
	m->insns += 2;
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	us_track_settle(&m->t);
	assert_int_equal(node_of(m, 0x5000)->self, 8);
	assert_int_equal(m->vcpu.interrupts, 1);
	assert_int_equal(m->vcpu.unmatched, 0);
}

/* It is back on the interrupted thread's stack when it calls what lets another thread
 * run. */
static void an_interrupt_that_preempts_behind_its_stack(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	enter(m, TICK, 3);
	us_track_switch(&m->t, &nowhere, 0);
	call(m, TICK, G, 0x90000);
	enter(m, G, 1);
	ret(m, G, 0x90000);
	us_track_switch(&m->t, &nowhere, 0);
	call(m, TICK, H, 0x7fb8); /* H changes stacks */
	enter(m, H, 6);
	expect_path(m, "2;5000;4000");
	us_track_switch(&m->t, &nowhere, 1);
	ret(m, H, 0x20000);
	enter(m, G, 2);
	expect_path(m, "3000");
	assert_int_equal(m->vcpu.unmatched, 1); /* which nobody has called */
	call(m, G, H, 0x1fff8);
	enter(m, H, 6);
	us_track_switch(&m->t, &nowhere, 1);
	ret(m, H, 0x7fb8);
	expect_path(m, "2;5000");
	iret(m, TICK, 0x7fc8);
	expect_path(m, "1000;2000");
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.resyncs, 0);
	assert_int_equal(m->vcpu.unmatched, 1);
}

/* In a new thread, between its first call and what it calls; on a stack of its own,
 * which is not known the first time. */
static void an_interrupt_within_a_first_call(void **state)
{
	struct machine *m = *state;
	begin(m);
	enter(m, TICK, 1);
	iret(m, TICK, 0x7fd0);
	for (uint64_t top = 0x20000; top <= 0x30000; top += 0x10000) {
		iret(m, MAIN, top - 0x28);
		enter(m, F, 2);
		expect_path(m, "2000");
		call(m, F, -1, top - 8);
		enter(m, TICK, 3);
		us_track_switch(&m->t, &nowhere, 0);
		call(m, TICK, G, 0x90000);
		enter(m, G, 1);
		ret(m, G, 0x90000);
		us_track_switch(&m->t, &nowhere, 0);
		iret(m, TICK, top - 0x30);
		enter(m, H, 2);
		expect_path(m, "2000;4000");
	}
}

/* The kernel of a program has a stack of its own. */
static void a_trap(void **state)
{
	struct machine *m = *state;
	begin(m);
	us_track_trap(&m->t, &nowhere);
	enter(m, TICK, 2);
	expect_path(m, "1000;5000");
	call(m, TICK, G, 0x90000);
	enter(m, G, 1);
	expect_path(m, "1000;5000;3000");
	ret(m, G, 0x90000);
	iret(m, TICK, 0);
	expect_path(m, "1000");
}

/* No function begins where the trap leads, but the code there jumps to one. */
static void a_trap_by_a_stub(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 1);
	us_track_trap(&m->t, &nowhere);
	m->insns += 2;
	jump(m, G, TICK);
	enter(m, TICK, 2);
	expect_path(m, "1000;2000;5000");
	iret(m, TICK, 0);
	expect_path(m, "1000;2000");
	ret(m, F, 0x7ff8);
	expect_path(m, "1000");
}

static void no_room(void **state)
{
	struct machine *m = *state;
	begin(m);
	for (unsigned i = 0; i < 2 * US_TRACK_DEPTH; i++) {
		call(m, i ? F : MAIN, F, 0x7fffff8 - 8 * i);
		enter(m, F, 1);
	}
	assert_true(m->vcpu.lost > 0);
	assert_true(m->vcpu.too_deep > 0);
	assert_int_equal(m->vcpu.n_node, NODES);
	for (unsigned i = 2 * US_TRACK_DEPTH; i-- > 0;)
		ret(m, F, 0x7fffff8 - 8 * i);
	expect_path(m, "1000");
	uint64_t sum = 0;
	us_track_settle(&m->t);
	for (unsigned i = 0; i < NODES; i++)
		sum += m->node[i].self;
	assert_int_equal(sum, m->insns);
}

/* What was on the same memory in an earlier boot calls nobody in this one. */
static void a_reset(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, G, 0x7ff8);
	enter(m, G, 2);
	m->insns += 1;
	assert_true(us_track_reset(&m->t, 1));
	expect_path(m, "");
	assert_int_equal(m->vcpu.resets, 1);
	call(m, H, F, 0x7ff0);
	expect_path(m, "4000;2000");
	m->insns += 1;
	us_track_switch(&m->t, &nowhere, 0);
	call(m, H, F, 0x7ff0);
	expect_path(m, "4000;2000");
}

/* Another vCPU has passed where resets lead to; this one was started by that. */
static void a_reset_of_another(void **state)
{
	struct machine *m = *state;
	begin(m);
	us_track_stacks_boot(&m->stacks, 0);
	us_track_was_reset(&m->t);
	enter(m, H, 3);
	expect_path(m, "4000");
	call(m, H, F, 0x7ff0);
	expect_path(m, "4000;2000");
	assert_int_equal(m->vcpu.resets + m->vcpu.interrupts, 0);
	/* It passes there, too, but later: it is the same reset. */
	m->insns += 1;
	assert_false(us_track_reset(&m->t, 1));
	assert_int_equal(m->vcpu.resets, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_and_returns, start, stop),
		cmocka_unit_test_setup_teardown(jumps_and_loops, start, stop),
		cmocka_unit_test_setup_teardown(a_label_behind_a_call, start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt, start, stop),
		cmocka_unit_test_setup_teardown(a_thread_after_another, start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt_within_a_call, start,
						stop),
		cmocka_unit_test_setup_teardown(
			the_first_interrupt_behind_a_call_by_pointer, start, stop),
		cmocka_unit_test_setup_teardown(
			the_first_interrupt_behind_a_jump_by_pointer, start, stop),
		cmocka_unit_test_setup_teardown(a_program_that_is_entered, start, stop),
		cmocka_unit_test_setup_teardown(a_fault_at_the_start, start, stop),
		cmocka_unit_test_setup_teardown(programs_by_their_tables, start, stop),
		cmocka_unit_test_setup_teardown(programs_by_their_memory, start, stop),
		cmocka_unit_test_setup_teardown(a_program_whose_memory_moves, start,
						stop),
		cmocka_unit_test_setup_teardown(threads, start, stop),
		cmocka_unit_test_setup_teardown(threads_in_the_memory_of_firmware,
						start, stop),
		cmocka_unit_test_setup_teardown(a_jump_out_of_calls, start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt_within_a_jump_out_of_calls,
						start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt_with_a_stack_for_its_calls,
						start, stop),
		cmocka_unit_test_setup_teardown(
			an_interrupt_that_preempts_behind_its_stack, start, stop),
		cmocka_unit_test_setup_teardown(an_interrupt_within_a_first_call, start,
						stop),
		cmocka_unit_test_setup_teardown(a_trap_by_a_stub, start, stop),
		cmocka_unit_test_setup_teardown(a_trap, start, stop),
		cmocka_unit_test_setup_teardown(no_room, start, stop),
		cmocka_unit_test_setup_teardown(a_reset, start, stop),
		cmocka_unit_test_setup_teardown(a_reset_of_another, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
