/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rights.h: give up capabilities of the calling thread. */
#ifndef US_BASE_RIGHTS_H
#define US_BASE_RIGHTS_H

#include <stdint.h>

#define US_RIGHT(capability) (1ULL << (capability))

/*
 * Keep only these capabilities (US_RIGHT() of each), of those that the thread has, and
 * forbid gaining any by exec.  This applies to the calling thread and to threads and
 * processes that it starts afterwards.  On failure it keeps more rights than it needs,
 * not fewer.
 */
void us_rights_keep(uint64_t kept);

#endif
