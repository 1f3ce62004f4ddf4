/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of some ten thousand instructions, without a library.  Linked to addresses
 * where no other program is, so that each of its program counters tells whose it is. */
static volatile unsigned long sink;

__attribute__((noreturn)) void _start(void)
{
	for (unsigned long n = 0; n < WORK; n++)
		sink += n;
	for (;;) {
#ifdef __x86_64__
		__asm__ volatile("syscall" ::"a"(60L), "D"(0L)
				 : "rcx", "r11", "memory");
#else
		register long number __asm__("x8") = 93;
		register long status __asm__("x0") = 0;
		__asm__ volatile("svc 0" ::"r"(number), "r"(status) : "memory");
#endif
	}
}
