/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-xen DOMAIN XENCTX: what a sample costs a PV domain, beside the least that it
 * could (a pause, the registers of vCPU 0, an unpause), beside uniprof's loop and
 * beside Debian's xenctx.
 *
 * The floor, the loop and the samples take turns, so that a busy host slows all down
 * alike, and the domain runs before each.  Then the loop as it is by itself, one trace
 * behind the other.  xenctx takes one trace a run: of its time, that of a run that
 * takes none is taken away.
 */
#include "bench.h"
#include "uniprof_loop.h"

#include "backend/backend.h"
#include "backend/pacer.h"
#include "unwind/unwind.h"
#include "vmm/xen/domains.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define N_SAMPLE  400
#define N_BATCH	  40
#define BATCH	  50
#define N_TRACE	  (N_BATCH * BATCH)
#define N_XENCTX  5
#define N_WARM_UP 300 /* then it knows how much of the stack to copy */
#define REST_NS	  (300 * US_NS_PER_SEC / 1000000)

extern char **environ;

static struct us_backend *backend;
static struct us_unwinder *unwinder;
static struct us_paging paging;
static struct uniprof *uniprof;

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static double median_us(uint64_t *v, unsigned n)
{
	qsort(v, n, sizeof(*v), compare);
	return (double)v[n / 2] / 1e3;
}

static void open_all(const struct us_xen_calls *calls, void *xen, uint32_t id)
{
	static struct us_xen_guest g;
	struct us_err e;
	g.domain.id = id;
	const struct us_target t = { .xen = &g };
	const struct us_schedule s = { .hz = 1e6, .seed = 1 };
	need(us_backend_open(&t, "xen", &backend, NULL, 0, &e), &e);
	need(backend->ops->start(backend, &s, &e), &e);
	need(us_unwinder_new(backend->arch, NULL, NULL, &unwinder), NULL);
	us_paging_init(&paging, backend->mem);
	uniprof = uniprof_new(calls, xen, id, &paging, fopen("/dev/null", "w"));
	need(uniprof ? 0 : -1, NULL);
}

/* From the request to pause until the domain goes on, in ns. */
static uint64_t floor_of(const struct us_xen_calls *calls, void *xen,
			 const struct us_xen_domain *d)
{
	struct us_regs regs;
	uint64_t begin = us_now_ns();
	need(calls->pause(xen, d->id), NULL);
	need(calls->regs(xen, d, 0, &regs), NULL);
	need(calls->unpause(xen, d->id), NULL);
	return us_now_ns() - begin;
}

static uint64_t trace(uint64_t *ret_cpu, unsigned *frames)
{
	unsigned n;
	bool same;
	uint64_t from = us_thread_cpu_ns(), begin = us_now_ns();
	need(uniprof_trace(uniprof, &n, &same), NULL);
	uint64_t held = us_now_ns() - begin;
	*ret_cpu = us_thread_cpu_ns() - from;
	*frames += n;
	return held;
}

/* A sample that is due by now: all but what writes it. */
static uint64_t sample(uint64_t *ret_cpu, unsigned *frames)
{
	static struct us_capture c;
	static struct us_stack stack;
	uint64_t from = us_thread_cpu_ns();
	while (backend->ops->next(backend, UINT64_MAX, &c) != 1)
		from = us_thread_cpu_ns();
	if (us_capture_begin(&c, &paging)) {
		us_unwind(unwinder, &paging, &c.regs, &stack);
		*frames += stack.n;
	}
	backend->ops->release(backend, &c);
	*ret_cpu = us_thread_cpu_ns() - from;
	uint64_t held_ns = c.held_ns;
	/* Until it has to wait: what follows is not its work, but time to rest. */
	while (backend->ops->next(backend, 0, &c) == 1)
		backend->ops->release(backend, &c);
	return held_ns;
}

static uint64_t run(char *const argv[])
{
	posix_spawn_file_actions_t to;
	pid_t pid;
	int status;
	posix_spawn_file_actions_init(&to);
	posix_spawn_file_actions_addopen(&to, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&to, 2, "/dev/null", O_WRONLY, 0);
	uint64_t begin = us_now_ns();
	need(posix_spawnp(&pid, argv[0], &to, NULL, argv, environ), NULL);
	need(waitpid(pid, &status, 0) != pid, NULL);
	posix_spawn_file_actions_destroy(&to);
	return us_now_ns() - begin;
}

/* One trace of xenctx, without its start. */
static double xenctx_us(char *program, char *domain)
{
	char *trace[] = { program, domain, "0", NULL };
	char *help[] = { program, "--help", NULL };
	uint64_t with[N_XENCTX], without[N_XENCTX];
	for (unsigned i = 0; i < N_XENCTX; i++) {
		with[i] = run(trace);
		without[i] = run(help);
	}
	double a = median_us(with, N_XENCTX), b = median_us(without, N_XENCTX);
	printf("xenctx: %.0f us a run, %.0f us of them its start\n", a, b);
	return a - b;
}

/* The domain runs before each pause, or that would have nothing to stop.  CPU time. */
static uint64_t rest(void)
{
	uint64_t from = us_thread_cpu_ns();
	us_pacer_sleep(us_now_ns() + REST_NS);
	return us_thread_cpu_ns() - from;
}

static uint64_t bare[N_SAMPLE], held[N_SAMPLE], peer[N_SAMPLE], peer_cpu[N_SAMPLE],
	own_cpu[N_SAMPLE], wait_cpu[N_SAMPLE], clock_cpu[N_SAMPLE];

/* All of them by turns. */
static void measure(const struct us_xen_calls *calls, void *xen,
		    const struct us_xen_domain *d)
{
	unsigned frames = 0, peer_frames = 0;
	for (unsigned i = 0; i < N_SAMPLE; i++) {
		bare[i] = floor_of(calls, xen, d);
		rest();
		peer[i] = trace(&peer_cpu[i], &peer_frames);
		rest();
		held[i] = sample(&own_cpu[i], &frames);
		wait_cpu[i] = rest();
		uint64_t from = us_thread_cpu_ns();
		clock_cpu[i] = us_thread_cpu_ns() - from;
	}
	/* The clock of CPU time is a system call: half of two belongs to each reading.
	 */
	double clock_us = median_us(clock_cpu, N_SAMPLE),
	       floor_us = median_us(bare, N_SAMPLE),
	       held_us = median_us(held, N_SAMPLE), peer_us = median_us(peer, N_SAMPLE);
	printf("pause, registers, unpause: %.1f us\n", floor_us);
	double peer_cpu_us = median_us(peer_cpu, N_SAMPLE) - clock_us,
	       cpu_us = median_us(own_cpu, N_SAMPLE) - clock_us;
	printf("uniprof's loop (%.1f frames): held %.1f us, %.2f times; CPU %.1f us\n",
	       (double)peer_frames / N_SAMPLE, peer_us, peer_us / floor_us,
	       peer_cpu_us);
	printf("uniscope (%.1f frames): held %.1f us, %.2f times; CPU %.1f us, %.2f "
	       "times uniprof's\n",
	       (double)frames / N_SAMPLE, held_us, held_us / floor_us, cpu_us,
	       cpu_us / peer_cpu_us);
	printf("a wait: CPU %.1f us\n", median_us(wait_cpu, N_SAMPLE) - clock_us);
}

/* CPU time of a batch; the median tells what one costs on a host that does other things
 * as well. */
static uint64_t batch[N_BATCH];

static void end_batch(unsigned i, uint64_t *cpu)
{
	if ((i + 1) % BATCH)
		return;
	uint64_t now = us_thread_cpu_ns();
	batch[i / BATCH] = now - *cpu;
	*cpu = now;
}

/* The loop as it runs where it is late: how many of its traces tell anything new. */
static void loop(void)
{
	unsigned n, n_new = 0;
	bool same;
	uint64_t cpu = us_thread_cpu_ns(), begin = us_now_ns();
	for (unsigned i = 0; i < N_TRACE; i++) {
		need(uniprof_trace(uniprof, &n, &same), NULL);
		n_new += !same;
		end_batch(i, &cpu);
	}
	double s = (double)(us_now_ns() - begin) / 1e9;
	printf("uniprof's loop by itself: %d traces in %.2f s, CPU %.1f us each; %u of "
	       "states that are not those of the trace before: %.0f a second\n",
	       N_TRACE, s, median_us(batch, N_BATCH) / BATCH, n_new, n_new / s);
	fflush(stdout);
}

static uint64_t n_waits(void)
{
	struct rusage u;
	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw;
}

/* uniscope's sampler as it runs if it is asked for 10 kHz; but what writes them. */
static void samples(void)
{
	static const struct us_schedule s = { .hz = 10000, .seed = 1 };
	struct us_err e;
	struct us_regs last = { 0 };
	struct us_capture c;
	struct us_stack stack;
	unsigned n_new = 0;
	need(backend->ops->start(backend, &s, &e), &e);
	uint64_t waits = n_waits(), cpu = us_thread_cpu_ns(), begin = us_now_ns();
	for (unsigned i = 0; i < N_TRACE;) {
		if (backend->ops->next(backend, begin + 100 * US_NS_PER_SEC, &c) != 1)
			continue;
		if (us_capture_begin(&c, &paging))
			us_unwind(unwinder, &paging, &c.regs, &stack);
		backend->ops->release(backend, &c);
		n_new += c.regs.pc != last.pc || c.regs.sp != last.sp ||
			 memcmp(c.regs.gpr, last.gpr, sizeof(last.gpr));
		last = c.regs;
		end_batch(i++, &cpu);
	}
	double time_s = (double)(us_now_ns() - begin) / 1e9;
	printf("uniscope's sampler by itself: %d samples in %.2f s, CPU %.1f us each, "
	       "with %.2f waits; %u of states that are not those of the sample before: "
	       "%.0f a second\n",
	       N_TRACE, time_s, median_us(batch, N_BATCH) / BATCH,
	       (double)(n_waits() - waits) / N_TRACE, n_new, n_new / time_s);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct us_xen_calls *calls = us_xen_calls();
	struct us_xen_domain d;
	struct us_err e;
	unsigned frames = 0;
	void *xen;
	if (argc < 3)
		return 2;
	need(calls->open(&xen, &e), &e);
	need(calls->domain(xen, (uint32_t)atoi(argv[1]), &d), NULL);
	open_all(calls, xen, d.id);
	for (unsigned i = 0; i < N_WARM_UP; i++)
		sample(&own_cpu[0], &frames);
	measure(calls, xen, &d);
	loop();
	samples();
	us_backend_close(backend);
	us_unwinder_free(unwinder);
	double peer_us = xenctx_us(argv[2], argv[1]);
	printf("xenctx, a trace without its start: %.0f us: %.0f times the pause\n",
	       peer_us, peer_us / median_us(held, N_SAMPLE));
	calls->close(xen);
	return 0;
}
