/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_builds.h: which functions that recordings name are the same one.
 *
 * One kernel is at another address after each boot (KASLR), and each of its modules is
 * moved on its own.  So a function is known by its module and name.  Namesakes within a
 * module are told apart by where they are relative to the module's other functions, if
 * the same build of it was moved, and else by their order.
 */
#ifndef US_PROFILE_GUEST_BUILDS_H
#define US_PROFILE_GUEST_BUILDS_H

#include "profile/guest_names.h"

/* Set the namesake of all names of n sorted lists, one for each layout. */
void us_guest_builds_number(struct us_guest_names *v, size_t n);

#endif
