/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that begins or ends is noticed, also where another one takes its place. */
#include "unit.h"

#include "backend/vmm_threads.h"

#include <pthread.h>
#include <unistd.h>

struct thread {
	pthread_t id;
	int goes_on[2]; /* a pipe: closed, it ends */
};

static void *wait_for_end(void *arg)
{
	const struct thread *t = arg;
	char c;
	(void)!read(t->goes_on[0], &c, 1);
	return NULL;
}

static void begin(struct thread *t)
{
	assert_int_equal(pipe(t->goes_on), 0);
	assert_int_equal(pthread_create(&t->id, NULL, wait_for_end, t), 0);
}

static void end(struct thread *t)
{
	close(t->goes_on[1]);
	assert_int_equal(pthread_join(t->id, NULL), 0);
	close(t->goes_on[0]);
}

/* The kernel takes a thread that was joined out of its list a moment later. */
static bool settles(struct us_vmm_threads *t)
{
	for (unsigned i = 0; i < 500; i++) {
		usleep(10000);
		if (!us_vmm_threads_changed(t))
			return true;
	}
	return false;
}

static void changes_are_noticed(void **state)
{
	(void)state;
	struct us_vmm_threads t;
	struct thread a, b;
	us_vmm_threads_open(&t, getpid());
	assert_true(us_vmm_threads_changed(&t)); /* the first time */
	assert_false(us_vmm_threads_changed(&t));
	begin(&a);
	assert_true(us_vmm_threads_changed(&t));
	assert_false(us_vmm_threads_changed(&t));
	begin(&b); /* as many as before, but others */
	end(&a);
	assert_true(us_vmm_threads_changed(&t));
	assert_true(settles(&t));
	end(&b);
	assert_true(us_vmm_threads_changed(&t));
	us_vmm_threads_close(&t);
}

static void what_is_not_known_may_have_changed(void **state)
{
	(void)state;
	struct us_vmm_threads t;
	us_vmm_threads_open(&t, 0);
	assert_true(us_vmm_threads_changed(&t));
	assert_true(us_vmm_threads_changed(&t));
	us_vmm_threads_close(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_noticed),
		cmocka_unit_test(what_is_not_known_may_have_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
