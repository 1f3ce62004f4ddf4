/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exits.c: see exits.h. */
#include "boot/exits.h"

#include <string.h>

const char *us_exit_phase_name(enum us_exit_phase phase)
{
	static const char *const names[US_N_EXITS] = { "firmware", "loader", "kernel" };
	return names[phase];
}

static void read_codes(struct us_boot_events *b, struct us_boot_exits *ret)
{
	volatile struct us_boot_seen *s = us_boot_events_seen(b);
	for (int p = 0; p < US_N_EXITS; p++)
		for (uint32_t code = 0; code < US_BOOT_CODES; code++)
			if (s->exits[p][code])
				ret->n[p][us_boot_events_reason(b, code)] +=
					s->exits[p][code];
}

void us_boot_exits_read(struct us_boot_events *b, struct us_boot_exits *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->known = true;
	ret->emulated = !us_boot_events_has_exits(b);
	for (int p = 0; p < US_N_EXITS; p++) {
		enum us_exit_phase phase = (enum us_exit_phase)p;
		uint64_t ports = us_boot_events_ports(b, phase, ret->port[p],
						      US_BOOT_MOST);
		uint64_t pages = us_boot_events_pages(b, phase, ret->page[p],
						      US_BOOT_MOST);
		if (!ret->emulated)
			continue;
		ret->n[p][US_EXIT_PORT_IO] = ports;
		ret->n[p][US_EXIT_MEMORY] = pages;
	}
	if (!ret->emulated)
		read_codes(b, ret);
}
