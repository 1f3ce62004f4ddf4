/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench-xen DOMAIN XENCTX: what a trace costs the domain, beside the least that it
 * could (a pause, the registers of vCPU 0, an unpause), beside uniprof's loop (that,
 * and the chain of frame pointers in pages that stay mapped) and beside Debian's
 * xenctx.
 *
 * The floor, the loop and the samples take turns, so that a busy host slows all down
 * alike. xenctx takes one trace a run: of its time, that of a run that takes none is
 * taken away.
 */
#include "bench.h"

#include "backend/backend.h"
#include "backend/pacer.h"
#include "unwind/unwind.h"
#include "vmm/xen/domains.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#define N_LOOK	  400
#define N_XENCTX  5
#define N_WARM_UP 300 /* then it knows how much of the stack to copy */

extern char **environ;

static struct us_backend *backend;
static struct us_unwinder *unwinder;
static struct us_paging paging;

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

static void open_all(uint32_t id)
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

/* A chain of frame pointers, as uniprof walks it: two words a frame, in pages that stay
 * mapped. */
static unsigned chain_of(const struct us_regs *regs)
{
	unsigned n = 1;
	uint64_t frame[2];
	us_gva at = regs->fp;
	us_paging_new_sample(&paging);
	for (; n < US_MAX_FRAMES && at; n++) {
		if (!us_paging_read(&paging, &regs->space, at, frame, sizeof(frame)) ||
		    frame[0] <= at)
			break;
		at = frame[0];
	}
	return n;
}

/* The peer: what uniprof's loop does for a trace.  *ret_cpu: of the thread. */
static uint64_t trace(const struct us_xen_calls *calls, void *xen,
		      const struct us_xen_domain *d, uint64_t *ret_cpu,
		      unsigned *frames)
{
	struct us_regs regs;
	uint64_t from = cpu_ns(), begin = us_now_ns();
	need(calls->pause(xen, d->id), NULL);
	need(calls->regs(xen, d, 0, &regs), NULL);
	*frames += chain_of(&regs);
	need(calls->unpause(xen, d->id), NULL);
	uint64_t held = us_now_ns() - begin;
	*ret_cpu = cpu_ns() - from;
	return held;
}

/* The same with a whole stack; *ret_all gets the time of all that belongs to it. */
static uint64_t look(uint64_t *ret_all, uint64_t *ret_cpu, uint64_t *ret_unwind,
		     unsigned *frames)
{
	static struct us_capture c;
	static struct us_stack stack;
	uint64_t begin = us_now_ns(), cpu = cpu_ns();
	while (backend->ops->next(backend, us_now_ns() + US_NS_PER_SEC, &c) != 1)
		begin = us_now_ns();
	if (us_capture_begin(&c, &paging)) {
		uint64_t from = us_now_ns();
		us_unwind(unwinder, &paging, &c.regs, &stack);
		*frames += stack.n;
		*ret_unwind = us_now_ns() - from;
	}
	backend->ops->release(backend, &c);
	*ret_all = us_now_ns() - begin;
	*ret_cpu = cpu_ns() - cpu;
	return c.held_ns;
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

/* As the backend does after a look, so that it does not in the next one; and the domain
 * runs before each pause, or that would have nothing to stop.  Its CPU time. */
static uint64_t rest(uint64_t ns)
{
	uint64_t from = cpu_ns();
	us_pacer_sleep(us_now_ns() + ns);
	return cpu_ns() - from;
}

static uint64_t bare[N_LOOK], held[N_LOOK], all[N_LOOK], cpu[N_LOOK], walk[N_LOOK],
	peer[N_LOOK], peer_cpu[N_LOOK], wait_cpu[N_LOOK];

/* All of them by turns. */
static void measure(const struct us_xen_calls *calls, void *xen,
		    const struct us_xen_domain *d, unsigned *frames,
		    unsigned *peer_frames)
{
	for (unsigned i = 0; i < N_LOOK; i++) {
		uint64_t last = all[i ? i - 1 : 0];
		bare[i] = floor_of(calls, xen, d);
		rest(last);
		peer[i] = trace(calls, xen, d, &peer_cpu[i], peer_frames);
		rest(last);
		held[i] = look(&all[i], &cpu[i], &walk[i], frames);
		wait_cpu[i] = rest(all[i]);
	}
}

static void print(unsigned frames, unsigned peer_frames)
{
	double floor_us = median_us(bare, N_LOOK), held_us = median_us(held, N_LOOK),
	       cpu_us = median_us(cpu, N_LOOK),
	       peer_cpu_us = median_us(peer_cpu, N_LOOK),
	       peer_us = median_us(peer, N_LOOK);
	printf("pause, registers, unpause: %.1f us\n", floor_us);
	printf("uniprof's loop (%.1f frames): held %.1f us, %.2f times; CPU %.1f us\n",
	       (double)peer_frames / N_LOOK, peer_us, peer_us / floor_us, peer_cpu_us);
	printf("uniscope (%.1f frames): held %.1f us, %.2f times; CPU %.1f us, %.2f "
	       "times "
	       "uniprof's; the stack by itself %.1f us\n",
	       (double)frames / N_LOOK, held_us, held_us / floor_us, cpu_us,
	       cpu_us / peer_cpu_us, median_us(walk, N_LOOK));
	printf("a wait: CPU %.1f us\n", median_us(wait_cpu, N_LOOK));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct us_xen_calls *calls = us_xen_calls();
	struct us_xen_domain d;
	struct us_err e;
	unsigned frames = 0, peer_frames = 0;
	void *xen;
	if (argc < 3)
		return 2;
	need(calls->open(&xen, &e), &e);
	need(calls->domain(xen, (uint32_t)atoi(argv[1]), &d), NULL);
	open_all(d.id);
	for (unsigned i = 0; i < N_WARM_UP; i++) {
		held[0] = look(&all[0], &cpu[0], &walk[0], &frames);
		rest(all[0]);
	}
	frames = 0;
	measure(calls, xen, &d, &frames, &peer_frames);
	us_backend_close(backend);
	us_unwinder_free(unwinder);
	print(frames, peer_frames);
	double peer_us = xenctx_us(argv[2], argv[1]), held_us = median_us(held, N_LOOK);
	printf("xenctx, a trace without its start: %.0f us: %.0f times the pause\n",
	       peer_us, peer_us / held_us);
	calls->close(xen);
	return 0;
}
