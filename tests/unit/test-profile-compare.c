/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What differs between recordings of guests that are invented: nothing where nothing
 * does, and what has changed as soon as the intervals say that it can be seen. */
#include "unit.h"

#include "../calibration/calibration.h"
#include "profile/compare.h"
#include "profile/compare_tree.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define MS    1e6
#define PAIRS 20

static const struct guest_kind cycle = { "cycle", CYCLE, 100 * MS, 0, 0.05 };
static const struct guest_kind bursts = { "bursts", BURSTS, 15 * MS, 0, 0 };
static const struct guest_kind steady = { "steady", STEADY, 0, 0, 0 };

/* The second function takes a tenth longer. */
#define SUM (0.6 + 0.33 + 0.1)
static const double slower[N_FUNC] = { 0.6 / SUM, 0.33 / SUM, 0.1 / SUM };
#define GROWN (0.33 / SUM - 0.3)

static const struct us_profile *record(struct guest_kind guest, double seconds,
				       const double *parts, uint64_t seed)
{
	struct trial t = { .guest = guest,
			   .hz = 997,
			   .seconds = seconds,
			   .n_vcpu = 1,
			   .late_ns = 20000,
			   .seed = seed,
			   .parts = parts };
	const struct us_profile *p = calibration_profile(&t);
	assert_non_null(p);
	return p;
}

static void fill(struct us_compare_side *s, size_t n, struct guest_kind guest,
		 double seconds, const double *parts, uint64_t seed)
{
	*s = (struct us_compare_side){ .n = n };
	for (size_t i = 0; i < n; i++)
		s->v[i] = record(guest, seconds, parts, seed * 100 + i);
}

static void drop(struct us_compare_side *s)
{
	for (size_t i = 0; i < s->n; i++)
		us_profile_free((struct us_profile *)s->v[i]);
}

static struct us_comparison compare(const struct us_compare_side *a,
				    const struct us_compare_side *b)
{
	struct us_compare_opts o = { .total = true };
	struct us_comparison c;
	struct us_err e;
	assert_int_equal(us_compare(a, b, &o, &c, &e), 0);
	return c;
}

/* Pairs in which anything is called changed. */
static unsigned n_changed(struct guest_kind guest, double seconds, size_t runs)
{
	unsigned n = 0;
	for (uint64_t i = 0; i < PAIRS; i++) {
		struct us_compare_side a, b;
		fill(&a, runs, guest, seconds, NULL, 2 * i + 1);
		fill(&b, runs, guest, seconds, NULL, 2 * i + 2);
		struct us_comparison c = compare(&a, &b);
		n += c.n_changed > 0;
		us_comparison_fini(&c);
		drop(&a);
		drop(&b);
	}
	print_message("# %s, %g s, %zu a side: a change in %u of %d\n", guest.name,
		      seconds, runs, n, PAIRS);
	return n;
}

static void twins_are_the_same(void **state)
{
	(void)state;
	assert_true(n_changed(cycle, 2, 1) <= 2);
	assert_true(n_changed(bursts, 2, 1) <= 2);
	assert_true(n_changed(steady, 2, 1) <= 2);
	assert_true(n_changed(bursts, 1, 3) <= 2);
}

/* How often the grown one is found, and its growth is in the interval. */
static void grown(struct guest_kind guest, double seconds, size_t runs,
		  unsigned *ret_found, unsigned *ret_inside)
{
	*ret_found = *ret_inside = 0;
	for (uint64_t i = 0; i < PAIRS; i++) {
		struct us_compare_side a, b;
		fill(&a, runs, guest, seconds, NULL, 2 * i + 1);
		fill(&b, runs, guest, seconds, slower, 2 * i + 2);
		struct us_comparison c = compare(&a, &b);
		for (size_t k = 0; k < c.n; k++) {
			const struct us_compare_row *r = &c.row[k];
			if (fabs(r->before - 0.3) > 0.1)
				continue;
			*ret_found += r->changed && r->diff > 0;
			*ret_inside += r->low <= GROWN && GROWN <= r->high;
		}
		us_comparison_fini(&c);
		drop(&a);
		drop(&b);
	}
	print_message("# %s, %g s, %zu a side: found in %u of %d, within in %u\n",
		      guest.name, seconds, runs, *ret_found, PAIRS, *ret_inside);
}

static void a_tenth_more_is_found(void **state)
{
	(void)state;
	unsigned found, inside;
	/* Half of the interval of 10 s of it is 1.3 points; the growth is 2.0. */
	grown(steady, 20, 1, &found, &inside);
	assert_true(found >= 18 && inside >= 18);
	grown(cycle, 10, 1, &found, &inside);
	assert_true(found >= 18 && inside >= 18);
	grown(steady, 5, 4, &found, &inside);
	assert_true(found >= 16 && inside >= 18);
}

static struct us_compare_tree compare_trees(const struct us_compare_side *a,
					    const struct us_compare_side *b)
{
	struct us_compare_opts o = { 0 };
	struct us_compare_tree t;
	struct us_err e;
	assert_int_equal(us_compare_trees(a, b, &o, &t, &e), 0);
	assert_true(t.n > 1);
	for (size_t i = 1; i < t.n; i++) {
		const struct us_compare_node *n = &t.node[i], *up = &t.node[n->parent];
		assert_true(n->parent < i && n->name && n->func);
		assert_true(n->before <= up->before + 1e-9);
		assert_true(n->after <= up->after + 1e-9);
		assert_true(n->low <= n->after - n->before + 1e-9 &&
			    n->after - n->before <= n->high + 1e-9);
	}
	return t;
}

/* Pairs in which a path is called changed. */
static unsigned n_paths_changed(const double *parts)
{
	unsigned n = 0;
	for (uint64_t i = 0; i < PAIRS; i++) {
		struct us_compare_side a, b;
		bool any = false;
		fill(&a, 1, steady, 10, NULL, 2 * i + 1);
		fill(&b, 1, steady, 10, parts, 2 * i + 2);
		struct us_compare_tree t = compare_trees(&a, &b);
		for (size_t k = 0; k < t.n; k++)
			any |= t.node[k].changed;
		n += any;
		us_compare_tree_fini(&t);
		drop(&a);
		drop(&b);
	}
	print_message("# paths: a change in %u of %d\n", n, PAIRS);
	return n;
}

static void paths_are_compared_too(void **state)
{
	(void)state;
	static const double other[N_FUNC] = { 0.5, 0.4, 0.1 };
	assert_true(n_paths_changed(NULL) <= 2);
	assert_true(n_paths_changed(other) >= 18);
}

/* One that was not there before. */
static void what_is_new_is_found(void **state)
{
	(void)state;
	static const double without[N_FUNC] = { 0.667, 0.333, 0 };
	struct us_compare_side a, b;
	fill(&a, 1, steady, 2, without, 1);
	fill(&b, 1, steady, 2, NULL, 2);
	struct us_comparison c = compare(&a, &b);
	unsigned n = 0;
	for (size_t i = 0; i < c.n; i++) {
		if (c.row[i].was)
			continue;
		n++;
		assert_true(c.row[i].is && c.row[i].changed && c.row[i].low > 0.05);
	}
	assert_int_equal(n, 1);
	us_comparison_fini(&c);
	drop(&a);
	drop(&b);
}

/* A recording of main, which calls work: what ran there, what waited for a host CPU
 * there, and what main did itself.  By places of 64 bytes. */
#define MAIN_AT 0x1010
#define WORK_AT 0x2000

static const struct us_profile *waited(unsigned ran, unsigned waited, unsigned own)
{
	static const us_gva pc[] = { WORK_AT, MAIN_AT };
	struct us_writer *w;
	struct us_profile *p;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0 && us_writer_open(fd, &w, NULL) == 0);
	for (unsigned i = 0; i < ran + waited + own; i++) {
		/* In turns all along, so that the long run is known. */
		unsigned k = i * 7919 % (ran + waited + own);
		bool in_main = k >= ran + waited;
		struct us_sample s = { .t_ns = i * 1000000ULL,
				       .state = k >= ran && !in_main ? US_VCPU_READY
								     : US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		assert_int_equal(us_writer_sample(w, &s, pc + in_main, NULL,
						  2 - (size_t)in_main, NULL),
				 0);
	}
	assert_int_equal(us_writer_end(w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", NULL),
			 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	return p;
}

static double value_of(const struct us_comparison *c, const char *name, bool after)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strncmp(c->row[i].name, name, strlen(name)))
			return after ? c->row[i].after : c->row[i].before;
	fail_msg("no row of %s", name);
	return 0;
}

/* Three of four of its samples waited, on a host with other work: the guest did the
 * same. */
static void a_busy_host_is_no_change(void **state)
{
	(void)state;
	struct us_compare_side a = { { waited(1500, 0, 500) }, 1 };
	struct us_compare_side b = { { waited(1500, 6000, 500) }, 1 };
	static const struct {
		struct us_compare_opts o;
		double work;
	} ways[] = {
		{ { 0 }, 0.75 },
		{ { .total = true }, 0.75 },
		{ { .by = US_COMPARE_PER, .per = "0x1000-0x103f" }, 0.75 },
		{ { .by = US_COMPARE_PER, .per = "0x1000-0x103f", .total = true },
		  0.75 },
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct us_comparison c;
		assert_int_equal(us_compare(&a, &b, &ways[i].o, &c, NULL), 0);
		assert_int_equal(c.n_changed, 0);
		for (int after = 0; after < 2; after++)
			assert_true(fabs(value_of(&c, "0x2000", after) - ways[i].work) <
				    1e-9);
		us_comparison_fini(&c);
	}
	struct us_compare_opts time = { .by = US_COMPARE_TIME };
	struct us_comparison c;
	assert_int_equal(us_compare(&a, &b, &time, &c, NULL), 0);
	assert_true(c.n_changed > 0);
	assert_true(value_of(&c, US_FRAME_READY, true) > 0.7);
	us_comparison_fini(&c);
	drop(&a);
	drop(&b);
}

/* With its callees a root is all there is, whatever is below it. */
static void a_root_is_all_there_is(void **state)
{
	(void)state;
	struct us_compare_side a = { { waited(1300, 0, 700) }, 1 };
	struct us_compare_side b = { { waited(1100, 0, 900) }, 1 };
	struct us_comparison c = compare(&a, &b);
	for (size_t i = 0; i < c.n; i++) {
		const struct us_compare_row *r = &c.row[i];
		if (r->before < 1)
			continue;
		assert_float_equal(r->after, 1, 0);
		assert_true(r->low > -0.01 && r->high < 0.01 && !r->changed);
	}
	assert_float_equal(value_of(&c, "0x1000", false), 1, 0);
	us_comparison_fini(&c);
	drop(&a);
	drop(&b);
}

/* A recording of stacks of code without a name at these addresses, outermost first. */
static const struct us_profile *unnamed(const us_gva *pc, size_t n, uint8_t build,
					bool is_linux)
{
	const struct us_module m = { .start = 0x100000,
				     .end = 0x200000,
				     .build_id = { build },
				     .build_id_len = 20,
				     .match = US_MATCH_YES,
				     .path = "/gone/kernel" };
	struct us_writer *w;
	struct us_profile *p;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0 && us_writer_open(fd, &w, NULL) == 0);
	if (is_linux)
		assert_int_equal(us_writer_fact(w, "linux", "Linux 6.1", NULL), 0);
	if (build)
		assert_int_equal(us_writer_module(w, &m, NULL), 0);
	for (unsigned i = 0; i < 1000; i++) {
		struct us_sample s = { .t_ns = i * 1000000ULL,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		assert_int_equal(us_writer_sample(w, &s, pc, NULL, n, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", NULL),
			 0);
	us_writer_close(w);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(us_profile_read(fd, NULL, &p, NULL), 0);
	close(fd);
	return p;
}

static void drop_and_check(struct us_compare_side *a, struct us_compare_side *b,
			   size_t n_row, double total)
{
	struct us_comparison c = compare(a, b);
	assert_int_equal(c.n, n_row);
	for (size_t i = 0; i < c.n; i++)
		assert_true(c.row[i].before <= total && c.row[i].after <= total);
	assert_int_equal(c.n_changed > 0, n_row > 1);
	us_comparison_fini(&c);
	drop(a);
	drop(b);
}

/* What runs at all is all of the time, however many functions of a stack it is. */
static void a_stack_counts_once(void **state)
{
	(void)state;
	static const us_gva pc[] = { 0x102010, 0x101010, 0x100010 };
	struct us_compare_side a = { { unnamed(pc, 3, 1, false) }, 1 };
	struct us_compare_side b = { { unnamed(pc, 3, 2, false) }, 1 };
	drop_and_check(&a, &b, 1, 1);
}

/* Code of modules, programs and compilers at run time has moved after a reboot. */
static void addresses_count_in_one_build(void **state)
{
	(void)state;
	static const us_gva in[] = { 0x100010, 0x101010 };
	static const us_gva outside[] = { 0xffffffffc0100010, 0xffffffffc0105010 };
	struct us_compare_side a = { { unnamed(&in[0], 1, 1, true) }, 1 };
	struct us_compare_side b = { { unnamed(&in[1], 1, 1, true) }, 1 };
	drop_and_check(&a, &b, 2, 1);
	for (uint8_t build = 0; build < 2; build++) {
		a.v[0] = unnamed(&outside[0], 1, build, true);
		b.v[0] = unnamed(&outside[1], 1, build, true);
		drop_and_check(&a, &b, 1, 1);
	}
}

static void refusals(void **state)
{
	(void)state;
	struct us_compare_side a, b;
	struct us_comparison c;
	struct us_err e;
	fill(&a, 1, steady, 0.2, NULL, 1);
	fill(&b, 1, steady, 0, NULL, 2);
	struct us_compare_opts o = { .by = US_COMPARE_PER, .per = "nothing" };
	assert_int_equal(us_compare(&a, &b, &o, &c, &e), -ENODATA);
	assert_int_equal(us_compare(&a, &a, &o, &c, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "nothing"));
	o.by = US_COMPARE_TIME;
	assert_int_equal(us_compare(&a, &a, &o, &c, &e), 0);
	assert_int_equal(c.n_changed, 0);
	us_comparison_fini(&c);
	drop(&a);
	drop(&b);
}

/* Two runs a side that have nothing in common: their spread is more than all. */
static void an_interval_ends_at_all(void **state)
{
	(void)state;
	struct us_compare_side a = { .v = { waited(1000, 0, 0), waited(0, 0, 1000) },
				     .n = 2 };
	struct us_compare_side b = { .v = { waited(0, 0, 1000), waited(1000, 0, 0) },
				     .n = 2 };
	struct us_comparison c = compare(&a, &b);
	bool all = false;
	for (size_t i = 0; i < c.n; i++) {
		assert_true(c.row[i].low >= -1 && c.row[i].high <= 1);
		assert_false(c.row[i].changed);
		all |= c.row[i].low <= -1 && c.row[i].high >= 1;
	}
	assert_true(all);
	us_comparison_fini(&c);
	drop(&a);
	drop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_are_the_same),
		cmocka_unit_test(a_tenth_more_is_found),
		cmocka_unit_test(paths_are_compared_too),
		cmocka_unit_test(what_is_new_is_found),
		cmocka_unit_test(an_interval_ends_at_all),
		cmocka_unit_test(a_busy_host_is_no_change),
		cmocka_unit_test(a_root_is_all_there_is),
		cmocka_unit_test(a_stack_counts_once),
		cmocka_unit_test(addresses_count_in_one_build),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
