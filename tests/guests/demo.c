/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demo.c: a small packet server, the guest of the demonstration.
 *
 * On every vCPU three threads take turns: one receives packets from the network card,
 * one serves them (parse, copy, checksum, reply), one sleeps when there is nothing to
 * do.  Most of the time goes into copy_bytes_naive().  Built with -DMENDED the copy is
 * mended: the same packets then leave the server idle for most of the time.  Built with
 * LATE_MS it boots later by so many ms.
 */
#include "machine.h"
#include "packet.h"
#include "scheduler.h"
#include "truth.h"

#define QUEUE_LEN     512 /* packets received, not yet served */
#define BATCH_LEN     16  /* packets served before the other threads get their turn */
#define N_CONNECTIONS 64
#define ECHO_PORT     7

#ifdef MENDED
#define COPY	  copy_words
#define COPY_NAME "copy_words"
#else
#define COPY	  copy_bytes_naive
#define COPY_NAME "copy_bytes_naive"
#endif

struct connection {
	u64 key;
	u64 n_packets;
	u64 n_bytes;
};

struct reply {
	u32 source, destination;
	u16 source_port, destination_port;
	u16 checksum;
	struct buffer data;
};

struct server {
	struct truth truth;
	struct scheduler scheduler;
	struct nic nic;
	const struct packet *queue[QUEUE_LEN];
	u64 received, served; /* packets, since the start */
	u64 bad_checksums;
	struct connection connection[N_CONNECTIONS];
	struct reply reply[BATCH_LEN];
};

#define FUNCTIONS(X)                                                                   \
	X(receive_burst)                                                               \
	X(parse_header)                                                                \
	X(COPY)                                                                        \
	X(checksum)                                                                    \
	X(send_reply)                                                                  \
	X(idle_thread)
TRUTH_FUNCTIONS(FUNCTIONS);

static const char tree[] =
	"thread_entry\n"
	"  receive_thread\n"
	"    nic_next_interrupt\n"
	"    receive_burst\n"
	"      nic_deliver\n"
	"    yield\n"
	"      switch_context\n"
	"  server_thread\n"
	"    serve_batch\n"
	"      parse_header\n"
	"      verify_packet\n"
	"        checksum\n"
	"      copy_packet\n"
	"        " COPY_NAME "\n"
	"      checksum\n"
	"      send_reply\n"
	"    yield\n"
	"      switch_context\n"
	"  idle_thread\n"
	"    report\n"
	"      print_truth\n"
	"        serial_write\n"
	"      print_beat\n"
	"        serial_write\n"
	"    wait_for_packets\n"
	"      nic_next_interrupt\n"
	"      timer_start\n" TREE_TIMER("      ") "      timer_stop\n"
						   "    yield\n"
						   "      switch_context\n";

static struct server servers[MAX_VCPUS];

/* Once the card has interrupted: take what is in its ring. */
static VISIBLE void receive_burst(struct server *s)
{
	nic_deliver(&s->nic, s->truth.last);
	while (s->nic.taken < s->nic.delivered && s->received - s->served < QUEUE_LEN)
		s->queue[s->received++ % QUEUE_LEN] =
			s->nic.ring[s->nic.taken++ % RING_LEN];
}

static VISIBLE void parse_header(struct server *s, const struct packet *p)
{
	u64 key = (u64)p->source << 16 | p->source_port;
	struct connection *c = &s->connection[key * 0x9e3779b97f4a7c15 >> 58];

	if (p->destination_port != ECHO_PORT || p->len > PAYLOAD_LEN)
		return;
	if (c->key != key)
		*c = (struct connection){ .key = key };
	c->n_packets++;
	c->n_bytes += p->len;
}

static VISIBLE void verify_packet(struct server *s, const struct packet *p)
{
	if (checksum(p->payload, p->len) != p->checksum)
		s->bad_checksums++;
}

#ifdef MENDED
static VISIBLE void copy_words(struct buffer *to, const u8 *from, u32 len)
{
	u64 *to_word = (u64 *)to->bytes;
	const u64 *from_word = (const u64 *)from;
	u32 n = len < to->size ? len : to->size;

	for (u32 i = 0; i < n / 32; i++, to_word += 4, from_word += 4) {
		to_word[0] = from_word[0];
		to_word[1] = from_word[1];
		to_word[2] = from_word[2];
		to_word[3] = from_word[3];
	}
	for (u32 i = n / 32 * 32; i < n; i++)
		to->bytes[i] = from[i];
	to->len = n;
}
#else
static VISIBLE void copy_bytes_naive(struct buffer *to, const u8 *from, u32 len)
{
	for (u32 i = 0; i < len && to->len < to->size; i++)
		to->bytes[to->len++] = from[i];
}
#endif

static VISIBLE void copy_packet(struct reply *r, const struct packet *p)
{
	r->data.len = 0;
	r->data.size = PAYLOAD_LEN;
	COPY(&r->data, p->payload, p->len);
}

static VISIBLE void send_reply(struct server *s, struct reply *r,
			       const struct packet *p)
{
	r->source = p->destination;
	r->destination = p->source;
	r->source_port = p->destination_port;
	r->destination_port = p->source_port;
	s->served++;
}

static VISIBLE void serve_batch(struct server *s, const struct packet **batch, u32 n)
{
	struct truth *t = &s->truth;
	struct reply *reply = s->reply;

	truth_enter(t, IN(parse_header));
	for (u32 i = 0; i < n; i++)
		parse_header(s, batch[i]);
	truth_enter(t, IN(checksum));
	for (u32 i = 0; i < n; i++)
		verify_packet(s, batch[i]);
	truth_enter(t, IN(COPY));
	for (u32 i = 0; i < n; i++)
		copy_packet(&reply[i], batch[i]);
	truth_enter(t, IN(checksum));
	for (u32 i = 0; i < n; i++)
		reply[i].checksum = checksum(reply[i].data.bytes, reply[i].data.len);
	truth_enter(t, IN(send_reply));
	for (u32 i = 0; i < n; i++)
		send_reply(s, &reply[i], batch[i]);
	truth_count(t, IN(parse_header), n);
	truth_count(t, IN(COPY), n);
	truth_count(t, IN(checksum), 2 * n);
	truth_count(t, IN(send_reply), n);
}

static VISIBLE void wait_for_packets(struct server *s)
{
	u64 due = nic_next_interrupt(&s->nic), now = s->truth.last;

	if (now >= due)
		return;
	truth_call(&s->truth, IN_idle);
	timer_start(due - now, TIMER_ONCE);
	halt_until_interrupt();
	timer_stop();
	truth_enter(&s->truth, IN(idle_thread));
}

static void receive_thread(void *arg)
{
	struct server *s = arg;

	for (;;) {
		truth_call(&s->truth, IN(receive_burst));
		if (s->truth.last >= nic_next_interrupt(&s->nic))
			receive_burst(s);
		yield(&s->scheduler);
	}
}

static void server_thread(void *arg)
{
	struct server *s = arg;
	const struct packet *batch[BATCH_LEN];

	for (;;) {
		u32 n = 0;

		while (n < BATCH_LEN && s->served + n < s->received) {
			batch[n] = s->queue[(s->served + n) % QUEUE_LEN];
			n++;
		}
		if (n)
			serve_batch(s, batch, n);
		yield(&s->scheduler);
	}
}

static void idle_thread(void *arg)
{
	struct server *s = arg;

	for (;;) {
		truth_call(&s->truth, IN(idle_thread));
		report(&s->truth);
		if (s->served == s->received)
			wait_for_packets(s);
		yield(&s->scheduler);
	}
}

/* So that two boots differ by a time that is known. */
static void be_late(void)
{
#ifdef LATE_MS
	u64 end = read_tsc() + tsc_second / 1000 * LATE_MS;

	while (read_tsc() < end)
		relax();
#endif
}

void guest_setup(void)
{
	be_late();
	print_tree(tree);
	nic_setup();
}

NORETURN void kmain(u32 vcpu)
{
	struct server *s = &servers[vcpu];

	scheduler_init(&s->scheduler, vcpu);
	thread_start(&s->scheduler, receive_thread, s);
	thread_start(&s->scheduler, server_thread, s);
	thread_start(&s->scheduler, idle_thread, s);
	truth_init(&s->truth, vcpu, truth_names);
	nic_start(&s->nic);
	scheduler_run(&s->scheduler);
}
