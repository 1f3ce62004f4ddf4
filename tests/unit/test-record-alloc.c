/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-alloc.c: between the first look and the last, the sampler allocates
 * nothing.  (Linked with --wrap; counts are of the sampler's thread.) */
#include "script-backend.h"

#include "backend/fake/fake.h"
#include "record/record.h"

#include <fcntl.h>
#include <unistd.h>

static __thread bool watched;
static __thread unsigned n_alloc;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	n_alloc += watched;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	n_alloc += watched;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	n_alloc += watched;
	return __real_realloc(p, size);
}

/* The fake backend, watched from its first look on. */
static struct us_backend *inner;

static int watched_next(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	watched = true;
	if (s->samples <= 50000)
		return inner->ops->next(inner, deadline_ns, c);
	watched = false;
	return -ESRCH;
}

static void watched_release(struct us_backend *b, struct us_capture *c)
{
	inner->ops->release(inner, c);
	script_release(b, c);
}

static void the_hot_path_does_not_allocate(void **state)
{
	(void)state;
	const struct us_fake_opts fake = { .n_stack = 500,
					   .depth = 10,
					   .halted_permille = 10 };
	const struct us_target t = { .fake = &fake };
	const struct us_schedule schedule = { 0 };
	struct us_backend_ops ops = script_ops;
	ops.release = watched_release;
	struct script s = SCRIPT(watched_next);
	struct us_record_opts o = { 0 };
	struct us_record_stats stats;
	enum us_record_end end;
	struct us_unwinder *u;
	struct us_writer *w;
	struct us_err e;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(us_backend_open(&t, "fake", &inner, NULL, 0, &e), 0);
	assert_int_equal(inner->ops->start(inner, &schedule, &e), 0);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), 0);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	s.base.ops = &ops;
	s.base.mem = inner->mem;
	assert_int_equal(us_record(&s.base, u, w, &o, &stats, &end, &e), 0);
	assert_int_equal(end, US_RECORD_GUEST_GONE);
	assert_int_equal(stats.due, s.counts.due);
	assert_true(stats.due > 40000);
	assert_int_equal(n_alloc, 0);
	watched = true;				     /* the counter does count */
	void *(*volatile allocate)(size_t) = malloc; /* not to be optimised away */
	free(allocate(1));
	watched = false;
	assert_int_equal(n_alloc, 1);
	us_writer_close(w);
	us_unwinder_free(u);
	us_backend_close(inner);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hot_path_does_not_allocate),
	};
	return cmocka_run_group_tests_name("record-alloc", tests, NULL, NULL);
}
