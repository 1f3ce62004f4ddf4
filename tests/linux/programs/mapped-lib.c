/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library of mapped.c: what it does is in a function that others see, and in one
 * that nobody does. */
#include <stdint.h>

void lib_work(void);
void lib_shown(void);

static volatile uint64_t lib_sink;

static __attribute__((noinline)) void lib_hidden(void)
{
	for (uint64_t k = 0; k < 100000; k++)
		lib_sink += k * k;
}

__attribute__((noinline)) void lib_shown(void)
{
	for (uint64_t k = 0; k < 100000; k++)
		lib_sink += k * k;
}

void lib_work(void)
{
	lib_shown();
	lib_hidden();
}
