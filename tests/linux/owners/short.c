/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program of some ten thousand instructions, without a library.  Linked to addresses
 * where no other program is, so that each of its program counters tells whose it is. */
static volatile unsigned long sink;

__attribute__((noreturn)) void _start(void)
{
	for (unsigned long n = 0; n < WORK; n++)
		sink += n;
	for (;;)
		__asm__ volatile("syscall" ::"a"(60L), "D"(0L)
				 : "rcx", "r11", "memory");
}
