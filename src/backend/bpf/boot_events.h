/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boot_events.h: a boot as this host's KVM sees it, whatever the VMM is: when KVM
 * creates the machine, enters the guest and halts, and why the guest exits.
 *
 * Programs in the host's kernel record this for the processes that this one starts from
 * now on, and for their descendants.  Nothing is stopped.  Of the guest, only its
 * address at an exit is read.
 */
#ifndef US_BACKEND_BPF_BOOT_EVENTS_H
#define US_BACKEND_BPF_BOOT_EVENTS_H

#include "backend/bpf/boot_shared.h"
#include "backend/exit_reason.h"
#include "base/err.h"

#include <stddef.h>

struct us_boot_events;

/* Load the programs.  -EPERM, -EOPNOTSUPP: not possible here, *e says why. */
US_MUST_CHECK int us_boot_events_open(struct us_boot_events **ret, struct us_err *e);
/* Shared with the programs: it changes while it is read. */
volatile struct us_boot_seen *us_boot_events_seen(struct us_boot_events *b);
/* Forget the previous boot and its processes, and watch what is started from now on.
 * code: where the kernel will be.  0 or -errno. */
US_MUST_CHECK int us_boot_events_begin(struct us_boot_events *b,
				       const struct us_boot_code *code,
				       struct us_err *e);
void us_boot_events_end(struct us_boot_events *b);

/* Does the processor itself run the guests?  Else their instructions are emulated, and
 * neither exits nor entries are seen. */
bool us_boot_events_has_exits(const struct us_boot_events *b);
enum us_exit_reason us_boot_events_reason(const struct us_boot_events *b,
					  uint32_t code);

/* What the guest accessed most, most first, in max rows (n 0: no more).  Returns the
 * number of all such accesses. */
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
