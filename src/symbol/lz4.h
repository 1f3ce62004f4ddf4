/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lz4.h: unpack LZ4 blocks, as Linux's images have them (the legacy frame of
 * lz4_Frame_format.md: blocks of 8 MiB that do not refer to each other).
 */
#ifndef US_SYMBOL_LZ4_H
#define US_SYMBOL_LZ4_H

#include <stddef.h>
#include <stdint.h>

#define US_LZ4_BLOCK (8U << 20) /* largest unpacked size of one, bytes */

/* Unpack a block of n bytes, which are hostile.  Returns the unpacked size, or
 * SIZE_MAX: damaged, or larger than room.  Source: lz4_Block_format.md. */
size_t us_lz4_block(const uint8_t *from, size_t n, uint8_t *to, size_t room);

#endif
