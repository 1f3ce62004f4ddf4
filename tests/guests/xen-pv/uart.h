/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * uart.h: the ring that xenconsoled reads (xen/include/public/io/console.h).  For
 * console.c.
 */
#ifndef GUEST_UART_H
#define GUEST_UART_H

#include "cpu.h"

#include <xen/event_channel.h>
#include <xen/io/console.h>

#define UART_FIFO_LEN 64

extern struct start_info *start_info;
static struct xencons_interface *ring;

HIDDEN void uart_init(void)
{
	u64 frame = start_info->console.domU.mfn;

	ring = (void *)(IMAGE_BASE + (machine_to_phys_mapping[frame] << 12));
}

HIDDEN void uart_tell(void)
{
	struct evtchn_send send = { .port = start_info->console.domU.evtchn };

	hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_send, (u64)&send, 0);
}

/* Is there space for UART_FIFO_LEN bytes?  If not, the reader wants the CPU. */
HIDDEN bool uart_has_space(void)
{
	u32 used = ring->out_prod - __atomic_load_n(&ring->out_cons, __ATOMIC_ACQUIRE);

	if (used + UART_FIFO_LEN <= sizeof(ring->out))
		return true;
	hypercall(__HYPERVISOR_sched_op, SCHEDOP_yield, 0, 0);
	return false;
}

HIDDEN void uart_put(char c)
{
	ring->out[ring->out_prod % sizeof(ring->out)] = c;
	__atomic_store_n(&ring->out_prod, ring->out_prod + 1, __ATOMIC_RELEASE);
	if (c == '\n' || ring->out_prod % 512 == 0)
		uart_tell();
}

#endif
