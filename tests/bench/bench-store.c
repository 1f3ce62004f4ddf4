/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-store.c: what it costs to write and to read a recording, beside moving the
 * same bytes. */
#include "bench.h"
#include "store/crc32c.h"
#include "store/store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N	  10000000U
#define MAX_DEPTH 20

struct shape {
	const char *name;
	unsigned stacks, depth;
	double hz;
	bool steps; /* a flush a quarter of a second, as when recording */
};

static size_t make_stack(const struct shape *sh, unsigned key, us_gva *pc)
{
	size_t n = sh->depth;
	for (size_t i = 0; i < n; i++) /* outer frames are shared more */
		pc[i] = 0xffffffff80000000 + ((uint64_t)key >> (2 * i)) % 5000 * 97 +
			i * 0x10000;
	return n;
}

static void write_one(const struct shape *sh, int fd, unsigned n)
{
	us_gva(*pc)[MAX_DEPTH] = malloc(sh->stacks * sizeof(*pc));
	unsigned *order = malloc(n * sizeof(*order));
	uint64_t random = 9, t = 0, flushed = 0;
	struct us_record_stats stats = { 0 };
	struct us_sample s = { .weight = 1, .end = US_END_ROOT };
	struct us_writer *w;
	struct us_err e;
	if (!pc || !order)
		exit(1);
	for (unsigned i = 0; i < sh->stacks; i++)
		make_stack(sh, i, pc[i]);
	for (unsigned i = 0; i < n; i++)
		order[i] = bench_skewed(&random, sh->stacks);
	need(us_writer_open(fd, &w, &e), &e);
	uint64_t begin = us_thread_cpu_ns();
	for (unsigned i = 0; i < n; i++) {
		double u = (double)(bench_random(&random) >> 11) * 0x1p-53;
		t += (uint64_t)((0.5 + u) * 1e9 / sh->hz);
		s.t_ns = t;
		need(us_writer_sample(w, &s, pc[order[i]], NULL, sh->depth, &e), &e);
		if (sh->steps && t - flushed > 200 * US_NS_PER_MS) {
			need(us_writer_flush(w, &e), &e);
			flushed = t;
		}
	}
	need(us_writer_end(w, &stats, US_RECORD_DONE, "", &e), &e);
	double ns = (double)(us_thread_cpu_ns() - begin) / n;
	printf("write, %-34s %5.0f ns a sample = %4.1f M/s a core; %.2f bytes\n",
	       sh->name, ns, 1e3 / ns, (double)us_writer_bytes(w) / n);
	us_writer_close(w);
	free(pc);
	free(order);
}

static int count_sample(void *ctx, const struct us_sample *s)
{
	*(uint64_t *)ctx += s->weight;
	return 0;
}

static int count_stack(void *ctx, us_stack_id id, us_stack_id parent, us_gva pc,
		       uint8_t flags)
{
	(void)flags;
	(void)id;
	(void)parent;
	*(uint64_t *)ctx += pc & 1;
	return 0;
}

static void read_one(const char *name, int fd)
{
	const struct us_reader_ops ops = { .sample = count_sample,
					   .stack = count_stack };
	struct us_reader_result result;
	struct us_err e;
	uint64_t n = 0;
	lseek(fd, 0, SEEK_SET);
	uint64_t begin = us_thread_cpu_ns();
	need(us_read(fd, &ops, &n, &result, &e), &e);
	double s = (double)(us_thread_cpu_ns() - begin) / 1e9;

	static char buf[1 << 17];
	lseek(fd, 0, SEEK_SET);
	begin = us_thread_cpu_ns();
	for (ssize_t got; (got = read(fd, buf, sizeof(buf))) > 0;)
		n += (uint64_t)buf[0] & 1;
	double floor = (double)(us_thread_cpu_ns() - begin) / 1e9;
	printf("read,  %-34s %.3f s = %.1f x reading the %.0f MB alone (%.3f s)\n",
	       name, s, s / floor, (double)result.bytes / 1e6, floor);
}

static void sums(void)
{
	size_t len = 1 << 16;
	uint8_t *buf = calloc(1, len);
	uint32_t crc = 0;
	if (!buf)
		exit(1);
	uint64_t begin = us_thread_cpu_ns();
	for (unsigned i = 0; i < 1000; i++)
		crc = us_crc32c(crc, buf, len);
	double fast = (double)len * 1000 / (double)(us_thread_cpu_ns() - begin);
	begin = us_thread_cpu_ns();
	for (unsigned i = 0; i < 100; i++)
		crc = us_crc32c_portable(crc, buf, len);
	double slow = (double)len * 100 / (double)(us_thread_cpu_ns() - begin);
	printf("crc32c %.2f GB/s, without the instruction %.2f GB/s (%08x)\n", fast,
	       slow, crc);
	free(buf);
}

int main(void)
{
	static const struct shape shape[] = {
		{ "200 stacks of 10, 997 Hz:", 200, 10, 997, true },
		{ "200 stacks of 20, 1 MHz:", 200, 20, 1e6, false },
		{ "100,000 stacks of 20, 1 MHz:", 100000, 20, 1e6, false },
		{ "900,000 stacks of 20 (forgets), 1 MHz:", 900000, 20, 1e6, false },
	};
	sums();
	for (unsigned i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		int fd = memfd_create("bench", MFD_CLOEXEC);
		unsigned n = i == 2 ? N : N / 5;
		write_one(&shape[i], fd, n);
		read_one(n == N ? "10 million samples:" : "2 million samples:", fd);
		close(fd);
	}
	return 0;
}
