/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests that are looked into at the same time: each gets its own answer, in any order
 * that it is asked for, and what cannot be said is said why. */
#include "unit.h"

#include "backend/fake/fake.h"
#include "cmd/dump/tasks.h"
#include "cmd/inside.h"

#include <errno.h>

#define N 20 /* more than are looked at at once */

/* Invented guests have no Linux; every third one cannot be attached to. */
static struct us_found *make_guests(size_t n)
{
	static const struct us_fake_opts good = { .n_vcpu = 1 };
	static const struct us_fake_opts bad = { .n_vcpu = US_MAX_VCPUS + 1 };
	struct us_found *f = calloc(n + 1, sizeof(*f));
	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		f[i].target.fake = i % 3 ? &good : &bad;
	return f;
}

static void each_has_its_own(void **state)
{
	(void)state;
	struct us_found *f = make_guests(N);
	struct us_insides *looks;
	assert_int_equal(us_insides_begin(f, N, &looks, NULL), 0);
	for (size_t i = N; i-- > 0;) {
		const struct us_inside *in = us_insides_wait(looks, i);
		assert_non_null(strstr(in->why,
				       i % 3 ? "no Linux kernel was found in its memory"
					     : "more than fake.h allows"));
		assert_string_equal(in->release, "");
		assert_string_equal(in->process, "");
	}
	us_insides_end(looks);
	free(f);
}

/* In the order in which they were known there is each of them once. */
static void in_order_of_being_known(void **state)
{
	(void)state;
	struct us_found *f = make_guests(N);
	bool seen[N] = { false };
	struct us_insides *looks;
	assert_int_equal(us_insides_begin(f, N, &looks, NULL), 0);
	for (size_t k = 0; k < N; k++) {
		size_t i = us_insides_order(looks, k);
		assert_true(i < N && !seen[i]);
		seen[i] = true;
		assert_string_not_equal(us_insides_wait(looks, i)->why, "");
	}
	us_insides_end(looks);
	free(f);
}

/* Asked for again, it is the same; and who asks for none waits for all. */
static void asking_changes_nothing(void **state)
{
	(void)state;
	struct us_found *f = make_guests(4);
	struct us_insides *looks;
	assert_int_equal(us_insides_begin(f, 4, &looks, NULL), 0);
	const struct us_inside *in = us_insides_wait(looks, 2);
	assert_ptr_equal(in, us_insides_wait(looks, 2));
	us_insides_end(looks);
	assert_int_equal(us_insides_begin(f, 4, &looks, NULL), 0);
	us_insides_end(looks);
	free(f);
}

static void none(void **state)
{
	(void)state;
	struct us_found *f = make_guests(0);
	struct us_insides *looks;
	assert_int_equal(us_insides_begin(f, 0, &looks, NULL), 0);
	us_insides_end(looks);
	us_insides_end(NULL);
	free(f);
}

/* A kernel whose types are of another order of members (CONFIG_RANDSTRUCT). */
static void tasks_that_do_not_fit(void **state)
{
	(void)state;
	static const char why[] = "the types of vmlinux do not fit it";
	static struct us_linux l = { .has_types = true, .misfit = true };
	static struct us_kernel k;
	struct us_dump_tasks t;
	struct us_err e;
	memcpy(l.no_tasks, why, sizeof(why));
	k.read[0] = &l;
	k.n = 1;
	k.source.mem = &k.mem;
	assert_int_equal(us_dump_tasks_read(&t, &k, NULL, true, &e), -ENOENT);
	assert_non_null(strstr(e.msg, why));
	assert_non_null(strstr(e.hint, "CONFIG_RANDSTRUCT"));
	assert_string_equal(us_kernel_no_tasks(&k), why);
	us_dump_tasks_fini(&t);
	l.misfit = false;
	assert_int_equal(us_dump_tasks_read(&t, &k, NULL, true, &e), -ENOENT);
	assert_non_null(strstr(e.msg, why));
	assert_null(strstr(e.hint, "CONFIG_RANDSTRUCT"));
	/* It was stopped while it was read: then nothing is said of what it has. */
	l.unfinished = l.misfit = true;
	for (unsigned types = 0; types < 2; types++) {
		l.has_types = types;
		assert_int_equal(us_dump_tasks_read(&t, &k, NULL, true, &e),
				 -ETIMEDOUT);
		assert_non_null(strstr(e.msg, "not read to its end"));
		assert_null(strstr(e.hint, "CONFIG_RANDSTRUCT"));
		assert_non_null(strstr(us_kernel_no_tasks(&k), "not read to its end"));
	}
	l.has_tasks = true;
	assert_null(us_kernel_no_tasks(&k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_its_own),
		cmocka_unit_test(in_order_of_being_known),
		cmocka_unit_test(asking_changes_nothing),
		cmocka_unit_test(none),
		cmocka_unit_test(tasks_that_do_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
