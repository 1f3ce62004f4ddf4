/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupts.c: faults, which are bugs.
 */
#include "machine.h"

void report_fault(u64 syndrome, u64 at, u64 address);

void interrupts_init(void)
{
	extern char fault_vectors[];

	write_system_register("vbar_el1", fault_vectors);
	synchronize();
}

void report_fault(u64 syndrome, u64 at, u64 address)
{
	static const char *const names[] = { "esr", "elr", "far", NULL };
	const u64 values[] = { syndrome, at, address };

	print_fault(names, values);
}
