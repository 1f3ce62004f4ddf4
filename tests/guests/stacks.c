/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks.c: the pages of the stacks.
 */
#include "machine.h"
#include "paging.h"

static u8 stack_memory[MAX_VCPUS][STACK_SLOTS][STACK_MEMORY]
	__attribute__((aligned(STACK_ALIGN)));

u64 stack_top(u32 vcpu, u32 slot)
{
	return stack_area + ((u64)vcpu << STACK_VCPU_SHIFT) + (slot + 1) * STACK_SLOT;
}

/* Neighbouring pages of a stack are not neighbours in memory, so that a reader that
 * translates only once reads nonsense. */
void map_stacks(u32 vcpu)
{
	for (u32 slot = 0; slot < STACK_SLOTS; slot++) {
		u8 *memory = stack_memory[vcpu][slot];

		for (u32 page = 0; page < STACK_PAGES; page++)
			if ((page + 1) * PAGE_SIZE <= STACK_MEMORY)
				map_page(stack_top(vcpu, slot) - (page + 1) * PAGE_SIZE,
					 gpa_of(memory + page * PAGE_SIZE));
	}
}
