/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86_entered.c: see x86_entered.h.  Source: Intel's manual, volume 3, "Exception and
 * Interrupt Handling". */
#include "trace/plugin/x86_entered.h"

#include <string.h>

#define FLAGS_ONE 2ULL /* is always set */
#define FLAGS_END 22   /* no flags from this bit on */
#define RING_3	  3

enum frame { NONE, LIKELY, CERTAIN };

static bool is_selector(uint64_t word)
{
	return word >= 8 && word <= UINT16_MAX;
}

static bool is_flags(uint64_t word)
{
	return word & FLAGS_ONE && !(word >> FLAGS_END);
}

/* rip, cs, flags, rsp, ss at this address.  A frame on the interrupted stack is right
 * below its aligned stack pointer. */
static enum frame frame_64(const uint64_t *word, uint64_t at)
{
	if (!is_selector(word[1]) || !is_flags(word[2]) || word[4] > UINT16_MAX)
		return NONE;
	bool below = (word[3] & ~15ULL) - 40 == at;
	return below || (word[1] & RING_3) == RING_3 ? CERTAIN : LIKELY;
}

/* eip, cs, flags. */
static enum frame frame_32(const uint32_t *word)
{
	return is_selector(word[1]) && is_flags(word[2]) ? LIKELY : NONE;
}

/* With or without an error code below it. */
static enum frame frame_of(const struct us_x86_entered *x)
{
	uint32_t half[US_X86_WORDS];
	enum frame best = NONE;
	memcpy(half, x->word, sizeof(half));
	for (unsigned i = 0; i < 2; i++) {
		enum frame wide = frame_64(x->word + i, x->sp + 8 * i);
		enum frame narrow = frame_32(half + i);
		if (wide > best)
			best = wide;
		if (narrow > best)
			best = narrow;
	}
	return best;
}

/* Most bytes between a function's return address and what is pushed below its frame:
 * further away is another stack. */
#define UPCALL_NEAR (64 << 10)

static bool is_upcall(const struct us_x86_entered *x)
{
	const struct us_track_entering *e = x->e;
	bool interrupt = x->gate > 0 ||
			 (x->gate < 0 && (!x->has_words || frame_of(x) != NONE));
	return !interrupt && (!e->sp || (x->sp < e->sp && e->sp - x->sp < UPCALL_NEAR));
}

enum us_track_how us_x86_entered(const struct us_x86_entered *x)
{
	if (x->e->resumed && is_upcall(x))
		return US_HOW_UPCALL;
	if (x->gate == 0 || (x->e->sp && x->sp == x->e->sp))
		return US_HOW_SAID;
	if (!x->has_words)
		return x->e->exactly ? US_HOW_INTERRUPT : US_HOW_UNKNOWN;
	enum frame f = frame_of(x);
	if (f == NONE)
		return x->e->exactly || x->gate == 1 ? US_HOW_UNKNOWN : US_HOW_SAID;
	if (x->gate == 1 || x->e->exactly)
		return US_HOW_INTERRUPT;
	return f == CERTAIN && !x->e->framed ? US_HOW_INTERRUPT : US_HOW_UNKNOWN;
}

static uint64_t gate_64(const uint8_t *gate)
{
	uint64_t low, high;
	memcpy(&low, gate, sizeof(low));
	memcpy(&high, gate + 8, sizeof(high));
	return (low & 0xffff) | (low >> 48 << 16) | high << 32;
}

static uint64_t gate_32(const uint8_t *gate)
{
	uint64_t word;
	memcpy(&word, gate, sizeof(word));
	return (word & 0xffff) | word >> 48 << 16;
}

bool us_x86_has_gate(const uint8_t *table, size_t n, uint64_t pc)
{
	for (size_t i = 0; i + 16 <= n; i += 16)
		if (gate_64(table + i) == pc)
			return true;
	for (size_t i = 0; i + 8 <= n && pc <= UINT32_MAX; i += 8)
		if (gate_32(table + i) == pc)
			return true;
	return false;
}
