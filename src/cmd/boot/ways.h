/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/ways.h: the ways to observe a guest's boot: "plugin", "log", "breakpoints",
 * "kvm", "output". */
#ifndef US_CMD_BOOT_WAYS_H
#define US_CMD_BOOT_WAYS_H

#include "cmd/boot/variant.h"

#define US_BOOT_WAYS "plugin, log, breakpoints, samples, kvm or output"

/* Is it one of them? */
bool us_boot_ways_has(const char *name);

/*
 * Choose the ways that v->by names, or the best available: sets v->way, makes the
 * commands, and says why some points are not observed (v->unseen...).  v->plain and the
 * images must be set.  -EINVAL: no such way; -ENOTSUP and others: not possible here.
 */
US_MUST_CHECK int us_boot_ways_choose(struct us_boot_variant *v, struct us_err *e);

/* The plan is known: set the addresses for QEMU's log. */
void us_boot_ways_filter(struct us_boot_variant *v, const struct us_boot_plan *p);

/* Is it a QEMU that emulates, without KVM? */
bool us_boot_ways_is_emulated(const struct us_boot_variant *v);
/* A guest of KVM is to be sampled: prepare that.  *e says why it is impossible. */
US_MUST_CHECK int us_boot_ways_sample(struct us_boot_variant *v, struct us_err *e);

/* Breakpoints do not work here (*e says why): set v->way to the alternative.  False:
 * the user asked for breakpoints. */
bool us_boot_ways_fall_back(struct us_boot_variant *v, const struct us_err *e);

#endif
