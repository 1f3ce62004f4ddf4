/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory.c: what the compiler may ask for.
 */
#include "cpu.h"

void *memcpy(void *to, const void *from, __SIZE_TYPE__ len);
void *memset(void *to, int value, __SIZE_TYPE__ len);

void *memcpy(void *to, const void *from, __SIZE_TYPE__ len)
{
	for (__SIZE_TYPE__ i = 0; i < len; i++)
		((u8 *)to)[i] = ((const u8 *)from)[i];
	return to;
}

void *memset(void *to, int value, __SIZE_TYPE__ len)
{
	for (__SIZE_TYPE__ i = 0; i < len; i++)
		((u8 *)to)[i] = (u8)value;
	return to;
}
