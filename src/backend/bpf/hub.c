/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hub.c: see hub.h. */
#include "backend/bpf/hub.h"

#include "backend/bpf/sample_queue.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MOST_AT_ONCE (1U << 16) /* samples passed to other clients in one go */
#define MUCH	     (256U << 10)

struct us_bpf_client {
	uint32_t index;
	int wake_fd; /* an eventfd: its queue has become long */
	struct us_bpf_queue queue;
	_Atomic uint64_t lost;
	struct us_bpf_host_sample *host; /* that of the last sample; NULL: not kept */
	bool has_host;
};

/* The client that gets the samples of a row. */
struct owner {
	struct us_bpf_client *client; /* NULL: the row is free */
	unsigned vcpu;
	uint64_t since_ns; /* older samples belong to a previous owner */
};

/*
 * The lock protects all of it, and the ring's end in this process.  Nobody waits for it
 * in the hot path: another thread that has it takes our samples out as well.
 */
static struct {
	pthread_mutex_t lock;
	struct us_bpf_programs *programs;
	struct us_bpf_client *client[US_BPF_MAX_GUESTS];
	unsigned n_client;
	struct owner owner[US_BPF_MAX_ROWS];
	atomic_bool watched; /* one of the sleeping threads waits for the ring */
} hub = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int find_place(struct us_bpf_client *c, struct us_err *e)
{
	for (uint32_t i = 0; i < US_BPF_MAX_GUESTS; i++) {
		if (hub.client[i])
			continue;
		c->index = i;
		return 0;
	}
	return us_fail(e, -ENOSPC,
		       "%d guests are sampled already, which is the maximum",
		       US_BPF_MAX_GUESTS);
}

static int enter(struct us_bpf_client *c, struct us_err *e)
{
	int r = find_place(c, e);
	if (!r && !hub.programs)
		r = us_bpf_load(&hub.programs, e);
	if (r)
		return r;
	hub.client[c->index] = c;
	hub.n_client++;
	memset(&us_bpf_guests(hub.programs)[c->index], 0, sizeof(struct us_bpf_guest));
	return 0;
}

static void leave(struct us_bpf_client *c)
{
	for (unsigned i = 0; i < US_BPF_MAX_ROWS; i++) {
		if (hub.owner[i].client != c)
			continue;
		hub.owner[i] = (struct owner){ 0 };
		us_bpf_rows(hub.programs)[i] = (struct us_bpf_row){ 0 };
	}
	hub.client[c->index] = NULL;
	if (--hub.n_client)
		return;
	us_bpf_unload(hub.programs);
	hub.programs = NULL;
}

static void free_client(struct us_bpf_client *c)
{
	us_bpf_queue_close(&c->queue);
	free(c->host);
	us_closep(&c->wake_fd);
	free(c);
}

int us_bpf_client_open(struct us_bpf_client **ret, struct us_err *e)
{
	struct us_bpf_client *c = calloc(1, sizeof(*c));
	if (!c)
		return us_fail(e, -ENOMEM, "load programs: out of memory");
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake_fd < 0 || !us_bpf_queue_open(&c->queue)) {
		free_client(c);
		return us_fail(e, -ENOMEM,
			       "allocate buffers for samples: out of memory");
	}
	pthread_mutex_lock(&hub.lock);
	int r = enter(c, e);
	pthread_mutex_unlock(&hub.lock);
	if (r) {
		free_client(c);
		return r;
	}
	*ret = c;
	return 0;
}

void us_bpf_client_close(struct us_bpf_client *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&hub.lock);
	leave(c);
	pthread_mutex_unlock(&hub.lock);
	free_client(c);
}

struct us_bpf_programs *us_bpf_client_programs(const struct us_bpf_client *c)
{
	(void)c; /* the same for all, as long as there is one */
	return hub.programs;
}

uint32_t us_bpf_client_index(const struct us_bpf_client *c)
{
	return c->index;
}

int us_bpf_client_add_row(struct us_bpf_client *c, unsigned vcpu, uint32_t *ret,
			  struct us_err *e)
{
	int r = -ENOSPC;
	pthread_mutex_lock(&hub.lock);
	for (uint32_t i = 0; r && i < US_BPF_MAX_ROWS; i++) {
		if (hub.owner[i].client)
			continue;
		hub.owner[i] = (struct owner){ c, vcpu, us_now_ns() };
		*ret = i;
		r = 0;
	}
	pthread_mutex_unlock(&hub.lock);
	return r ? us_fail(e, r, "%d vCPUs are sampled already, which is the maximum",
			   US_BPF_MAX_ROWS)
		 : 0;
}

/* --- samples --- */

static struct us_bpf_client *owner_of(const struct us_bpf_sample *l)
{
	const struct owner *o = &hub.owner[l->row % US_BPF_MAX_ROWS];
	return l->row < US_BPF_MAX_ROWS && l->t_ns >= o->since_ns ? o->client : NULL;
}

static void give(struct us_bpf_client *c, const struct us_bpf_sample *l)
{
	static const uint64_t one = 1;
	if (!us_bpf_queue_push(&c->queue, l))
		atomic_fetch_add_explicit(&c->lost,
					  us_bpf_rows(hub.programs)[l->row].beat_part,
					  memory_order_relaxed);
	else if (us_bpf_queue_used(&c->queue) < MUCH)
		return;
	/* If its eventfd is full, the client is awake anyway. */
	ssize_t written = write(c->wake_fd, &one, sizeof(one));
	(void)written;
}

/* Needs the lock: the next sample from the ring overwrites it. */
static void copy_host(struct us_bpf_client *c, const struct us_bpf_sample *l)
{
	const struct us_bpf_host_sample *h = c->host ? us_bpf_host_of(hub.programs, l)
						     : NULL;
	c->has_host = h != NULL;
	if (h)
		*c->host = *h;
}

/* Needs the lock.  What others passed to us is older than what is in the ring. */
static bool fetch(struct us_bpf_client *c, struct us_bpf_sample *to)
{
	if (us_bpf_queue_pop(&c->queue, to))
		return true;
	for (unsigned i = 0; i < MOST_AT_ONCE; i++) {
		if (!us_bpf_take(hub.programs, to))
			return false;
		struct us_bpf_client *whose = owner_of(to);
		if (whose == c) {
			copy_host(c, to);
			return true;
		}
		if (whose)
			give(whose, to);
	}
	return false;
}

bool us_bpf_client_take(struct us_bpf_client *c, struct us_bpf_sample *to,
			unsigned *ret_vcpu)
{
	bool got = us_bpf_queue_pop(&c->queue, to);
	c->has_host = false;
	if (!got && pthread_mutex_trylock(&hub.lock) == 0) {
		got = fetch(c, to);
		pthread_mutex_unlock(&hub.lock);
	}
	/* The row is ours, so no other thread changes it. */
	if (got)
		*ret_vcpu = hub.owner[to->row].vcpu;
	return got;
}

int us_bpf_client_keep_host(struct us_bpf_client *c)
{
	if (c->host)
		return 0;
	struct us_bpf_host_sample *host = calloc(1, sizeof(*host));
	pthread_mutex_lock(&hub.lock);
	int r = host ? us_bpf_keep_hosts(hub.programs, US_BPF_MAX_ROWS) : -ENOMEM;
	pthread_mutex_unlock(&hub.lock);
	if (r)
		free(host);
	else
		c->host = host;
	return r;
}

const struct us_bpf_host_sample *us_bpf_client_host(const struct us_bpf_client *c)
{
	return c->has_host ? c->host : NULL;
}

bool us_bpf_client_wait(struct us_bpf_client *c, uint64_t t_ns)
{
	uint64_t now = us_now_ns(), n;
	if (t_ns <= now)
		return true;
	/* One thread at the ring is enough: it passes the others their samples. */
	bool watch = !atomic_exchange(&hub.watched, true);
	struct pollfd ready[] = {
		{ .fd = c->wake_fd, .events = POLLIN },
		{ .fd = us_bpf_ring_fd(hub.programs), .events = POLLIN },
	};
	struct timespec left = { .tv_sec = (time_t)((t_ns - now) / US_NS_PER_SEC),
				 .tv_nsec = (long)((t_ns - now) % US_NS_PER_SEC) };
	int r = ppoll(ready, watch ? 2 : 1, &left, NULL);
	bool interrupted = r < 0 && errno == EINTR;
	if (watch)
		atomic_store(&hub.watched, false);
	if (r > 0 && ready[0].revents && read(c->wake_fd, &n, sizeof(n)) < 0)
		return true; /* nothing was there: no harm */
	return !interrupted;
}

uint64_t us_bpf_client_lost(const struct us_bpf_client *c)
{
	return atomic_load_explicit(&c->lost, memory_order_relaxed);
}
