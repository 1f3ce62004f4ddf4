/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nic.c: a network card that is only memory and a clock.
 */
#include "machine.h"
#include "packet.h"

#define N_PACKETS	 16 /* different ones; they come again and again */
#define LOAD_PERCENT	 75
#define OVERHEAD_PERCENT 3 /* of a server, for all but copy and checksum */
#define MODERATION_MIN	 4
#define MODERATION_MAX	 512

static struct packet packets[N_PACKETS];
static u64 packet_interval; /* ticks from one packet to the next */
static u64 moderation;

static void write_packet(struct packet *p, u64 seed)
{
	u64 *word = (u64 *)p->payload;

	p->source = (u32)(0x0a000001 + seed);
	p->destination = 0x0a0000fe;
	p->source_port = (u16)(40000 + seed * 7);
	p->destination_port = 7;
	p->len = PAYLOAD_LEN;
	for (u32 i = 0; i < PAYLOAD_LEN / sizeof(*word); i++)
		word[i] = seed = seed * 6364136223846793005 + 1442695040888963407;
	p->checksum = checksum(p->payload, p->len);
}

/* As the server does before it is mended. */
static VISIBLE void reference_copy(struct buffer *to, const u8 *from, u32 len)
{
	for (u32 i = 0; i < len && to->len < to->size; i++)
		to->bytes[to->len++] = from[i];
}

/* What one packet costs a server that copies byte by byte, but for small change. */
static u64 measure_packet(void)
{
	static struct buffer copy = { .size = PAYLOAD_LEN };
	u64 best = ~0ul;

	for (u32 round = 0; round < 8; round++) {
		u64 start = read_tsc(), ticks;

		keep(checksum(packets[round].payload, PAYLOAD_LEN));
		copy.len = 0;
		reference_copy(&copy, packets[round].payload, PAYLOAD_LEN);
		keep(checksum(copy.bytes, copy.len));
		ticks = read_tsc() - start;
		best = ticks < best ? ticks : best;
	}
	return best;
}

void nic_setup(void)
{
	for (u32 i = 0; i < N_PACKETS; i++)
		write_packet(&packets[i], i);
	packet_interval = measure_packet() * (100 + OVERHEAD_PERCENT) / LOAD_PERCENT;
	moderation = tsc_second / 200 / packet_interval;
	if (moderation < MODERATION_MIN)
		moderation = MODERATION_MIN;
	if (moderation > MODERATION_MAX)
		moderation = MODERATION_MAX;
}

void nic_start(struct nic *nic)
{
	nic->start = read_tsc();
}

VISIBLE void nic_deliver(struct nic *nic, u64 now)
{
	u64 arrived = (now - nic->start) / packet_interval - nic->dropped;

	while (nic->delivered < arrived && nic->delivered - nic->taken < RING_LEN) {
		nic->ring[nic->delivered % RING_LEN] =
			&packets[nic->delivered % N_PACKETS];
		nic->delivered++;
	}
	nic->dropped += arrived - nic->delivered;
}

u64 nic_moderation(void)
{
	return moderation;
}

u64 nic_next_interrupt(const struct nic *nic)
{
	return nic->start + (nic->taken + nic->dropped + moderation) * packet_interval;
}

VISIBLE u16 checksum(const u8 *bytes, u32 len)
{
	const u16 *word = (const u16 *)bytes;
	u64 sum = 0;

	for (u32 i = 0; i < len / 2; i++)
		sum += word[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}
