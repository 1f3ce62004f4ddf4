// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shares.c: known shares and a known call tree, as every shares.* here (README.md).
 * In C, to be built without frame pointers, by several compilers and C libraries.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define VISIBLE __attribute__((noinline))
#else
#define VISIBLE __attribute__((noinline, noclone))
#endif
/* The value is used, and what comes before is not the last thing that is done. */
#define keep(value) __asm__ volatile("" : "+r"(value)::"memory")

enum { F60, F30, F10, CALLS_LEAF, DIVE, ASK_KERNEL, REPORT, N };
static const char *const names[N] = { "f60",  "f30",	    "f10",   "calls_leaf",
				      "dive", "ask_kernel", "report" };
static uint64_t ticks[N], calls[N], start, unit;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t spin(uint64_t n)
{
	uint64_t x = n;

	for (uint64_t i = 0; i < n; i++) {
		x = x * 3 + i;
		keep(x);
	}
	return x;
}

VISIBLE uint64_t f60(uint64_t n) /* lines of f60 */
{
	return spin(6 * n);
} /* end */

#ifdef EXTRA /* another build: all that follows lies elsewhere */
VISIBLE uint64_t extra(uint64_t n)
{
	return spin(n) * 7;
}
#endif

VISIBLE uint64_t f30(uint64_t n) /* lines of f30 */
{
	return spin(3 * n) + 1;
} /* end */

VISIBLE uint64_t f10(uint64_t n) /* lines of f10 */
{
	return spin(n) + 2;
} /* end */

VISIBLE uint64_t leaf(uint64_t x) /* lines of leaf */
{
	for (int i = 0; i < 20; i++) {
		x = x * 5 + 1;
		keep(x);
	}
	return x;
} /* end */

VISIBLE uint64_t calls_leaf(uint64_t n)
{
	uint64_t x = n;

	for (uint64_t i = 0; i < n / 10; i++)
		x ^= leaf(x);
	return x;
}

VISIBLE uint64_t dive(uint64_t n, int depth)
{
	uint64_t x = depth ? dive(n, depth - 1) : spin(n);

	keep(x);
	return x + (uint64_t)depth;
}

VISIBLE uint64_t ask_kernel(uint64_t n)
{
	struct rusage usage;
	uint64_t x = 0;

	for (uint64_t i = 0; i < n / 200 + 1; i++) {
		getrusage(RUSAGE_SELF, &usage);
		x += (uint64_t)usage.ru_nsignals + (uint64_t)getppid();
	}
	keep(x);
	return x;
}

VISIBLE void report(void)
{
	static uint64_t seq;
	uint64_t total = 0;

	printf("TRUTH "
	       "{\"vcpu\":0,\"seq\":%lu,\"tsc\":%lu,\"tsc_hz\":1000000000,\"fn\":{",
	       (unsigned long)++seq, (unsigned long)now());
	for (int i = 0; i < N; i++) {
		total += ticks[i];
		printf("%s\"%s\":{\"calls\":%lu,\"self\":%lu}", i ? "," : "", names[i],
		       (unsigned long)calls[i], (unsigned long)ticks[i]);
	}
	printf("},\"idle\":0,\"total\":%lu}\n", (unsigned long)total);
	fflush(stdout);
}

static void count(int function)
{
	uint64_t t = now();

	ticks[function] += t - start;
	calls[function]++;
	start = t;
}

VISIBLE uint64_t stage(uint64_t n)
{
	uint64_t x;

	x = f60(n);
#ifdef EXTRA
	x += extra(n / 8);
#endif
	count(F60);
	x += f30(n);
	count(F30);
	x += f10(n);
	count(F10);
	x += calls_leaf(n);
	count(CALLS_LEAF);
	x += dive(n, 20);
	count(DIVE);
	x += ask_kernel(n);
	count(ASK_KERNEL);
	return x;
}

VISIBLE void run(void)
{
	uint64_t next = 0, x = 0;

	for (;;) {
		x += stage(unit);
		if (start > next) {
			report();
			next = start + 500000000;
			count(REPORT);
		}
		keep(x);
	}
}

static void print_tree(void)
{
	static const char *const under_stage[] = {
		"f60", "f30", "f10", "calls_leaf", "calls_leaf;leaf", "ask_kernel"
	};

	puts("TREE main\nTREE main;run\nTREE main;run;report\nTREE main;run;stage");
	for (int i = 0; i < 6; i++)
		printf("TREE main;run;stage;%s\n", under_stage[i]);
	for (int depth = 1; depth <= 21; depth++) {
		printf("TREE main;run;stage");
		for (int i = 0; i < depth; i++)
			printf(";dive");
		puts("");
	}
	puts("READY vcpus=1");
}

int main(void)
{
	uint64_t x;

	print_tree();
	start = now();
	x = spin(300000);
	keep(x);
	unit = 300000ul * 3000000 / (now() - start + 1) + 1;
	start = now();
	run();
	return 0;
}
