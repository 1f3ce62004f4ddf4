/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with a library of its own, that often asks what time it is. */
#include <stdint.h>
#include <time.h>

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

int main(void)
{
	for (;;) {
		own_work();
		lib_work();
		ask_time();
	}
}
