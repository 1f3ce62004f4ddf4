/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest of the golden tests.  guest.S is what gcc 12 made of it, with
 *	gcc -g -gdwarf-4 -gno-variable-location-views -fno-var-tracking -O1 -fno-pie
 *		-fno-asynchronous-unwind-tables -fomit-frame-pointer -ffreestanding
 *		-fno-stack-protector -fcf-protection=none -fno-optimize-sibling-calls
 *		-ffile-prefix-map=$PWD=/src/guest -S server.c -o guest.S
 * plus the function without lines at its end.  It never runs, and its lines must stay.
 */
#define BYTE(at) (*(volatile unsigned char *)(at))
#define WORD(at) (*(volatile unsigned long *)(at))

static inline __attribute__((always_inline)) void put_byte(void)
{
	BYTE(0x200000) = 1;
	WORD(0x200008) = 2;
}

__attribute__((noinline, aligned(256))) void naive_copy(void)
{
	while (WORD(0x200010))
		put_byte();
}

__attribute__((noinline, aligned(256))) void checksum(void)
{
	while (WORD(0x200018))
		WORD(0x200020) += BYTE(0x200000);
}

__attribute__((noinline, aligned(256))) void walk(void)
{
	if (WORD(0x200028))
		walk();
	WORD(0x200030) = 3;
}

__attribute__((noinline, aligned(256))) void serve(void)
{
	naive_copy();
	checksum();
	walk();
	WORD(0x200038) = 4;
}

__attribute__((noinline, aligned(256))) void _start(void)
{
	for (;;)
		serve();
}
