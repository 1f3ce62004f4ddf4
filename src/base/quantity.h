/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quantity.h: numbers with units, as people type them.
 *
 * Each reads the whole text and returns false, with *ret unchanged, if it is anything
 * else: a sign, a space, an unknown unit, or more than the result can hold.
 */
#ifndef US_BASE_QUANTITY_H
#define US_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* "10", "2.5", "1e3", "10k", "1M" (thousands: k, K, M, G), and unit behind it if it is
 * wanted: "1%" with "%", "10kHz" in any case with "Hz".  unit may be NULL. */
bool us_quantity_number(const char *text, const char *unit, double *ret);

/* "5" (seconds), "2.5s", "300ms", "1h30m": parts in d, h, m or min, s or sec, ms, us
 * and ns, the larger unit first.  At most 1e18 ns. */
bool us_quantity_time(const char *text, uint64_t *ret_ns);

/* Bytes: "4096", "64K", "1.5G", "64MiB"; k, M, G and T are powers of 1024, as QEMU's
 * -m has them, also with B or iB behind.  At most 2^60. */
bool us_quantity_bytes(const char *text, uint64_t *ret);

#endif
