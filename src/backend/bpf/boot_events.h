/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_events.h: a boot as this host's KVM sees it, whatever the VMM is: when it makes
 * the machine, enters the guest, halts, and why the guest exits.
 *
 * Programs in the host's kernel note it, for the processes that this one starts from
 * now on and for those that they start.  Nothing is stopped, and nothing of the guest
 * is read but where it was at an exit.
 */
#ifndef US_BACKEND_BPF_BOOT_EVENTS_H
#define US_BACKEND_BPF_BOOT_EVENTS_H

#include "backend/bpf/boot_shared.h"
#include "backend/exit_reason.h"
#include "base/err.h"

#include <stddef.h>

struct us_boot_events;

/* Load the programs. -EPERM, -EOPNOTSUPP: it cannot be done here, *e says why. */
US_MUST_CHECK int us_boot_events_open(struct us_boot_events **ret, struct us_err *e);
/* Shared with the programs: read with care, it changes meanwhile. */
volatile struct us_boot_seen *us_boot_events_seen(struct us_boot_events *b);
/* Forget all of the boot before, with its processes, and look at what is started from
 * now on; code: where the kernel will be.  0 or -errno. */
US_MUST_CHECK int us_boot_events_begin(struct us_boot_events *b,
				       const struct us_boot_code *code,
				       struct us_err *e);
void us_boot_events_end(struct us_boot_events *b);

/* Does the processor itself run the guests?  Else their instructions are emulated, and
 * neither exits nor entries are seen. */
bool us_boot_events_has_exits(const struct us_boot_events *b);
enum us_exit_reason us_boot_events_reason(const struct us_boot_events *b,
					  uint32_t code);

/* What the guest did most, most first, in max rows (n 0: no more); and how often it did
 * any such in all. */
struct us_boot_access {
	uint64_t address; /* a port, or the gpa of a page */
	uint64_t n;
};
uint64_t us_boot_events_ports(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max);
uint64_t us_boot_events_pages(struct us_boot_events *b, enum us_exit_phase phase,
			      struct us_boot_access *ret, size_t max);

void us_boot_events_close(struct us_boot_events *b); /* accepts NULL */

#endif
