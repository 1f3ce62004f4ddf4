/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What samples may cost, in time and in copied bytes, stays within bounds. */
#include "unit.h"

#include "backend/bpf/budget.h"
#include "backend/bpf/stack_need.h"
#include "base/clock.h"

#define PERIOD_NS US_NS_PER_MS

static void settle(struct us_bpf_budget *b, uint64_t n_skipped)
{
	bool changed;
	us_bpf_budget_settle(b, b->settled_ns + 50 * US_NS_PER_MS, n_skipped, &changed);
}

/* An interval without a sample, as none had credit, does not look cheap. */
static void what_was_skipped_has_a_cost(void **state)
{
	(void)state;
	struct us_bpf_budget b;
	us_bpf_budget_start(&b, PERIOD_NS, 10, 1, 0);
	us_bpf_budget_sample(&b, 10 * US_NS_PER_US);
	settle(&b, 50);
	uint64_t period_ns = b.period_ns;
	assert_true(period_ns > PERIOD_NS);
	settle(&b, 50);
	assert_true(b.period_ns > period_ns);
}

/* Many vCPUs that have ended cost no samples. */
static void ended_vcpus_are_due_nothing(void **state)
{
	(void)state;
	struct us_bpf_budget b;
	bool changed;
	us_bpf_budget_start(&b, PERIOD_NS, 100, 2, 0);
	b.period_ns = 2 * PERIOD_NS;
	assert_int_equal(us_bpf_budget_settle(&b, 100 * PERIOD_NS, 0, &changed), 100);
	b.period_ns = 2 * PERIOD_NS;
	b.n_vcpu = 0;
	assert_int_equal(us_bpf_budget_settle(&b, 200 * PERIOD_NS, 0, &changed), 0);
}

/* However many stacks were cut, a window is as large as can be, and no larger. */
static void windows_grow_to_a_limit(void **state)
{
	(void)state;
	static struct us_bpf_guest guest;
	static struct us_stack_copy w;
	struct us_bpf_need n = { 0 };
	us_bpf_need_start(&n, &guest, 0);
	w.n_window = 1;
	w.window[0].base = 0x10000;
	w.deepest = 8192;
	w.missed_at = 0x10000 + 8192;
	for (unsigned i = 0; i < 64; i++) {
		us_bpf_need_learn(&n, &w, true);
		assert_int_equal(guest.window, US_BPF_MAX_WINDOW);
		assert_true(guest.enough <= US_BPF_MAX_WINDOW);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_skipped_has_a_cost),
		cmocka_unit_test(ended_vcpus_are_due_nothing),
		cmocka_unit_test(windows_grow_to_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
