/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits.c: a task that waits in a known place, for ever, or in three by turns.
 *
 *	waits sleep|pipe|vfork|futex
 *	waits deep	below 10 calls of dive()
 *	waits spin	does not wait: takes its CPU, below 10 calls of dive()
 *	waits turns	says how long it has waited in each, in ns, once a second
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L

static uint32_t word;

static void wait_futex(const struct timespec *limit)
{
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, limit, NULL, 0);
}

static void *wait_in_thread(void *arg)
{
	prctl(PR_SET_NAME, arg);
	for (;;)
		wait_futex(NULL);
	return NULL;
}

static void wait_in_threads(void)
{
	pthread_t t;
	pthread_create(&t, NULL, wait_in_thread, "one");
	pthread_create(&t, NULL, wait_in_thread, "two");
	wait_in_thread("futex");
}

/* The parent, until its child calls exec: no signal but SIGKILL ends that. */
static void wait_vfork(void)
{
	if (vfork() == 0) {
		prctl(PR_SET_NAME, "child");
		for (;;)
			pause();
	}
}

static void wait_pipe(void)
{
	int fd[2];
	char c;
	if (pipe(fd) == 0)
		while (read(fd[0], &c, 1))
			;
}

/* volatile: no call is the last thing that it does. */
static __attribute__((noinline)) int dive(int depth, int (*end)(void))
{
	volatile int below = depth > 1 ? dive(depth - 1, end) : end();
	return below + 1;
}

/* It has a way out that it never takes, so that its code tells its caller. */
static int spin(void)
{
	static volatile int end;
	while (!end)
		;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void wait_by_turns(void)
{
	const struct timespec sleep = { 0, 60 * MS }, limit = { 0, 10 * MS };
	uint64_t sum[3] = { 0 }, said = now_ns();
	for (;;) {
		uint64_t t[4] = { now_ns() };
		nanosleep(&sleep, NULL);
		t[1] = now_ns();
		poll(NULL, 0, 30);
		t[2] = now_ns();
		wait_futex(&limit);
		t[3] = now_ns();
		for (int i = 0; i < 3; i++)
			sum[i] += t[i + 1] - t[i];
		if (t[3] - said < 1000000000)
			continue;
		said = t[3];
		printf("TURNS %llu %llu %llu\n", (unsigned long long)sum[0],
		       (unsigned long long)sum[1], (unsigned long long)sum[2]);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	prctl(PR_SET_NAME, how);
	if (!strcmp(how, "sleep"))
		sleep(100000);
	else if (!strcmp(how, "pipe"))
		wait_pipe();
	else if (!strcmp(how, "vfork"))
		wait_vfork();
	else if (!strcmp(how, "futex"))
		wait_in_threads();
	else if (!strcmp(how, "deep"))
		return 1 + dive(10, pause);
	else if (!strcmp(how, "spin"))
		return 1 + dive(10, spin);
	else if (!strcmp(how, "turns"))
		wait_by_turns();
	return 1;
}
