/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * badfp.c: frame pointers that loop, and frame pointers that are garbage.
 */
#include "machine.h"
#include "phases.h"

#define NONCANONICAL 0x8000000000001230
#define UNMAPPED     0xffff900000000000

/* Frames as the compiler makes them: the caller's rbp, the return address. */
static u64 itself[] = { (u64)itself, (u64)after_call };
static u64 circle[] = { (u64)&circle[2], (u64)after_call, (u64)circle,
			(u64)after_call };
static u64 backwards[] = { UNMAPPED, (u64)after_call, (u64)backwards, (u64)after_call };
static u64 then_noncanonical[] = { NONCANONICAL, (u64)after_call };
static u64 into_data[] = { (u64)circle, (u64)itself };

static struct phase phases[] = {
	{ "sane", 0 },
	{ "itself", (u64)itself },
	{ "circle", (u64)circle },
	{ "backwards", (u64)&backwards[2] },
	{ "noncanonical", NONCANONICAL },
	{ "then-noncanonical", (u64)then_noncanonical },
	{ "unmapped", UNMAPPED },
	{ "misaligned", (u64)itself + 3 },
	{ "code", (u64)after_call },
	{ "returns-into-data", (u64)into_data },
	{ "end-of-page", STACK_AREA + STACK_SLOT - 8 }, /* the next page is unmapped */
	{ "device", LAPIC_BASE + 0x20 },
	{ "minus-one", ~0ul },
	{ "small", 8 },
};

void guest_setup(void)
{
	phases_set(phases, ARRAY_LEN(phases));
}
