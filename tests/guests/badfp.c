/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * badfp.c: frame pointers that loop, and frame pointers that are garbage.
 */
#include "machine.h"
#include "phases.h"

#define NONCANONICAL 0x8000000000001230
#define UNMAPPED     0xffff900000000000

/* Frames as the compiler makes them: the caller's frame pointer, the return address. */
static u64 itself[] = { FP(itself), (u64)after_call };
static u64 circle[] = { FP(&circle[2]), (u64)after_call, FP(circle), (u64)after_call };
static u64 backwards[] = { UNMAPPED, (u64)after_call, FP(backwards), (u64)after_call };
static u64 then_noncanonical[] = { NONCANONICAL, (u64)after_call };
static u64 into_data[] = { FP(circle), (u64)itself };

static struct phase phases[] = {
	{ "sane", 0 },
	{ "itself", FP(itself) },
	{ "circle", FP(circle) },
	{ "backwards", FP(&backwards[2]) },
	{ "noncanonical", NONCANONICAL },
	{ "then-noncanonical", FP(then_noncanonical) },
	{ "unmapped", UNMAPPED },
	{ "misaligned", FP(itself) + 3 },
	{ "code", (u64)after_call },
	{ "returns-into-data", FP(into_data) },
	{ "end-of-page",
	  FP(STACK_AREA + STACK_SLOT - 8) }, /* the next page is unmapped */
	{ "device", FP(DEVICE_BASE + 0x20) },
	{ "minus-one", ~0ul },
	{ "small", 8 },
};

void guest_setup(void)
{
	phases_set(phases, ARRAY_LEN(phases));
}
