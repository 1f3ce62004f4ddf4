/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with a library of its own: half of its time is in each. */
#include <stdint.h>

void lib_work(void);

static volatile uint64_t sink;

__attribute__((noinline)) void own_work(void)
{
	for (uint64_t k = 0; k < 200000; k++)
		sink += k * k;
}

int main(void)
{
	for (;;) {
		own_work();
		lib_work();
	}
}
