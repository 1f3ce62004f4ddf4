/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/ways.h: by what a guest's boot is seen: "plugin", "log", "breakpoints",
 * "kvm", "output". */
#ifndef US_CMD_BOOT_WAYS_H
#define US_CMD_BOOT_WAYS_H

#include "cmd/boot/variant.h"

/*
 * Those that v->by names, or the best that there are: sets v->way, makes the commands,
 * and says why not all is seen (v->unseen...).  v->plain and the images are there.
 * -EINVAL: there is no such way; -ENOTSUP and others: it cannot be here.
 */
US_MUST_CHECK int us_boot_ways_choose(struct us_boot_variant *v, struct us_err *e);

/* There is a plan: what QEMU's log is to tell of. */
void us_boot_ways_filter(struct us_boot_variant *v, const struct us_boot_plan *p);

/* Is it a QEMU that emulates, and not under KVM? */
bool us_boot_ways_is_emulated(const struct us_boot_variant *v);
/* A guest of KVM is to be sampled: make what that takes.  *e says why it cannot be. */
US_MUST_CHECK int us_boot_ways_sample(struct us_boot_variant *v, struct us_err *e);

/* Breakpoints do not work here after all, *e says why: set v->way to what else there
 * is. False: the user has asked for them. */
bool us_boot_ways_fall_back(struct us_boot_variant *v, const struct us_err *e);

#endif
