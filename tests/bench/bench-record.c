/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-record.c: from registers to the file: time a sample, losses, bytes, memory. */
#include "backend/fake.h"
#include "bench.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	struct us_fake_opts fake;
	double hz;	  /* 0: as fast as asked */
	uint64_t seconds; /* 0: until the fake ends */
	const char *path; /* of the recording */
	uint64_t cpu_ns;  /* of the sampler: result */
	struct us_record_stats stats;
	uint64_t bytes;
};

static struct us_backend *open_fake(const struct us_fake_opts *o)
{
	const struct us_target t = { .fake = o };
	struct us_backend *b;
	struct us_err e;
	need(us_backend_open(&t, "fake", &b, NULL, 0, &e), &e);
	return b;
}

static void run(struct run *r)
{
	const struct us_record_opts o = { .schedule = { .hz = r->hz, .seed = 1 },
					  .duration_ns = r->seconds * US_NS_PER_SEC };
	enum us_record_end end;
	struct us_backend *b = open_fake(&r->fake);
	struct us_unwinder *u;
	struct us_writer *w;
	struct us_err e = { 0 };
	int fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(fd < 0, NULL);
	need(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), NULL);
	need(us_writer_open(fd, &w, &e), &e);
	uint64_t begin = cpu_ns();
	need(us_record(b, u, w, &o, &r->stats, &end, &e), &e);
	r->cpu_ns = cpu_ns() - begin;
	r->bytes = us_writer_bytes(w);
	us_writer_close(w);
	us_unwinder_free(u);
	us_backend_close(b);
	close(fd);
}

/* The captures alone: what the invented guest costs by itself. */
static double captures_alone_ns(const struct us_fake_opts *o, uint64_t n)
{
	const struct us_schedule s = { .seed = 1 };
	struct us_backend *b = open_fake(o);
	struct us_capture c;
	struct us_err e;
	need(b->ops->start(b, &s, &e), &e);
	uint64_t begin = cpu_ns();
	for (uint64_t i = 0; i < n; i++)
		if (b->ops->next(b, UINT64_MAX, &c) > 0)
			b->ops->release(b, &c);
	double ns = (double)(cpu_ns() - begin) / (double)n;
	us_backend_close(b);
	return ns;
}

static void registers_to_ring(const char *path, unsigned depth)
{
	const uint64_t n = 1000000;
	struct run r = { .fake = { .n_stack = 200, .depth = depth, .end_after = n },
			 .path = path };
	const struct us_fake_opts alone = { .n_stack = 200, .depth = depth };
	run(&r);
	double floor = captures_alone_ns(&alone, n);
	double all = (double)r.cpu_ns / (double)n;
	printf("registers to ring, %2u frames: %4.0f ns a sample (%.0f with the "
	       "invented "
	       "guest's own %.0f); ring full for %llu of %llu\n",
	       depth, all - floor, all, floor, (unsigned long long)r.stats.lost,
	       (unsigned long long)n);
}

/* The same bytes again into the same file, in chunks of the same size. */
static double write_alone_ns(const char *path, uint64_t bytes)
{
	static char buf[1 << 16];
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	need(fd < 0, NULL);
	memset(buf, 0x5a, sizeof(buf));
	uint64_t begin = cpu_ns();
	for (uint64_t at = 0; at < bytes; at += sizeof(buf))
		need(write(fd, buf, sizeof(buf)) < 0, NULL);
	double ns = (double)(cpu_ns() - begin);
	close(fd);
	return ns;
}

/* In a process of its own, for its memory and CPU time. */
static void at_rate(const char *path, double hz, uint64_t seconds, unsigned n_stack)
{
	struct rusage use;
	int status, p[2];
	struct run r = { .fake = { .n_stack = n_stack, .depth = 10, .held_ns = 100 },
			 .hz = hz,
			 .seconds = seconds,
			 .path = path };
	need(pipe(p), NULL);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		run(&r);
		_exit(write(p[1], &r, sizeof(r)) != sizeof(r));
	}
	need(wait4(pid, &status, 0, &use) != pid || status, NULL);
	need(read(p[0], &r, sizeof(r)) != sizeof(r), NULL);
	close(p[0]);
	close(p[1]);
	double n = (double)r.stats.running;
	double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
	double floor = write_alone_ns(path, r.bytes);
	printf("%7.0f Hz for %llu s, %6u stacks of 10: %.0f samples, %llu lost; %.2f "
	       "bytes each; resident at most %.1f MB;\n\t%.0f ns of CPU a sample in "
	       "all, %.0f on the writer's side; writing its bytes alone %.1f ns\n",
	       hz, (unsigned long long)seconds, n_stack, n,
	       (unsigned long long)r.stats.lost, (double)r.bytes / n,
	       (double)use.ru_maxrss / 1024, cpu * 1e9 / n,
	       (cpu * 1e9 - (double)r.cpu_ns) / n, floor / n);
}

int main(void)
{
	char path[] = "/tmp/uniscope-bench-XXXXXX";
	int fd = mkstemp(path);
	need(fd < 0, NULL);
	close(fd);
	at_rate(path, 997, 5, 200);
	at_rate(path, 1e6, 5, 200);
	at_rate(path, 1e6, 5, 200000);
	registers_to_ring(path, 10);
	registers_to_ring(path, 20);
	unlink(path);
	return 0;
}
