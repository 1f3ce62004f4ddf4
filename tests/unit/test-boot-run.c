/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A boot whose VMM never gets to its guest still ends. */
#include "unit.h"

#include "base/clock.h"
#include "boot/breakpoints.h"
#include "boot/run.h"

#include <errno.h>
#include <unistd.h>

static bool is_stopped;
static unsigned n_begin, n_go;

/* ---- A stub that waits for us ---- */

int __wrap_us_boot_breakpoints_open(const char *path, struct us_boot_breakpoints **ret,
				    struct us_err *e);
int __wrap_us_boot_breakpoints_set(struct us_boot_breakpoints *b,
				   const struct us_boot_plan *p, struct us_err *e);
int __wrap_us_boot_breakpoints_go(struct us_boot_breakpoints *b, struct us_err *e);
int __wrap_us_boot_breakpoints_fd(const struct us_boot_breakpoints *b);
void __wrap_us_boot_breakpoints_close(struct us_boot_breakpoints *b);

int __wrap_us_boot_breakpoints_open(const char *path, struct us_boot_breakpoints **ret,
				    struct us_err *e)
{
	(void)path;
	(void)e;
	*ret = (void *)&n_go;
	return 0;
}

int __wrap_us_boot_breakpoints_set(struct us_boot_breakpoints *b,
				   const struct us_boot_plan *p, struct us_err *e)
{
	(void)b;
	(void)p;
	(void)e;
	return 0;
}

int __wrap_us_boot_breakpoints_go(struct us_boot_breakpoints *b, struct us_err *e)
{
	(void)b;
	(void)e;
	n_go++;
	return 0;
}

int __wrap_us_boot_breakpoints_fd(const struct us_boot_breakpoints *b)
{
	(void)b;
	return -1;
}

void __wrap_us_boot_breakpoints_close(struct us_boot_breakpoints *b)
{
	(void)b;
}

/* ---- A sampler that finds no vCPUs ---- */

static int begin_never(void *ctx, pid_t pid, struct us_err *e)
{
	(void)ctx;
	(void)pid;
	(void)e;
	n_begin++;
	return -EAGAIN;
}

static bool saw_none(void *ctx, size_t point, struct us_boot_moment *ret)
{
	(void)ctx;
	(void)point;
	(void)ret;
	return false;
}

static int check_none(void *ctx, uint64_t *ret, struct us_err *e)
{
	(void)ctx;
	(void)e;
	*ret = 0;
	return 0;
}

static void end_none(void *ctx)
{
	(void)ctx;
}

static bool stopped(void)
{
	return is_stopped;
}

/* ---- The tests ---- */

static int boot(uint64_t timeout_ns, struct us_boot_run *ret)
{
	static char *argv[] = { "sleep", "100", NULL };
	static const struct us_boot_sampler sampler = { .begin = begin_never,
							.saw = saw_none,
							.check = check_none,
							.end = end_none };
	static const struct us_boot_plan plan = {
		.point = { { .kind = US_BOOT_LAUNCH },
			   { .kind = US_BOOT_IDLE, .wanted = true } },
		.n = 2,
	};
	const struct us_boot_how how = { .argv = argv,
					 .stub = "/nowhere",
					 .sampler = &sampler,
					 .timeout_ns = timeout_ns,
					 .stopped = stopped };
	struct us_err e;
	n_begin = n_go = 0;
	alarm(60); /* it used to wait for ever */
	int r = us_boot_run(&plan, &how, ret, &e);
	alarm(0);
	assert_true(n_begin > 0);
	assert_int_equal(n_go, 0);
	return r;
}

static void it_ends_in_time(void **state)
{
	struct us_boot_run run;
	(void)state;
	is_stopped = false;
	assert_int_equal(boot(US_NS_PER_SEC, &run), 0);
	assert_false(run.whole || run.ended);
	assert_in_range(run.end_ns, US_NS_PER_SEC, 50 * US_NS_PER_SEC);
}

static void it_ends_when_stopped(void **state)
{
	struct us_boot_run run;
	(void)state;
	is_stopped = true;
	assert_int_equal(boot(100 * US_NS_PER_SEC, &run), -EINTR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_in_time),
		cmocka_unit_test(it_ends_when_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
