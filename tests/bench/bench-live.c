/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-live.c: what looking at guests takes of a core once a second, beside recording
 * them: for each its recording is followed, and a profile of its last five seconds
 * made, as a row of `top --all` and of the list of `serve --all` shows it.
 *
 *	bench-live [GUESTS [SECONDS]]
 *
 * Each with two vCPUs and 200 stacks; and the dearest, another stack in each sample,
 * without the pauses that top and serve then make.
 * Seconds are those of the recordings: what they hold is written at once.
 */
#include "bench.h"
#include "live/live.h"
#include "store/store.h"

#include <sys/mman.h>
#include <unistd.h>

#define HZ	997
#define VCPUS	2
#define DEPTH	20
#define WINDOW	5 /* seconds */
#define MOST	64
#define ANOTHER 0 /* stacks: none is there twice */

struct guest {
	int fd;
	struct us_writer *w;
	struct us_live *l;
	uint64_t random, n;
};

static void begin(struct guest *g, unsigned i)
{
	struct us_err e;
	*g = (struct guest){ .fd = memfd_create("guest", MFD_CLOEXEC),
			     .random = i + 1 };
	if (g->fd < 0)
		exit(1);
	need(us_writer_open(g->fd, &g->w, &e), &e);
	need(us_live_open(g->fd, NULL, &g->l, &e), &e);
}

static void end(struct guest *g)
{
	us_live_close(g->l);
	us_writer_close(g->w);
	close(g->fd);
}

static void write_second(struct guest *g, unsigned second, unsigned stacks)
{
	struct us_err e;
	for (unsigned i = 0; i < HZ * VCPUS; i++, g->n++) {
		struct us_sample s = { .t_ns = second * US_NS_PER_SEC +
					       i * US_NS_PER_SEC / (HZ * VCPUS),
				       .vcpu = i % VCPUS,
				       .state = US_VCPU_GUEST,
				       .end = US_END_ROOT,
				       .weight = 1 };
		us_gva pc[DEPTH];
		uint64_t k = stacks ? bench_skewed(&g->random, stacks) : g->n;
		for (unsigned d = 0; d < DEPTH; d++) /* halves of those below share */
			pc[DEPTH - 1 - d] = 0x100000 +
					    0x100 * (d << 10 |
						     (k >> (DEPTH - 1 - d) & 1023));
		need(us_writer_sample(g->w, &s, pc, NULL, DEPTH, &e), &e);
	}
	need(us_writer_flush(g->w, &e), &e);
}

static uint64_t look(struct guest *g)
{
	struct us_err e;
	struct us_profile *p;
	struct us_live_vcpu did[VCPUS];
	const struct us_live_view v = { .last_ns = WINDOW * US_NS_PER_SEC,
					.no_intervals = true };
	uint64_t before = us_thread_cpu_ns();
	need(us_live_follow(g->l, &e), &e);
	us_live_vcpus(g->l, &v, did, VCPUS);
	need(us_live_profile(g->l, &v, &p, &e), &e);
	us_profile_free(p);
	return us_thread_cpu_ns() - before;
}

static void measure(unsigned guests, unsigned seconds, unsigned stacks)
{
	static struct guest g[MOST];
	uint64_t taken = 0;
	for (unsigned i = 0; i < guests; i++)
		begin(&g[i], i);
	for (unsigned k = 0; k < WINDOW + seconds; k++)
		for (unsigned i = 0; i < guests; i++) {
			write_second(&g[i], k, stacks);
			uint64_t t = look(&g[i]);
			taken += k < WINDOW ? 0 : t;
		}
	for (unsigned i = 0; i < guests; i++)
		end(&g[i]);
	printf("%u guest%s of %d vCPUs at %d Hz, %s: %.2f %% of a core\n", guests,
	       guests == 1 ? "" : "s", VCPUS, HZ,
	       stacks ? "200 stacks each" : "another stack in each sample",
	       100 * (double)taken / (double)US_NS_PER_SEC / seconds);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned guests = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 10;
	if (!guests || guests > MOST || !seconds)
		return 1;
	measure(1, seconds, 200);
	measure(1, seconds, ANOTHER);
	measure(guests, seconds, 200);
	measure(guests, seconds, ANOTHER);
	return 0;
}
