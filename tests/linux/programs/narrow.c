/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * narrow.c: a 32-bit program without a C library, for a 64-bit kernel: by turns it
 * computes and makes system calls, each at the end of a chain of calls that is known.
 */
#define CALLED __attribute__((noinline, used))
#define KEEP() __asm__ volatile("" ::: "memory") /* no jump in place of a call */

static char buffer[1 << 16];

static int system_call(int number, int a, const void *b, int c)
{
	int result;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return result;
}

CALLED static void spin(void)
{
	for (unsigned i = 0; i < 3000000; i++)
		KEEP();
}

CALLED static void compute(void)
{
	spin();
	KEEP();
}

CALLED static void read_zeroes(int fd)
{
	for (int i = 0; i < 40; i++)
		system_call(3, fd, buffer, sizeof(buffer));
	KEEP();
}

CALLED static void fetch(int fd)
{
	read_zeroes(fd);
	KEEP();
}

CALLED static void work(int fd)
{
	for (;;) {
		compute();
		fetch(fd);
	}
}

CALLED void narrow_main(void)
{
	static const char path[] = "/dev/zero";
	work(system_call(5, (int)(long)path, 0, 0));
	KEEP();
}

__asm__(".globl _start; .type _start, @function; _start: xorl %ebp, %ebp;"
	"call narrow_main; hlt; .size _start, . - _start");
