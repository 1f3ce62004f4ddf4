/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crc32c.h: the checksum of a chunk (CRC-32C, Castagnoli; RFC 3720 appendix B.4).
 *
 * Polynomial 0x1edc6f41, bits reflected, initial and final value inverted: the one that
 * x86 (SSE4.2) has an instruction for.  The checksum of "123456789" is 0xe3069283.
 */
#ifndef US_STORE_CRC32C_H
#define US_STORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continue the checksum crc with buf.  Begin with 0. */
uint32_t us_crc32c(uint32_t crc, const void *buf, size_t len);

/* The same without the instruction; for tests. */
uint32_t us_crc32c_portable(uint32_t crc, const void *buf, size_t len);

#endif
