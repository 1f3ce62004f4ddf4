/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crc32c.c: see crc32c.h. */
#include "store/crc32c.h"

#include <string.h>

/* The sums of the sixteen half bytes. */
static const uint32_t half[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t us_crc32c_portable(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		crc = half[crc & 15] ^ crc >> 4;
		crc = half[crc & 15] ^ crc >> 4;
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((__target__("sse4.2"))) static uint32_t
with_instruction(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t sum = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, sizeof(word));
		sum = __builtin_ia32_crc32di(sum, word);
	}
	while (len--)
		sum = __builtin_ia32_crc32qi((uint32_t)sum, *p++);
	return ~(uint32_t)sum;
}

uint32_t us_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return __builtin_cpu_supports("sse4.2") ? with_instruction(crc, buf, len)
						: us_crc32c_portable(crc, buf, len);
}
#else
uint32_t us_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return us_crc32c_portable(crc, buf, len);
}
#endif
