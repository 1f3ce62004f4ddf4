/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck.h: has QEMU stopped its guest for good?
 *
 * QEMU then stays, and its guest does nothing more: KVM could not go on, a panic, a
 * disk's error, or an end with -no-shutdown.  A thread asks QEMU's monitor once a
 * second, since a monitor may answer late.  The monitor has one client at a time:
 * others wait meanwhile, usually a millisecond.
 */
#ifndef US_BOOT_STUCK_H
#define US_BOOT_STUCK_H

#include <stdbool.h>

struct us_boot_stuck;

/* monitor: path of its socket, which need not exist yet; stays owned by the caller, and
 * valid.  NULL: there is no memory or thread for it. */
struct us_boot_stuck *us_boot_stuck_open(const char *monitor);
/* QEMU's run state (qapi/run-state.json), as "internal-error"; NULL: the guest runs, or
 * may still run, or it is not known yet.  Accepts NULL. */
const char *us_boot_stuck_state(const struct us_boot_stuck *s);
/* May wait for an answer of the monitor: end the VMM before.  Accepts NULL. */
void us_boot_stuck_close(struct us_boot_stuck *s);

#endif
