/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h: where things are in the guest's memory; for C and for assembly.
 *
 * The image is linked in the higher half, and loaded where addresses.h of the
 * processor's folder says.  It is mapped by small pages, and so is every stack, far
 * away from it: whoever looks in from outside has to walk all levels of page tables for
 * each of both.
 */
#ifndef GUEST_LAYOUT_H
#define GUEST_LAYOUT_H

#include "addresses.h"

#define MAX_VCPUS 4

/* Where an image that moves itself goes to: so much further, and up to 512 pages. */
#define SLIDE_BASE 0x10000000

/* The stacks: one GiB of addresses for each vCPU, a slot of it for each thread. */
#define STACK_AREA	 0xffff800000000000
#define STACK_VCPU_SHIFT 30
#define STACK_PAGES	 4 /* at most; the topmost of a slot */
#define STACK_SLOTS	 4 /* threads of a vCPU, with its boot stack (slot 0) */

#endif
