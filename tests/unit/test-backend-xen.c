/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The xen backend on a hypervisor that is made up: samples, their registers, which
 * domain. */
#include "xen-guest.h"
#include "terminal.h"

#include "backend/xen/rest.h"

static void one_pause_serves_all_vcpus(void **state)
{
	(void)state;
	struct us_backend *b = open_started(3, 1000);
	struct us_capture c;
	fake_xen->vcpu[1] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	for (unsigned n = 1; n <= 20; n++) {
		unsigned seen = 0;
		for (unsigned i = 0; i < 3; i++) {
			take(b, &c);
			seen |= 1u << c.vcpu;
			bool idle = c.vcpu == 1;
			assert_int_equal(c.state,
					 idle ? US_VCPU_HALTED : US_VCPU_GUEST);
			assert_int_equal(c.form,
					 idle ? US_CAPTURE_NONE : US_CAPTURE_WINDOW);
			assert_int_equal(atomic_load(&fake_xen->paused), !idle);
			b->ops->release(b, &c);
			assert_true(!idle || !c.held_ns);
		}
		assert_int_equal(seen, 7);
		assert_int_equal(atomic_load(&fake_xen->n_pause), n);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
	}
	struct us_backend_counts counts;
	b->ops->counts(b, &counts);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(counts.due, 60 + counts.late + counts.backed_off);
	assert_int_equal(fake_xen->n_running_regs, 0);
	close_it(b);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
}

static void an_idle_domain_is_not_paused(void **state)
{
	(void)state;
	struct us_backend *b = open_started(2, 2000);
	struct us_capture c;
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	fake_xen->vcpu[1] = (struct us_xen_vcpu){ 0 };
	for (unsigned i = 0; i < 20; i++) {
		take(b, &c);
		assert_int_equal(c.state, c.vcpu ? US_VCPU_OFF : US_VCPU_HALTED);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 0);
	close_it(b);
}

/* Where a hypercall takes longer than the samples are apart: a part of the time at
 * least, but for what is saved up. */
static void dom0_gets_its_part_of_the_time(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 100000);
	struct us_capture c;
	uint64_t worked = 0, rested = 0;
	fake_xen->slow_ns = 2 * US_NS_PER_MS;
	take(b, &c);
	b->ops->release(b, &c);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t end = fake_xen->unpaused_ns;
		take(b, &c);
		rested += fake_xen->domain_ns - end;
		b->ops->release(b, &c);
		worked += fake_xen->unpaused_ns - fake_xen->domain_ns;
	}
	assert_true(rested + US_XEN_REST_MOST_NS >= worked / 8);
	close_it(b);
}

/* The domain ran while the terminal had stopped us. */
static void a_terminals_stop_takes_nothing(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 1000);
	struct us_backend_counts counts;
	struct us_capture c;
	take(b, &c);
	pid_t terminal = terminal_stop();
	b->ops->release(b, &c);
	terminal_continued(terminal);
	b->ops->counts(b, &counts);
	assert_true(counts.stolen_ns < TERMINAL_STOP_NS / 2);
	assert_true(c.held_ns < TERMINAL_STOP_NS / 2);
	close_it(b);
}

/* One that shares our CPU runs between any two samples. */
static void a_domain_on_our_cpu_has_a_rest_after_each(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 1000000);
	struct us_capture c;
	fake_xen->vcpu[0].running = false;
	for (unsigned i = 0; i < 50; i++) {
		fake_xen->vcpu[0].ran_ns += 1000;
		fake_xen->slow_ns = i % 2 ? 0 : US_NS_PER_MS;
		uint64_t begin = fake_xen->domain_ns, end = fake_xen->unpaused_ns;
		take(b, &c);
		if (i)
			assert_true(fake_xen->domain_ns - end >= (end - begin) / 8);
		b->ops->release(b, &c);
	}
	close_it(b);
}

/* Two calls a sample; when it turns idle it is paused once for nothing. */
static void a_sample_is_one_call(void **state)
{
	(void)state;
	if (fake_sample_code)
		skip();
	struct us_backend *b = open_started(1, 5000);
	struct us_capture c;
	for (unsigned i = 0; i < 10; i++) {
		take(b, &c);
		assert_int_equal(c.form, US_CAPTURE_WINDOW);
		assert_int_equal(c.regs.pc, AT_LEAF);
		b->ops->release(b, &c);
		assert_int_equal(fake_xen->n_sample,
				 i + 2); /* the first one took two */
	}
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	for (unsigned i = 0; i < 10; i++) {
		take(b, &c);
		assert_int_equal(c.state, US_VCPU_HALTED);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 11);
	assert_int_equal(fake_xen->n_sample, 21);
	close_it(b);
}

/* More vCPUs than one call brings the registers of. */
static void registers_of_all_are_read(void **state)
{
	(void)state;
	struct us_backend *b = open_started(FAKE_VCPUS, 5000);
	struct us_capture c;
	for (unsigned i = 0; i < FAKE_VCPUS; i++)
		fake_xen->regs[i].pc = AT_LEAF + i;
	for (unsigned i = 0; i < 5 * FAKE_VCPUS; i++) {
		take(b, &c);
		assert_int_equal(c.vcpu, i % FAKE_VCPUS);
		assert_int_equal(c.regs.pc, AT_LEAF + c.vcpu);
		b->ops->release(b, &c);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 5);
	assert_int_equal(fake_xen->n_running_regs, 0);
	close_it(b);
}

/* Runnable, and no time since the last look: its CPU was another's. */
static void waiting_for_a_cpu_is_told(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	fake_xen->vcpu[0].running = false;
	fake_xen->vcpu[0].ran_ns = 5;
	take(b, &c);
	assert_int_equal(c.state, US_VCPU_GUEST); /* it has run before we came */
	b->ops->release(b, &c);
	take(b, &c);
	assert_int_equal(c.state, US_VCPU_READY);
	b->ops->release(b, &c);
	close_it(b);
}

/* Which domain is meant. */
static void domains_are_found_by_number_and_name(void **state)
{
	(void)state;
	struct us_xen_guest v[] = {
		{ .domain = { .id = 3 }, .name = "web" },
		{ .domain = { .id = 5 }, .name = "db" },
		{ .domain = { .id = 8 }, .name = "db" },
		{ .domain = { .id = 9 } },
	};
	struct us_xen_list l = { .v = v, .n = 4 };
	struct us_xen_guest g;
	struct us_err e;
	assert_int_equal(us_xen_select(&l, "web", &g, &e), 0);
	assert_int_equal(g.domain.id, 3);
	assert_int_equal(us_xen_select(&l, "8", &g, &e), 0);
	assert_int_equal(g.domain.id, 8);
	assert_int_equal(us_xen_select(&l, "db", &g, &e), -EEXIST);
	assert_int_equal(us_xen_select(&l, "", &g, &e), -EEXIST);
	assert_int_equal(us_xen_select(&l, "x\033[31m", &g, &e), -ENOENT);
	assert_null(strchr(e.msg, '\033'));
	assert_non_null(strstr(e.msg, "3 (web)"));
	l.n = 1;
	assert_int_equal(us_xen_select(&l, "", &g, &e), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(one_pause_serves_all_vcpus),
		TEST(an_idle_domain_is_not_paused),
		TEST(dom0_gets_its_part_of_the_time),
		TEST(a_terminals_stop_takes_nothing),
		TEST(a_domain_on_our_cpu_has_a_rest_after_each),
		TEST(a_sample_is_one_call),
		TEST(registers_of_all_are_read),
		TEST(waiting_for_a_cpu_is_told),
		TEST(domains_are_found_by_number_and_name),
	};
	/* A Xen, or its policy, that refuses many calls in one. */
	if (argc > 1 && !strcmp(argv[1], "refuses"))
		fake_sample_code = -EPERM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
