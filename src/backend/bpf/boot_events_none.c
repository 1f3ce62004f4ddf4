/* SPDX-License-Identifier: GPL-2.0-or-later */
/* boot_events.h if clang, bpftool or libbpf was missing at build time: it refuses. */
#include "backend/bpf/boot_events.h"

#include <errno.h>

int us_boot_events_open(struct us_boot_events **ret, struct us_err *e)
{
	*ret = NULL;
	us_fail(e, -EOPNOTSUPP,
		"this uniscope was built without BPF programs for the host's kernel");
	us_hint(e, "apt install clang libbpf-dev bpftool, and rebuild uniscope");
	return -EOPNOTSUPP;
}

volatile struct us_boot_seen *us_boot_events_seen(struct us_boot_events *b)
{
	(void)b;
	return NULL;
}

int us_boot_events_begin(struct us_boot_events *b, const struct us_boot_code *code,
			 struct us_err *e)
{
	(void)b;
	(void)code;
	return us_fail(e, -EOPNOTSUPP, "nothing to begin");
}

void us_boot_events_end(struct us_boot_events *b)
{
	(void)b;
}

bool us_boot_events_has_exits(const struct us_boot_events *b)
{
	(void)b;
	return false;
}

enum us_exit_reason us_boot_events_reason(const struct us_boot_events *b, uint32_t code)
{
	(void)b;
	(void)code;
	return US_EXIT_UNKNOWN;
}

uint64_t us_boot_events_ports(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	(void)b;
	(void)phase;
	(void)ret;
	(void)max;
	return 0;
}

uint64_t us_boot_events_pages(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max)
{
	return us_boot_events_ports(b, phase, ret, max);
}

void us_boot_events_close(struct us_boot_events *b)
{
	(void)b;
}
