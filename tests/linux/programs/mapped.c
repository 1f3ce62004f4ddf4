/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with a library of its own, that often asks what time it is.  With an
 * argument a child of it does so, which has executed no file: it has touched little of
 * what it has mapped. */
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void lib_work(void);

static volatile uint64_t sink;

__attribute__((noinline)) void own_work(void)
{
	for (uint64_t k = 0; k < 200000; k++)
		sink += k * k;
}

__attribute__((noinline)) void ask_time(void)
{
	struct timespec t;
	for (unsigned k = 0; k < 1000; k++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (uint64_t)t.tv_nsec;
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1 && fork() > 0)
		for (;;)
			pause();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		own_work();
		lib_work();
		ask_time();
	}
}
