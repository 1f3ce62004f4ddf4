/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interrupts.c: faults, which are bugs.
 */
#include "machine.h"

void report_fault(u64 cause, u64 at, u64 address);

void interrupts_init(void)
{
	extern char fault_entry[];

	write_csr("stvec", fault_entry);
}

void report_fault(u64 cause, u64 at, u64 address)
{
	static const char *const names[] = { "scause", "sepc", "stval", NULL };
	const u64 values[] = { cause, at, address };

	print_fault(names, values);
}
