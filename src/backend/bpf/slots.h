/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slots.h: KVM's memory slots, as few as they can be. */
#ifndef US_BACKEND_BPF_SLOTS_H
#define US_BACKEND_BPF_SLOTS_H

#include <stdint.h>

#include "backend/bpf/shared.h"

/* Drop deleted slots, and join those that continue each other in the guest and in the
 * VMM, as of memory that is added piece by piece.  Returns how many are left, the
 * largest first. */
unsigned us_bpf_join_slots(struct us_bpf_found_slot *slot, unsigned n);

#endif
