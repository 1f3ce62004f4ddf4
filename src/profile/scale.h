/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scale.h: makes the samples of several recordings stand for the same time.
 *
 * With another rate, or another part of a rate that the budget allowed, a sample of one
 * recording stands for more time than one of another.  Added up as they are, a guest
 * that was sampled twice as often would seem to have run twice as long.
 */
#ifndef US_PROFILE_SCALE_H
#define US_PROFILE_SCALE_H

#include "store/store.h"

struct us_profile;

/* Before samples are read: what a sample of each recording counts for, if that differs.
 * Needs the figures of each; counted recordings have none. */
void us_profile_find_scales(struct us_profile *p);

/* Hot path: the weight of a sample of the recording that is being read.  Fractions are
 * rounded at random, so that nothing can be in step with them. */
uint32_t us_profile_scaled(struct us_profile *p, uint32_t weight);

#endif
