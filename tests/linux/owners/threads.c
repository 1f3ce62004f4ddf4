/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of three threads with names and shares of their own, for ever: "threads",
 * which starts others by vfork(), "twice" and "once". */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static void spin(unsigned long n)
{
	while (n--)
		sink += n;
}

/* So much work, then a rest that is as long for both. */
static void *work(void *arg)
{
	const struct timespec rest = { .tv_nsec = 2000000 };
	unsigned long n = (unsigned long)arg;
	pthread_setname_np(pthread_self(), n > 1 ? "twice" : "once");
	for (;;) {
		spin(n * 1000000);
		nanosleep(&rest, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argc;
	if (argv[1]) /* started by itself: it ends at once */
		return 0;
	for (unsigned long n = 1; n <= 2; n++)
		if (pthread_create(&thread, NULL, work, (void *)n))
			return 1;
	for (;;) {
		pid_t child = vfork();
		if (child == 0) {
			execl(argv[0], argv[0], "x", (char *)NULL);
			_exit(1);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		spin(300000);
	}
}
