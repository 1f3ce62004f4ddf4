/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layer.h: addresses that also say which of several images they are in.
 *
 * Programs may have different code at the same addresses.  Images of such code are put
 * in different layers: all addresses of a layer are moved by the same distance, to
 * where no guest has memory.
 */
#ifndef US_GUEST_LAYER_H
#define US_GUEST_LAYER_H

#include <stdint.h>

/* Addresses of guests are at most half of this away from 0, up or down. */
#define US_LAYER  (1ULL << 57)
#define US_LAYERS 16U
/* In no layer. */
#define US_NO_LAYER (1ULL << 63)

static inline uint64_t us_layer_address(uint64_t gva, unsigned layer)
{
	return gva + layer * US_LAYER;
}

static inline unsigned us_layer_of(uint64_t address)
{
	return (unsigned)((address + US_LAYER / 2) / US_LAYER);
}

/* The guest's address. */
static inline uint64_t us_layer_gva(uint64_t address)
{
	return address - us_layer_of(address) * US_LAYER;
}

#endif
