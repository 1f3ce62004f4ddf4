/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frames.c: a program that is 20 calls of its own deep whenever it works, and some of
 * the C library's between them: in a loop, in the library, in system calls, in page
 * faults.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEPTH 20
#define BYTES (256 << 10)

static volatile unsigned long sink;
static int zero;
static char bytes[1 << 16];

unsigned long dive(unsigned n);

static int compare(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;
	sink += dive(*x);
	return (int)(*x - *y);
}

__attribute__((noinline)) static void compute(void)
{
	for (unsigned i = 0; i < 2000000; i++)
		sink = sink * 31 + i;
}

__attribute__((noinline)) static void call_library(void)
{
	char text[64];
	for (unsigned i = 0; i < 3000; i++)
		sink += (unsigned long)snprintf(text, sizeof(text), "%.3f %u", i / 7.0,
						i);
}

__attribute__((noinline)) static void call_kernel(void)
{
	for (unsigned i = 0; i < 40; i++)
		sink += (unsigned long)read(zero, bytes, sizeof(bytes));
}

__attribute__((noinline)) static void touch_pages(void)
{
	char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return;
	for (size_t i = 0; i < BYTES; i += 4096)
		at[i] = 1;
	munmap(at, BYTES);
}

__attribute__((noinline, noclone)) unsigned long dive(unsigned n)
{
	/* Each fifth of them is called by the C library. */
	unsigned pair[2] = { n - 1, n - 1 };
	if (n > 1 && n % 5 == 0) {
		qsort(pair, 2, sizeof(*pair), compare);
		return sink + pair[0];
	}
	if (n > 1)
		return dive(n - 1) * 3 + n;
	compute();
	call_library();
	call_kernel();
	for (unsigned i = 0; i < 20; i++)
		touch_pages();
	return sink;
}

int main(void)
{
	zero = open("/dev/zero", O_RDONLY);
	for (;;)
		sink += dive(DEPTH);
}
