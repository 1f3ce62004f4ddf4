/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.c: what the compiler may ask for, each one instruction.
 */
#include "cpu.h"

void *memcpy(void *to, const void *from, __SIZE_TYPE__ len)
{
	void *p = to;

	__asm__ volatile("rep movsb" : "+D"(p), "+S"(from), "+c"(len)::"memory");
	return to;
}

void *memset(void *to, int value, __SIZE_TYPE__ len)
{
	void *p = to;

	__asm__ volatile("rep stosb" : "+D"(p), "+c"(len) : "a"(value) : "memory");
	return to;
}
