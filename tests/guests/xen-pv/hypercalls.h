/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hypercalls.h: what a paravirtual domain asks of Xen (xen/include/public), and its
 * halt.  Included by x86/instructions.h.
 */
#ifndef GUEST_HYPERCALLS_H
#define GUEST_HYPERCALLS_H

/* Without it, what the first domains called: other numbers. */
#define __XEN_INTERFACE_VERSION__ 0x00040d00

#include <stdint.h>
#include <xen/xen.h>

#include <xen/sched.h>

/* Nothing runs within a halt: see halt_until_interrupt(). */
#define TREE_TIMER(in) ""

/* From ring 3, where the kernel of such a domain runs, syscall leads to Xen. */
HIDDEN long hypercall(u64 number, u64 a, u64 b, u64 c)
{
	long result = (long)number;

	__asm__ volatile("syscall"
			 : "+a"(result), "+D"(a), "+S"(b), "+d"(c)
			 :
			 : "rcx", "r11", "memory");
	return result;
}

/* Of each vCPU: at which system time the next tick is due, and how long one takes, in
 * ns. */
extern struct timer {
	u64 due, period;
} timers[];

/* Stacks lie one behind the other, vCPU by vCPU. */
extern u8 stack_memory[];
#define VCPU_STACKS (STACK_SLOTS * STACK_MEMORY)

HIDDEN struct timer *own_timer(void)
{
	return &timers[((u64)__builtin_frame_address(0) - (u64)stack_memory) /
		       VCPU_STACKS];
}

/* No interrupt comes: the vCPU is blocked until it would have come. */
HIDDEN void halt_until_interrupt(void)
{
	struct timer *t = own_timer();
	struct sched_poll poll = { .timeout = t->due };

	t->due += t->period;
	hypercall(__HYPERVISOR_sched_op, SCHEDOP_poll, (u64)&poll, 0);
}

#endif
