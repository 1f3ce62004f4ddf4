/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86's far calls and returns: a frame has two words. */
#include "tracked-x86.h"

#include "trace/plugin/arch.h"

static int start(void **state)
{
	new_machine(state);
	return 0;
}

static void far_ret(struct machine *m, int from, uint64_t sp)
{
	struct us_track_site s = { .in = &m->f[from] };
	us_track_far_return(&m->t, &s, sp, 4);
}

static void a_call_returns(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, -1, 0x7ff8);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	call(m, F, G, 0x7ff4);
	enter(m, G, 2);
	ret(m, G, 0x7ff4);
	far_ret(m, F, 0x7ff8);
	m->insns += 3;
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts + m->vcpu.unmatched, 0);
}

/* Code that changes cs: what it has pushed is no call's. */
static void a_return_jumps(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	far_ret(m, F, 0x7fe8);
	m->insns += 3;
	expect_path(m, "1000;2000");
	far_ret(m, F, 0x7fe8);
	enter(m, G, 2);
	expect_path(m, "1000;3000");
	ret(m, G, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts, 0);
}

static void pop_jump(struct machine *m, int from, uint64_t sp)
{
	struct us_track_site s = { .in = &m->f[from] };
	us_track_pop_jump(&m->t, &s, sp, 8);
}

/* As clang builds returns with -mlvi-cfi: pop, jmp. */
static void a_pop_and_a_jump_return(void **state)
{
	struct machine *m = *state;
	begin(m);
	call(m, MAIN, F, 0x7ff8);
	enter(m, F, 2);
	call(m, F, G, 0x7fe8);
	enter(m, G, 2);
	pop_jump(m, G, 0x7fe8);
	m->insns += 3;
	expect_path(m, "1000;2000");
	/* What was pushed. */
	pop_jump(m, F, 0x7fe8);
	enter(m, H, 2);
	expect_path(m, "1000;4000");
	/* The next tail call is the caller's. */
	call(m, H, G, 0x7fe8);
	enter(m, G, 2);
	pop_jump(m, G, 0x7fe8);
	jump(m, H, F);
	enter(m, F, 2);
	expect_path(m, "1000;2000");
	pop_jump(m, F, 0x7ff8);
	expect_path(m, "1000");
	assert_int_equal(m->vcpu.interrupts + m->vcpu.unmatched + m->vcpu.resyncs, 0);
}

/* Back from a stack of its own. */
static void a_return_from_another_stack(void **state)
{
	struct machine *m = *state;
	struct us_track_site s = { .in = &m->f[F] };
	begin(m);
	call(m, MAIN, -1, 0x7ff8);
	enter(m, F, 2);
	us_track_switch(&m->t, &s, 0);
	call(m, F, G, 0x100000);
	enter(m, G, 2);
	ret(m, G, 0x100000);
	us_track_switch(&m->t, &s, 0);
	far_ret(m, F, 0x7ff8);
	m->insns += 3;
	expect_path(m, "1000");
}

static void expect_flow(const char *code, size_t n, enum us_flow flow, bool far)
{
	struct us_flow_insn f;
	us_x86_flow((const uint8_t *)code, n, 0x10000, &f);
	assert_int_equal(f.flow, flow);
	assert_int_equal(f.far, far);
	assert_false(f.has_target);
}

static void instructions(void **state)
{
	(void)state;
	expect_flow("\x9a\0\0\1\0\x08\0", 7, US_FLOW_CALL, true);  /* lcall $8,$.. */
	expect_flow("\x9a\0\1\0\0", 5, US_FLOW_CALL, true);	   /* in 16 bits */
	expect_flow("\xff\x18", 2, US_FLOW_CALL, true);		   /* lcall *(%rax) */
	expect_flow("\x48\xff\x18", 3, US_FLOW_CALL, true);	   /* rex.W */
	expect_flow("\xcb", 1, US_FLOW_RETURN, true);		   /* lret */
	expect_flow("\x48\xcb", 2, US_FLOW_RETURN, true);	   /* lretq */
	expect_flow("\xca\x08\0", 3, US_FLOW_RETURN, true);	   /* lret $8 */
	expect_flow("\xea\0\0\1\0\x08\0", 7, US_FLOW_JUMP, false); /* ljmp $8,$.. */
	expect_flow("\xff\x28", 2, US_FLOW_JUMP, false);	   /* ljmp *(%rax) */
	expect_flow("\xff\x10", 2, US_FLOW_CALL, false);	   /* call *(%rax) */
	expect_flow("\xc3", 1, US_FLOW_RETURN, false);		   /* ret */
}

static struct us_flow_insn flow_of(const char *code, size_t n)
{
	struct us_flow_insn f;
	us_x86_flow((const uint8_t *)code, n, 0x10000, &f);
	return f;
}

static void pops(void **state)
{
	(void)state;
	assert_int_equal(flow_of("\x59", 1).popped, 2);	      /* pop %rcx */
	assert_int_equal(flow_of("\x41\x5b", 2).popped, 12);  /* pop %r11 */
	assert_int_equal(flow_of("\x5c", 1).popped, 0);	      /* pop %rsp */
	assert_int_equal(flow_of("\xff\xe1", 2).jumps_by, 2); /* jmp *%rcx */
	assert_int_equal(flow_of("\xff\x21", 2).jumps_by, 0); /* jmp *(%rcx) */
	assert_int_equal(flow_of("\x41\xff\xe3", 3).jumps_by, 12);
	assert_int_equal(flow_of("\xff\xd1", 2).jumps_by, 0); /* call *%rcx */
	assert_true(flow_of("\x0f\xae\xe8", 3).keeps);	      /* lfence */
	assert_true(flow_of("\x48\x83\xc4\x08", 4).keeps);    /* add $8,%rsp */
	assert_false(flow_of("\x49\x83\xc4\x08", 4).keeps);   /* add $8,%r12 */
	assert_false(flow_of("\x48\x83\xc1\x08", 4).keeps);   /* add $8,%rcx */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call_returns, start, stop),
		cmocka_unit_test_setup_teardown(a_return_jumps, start, stop),
		cmocka_unit_test_setup_teardown(a_return_from_another_stack, start,
						stop),
		cmocka_unit_test_setup_teardown(a_pop_and_a_jump_return, start, stop),
		cmocka_unit_test(instructions),
		cmocka_unit_test(pops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
