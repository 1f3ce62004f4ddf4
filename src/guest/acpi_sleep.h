/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acpi_sleep.h: is a PC guest about to suspend itself (S3)?
 *
 * Before it does, a guest writes where the firmware is to wake it into the Firmware
 * ACPI Control Structure (ACPI 6.5, 5.2.10), and clears that when it is awake: Linux
 * milliseconds before it enters S3 (drivers/acpi/sleep.c, acpi_sleep_prepare()).  The
 * structure is found by way of the RSDP between 0xe0000 and 0xfffff, where SeaBIOS puts
 * it.  Tables that UEFI places elsewhere are not found.
 */
#ifndef US_GUEST_ACPI_SLEEP_H
#define US_GUEST_ACPI_SLEEP_H

#include "guest/memory.h"

/* Zero it to begin. */
struct us_acpi_sleep {
	us_gpa facs;	   /* 0: not found yet */
	uint64_t look_ns;  /* when to look for it again */
	uint64_t pause_ns; /* between these looks */
	uint64_t since_ns; /* when a waking vector was first seen; 0: there is none */
};

/*
 * Between samples.  Copies 512 bytes; until the structure is found, 128 KiB every few
 * seconds.  A guest that leaves its vector set is not taken for one that suspends for
 * longer than ten seconds.
 */
bool us_acpi_suspends(struct us_acpi_sleep *s, struct us_mem *m, uint64_t now_ns);

#endif
