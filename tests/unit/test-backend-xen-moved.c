/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which vCPUs of a Xen domain have run, by their registers or by what Xen says. */
#include "fake-xen.h"

#include "backend/xen/moved.h"

#define APART_NS US_NS_PER_MS
#define CLOSE_NS (US_XEN_MOVED_NS / 2)

static struct us_xen_moved moved;
static struct us_xen_sample look;
static uint64_t now_ns;

static void set_up(unsigned n_vcpu)
{
	fake_setup(n_vcpu);
	moved = (struct us_xen_moved){ 0 };
	look = (struct us_xen_sample){ .pause = true };
	now_ns = US_NS_PER_SEC;
	for (unsigned i = 0; i < n_vcpu; i++)
		fake_xen->regs[i].pc = 0x1000 * (i + 1);
}

/* A sample of all vCPUs, so long after the last; all of them are asked for with the
 * domain.  How many questions it took. */
static unsigned sample_after(uint64_t ns, bool all)
{
	uint64_t mask = (1ull << fake_xen->domain.n_vcpu) - 1;
	unsigned before = fake_xen->n_asked;
	now_ns += ns;
	look.vcpus = all ? mask : us_xen_moved_ask(&moved, mask, now_ns);
	look.regs = mask;
	assert_int_equal(fake_sample(fake_xen, &fake_xen->domain, &look), 0);
	us_xen_moved_tell(&moved, &fake_calls, fake_xen, &fake_xen->domain, &look, mask,
			  now_ns);
	assert_int_equal(fake_unpause(fake_xen, FAKE_DOMAIN), 0);
	assert_int_equal(fake_xen->n_running_regs, 0);
	return fake_xen->n_asked - before;
}

static unsigned sample(bool all)
{
	return sample_after(APART_NS, all);
}

/* It runs to the next sample, elsewhere then. */
static void go_on(unsigned vcpu)
{
	fake_xen->regs[vcpu].pc += 8;
	fake_xen->vcpu[vcpu].ran_ns += APART_NS;
}

static void one_that_moves_is_not_asked_for(void **state)
{
	(void)state;
	set_up(1);
	for (unsigned i = 0; i < 20; i++) {
		go_on(0);
		assert_int_equal(sample(i == 10), i < 2 || i == 10);
		assert_int_equal(moved.ran, 1);
		assert_int_equal(look.vcpus_known, 1);
		assert_true(look.vcpu[0].online);
		assert_false(look.vcpu[0].blocked);
	}
	/* Another register will do. */
	for (unsigned i = 0; i < 5; i++) {
		fake_xen->regs[0].gpr[US_X86_R15]++;
		assert_int_equal(sample(false), 0);
		assert_int_equal(moved.ran, 1);
	}
}

/* SYSCALL leaves in rcx where it goes on. */
static void one_in_a_hypercall_may_wait(void **state)
{
	(void)state;
	set_up(1);
	for (unsigned i = 0; i < 4; i++) {
		go_on(0);
		sample(false);
	}
	assert_int_equal(moved.trusted, 1);
	go_on(0);
	fake_xen->regs[0].gpr[US_X86_RCX] = fake_xen->regs[0].pc;
	fake_xen->vcpu[0].running = false;
	fake_xen->vcpu[0].blocked = true;
	assert_int_equal(sample(false), 1);
	assert_true(look.vcpu[0].blocked);
	assert_int_equal(moved.trusted, 0);
	assert_false(moved.off);
	/* What a program has in rcx means nothing. */
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .running = true };
	fake_xen->regs[0].user = true;
	for (unsigned i = 0; i < 4; i++) {
		go_on(0);
		fake_xen->regs[0].gpr[US_X86_RCX] = fake_xen->regs[0].pc;
		sample(false);
	}
	assert_int_equal(moved.trusted, 1);
}

/* It does not run: its CPU is another's.  Of the time since it was asked for, all may
 * have been before the last sample. */
static void one_that_stands_has_not_run(void **state)
{
	(void)state;
	set_up(1);
	fake_xen->vcpu[0].running = false;
	for (unsigned i = 0; i < 10; i++) {
		go_on(0);
		sample(false);
		assert_int_equal(moved.ran, 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(sample(false), 1);
		assert_int_equal(moved.ran, 0);
		assert_int_equal(moved.trusted, 0);
	}
	go_on(0);
	sample(false);
	assert_int_equal(moved.ran, 1);
}

/* Samples in close succession: there was no time to move.  After a wait there was. */
static void one_without_time_to_move_is_trusted_after_a_wait(void **state)
{
	(void)state;
	set_up(1);
	for (unsigned i = 0; i < 10; i++) {
		go_on(0);
		assert_int_equal(sample(false), i < 2);
		assert_int_equal(moved.trusted, i > 0);
		for (unsigned n = 0; n < i % 4; n++) {
			assert_int_equal(sample_after(CLOSE_NS, false), 1);
			assert_int_equal(moved.trusted, 0);
			assert_int_equal(look.vcpus_known, 1);
		}
	}
	/* If it has not moved after the wait, either, Xen is asked from then on. */
	go_on(0);
	sample(false);
	sample_after(CLOSE_NS, false);
	assert_int_equal(look.vcpus, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(sample(false), 1);
		assert_int_equal(look.vcpus, i > 0);
	}
	/* Nor is one that waits trusted. */
	go_on(0);
	sample(false);
	go_on(0);
	assert_int_equal(sample(false), 0);
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	assert_int_equal(sample_after(CLOSE_NS, false), 1);
	assert_int_equal(sample(false), 1);
	assert_int_equal(look.vcpus, 1);
}

/* A loop comes back to the same registers. */
static void one_that_spins_has_run(void **state)
{
	(void)state;
	set_up(1);
	fake_xen->vcpu[0].running = false;
	for (unsigned i = 0; i < 10; i++) {
		go_on(0);
		sample(false);
	}
	for (unsigned i = 0; i < 5; i++) {
		fake_xen->vcpu[0].ran_ns += APART_NS;
		assert_int_equal(sample(false), 1);
		assert_int_equal(moved.ran, 1);
	}
}

/* Xen says that one waits, and its registers that it cannot. */
static void registers_that_are_wrong_are_not_believed(void **state)
{
	(void)state;
	set_up(1);
	for (unsigned i = 0; i < 4; i++) {
		go_on(0);
		sample(false);
	}
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	go_on(0);
	assert_int_equal(sample(true), 2); /* once more, now that it stands */
	assert_true(look.vcpu[0].blocked);
	assert_true(moved.off);
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .running = true };
	for (unsigned i = 0; i < 4; i++) {
		go_on(0);
		assert_int_equal(sample(false), 1);
	}
}

/* A guest of its own processor waits by HLT. */
static void only_pv_domains_are_believed(void **state)
{
	(void)state;
	set_up(1);
	fake_xen->domain.kind = US_XEN_PVH;
	for (unsigned i = 0; i < 5; i++) {
		go_on(0);
		assert_int_equal(sample(false), 1);
		assert_int_equal(moved.ran, 1);
	}
}

/* Those whose registers did not come, or could not be read. */
static void without_registers_xen_is_asked(void **state)
{
	(void)state;
	set_up(FAKE_LOOK_REGS + 1);
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned v = 0; v <= FAKE_LOOK_REGS; v++)
			go_on(v);
		unsigned asked = sample(false);
		assert_int_equal(asked, i < 2 ? FAKE_LOOK_REGS + 1 : 1);
		assert_int_equal(look.vcpus_known, (2u << FAKE_LOOK_REGS) - 1);
	}
	fake_xen->regs_code[0] = -ENODATA;
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ 0 };
	assert_true(sample(false) >= 2);
	assert_false(look.vcpu[0].online);
	assert_false(moved.trusted & 1);
	/* Nor can it be asked for. */
	fake_xen->domain.n_vcpu = 1;
	look.vcpus_known = 0;
	us_xen_moved_tell(&moved, &fake_calls, fake_xen, &fake_xen->domain, &look, 2,
			  now_ns);
	assert_int_equal(look.vcpus_known, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_moves_is_not_asked_for),
		cmocka_unit_test(one_in_a_hypercall_may_wait),
		cmocka_unit_test(one_that_stands_has_not_run),
		cmocka_unit_test(one_without_time_to_move_is_trusted_after_a_wait),
		cmocka_unit_test(one_that_spins_has_run),
		cmocka_unit_test(registers_that_are_wrong_are_not_believed),
		cmocka_unit_test(only_pv_domains_are_believed),
		cmocka_unit_test(without_registers_xen_is_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
