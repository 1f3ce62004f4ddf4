/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen-kill DOMAIN TIMES: kill a profiler of a Xen domain in mid pause.
 *
 * A child samples by the xen backend; every second one holds each of its first
 * captures for long.  Once Xen says that the domain is paused the child is stopped,
 * looked at again and killed.  The domain must run on within 100 ms: no pause is left,
 * and its vCPUs get time.
 */
#include "backend/backend.h"
#include "base/clock.h"
#include "unwind/unwind.h"
#include "vmm/xen/domains.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS (30 * US_NS_PER_SEC)
#define LIMIT_NS    (100 * US_NS_PER_MS)
#define HOLD_NS	    (900 * US_NS_PER_MS) /* before the watchdog steps in */

static const struct us_xen_calls *calls;
static void *xen;
static uint32_t id;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "xen-kill: %s\n", what);
	exit(1);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };
	nanosleep(&t, NULL);
}

static _Noreturn void sample_for_ever(bool hold)
{
	const struct us_xen_guest g = { .domain = { .id = id } };
	const struct us_target t = { .xen = &g };
	const struct us_schedule s = { .hz = 2000, .seed = 1 };
	static struct us_paging paging;
	static struct us_stack stack;
	static struct us_capture c;
	struct us_unwinder *u;
	struct us_backend *b;
	struct us_err e;
	if (us_backend_open(&t, "xen", &b, NULL, 0, &e) || b->ops->start(b, &s, &e) ||
	    us_unwinder_new(b->arch, NULL, NULL, &u))
		fail("the backend does not open");
	us_paging_init(&paging, b->mem);
	for (;;) {
		if (b->ops->next(b, us_now_ns() + US_NS_PER_SEC, &c) <= 0)
			continue;
		bool busy = us_capture_begin(&c, &paging);
		/* At first the domain stands until its stack is unwound. */
		if (hold && busy && c.window.held)
			sleep_ns(HOLD_NS);
		if (busy)
			us_unwind(u, &paging, &c.regs, &stack);
		b->ops->release(b, &c);
	}
}

static bool is_paused(void)
{
	struct us_xen_domain d;
	if (calls->domain(xen, id, &d))
		fail("the domain is gone");
	return d.paused;
}

static uint64_t ran_ns(void)
{
	struct us_xen_vcpu v;
	if (calls->vcpu(xen, id, 0, &v))
		fail("vCPU 0 is gone");
	return v.ran_ns;
}

/* Stop the child while the domain is paused by it. */
static void stop_in_mid_pause(pid_t child, unsigned *seed)
{
	uint64_t end = us_now_ns() + PATIENCE_NS;
	int status;
	while (us_now_ns() < end) {
		sleep_ns((uint64_t)(rand_r(seed) % 3000) * 1000);
		kill(child, SIGSTOP);
		if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
			fail("the child has ended");
		if (is_paused())
			return;
		kill(child, SIGCONT);
	}
	fail("it was never paused");
}

/* How long it stood after the kill. */
static uint64_t kill_once(bool hold, unsigned *seed)
{
	pid_t child = fork();
	if (!child)
		sample_for_ever(hold);
	stop_in_mid_pause(child, seed);
	uint64_t before = ran_ns(), begin = us_now_ns();
	kill(child, SIGKILL);
	while (is_paused() && us_now_ns() < begin + PATIENCE_NS)
		sched_yield();
	uint64_t stood = us_now_ns() - begin;
	waitpid(child, NULL, 0);
	for (int i = 0; i < 1000 && ran_ns() == before; i++)
		sleep_ns(US_NS_PER_MS);
	if (is_paused() || ran_ns() == before)
		fail("the domain stands still");
	return stood;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct us_err e;
	unsigned seed = 1, times = argc > 2 ? (unsigned)atoi(argv[2]) : 100, late = 0;
	if (argc < 2 || times < 1 || times > 10000)
		fail("usage: xen-kill DOMAIN TIMES");
	id = (uint32_t)atoi(argv[1]);
	calls = us_xen_calls();
	if (calls->open(&xen, &e))
		fail(e.msg);
	uint64_t *stood = calloc(times, sizeof(*stood));
	for (unsigned i = 0; stood && i < times; i++) {
		stood[i] = kill_once(i % 2, &seed);
		late += stood[i] > LIMIT_NS;
	}
	if (!stood || is_paused())
		fail("a pause is left");
	qsort(stood, times, sizeof(*stood), compare);
	printf("%u kills in mid pause; the domain stood for %.1f ms in the middle, "
	       "%.1f ms "
	       "at most; %u of them above 100 ms\n",
	       times, (double)stood[times / 2] / 1e6, (double)stood[times - 1] / 1e6,
	       late);
	free(stood);
	calls->close(xen);
	return 0;
}
