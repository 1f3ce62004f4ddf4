/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-record.c: from registers to the file: time a sample, losses, bytes, memory. */
#include "backend/fake/fake.h"
#include "bench.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct run {
	struct us_fake_opts fake;
	bool walked;	  /* the guest brings its stacks: nothing is unwound */
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

/* The invented guest, but its captures come with the stacks already walked, as those
 * of a backend in the host's kernel do: what remains is ring and writer. */
struct walked {
	struct us_backend base;
	struct us_backend *fake;
};

static int walked_start(struct us_backend *b, const struct us_schedule *s,
			struct us_err *e)
{
	struct us_backend *fake = ((struct walked *)b)->fake;
	return fake->ops->start(fake, s, e);
}

static int walked_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	struct us_backend *fake = ((struct walked *)b)->fake;
	int r = fake->ops->next(fake, deadline_ns, c);
	if (r <= 0 || c->form != US_CAPTURE_LIVE)
		return r;
	c->form = US_CAPTURE_STACK;
	c->stack.n = (uint16_t)us_fake_truth(fake, c, c->stack.pc);
	c->stack.end = US_END_ROOT;
	return r;
}

static void walked_release(struct us_backend *b, struct us_capture *c)
{
	struct us_backend *fake = ((struct walked *)b)->fake;
	fake->ops->release(fake, c);
}

static void walked_counts(const struct us_backend *b, struct us_backend_counts *ret)
{
	const struct us_backend *fake = ((const struct walked *)b)->fake;
	fake->ops->counts(fake, ret);
}

static const struct us_backend_ops walked_ops = {
	.start = walked_start,
	.next = walked_next,
	.release = walked_release,
	.counts = walked_counts,
};

static void run(struct run *r)
{
	const struct us_record_opts o = { .schedule = { .hz = r->hz, .seed = 1 },
					  .duration_ns = r->seconds * US_NS_PER_SEC };
	enum us_record_end end;
	struct us_backend *b = open_fake(&r->fake);
	struct walked walked = { .base = *b, .fake = b };
	struct us_unwinder *u;
	struct us_writer *w;
	struct us_err e = { 0 };
	walked.base.ops = &walked_ops;
	int fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(fd < 0, NULL);
	need(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), NULL);
	need(us_writer_open(fd, &w, &e), &e);
	uint64_t begin = us_thread_cpu_ns();
	need(us_record(r->walked ? &walked.base : b, u, w, &o, &r->stats, &end, &e),
	     &e);
	r->cpu_ns = us_thread_cpu_ns() - begin;
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
	uint64_t begin = us_thread_cpu_ns();
	for (uint64_t i = 0; i < n; i++)
		if (b->ops->next(b, UINT64_MAX, &c) > 0)
			b->ops->release(b, &c);
	double ns = (double)(us_thread_cpu_ns() - begin) / (double)n;
	us_backend_close(b);
	return ns;
}

static void registers_to_ring(const char *path, unsigned n_stack, unsigned depth)
{
	const uint64_t n = 1000000;
	struct run r = { .fake = { .n_stack = n_stack, .depth = depth, .end_after = n },
			 .path = path };
	const struct us_fake_opts alone = { .n_stack = n_stack, .depth = depth };
	run(&r);
	double floor = captures_alone_ns(&alone, n);
	double all = (double)r.cpu_ns / (double)n;
	printf("registers to ring, %u stacks of %u: %.0f ns a sample (%.0f with the "
	       "invented "
	       "guest's own %.0f); ring full for %llu of %llu\n",
	       n_stack, depth, all - floor, all, floor,
	       (unsigned long long)r.stats.lost, (unsigned long long)n);
}

/* The same bytes again into the same file, in chunks of the same size. */
static double write_alone_ns(const char *path, uint64_t bytes)
{
	static char buf[1 << 16];
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	need(fd < 0, NULL);
	memset(buf, 0x5a, sizeof(buf));
	uint64_t begin = us_thread_cpu_ns();
	for (uint64_t at = 0; at < bytes; at += sizeof(buf))
		need(write(fd, buf, sizeof(buf)) < 0, NULL);
	double ns = (double)(us_thread_cpu_ns() - begin);
	close(fd);
	return ns;
}

/* In a process of its own, for its memory and CPU time. */
static void at_rate(const char *path, double hz, unsigned n_stack, bool walked)
{
	const uint64_t seconds = 5;
	struct rusage use;
	int status, p[2];
	struct run r = { .fake = { .n_stack = n_stack, .depth = 10, .held_ns = 100 },
			 .walked = walked,
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
	double took = (double)r.stats.elapsed_ns / 1e9;
	printf("%.0f Hz asked, %u stacks of 10%s: %.0f a second, %llu lost of %.0f; "
	       "%.2f "
	       "bytes a sample;\n\tresident at most %.1f MB; CPU a sample: sampler "
	       "%.0f "
	       "ns, writer %.0f ns = %.0f x writing its bytes alone (%.1f ns)\n",
	       hz, n_stack, walked ? " (walked before)" : "",
	       (double)r.stats.due / took, (unsigned long long)r.stats.lost,
	       (double)r.stats.due, (double)r.bytes / n, (double)use.ru_maxrss / 1024,
	       (double)r.cpu_ns / n, (cpu * 1e9 - (double)r.cpu_ns) / n,
	       (cpu * 1e9 - (double)r.cpu_ns) / floor, floor / n);
}

int main(void)
{
	char path[] = "/tmp/uniscope-bench-XXXXXX";
	int fd = mkstemp(path);
	need(fd < 0, NULL);
	close(fd);
	double load = 0;
	getloadavg(&load, 1);
	printf("load average %.1f on %ld CPUs: what is lost at 1 MHz is lost while the "
	       "writer waits for a CPU\n",
	       load, sysconf(_SC_NPROCESSORS_ONLN));
	at_rate(path, 997, 200, false);
	at_rate(path, 1e6, 200, true);
	at_rate(path, 1e6, 200000, true);
	at_rate(path, 1e6, 20, false);
	registers_to_ring(path, 20, 10);
	registers_to_ring(path, 20, 20);
	registers_to_ring(path, 200, 10);
	unlink(path);
	return 0;
}
