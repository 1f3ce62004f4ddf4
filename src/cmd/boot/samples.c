/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd/boot/samples.c: see cmd/boot/samples.h. */
#include "cmd/boot/samples.h"

#include "base/clock.h"
#include "cmd/boot/before.h"
#include "cmd/record/one.h"
#include "vmm/guest_threads.h"
#include "vmm/qmp.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE (20 * US_NS_PER_SEC) /* until the first sample is due */
#define MOST_PPM 500000		      /* of guest time, at most half */
#define WAIT_US	 200

/* Of one point; written by the sampler. */
struct sighting {
	us_gva start[US_BOOT_MAX_ENTRY], end[US_BOOT_MAX_ENTRY];
	size_t n;
	uint64_t at_ns;
	struct us_boot_error error;
	atomic_bool seen;
};

struct us_boot_samples {
	const struct us_boot_plan *plan;
	struct us_boot_sampled what;
	struct us_boot_sampler sampler;
	struct us_record_settings set;
	struct us_recording recording;
	struct sighting at[US_BOOT_MAX_POINT];
	struct us_boot_before before;
	atomic_ulong start_ns, n;
	pthread_t thread;
	bool running;
	char backend[16];
	atomic_bool stop, begun, ended;
	int result;
	struct us_err e;
};

/* ---- What is seen in a sample ---- */

static bool covers(const struct sighting *s, us_gva pc)
{
	for (size_t i = 0; i < s->n; i++)
		if (pc >= s->start[i] && pc < s->end[i])
			return true;
	return false;
}

static bool is_on(const struct us_boot_samples *b, size_t point,
		  const struct us_stack *s)
{
	if (b->plan->point[point].kind == US_BOOT_ENTRY)
		return s->n && us_boot_before_is_kernel(&b->before, s->pc[0]);
	/* A call that does not return may be the function's last instruction: then the
	 * return address is after the function. */
	for (unsigned i = 0; i < s->n; i++)
		if (covers(&b->at[point], s->pc[i]) ||
		    (i && covers(&b->at[point], s->pc[i] - 1)))
			return true;
	return false;
}

/* Anywhere: it may call firmware. */
static bool has_kernel(const struct us_boot_samples *b, const struct us_stack *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (us_boot_before_is_kernel(&b->before, s->pc[i]) ||
		    (i && us_boot_before_is_kernel(&b->before, s->pc[i] - 1)))
			return true;
	return false;
}

static void note(struct us_boot_samples *b, struct sighting *s,
		 const struct us_capture *c)
{
	s->at_ns = c->t_ns;
	s->error = us_boot_before_error(&b->before, c->vcpu, c->t_ns,
					s->n ? s->start[0] : 0);
	atomic_store_explicit(&s->seen, true, memory_order_release);
}

static void see(void *ctx, const struct us_live_sample *l)
{
	struct us_boot_samples *b = ctx;
	uint64_t now = l->capture->t_ns;
	if (!atomic_load_explicit(&b->start_ns, memory_order_relaxed) && l->t_ns)
		atomic_store_explicit(&b->start_ns, now - l->t_ns,
				      memory_order_relaxed);
	us_boot_before_begin(&b->before, l->capture->vcpu, has_kernel(b, l->stack));
	for (size_t i = 0; i < b->plan->n; i++) {
		struct sighting *s = &b->at[i];
		enum us_boot_kind kind = b->plan->point[i].kind;
		if ((kind == US_BOOT_SYMBOL || kind == US_BOOT_ENTRY) &&
		    !atomic_load_explicit(&s->seen, memory_order_relaxed) &&
		    is_on(b, i, l->stack))
			note(b, s, l->capture);
	}
	us_boot_before_end(&b->before, l->capture->vcpu, now);
	atomic_fetch_add_explicit(&b->n, 1, memory_order_relaxed);
}

/* ---- The recording, in its thread ---- */

static void ignore_sums(void *ctx, const struct us_record_stats *s)
{
	struct us_boot_samples *b = ctx;
	(void)s;
	atomic_store(&b->begun, true);
}

/* The guest may have ended by itself before its watcher is done with it. */
static void finish(void *ctx, struct us_writer *w)
{
	struct us_boot_samples *b = ctx;
	uint64_t deadline = us_now_ns() + PATIENCE;
	if (!b->what.finish)
		return;
	while (!atomic_load(&b->stop) && us_now_ns() < deadline)
		usleep(WAIT_US);
	b->what.finish(b->what.finish_ctx, atomic_load(&b->start_ns), w);
}

static int record(struct us_boot_samples *b)
{
	struct us_recording *r = &b->recording;
	int code = us_recording_attach(r, &b->e);
	if (code == 0)
		snprintf(b->backend, sizeof(b->backend), "%s", r->backend->ops->name);
	if (code == 0)
		code = us_recording_begin(r, &b->e);
	if (code == 0)
		code = us_recording_sample(r, &b->e);
	return code;
}

static void *record_thread(void *ctx)
{
	struct us_boot_samples *b = ctx;
	b->result = record(b);
	us_recording_close(&b->recording);
	us_output_close(&b->recording.output);
	atomic_store(&b->ended, true);
	return NULL;
}

/* The first sums arrive when sampling has begun. */
static int wait_until_begun(struct us_boot_samples *b, struct us_err *e)
{
	uint64_t deadline = us_now_ns() + PATIENCE;
	while (!atomic_load(&b->begun) && !atomic_load(&b->ended)) {
		if (us_now_ns() > deadline)
			return us_fail(
				e, -ETIMEDOUT,
				"sample the guest: sampling did not begin in time");
		usleep(WAIT_US);
	}
	if (!atomic_load(&b->ended) || b->result == 0)
		return 0;
	*e = b->e;
	return b->result;
}

/* Only the monitor knows the threads of vCPUs that have not run yet. */
static int ask_threads(const struct us_boot_samples *b, struct us_guest *g,
		       struct us_err *e)
{
	struct us_qmp *q = NULL;
	int r = us_qmp_open(b->what.monitor, &q, e);
	if (r == 0)
		r = us_guest_vcpus_from_monitor(g, q, e);
	us_qmp_close(q);
	return r;
}

static int begin(void *ctx, pid_t pid, struct us_err *e)
{
	struct us_boot_samples *b = ctx;
	struct us_recording *r = &b->recording;
	struct us_guest *g = &r->found.guest;
	int code = us_guest_inspect(pid, g, NULL);
	if (code < 0 || !g->n_vcpu)
		return -EAGAIN;
	code = b->what.monitor ? ask_threads(b, g, e) : 0;
	if (code < 0)
		return code;
	us_target_of_guest(&r->found);
	code = pthread_create(&b->thread, NULL, record_thread, b);
	if (code)
		return us_fail(e, -code, "start a thread: %s", strerror(code));
	b->running = true;
	/* Do not wait for a guest that runs already: its output has to be read
	 * meanwhile. */
	return b->what.monitor ? wait_until_begun(b, e) : 0;
}

static bool saw(void *ctx, size_t point, struct us_boot_moment *ret)
{
	struct us_boot_samples *b = ctx;
	struct sighting *s = &b->at[point];
	if (!atomic_load_explicit(&s->seen, memory_order_acquire))
		return false;
	ret->wall_ns = s->at_ns;
	ret->error_ns = s->error.ns;
	ret->first_error_ns = s->error.first_ns;
	return true;
}

static int check(void *ctx, uint64_t *ret, struct us_err *e)
{
	struct us_boot_samples *b = ctx;
	*ret = atomic_load_explicit(&b->n, memory_order_relaxed);
	if (!atomic_load(&b->ended) || b->result == 0)
		return 0;
	*e = b->e;
	return b->result;
}

static void end(void *ctx)
{
	struct us_boot_samples *b = ctx;
	if (!b->running)
		return;
	atomic_store(&b->stop, true);
	pthread_join(b->thread, NULL);
	b->running = false;
}

/* ---- Its life ---- */

int us_boot_samples_ready(struct us_err *e)
{
	struct us_err why = { 0 };
	for (size_t i = 0; us_backends[i]; i++) {
		const struct us_backend_ops *o = us_backends[i];
		if ((strcmp(o->name, "bpf") != 0 && strcmp(o->name, "kvm") != 0) ||
		    !o->ready)
			continue;
		if (o->ready(&why) == 0)
			return 0;
		if (!e->msg[0])
			*e = why;
	}
	return -ENOTSUP;
}

static void find_range(void *ctx, const struct us_function *f)
{
	struct us_boot_samples *b = ctx;
	for (size_t i = 0; i < b->plan->n; i++) {
		const struct us_boot_point *p = &b->plan->point[i];
		struct sighting *s = &b->at[i];
		if (p->kind != US_BOOT_SYMBOL)
			continue;
		for (size_t k = 0; k < p->n_address; k++)
			if (p->address[k] == f->start && s->n < US_BOOT_MAX_ENTRY) {
				s->start[s->n] = f->start;
				s->end[s->n++] = f->start + (f->size ? f->size : 1);
			}
	}
}

int us_boot_samples_new(const struct us_boot_sampled *what,
			struct us_boot_samples **ret, struct us_err *e)
{
	struct us_boot_samples *b = calloc(1, sizeof(*b));
	*ret = NULL;
	if (!b)
		return us_fail(e, -ENOMEM, "out of memory");
	b->what = *what;
	b->plan = what->plan;
	b->before.kernel = what->code;
	us_symbols_each_function(what->symbols, find_range, b);
	b->sampler = (struct us_boot_sampler){
		.ctx = b, .begin = begin, .saw = saw, .check = check, .end = end
	};
	b->set = (struct us_record_settings){ .schedule = { .hz = US_BOOT_HZ,
							    .seed = us_now_ns(),
							    .budget_ppm = MOST_PPM },
					      .budget_given = true,
					      .symbols = *what->files,
					      .json = true,
					      .launch = true,
					      .argv = what->argv };
	b->recording.set = &b->set;
	b->recording.stop = &b->stop;
	b->recording.sums = ignore_sums;
	b->recording.sums_ctx = b;
	b->recording.see = see;
	b->recording.see_ctx = b;
	b->recording.finish = finish;
	b->recording.finish_ctx = b;
	b->recording.from_start = true;
	int r = us_output_open(&b->recording.output, what->path, e);
	if (r < 0) {
		free(b);
		return r;
	}
	*ret = b;
	return 0;
}

const struct us_boot_sampler *us_boot_samples_sampler(struct us_boot_samples *b)
{
	return &b->sampler;
}

const char *us_boot_samples_backend(const struct us_boot_samples *b)
{
	return b->backend;
}

uint64_t us_boot_samples_start_ns(const struct us_boot_samples *b)
{
	return atomic_load(&b->start_ns);
}

void us_boot_samples_free(struct us_boot_samples *b)
{
	if (!b)
		return;
	end(b);
	free(b);
}
