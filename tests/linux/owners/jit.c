// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jit.c: a program that makes two functions when it runs, and says in /tmp/perf-PID.map
 * what they are called, as JIT compilers do.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECOND 4160 /* from the first */

/* mov $n,%ecx; lea 1(%rax,%rax,4),%rax; dec %ecx; jne; ret */
static void emit(uint8_t *at, uint32_t n)
{
	uint8_t code[] = { 0xb9, 0,    0,    0,	   0,	 0x48, 0x8d, 0x44,
			   0x80, 0x01, 0xff, 0xc9, 0x75, 0xf7, 0xc3 };

	memcpy(code + 1, &n, 4);
	memcpy(at, code, sizeof(code));
}

int main(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	FILE *map = fopen(path, "w");
	if (page == MAP_FAILED || !map)
		return 1;
	emit(page, 60000);
	emit(page + SECOND, 20000);
	fprintf(map, "%lx f made:sixty a;b\n%lx f made:twenty\n", (long)page,
		(long)page + SECOND);
	fclose(map);
	for (;;) {
		((void (*)(void))page)();
		((void (*)(void))(page + SECOND))();
	}
}
