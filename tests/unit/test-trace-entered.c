/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts that come where anything may be entered, and what the processor says. */
#include "tracked-x86.h"

#include "trace/plugin/arch.h"
#include "trace/plugin/x86_entered.h"

#include <elf.h>

/* The processor says of TICK that it was an interrupt, of others that they were not. */
static struct us_track_entering asked;
static bool tick_is_interrupt;

static enum us_track_how say(const struct us_tracker *t,
			     const struct us_track_entering *e)
{
	(void)t;
	asked = *e;
	return e->function->address == 0x5000 && tick_is_interrupt ? US_HOW_INTERRUPT
								   : US_HOW_SAID;
}

static void change_stack(struct machine *m, int in)
{
	struct us_track_site s = { .in = &m->f[in] };
	us_track_switch(&m->t, &s, 0);
}

/* MAIN has called F, which has returned: the stack's addresses are known. */
static int start(void **state)
{
	struct machine *m = new_machine(state);
	m->t.how = say;
	tick_is_interrupt = true;
	jump(m, MAIN, MAIN);
	enter(m, MAIN, 4);
	call(m, MAIN, F, 0x8000);
	enter(m, F, 2);
	ret(m, F, 0x8000);
	m->insns += 3;
	return 0;
}

static void expect_calls(const struct machine *m, const char *path, uint64_t calls)
{
	uint64_t found = 0;
	for (uint32_t i = 1; i < m->vcpu.n_node; i++) {
		char text[256];
		path_of(m, i, text);
		if (!strcmp(text, path))
			found = m->node[i].calls;
	}
	assert_int_equal(found, calls);
}

/* TICK has a stack of its own. */
static void tick(struct machine *m)
{
	enter(m, TICK, 3);
	expect_path(m, "2;5000");
	call(m, TICK, G, 0x90000);
	enter(m, G, 1);
	expect_path(m, "2;5000;3000");
	ret(m, G, 0x90000);
	m->insns += 2;
	iret(m, TICK, 0x8ffd8);
}

static void behind_a_call_by_pointer(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, -1, 0x7ff8);
	tick(m);
	assert_true(asked.exactly);
	assert_int_equal(asked.sp, 0x7ff8);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	expect_calls(m, "1000;2000", 2);
	expect_calls(m, "1000;5000", 0);
	assert_int_equal(m->vcpu.interrupts, 1);
}

static void behind_a_jump_by_pointer(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	jump(m, F, -1);
	tick(m);
	assert_false(asked.exactly);
	assert_int_equal(asked.sp, 0x7ff8);
	enter(m, H, 2);
	expect_path(m, "1000;4000");
	ret(m, H, 0x7ff8);
	expect_path(m, "1000");
	expect_calls(m, "1000;5000", 0);
	expect_calls(m, "2;5000;3000", 1);
	assert_int_equal(m->vcpu.resyncs + m->vcpu.unmatched, 0);
}

/* longjmp() has loaded the stack pointer, and has jumped. */
static void behind_a_jump_out_of_calls(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	call(m, F, G, 0x7ff0);
	enter(m, G, 2);
	m->insns += 1;
	change_stack(m, G);
	jump(m, G, -1);
	tick(m);
	assert_int_equal(asked.sp, 0);
	m->insns += 4;
	call(m, MAIN, H, 0x7ff8);
	expect_path(m, "1000;4000");
	expect_calls(m, "1000;2000;5000", 0);
	assert_int_equal(m->vcpu.interrupts, 1);
}

/* The tick goes on with another thread, which has not begun yet. */
static void other_threads_before_it_returns(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, -1, 0x7ff8);
	enter(m, TICK, 3);
	call(m, TICK, G, 0x7f80);
	enter(m, G, 2);
	change_stack(m, G);
	ret(m, G, 0xa0000);
	enter(m, H, 2);
	expect_path(m, "4000");
	call(m, H, G, 0x9fff0);
	enter(m, G, 2);
	change_stack(m, G); /* and back */
	ret(m, G, 0x7f80);
	expect_path(m, "2;5000");
	iret(m, TICK, 0x7fc8);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	expect_calls(m, "1000;5000", 0);
}

/* A program is entered by an exception return, and does not come to its start. */
static void at_the_start_of_what_nobody_called(void **state)
{
	struct machine *m = *state;
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	iret(m, F, 0x7fd0);
	tick(m);
	enter(m, H, 2);
	expect_path(m, "4000");
	expect_calls(m, "4000", 1);
}

/* What interrupts enter is also called by a pointer. */
static void a_call_of_the_handler(void **state)
{
	struct machine *m = *state;
	enter(m, TICK, 3);
	iret(m, TICK, 0x7fd0);
	assert_int_equal(m->vcpu.interrupts, 1);
	tick_is_interrupt = false;
	call(m, MAIN, -1, 0x7ff8);
	enter(m, TICK, 3);
	expect_path(m, "1000;5000");
	ret(m, TICK, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 1);
}

/* ---- What the processor says ---- */

static const struct us_track_entering by_call = { .sp = 0x7ff8, .exactly = true },
				      by_jump = { .sp = 0x7ff8 }, unknown,
				      framed = { .framed = true };

static enum us_track_how how(const struct us_track_entering *e, uint64_t sp, int gate,
			     const uint64_t *word)
{
	struct us_x86_entered x = { .sp = sp, .e = e, .gate = gate, .has_words = word };
	for (unsigned i = 0; word && i < US_X86_WORDS; i++)
		x.word[i] = word[i];
	return us_x86_entered(&x);
}

static void frames_of_interrupts(void **state)
{
	static const uint64_t same[] = { 0x2000, 8, 0x202, 0x7ff0, 0x10, 7 };
	static const uint64_t fault[] = { 2, 0x2000, 8, 0x10246, 0x7ff0, 0x10 };
	static const uint64_t program[] = {
		0x401000, 0x33, 0x246, 0x7ffc0010, 0x2b, 0
	};
	static const uint64_t own[] = { 0x2000, 8, 0x202, 0x123450, 0x10, 7 };
	static const uint64_t other[] = { 0xffffffff80001000, 0, 9, 0, 0x12345, 0 };
	static const uint64_t narrow[] = { 0x800002000, 0x7ff000000202, 0x10, 0, 0, 0 };
	(void)state;
	assert_int_equal(how(&by_call, 0x7ff8, -1, same), US_HOW_SAID);
	assert_int_equal(how(&by_jump, 0x7ff8, -1, same), US_HOW_SAID);
	assert_int_equal(how(&by_call, 0x7fc8, -1, same), US_HOW_INTERRUPT);
	assert_int_equal(how(&by_jump, 0x7fc8, -1, same), US_HOW_INTERRUPT);
	assert_int_equal(how(&by_jump, 0x7fc8, -1, other), US_HOW_SAID);
	assert_int_equal(how(&by_jump, 0x7fc0, -1, fault), US_HOW_INTERRUPT);
	assert_int_equal(how(&unknown, 0x9ffd8, -1, program), US_HOW_INTERRUPT);
	/* It may be another one's. */
	assert_int_equal(how(&framed, 0x7fc8, -1, same), US_HOW_UNKNOWN);
	assert_int_equal(how(&framed, 0x7fc8, 1, same), US_HOW_INTERRUPT);
	/* On a stack of its own: where it does not lie below what it says. */
	assert_int_equal(how(&by_jump, 0x9ffd8, -1, own), US_HOW_UNKNOWN);
	assert_int_equal(how(&by_jump, 0x9ffd8, 1, own), US_HOW_INTERRUPT);
	assert_int_equal(how(&by_call, 0x9ffd8, -1, own), US_HOW_INTERRUPT);
	assert_int_equal(how(&by_call, 0x7fec, -1, narrow), US_HOW_INTERRUPT);
	/* No gate leads there. */
	assert_int_equal(how(&by_call, 0x7fc8, 0, same), US_HOW_SAID);
	/* Memory cannot be read. */
	assert_int_equal(how(&by_call, 0x7fc8, -1, NULL), US_HOW_INTERRUPT);
	assert_int_equal(how(&by_jump, 0x7fc8, -1, NULL), US_HOW_UNKNOWN);
	assert_int_equal(how(&by_call, 0x7fc8, -1, other), US_HOW_UNKNOWN);
}

static void gates(void **state)
{
	static const uint64_t wide[] = { 0, 0, 0x80108e0000081234, 0xffffffff };
	static const uint64_t narrow[] = { 0, 0x00108e0000085678 };
	(void)state;
	assert_true(us_x86_has_gate((const uint8_t *)wide, sizeof(wide),
				    0xffffffff80101234));
	assert_false(us_x86_has_gate((const uint8_t *)wide, sizeof(wide) - 1,
				     0xffffffff80101234));
	assert_true(us_x86_has_gate((const uint8_t *)narrow, sizeof(narrow), 0x105678));
	assert_false(
		us_x86_has_gate((const uint8_t *)narrow, sizeof(narrow), 0x105679));
}

static void vectors(void **state)
{
	const struct us_plugin_arch *arm = us_plugin_arch_of_machine(EM_AARCH64);
	const struct us_plugin_arch *riscv = us_plugin_arch_of_machine(EM_RISCV);
	(void)state;
	assert_true(arm->is_vector(0x80000, 0x80280));
	assert_false(arm->is_vector(0x80000, 0x80284));
	assert_false(arm->is_vector(0x80000, 0x80800));
	assert_false(arm->is_vector(0, 0x280));
	assert_true(riscv->is_vector(0x80000, 0x80000));
	assert_false(riscv->is_vector(0x80000, 0x80004));
	assert_true(riscv->is_vector(0x80001, 0x80014));
	assert_false(riscv->is_vector(0x80001, 0x80100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(behind_a_call_by_pointer, start, stop),
		cmocka_unit_test_setup_teardown(behind_a_jump_by_pointer, start, stop),
		cmocka_unit_test_setup_teardown(behind_a_jump_out_of_calls, start,
						stop),
		cmocka_unit_test_setup_teardown(other_threads_before_it_returns, start,
						stop),
		cmocka_unit_test_setup_teardown(at_the_start_of_what_nobody_called,
						start, stop),
		cmocka_unit_test_setup_teardown(a_call_of_the_handler, start, stop),
		cmocka_unit_test(frames_of_interrupts),
		cmocka_unit_test(gates),
		cmocka_unit_test(vectors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
