/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet.h: what comes in from the network, and the network card that brings it.
 *
 * The card is played by memory: a ring of descriptors that point to packets, and a
 * clock that says how many have arrived.  How many come is set once, at boot, from what
 * the byte-by-byte server needs for a packet on this machine: about 80 % of the time.
 * A better server gets just as many, and is idle for longer.
 */
#ifndef GUEST_PACKET_H
#define GUEST_PACKET_H

#include "cpu.h"

#define PAYLOAD_LEN 1024
#define RING_LEN    1024

struct packet {
	u32 source, destination; /* addresses */
	u16 source_port, destination_port;
	u16 len; /* of the payload, in bytes */
	u16 checksum;
	u8 payload[PAYLOAD_LEN] __attribute__((aligned(16)));
};

struct buffer {
	u32 len, size;
	u8 bytes[PAYLOAD_LEN] __attribute__((aligned(16)));
};

struct nic {
	const struct packet *ring[RING_LEN];
	u64 start;     /* tsc of packet 0 */
	u64 delivered; /* packets put into the ring since then ... */
	u64 taken;     /* ... and taken out of it */
	u64 dropped;   /* because the ring was full */
};

/* On the boot vCPU: write the packets that will be received, set the rate. */
void nic_setup(void);
void nic_start(struct nic *nic);
/* What the hardware does: put all that has arrived until now into the ring. */
VISIBLE void nic_deliver(struct nic *nic, u64 now);
/* How many packets make the card interrupt; when the next such interrupt is due. */
u64 nic_moderation(void);
u64 nic_next_interrupt(const struct nic *nic);

/* One's complement sum of the payload, as of RFC 1071. */
VISIBLE u16 checksum(const u8 *bytes, u32 len);

#endif
