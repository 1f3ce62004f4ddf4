/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pacer keeps its rate, its budget and its books, on a clock made of a number. */
#include "unit.h"

#include "backend/pacer.h"

#include <errno.h>
#include "base/clock.h"

#define START (1000 * US_NS_PER_SEC)

/* What a sample takes of the guest, and the sampler's delays. */
struct world {
	uint64_t now;
	uint64_t wake_ns; /* the sleep ends that much late */
	uint64_t cost_ns; /* of a sample */
	uint64_t n_sample;
	uint64_t end[200000], cost[200000]; /* of each sample */
};

static struct world *new_world(uint64_t wake_ns, uint64_t cost_ns)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->now = START;
	w->wake_ns = wake_ns;
	w->cost_ns = cost_ns;
	return w;
}

static void one_look(struct us_pacer *p, struct world *w, uint64_t cost_ns)
{
	uint64_t due;
	unsigned slot = us_pacer_next(p, &due);
	if (due + w->wake_ns > w->now)
		w->now = due + w->wake_ns;
	w->now += cost_ns;
	assert_true(w->n_sample < 200000);
	w->end[w->n_sample] = w->now;
	w->cost[w->n_sample++] = cost_ns;
	us_pacer_done(p, slot, w->now, cost_ns);
}

static void run_until(struct us_pacer *p, struct world *w, uint64_t end)
{
	uint64_t due;
	while (us_pacer_next(p, &due), due < end)
		one_look(p, w, w->cost_ns);
	if (w->now < end)
		w->now = end;
}

static struct us_backend_counts books(const struct us_pacer *p, const struct world *w)
{
	struct us_backend_counts c;
	us_pacer_counts(p, w->now, &c);
	assert_int_equal(c.due, p->taken + c.late + c.backed_off + c.failed);
	return c;
}

/* The dearest second (by the ends of its samples), without its dearest sample. */
static uint64_t worst_second(const struct world *w)
{
	uint64_t worst = 0, sum = 0;
	for (size_t from = 0, to = 0; to < w->n_sample; to++) {
		sum += w->cost[to];
		while (w->end[from] + US_NS_PER_SEC <= w->end[to])
			sum -= w->cost[from++];
		uint64_t dearest = 0;
		for (size_t i = from; i <= to; i++)
			if (w->cost[i] > dearest)
				dearest = w->cost[i];
		if (sum - dearest > worst)
			worst = sum - dearest;
	}
	return worst;
}

static void cheap_looks_keep_the_rate(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 1, .budget_ppm = 20000 };
	struct us_pacer p;
	struct world *w = new_world(70 * US_NS_PER_US, 10 * US_NS_PER_US);
	us_pacer_init(&p, &s, 1, 1, START);
	run_until(&p, w, START + 20 * US_NS_PER_SEC);
	struct us_backend_counts c = books(&p, w);
	/* 10 us of each ms are the sample itself; late wake-ups cost none. */
	assert_in_range(p.taken, 19600, 19950);
	assert_in_range(c.due, 19800, 20200);
	assert_int_equal(c.backed_off, 0);
	assert_int_equal(c.vcpu_ns, 20 * US_NS_PER_SEC);
	assert_int_equal(c.stolen_ns, w->n_sample * 10 * US_NS_PER_US);
	free(w);
}

static void a_look_at_the_whole_guest_weighs_its_vcpus(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 100, .seed = 7 };
	struct us_pacer p;
	struct us_err e;
	uint64_t mask;
	assert_int_equal(us_pacer_init_whole(&p, &s, 3, &mask, &e), 0);
	assert_int_equal(mask, 7);
	assert_int_equal(p.weight, 3);
	assert_int_equal(p.n_active, 1);
	s.vcpu_mask = 0xf4; /* of a guest that has fewer */
	assert_int_equal(us_pacer_init_whole(&p, &s, 3, &mask, &e), 0);
	assert_int_equal(mask, 4);
	assert_int_equal(p.weight, 1);
	assert_int_equal(p.n_active, 1);
	s.vcpu_mask = 0x8;
	assert_int_equal(us_pacer_init_whole(&p, &s, 3, &mask, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "3 vCPUs"));
	s.vcpu_mask = 0;
	assert_int_equal(us_pacer_init_whole(&p, &s, 64, &mask, &e), 0);
	assert_true(mask == UINT64_MAX);
}

static void distances_are_random_and_repeat_with_the_seed(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 100, .seed = 7 };
	struct us_pacer a, b;
	struct world *wa = new_world(0, 1000), *wb = new_world(0, 1000);
	us_pacer_init(&a, &s, 2, 1, START);
	us_pacer_init(&b, &s, 2, 1, START);
	uint64_t shortest = UINT64_MAX, longest = 0;
	for (int i = 0; i < 2000; i++) {
		uint64_t due, slot = us_pacer_next(&a, &due);
		one_look(&a, wa, 1000);
		one_look(&b, wb, 1000);
		assert_int_equal(wa->now, wb->now);
		uint64_t d = a.slot[slot].due_ns - wa->now;
		shortest = d < shortest ? d : shortest;
		longest = d > longest ? d : longest;
	}
	assert_in_range(shortest, 4900000, 5100000); /* 0.5 of 10 ms */
	assert_in_range(longest, 14900000, 15100000);
	free(wa);
	free(wb);
}

static void dear_looks_are_spread_over_the_budget(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 997, .seed = 3, .budget_ppm = 20000 };
	struct us_pacer p;
	struct world *w = new_world(0, US_NS_PER_MS);
	us_pacer_init(&p, &s, 1, 1, START);
	run_until(&p, w, START + US_NS_PER_SEC);
	/* No learning by overrun: the first second keeps it already. */
	assert_in_range(p.taken, 17, 21);
	run_until(&p, w, START + 30 * US_NS_PER_SEC);
	assert_in_range(p.taken, 30 * 17, 30 * 20 + 1);
	assert_true(worst_second(w) <= 20 * US_NS_PER_MS);
	struct us_backend_counts c = books(&p, w);
	assert_in_range(c.due, 30 * 985, 30 * 1009);
	assert_true(c.backed_off > 20 * c.late);
	free(w);
}

static void recovers_when_looks_get_cheap(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 3, .budget_ppm = 20000 };
	struct us_pacer p;
	struct world *w = new_world(0, US_NS_PER_MS);
	us_pacer_init(&p, &s, 1, 1, START);
	run_until(&p, w, START + 5 * US_NS_PER_SEC);
	assert_true(us_pacer_stretch(&p, 0) > 40);
	w->cost_ns = 10 * US_NS_PER_US;
	run_until(&p, w, START + 10 * US_NS_PER_SEC);
	assert_true(us_pacer_stretch(&p, 0) == 1);
	uint64_t before = p.taken;
	run_until(&p, w, START + 11 * US_NS_PER_SEC);
	assert_in_range(p.taken - before, 950, 1010);
	free(w);
}

/* Costs over four orders of magnitude, in runs and at random. */
static void no_second_exceeds_the_budget_by_more_than_a_look(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 20; seed++) {
		struct us_schedule s = { .hz = 500, .seed = seed, .budget_ppm = 20000 };
		struct us_pacer p;
		struct world *w = new_world(0, 0);
		us_pacer_init(&p, &s, 1, 1, START);
		uint64_t due;
		srand(seed);
		while (us_pacer_next(&p, &due), due < START + 20 * US_NS_PER_SEC) {
			unsigned dear = rand() % 200 == 0 ? 1000
							  : w->n_sample / 100 % 3;
			one_look(&p, w, 10000 + dear * (rand() % 30000));
		}
		assert_true(worst_second(w) <= 20 * US_NS_PER_MS);
		books(&p, w);
		free(w);
	}
}

/* One in a hundred is 50 times as dear: the mean is three quarters of the budget, and
 * few are given up for it. */
static void rare_dear_looks_do_not_starve_the_others(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 997, .seed = 3, .budget_ppm = 200000 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	uint64_t due;
	us_pacer_init(&p, &s, 1, 1, START);
	srand(1);
	while (us_pacer_next(&p, &due), due < START + 30 * US_NS_PER_SEC)
		one_look(&p, w, (rand() % 100 ? 100 : 5000) * US_NS_PER_US);
	struct us_backend_counts c = books(&p, w);
	print_message("# backed off %.1f %%, late %.1f %%\n",
		      100.0 * (double)c.backed_off / (double)c.due,
		      100.0 * (double)c.late / (double)c.due);
	assert_true(c.backed_off * 50 < c.due);
	assert_true(worst_second(w) <= 200 * US_NS_PER_MS);
	free(w);
}

static void a_look_dearer_than_the_budget_is_still_taken(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 10, .seed = 3, .budget_ppm = 1000 };
	struct us_pacer p;
	struct world *w = new_world(0, 5 * US_NS_PER_MS);
	us_pacer_init(&p, &s, 1, 1, START);
	run_until(&p, w, START + 60 * US_NS_PER_SEC);
	assert_in_range(p.taken, 10, 13); /* 5 ms at 0.1 %: one in 5 s */
	books(&p, w);
	free(w);
}

/* The next sample is a minute away, and none of it was due yet. */
static void what_is_planned_is_not_due_yet(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 3, .budget_ppm = 1000 };
	struct us_pacer p;
	uint64_t last = 0;
	struct world *w = new_world(0, 50 * US_NS_PER_MS);
	us_pacer_init(&p, &s, 1, 1, START);
	for (unsigned ms = 500; ms <= 300000; ms += ms < 5000 ? 10 : 1000) {
		run_until(&p, w, START + ms * US_NS_PER_MS);
		struct us_backend_counts c = books(&p, w);
		uint64_t elapsed_ms = (w->now - START) / US_NS_PER_MS;
		assert_true(c.due >= last);
		assert_in_range(c.due, elapsed_ms * 97 / 100, elapsed_ms * 101 / 100);
		last = c.due;
	}
	assert_in_range(p.taken, 2, 10);
	free(w);
}

/* The first look finds cold caches, or a VMM that has not run for long. */
static void a_dear_first_look_does_not_slow_down_the_next(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .budget_ppm = 200000, .seed = 1 };
	struct us_pacer p;
	uint64_t due, ms = US_NS_PER_MS;
	us_pacer_init(&p, &s, 1, 1, START);
	for (unsigned i = 0; i < 20; i++) {
		us_pacer_next(&p, &due);
		uint64_t cost = i ? ms / 10 : 5 * ms;
		us_pacer_done(&p, 0, due + cost, cost);
		assert_true(us_pacer_stretch(&p, 0) <= 1);
	}
	/* Each of them is as dear. */
	for (unsigned i = 0; i < 20; i++) {
		us_pacer_next(&p, &due);
		us_pacer_done(&p, 0, due + 5 * ms, 5 * ms);
	}
	assert_true(us_pacer_stretch(&p, 0) > 10);
}

static void idle_looks_do_not_speed_it_up(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 5, .budget_ppm = 20000 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	us_pacer_init(&p, &s, 1, 1, START);
	for (int i = 0; i < 100; i++)
		one_look(&p, w, 100000);
	double stretch = us_pacer_stretch(&p, 0);
	for (int i = 0; i < 1000; i++)
		one_look(&p, w, 0);
	assert_true(us_pacer_stretch(&p, 0) == stretch);
	free(w);
}

static void slots_share_fairly_and_obey_the_mask(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 5, .vcpu_mask = 0xb };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	us_pacer_init(&p, &s, 4, 1, START);
	unsigned n[4] = { 0 };
	for (int i = 0; i < 30000; i++) {
		uint64_t due;
		unsigned slot = us_pacer_next(&p, &due);
		n[slot]++;
		/* Slower than all three want: 500 us each. */
		one_look(&p, w, 500 * US_NS_PER_US);
	}
	assert_int_equal(n[2], 0);
	for (int i = 0; i < 4; i++)
		if (i != 2)
			assert_in_range(n[i], 9900, 10100);
	struct us_backend_counts c = books(&p, w);
	assert_true(c.late > 5000);
	assert_int_equal(c.vcpu_ns, 3 * (w->now - START));
	us_pacer_retire(&p, 0);
	for (int i = 0; i < 100; i++) {
		uint64_t due;
		assert_int_not_equal(us_pacer_next(&p, &due), 0);
		one_look(&p, w, 0);
	}
	free(w);
}

static void a_look_at_all_counts_for_each(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 100, .seed = 5, .vcpu_mask = 1 };
	struct us_pacer p;
	struct world *w = new_world(0, 1000);
	us_pacer_init(&p, &s, 1, 4, START);
	for (int i = 0; i < 10; i++)
		one_look(&p, w, 1000);
	us_pacer_failed(&p, 3);
	struct us_backend_counts c = books(&p, w);
	assert_int_equal(p.taken, 37);
	assert_int_equal(c.failed, 3);
	assert_int_equal(c.stolen_ns, 40000);
	assert_int_equal(c.vcpu_ns, 4 * (w->now - START));
	free(w);
}

static void a_long_sleep_is_counted_as_late(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 5, .budget_ppm = 20000 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	us_pacer_init(&p, &s, 1, 1, START);
	one_look(&p, w, 1000);
	w->now += 10 * US_NS_PER_SEC; /* uniscope itself was stopped */
	one_look(&p, w, 1000);
	struct us_backend_counts c = books(&p, w);
	assert_in_range(c.late, 9990, 10000);
	free(w);
}

/* A vCPU that has a CPU and has none by turns; without one it stops only when it gets
 * it back.  Its waiting's share of the samples is its share of the time. */
static void a_wait_is_weighed(void **state)
{
	(void)state;
	for (unsigned budget = 0; budget <= 20000; budget += 20000) {
		struct us_schedule s = { .hz = 1000, .seed = 5, .budget_ppm = budget };
		struct us_pacer p;
		struct world *w = new_world(0, 0);
		uint64_t due, waiting = 0, waited_ns = 0, turn = START, cost = 30000;
		bool waits = true;
		us_pacer_init(&p, &s, 1, 1, START);
		srand(1);
		while (us_pacer_next(&p, &due), due < START + 200 * US_NS_PER_SEC) {
			while (turn < due) {
				uint64_t length = 1000000 + rand() % 20000000;
				waits = !waits;
				waited_ns += waits ? length : 0;
				turn += length;
			}
			uint64_t wait = waits ? turn - due : 0;
			uint32_t samples = 1;
			if (waits)
				samples = us_pacer_due_in(&p, 0, due, turn);
			w->now = due + wait + cost;
			us_pacer_done_for(&p, 0, w->now, cost, samples);
			waiting += waits ? samples : 0;
		}
		struct us_backend_counts c = books(&p, w);
		uint64_t ms = (w->now - START) / US_NS_PER_MS;
		assert_in_range(c.due, ms * 98 / 100, ms * 102 / 100);
		uint64_t share = waiting * 1000 / p.taken;
		uint64_t truth = waited_ns / 1000 / ms;
		assert_in_range(share, truth - 15, truth + 15);
		assert_true(c.late * 50 < c.due);
		free(w);
	}
}

/*
 * A guest whose clock stands with it, busy for 7 of 200 ms of that.  A look holds it
 * for 150 us, and takes something from it only if it is busy.  Were the hold of an idle
 * one made good, it would be looked at 15 % more often.
 */
static void an_idle_guest_whose_clock_stands_is_looked_at_as_often(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 3, .budget_ppm = 500000 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	uint64_t due, stood = 0, busy = 0, hold = 150 * US_NS_PER_US;
	us_pacer_init(&p, &s, 1, 1, START);
	while (us_pacer_next(&p, &due), due < START + 400 * US_NS_PER_SEC) {
		uint64_t at = due + 40 * US_NS_PER_US;
		bool works = (at - START - stood) % (200 * US_NS_PER_MS) <
			     7 * US_NS_PER_MS;
		busy += works;
		stood += hold;
		w->now = at + hold;
		us_pacer_done_stood(&p, 0, w->now, works ? hold : 0, hold);
	}
	struct us_backend_counts c = books(&p, w);
	assert_int_equal(c.stolen_ns, busy * hold);
	/* 35 of 1,000, and five standard deviations of those of a few bursts. */
	assert_in_range(busy * 100000 / p.taken, 3420, 3580);
	free(w);
}

/*
 * A stop that comes only when the guest has nothing to do any more, as where its thread
 * keeps the VMM's from the CPU: of 4 ms of work 20 times a second one sample is taken,
 * and three are lost.  So many are left out while it idles, too.
 */
static void states_that_lose_samples_keep_their_share(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 3 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	uint64_t due, busy = 0, ms = US_NS_PER_MS;
	us_pacer_init(&p, &s, 1, 1, START);
	while (us_pacer_next(&p, &due), due < START + 400 * US_NS_PER_SEC) {
		uint64_t phase = (due - START) % (50 * ms);
		bool works = phase < 4 * ms;
		if (!us_pacer_wants(&p, 0, due, works))
			continue;
		busy += works;
		w->now = due + (works ? 4 * ms - phase : ms / 10);
		us_pacer_done(&p, 0, w->now, 0);
	}
	struct us_backend_counts c = books(&p, w);
	assert_in_range(c.due, 399000, 401000);
	/* 8 of 100, and four standard deviations of a sample for each burst or none. */
	assert_in_range(busy * 10000 / p.taken, 780, 820);
	free(w);
}

/*
 * The same, and a sample that is due at most half a millisecond before the work is done
 * only when that is: the VMM has its CPU no sooner.  What came due meanwhile came due
 * in the work.
 */
static void what_is_lost_while_idle_waits_for_work_is_the_works(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 5 };
	struct us_pacer p;
	struct world *w = new_world(0, 0);
	uint64_t due, busy = 0, ms = US_NS_PER_MS;
	us_pacer_init(&p, &s, 1, 1, START);
	while (us_pacer_next(&p, &due), due < START + 400 * US_NS_PER_SEC) {
		uint64_t phase = (due - START) % (50 * ms), idles = 50 * ms - phase;
		bool works = phase < 4 * ms;
		if (!us_pacer_wants(&p, 0, due, works))
			continue;
		busy += works;
		w->now = due + (works ? 4 * ms - phase : ms / 10);
		if (!works && idles < ms / 2) {
			w->now = due + idles + 4 * ms;
			us_pacer_was_in(&p, 0, 4. * ms / (4 * ms + idles));
		}
		us_pacer_done(&p, 0, w->now, 0);
	}
	/* Lost samples are spread evenly over the wait, which makes 2 %. */
	assert_in_range(busy * 10000 / p.taken, 765, 835);
	free(w);
}

/* The guest passes through it only while a sample is waited for: nothing is left out.
 */
static void what_is_lost_in_a_state_of_no_samples_changes_nothing(void **state)
{
	(void)state;
	struct us_schedule s = { .hz = 1000, .seed = 5 };
	struct us_pacer p;
	uint64_t due, ms = US_NS_PER_MS;
	us_pacer_init(&p, &s, 1, 1, START);
	for (unsigned i = 0; i < 2000; i++) {
		us_pacer_next(&p, &due);
		assert_true(us_pacer_wants(&p, 0, due, 0));
		us_pacer_was_in(&p, 0, 2);
		us_pacer_done(&p, 0, due + (i % 20 ? 0 : 5 * ms), 0);
	}
	assert_int_equal(p.taken, 2000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheap_looks_keep_the_rate),
		cmocka_unit_test(a_look_at_the_whole_guest_weighs_its_vcpus),
		cmocka_unit_test(distances_are_random_and_repeat_with_the_seed),
		cmocka_unit_test(dear_looks_are_spread_over_the_budget),
		cmocka_unit_test(recovers_when_looks_get_cheap),
		cmocka_unit_test(no_second_exceeds_the_budget_by_more_than_a_look),
		cmocka_unit_test(rare_dear_looks_do_not_starve_the_others),
		cmocka_unit_test(a_look_dearer_than_the_budget_is_still_taken),
		cmocka_unit_test(what_is_planned_is_not_due_yet),
		cmocka_unit_test(a_dear_first_look_does_not_slow_down_the_next),
		cmocka_unit_test(idle_looks_do_not_speed_it_up),
		cmocka_unit_test(slots_share_fairly_and_obey_the_mask),
		cmocka_unit_test(a_look_at_all_counts_for_each),
		cmocka_unit_test(a_long_sleep_is_counted_as_late),
		cmocka_unit_test(a_wait_is_weighed),
		cmocka_unit_test(
			an_idle_guest_whose_clock_stands_is_looked_at_as_often),
		cmocka_unit_test(states_that_lose_samples_keep_their_share),
		cmocka_unit_test(what_is_lost_while_idle_waits_for_work_is_the_works),
		cmocka_unit_test(what_is_lost_in_a_state_of_no_samples_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
