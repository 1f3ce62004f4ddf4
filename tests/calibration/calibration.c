/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calibration.c: see calibration.h. */
#include "calibration.h"

#include "ticks.h"

#include "backend/fake/fake.h"
#include "base/clock.h"
#include "base/random.h"
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEPTH	   5 /* callers of one stack fill one piece of code without a name */
#define MAX_VCPU   8
#define IDLE	   N_FUNC
#define FIRST_FUNC (US_FAKE_BASE + US_FAKE_TEXT + US_FAKE_LEAF_SIZE)
#define HONEST	   3.92 /* standard deviations: 95 % of a normal distribution */

static const double usual[N_FUNC] = { 0.6, 0.3, 0.1 };

struct act {
	uint64_t until_ns;
	uint32_t what; /* function, or IDLE */
};

struct actor {
	struct act *v;
	size_t n, cap, now;
};

struct run {
	const struct trial *t;
	struct actor vcpu[MAX_VCPU];
	const double *parts;
	double truth[N_FUNC + 1]; /* time in the span; then shares */
	uint64_t random, end_ns;
};

struct ticking {
	struct run *run;
	struct us_writer *writer;
};

static double uniform(struct run *r)
{
	return ((double)(us_random_next(&r->random) >> 11) + 0.5) * 0x1p-53;
}

/* Returns the time at which it ends. */
static double act(struct run *r, struct actor *a, double from_ns, double ns,
		  uint32_t what)
{
	double end = fmin(from_ns + ns, (double)r->end_ns);
	if (from_ns + ns <= 0 || from_ns >= end)
		return from_ns + ns;
	if (a->n == a->cap) {
		a->cap = a->cap ? 2 * a->cap : 1024;
		struct act *v = realloc(a->v, a->cap * sizeof(*v));
		if (!v)
			abort();
		a->v = v;
	}
	a->v[a->n++] = (struct act){ (uint64_t)end, what };
	r->truth[what] += end - fmax(from_ns, 0);
	return from_ns + ns;
}

static uint32_t any_function(struct run *r)
{
	double u = uniform(r);
	uint32_t what = 0;
	while (what + 1 < N_FUNC && u >= r->parts[what])
		u -= r->parts[what++];
	return what;
}

/* One cycle from t on, which may begin before the recording. */
static double cycle(struct run *r, struct actor *a, double t, double length)
{
	const struct guest_kind *g = &r->t->guest;
	double busy = length * (1 - g->idle);
	for (uint32_t i = 0; i < N_FUNC; i++) {
		double ns = busy * r->parts[i];
		if (g->kind == BURSTS)
			ns *= -log(uniform(r));
		t = act(r, a, t, ns, i);
	}
	return g->idle > 0 ? act(r, a, t, length * g->idle, IDLE) : t;
}

static void write_play(struct run *r, struct actor *a)
{
	const struct guest_kind *g = &r->t->guest;
	double length = g->cycle_ns > 0 ? g->cycle_ns : 1e9 / r->t->hz;
	double t = -uniform(r) * length;
	a->n = a->now = 0;
	/* One cycle at least before it, so that it begins anywhere in one. */
	t -= g->kind == BURSTS ? 10 * length : 0;
	while (t < (double)r->end_ns)
		if (g->kind == STEADY)
			t = act(r, a, t, 1e8 / r->t->hz, any_function(r));
		else
			t = cycle(r, a, t,
				  length * (1 + g->wobble * (2 * uniform(r) - 1)));
}

static uint32_t at(void *ctx, unsigned vcpu, uint64_t t_ns)
{
	struct actor *a = &((struct run *)ctx)->vcpu[vcpu];
	while (a->now + 1 < a->n && a->v[a->now].until_ns <= t_ns)
		a->now++;
	uint32_t what = a->v[a->now].what;
	return what == IDLE ? US_FAKE_HALTED : what;
}

static bool write_sample(struct us_backend *b, struct us_writer *w,
			 const struct us_capture *c)
{
	us_gva pc[US_FAKE_MAX_DEPTH];
	bool busy = c->state == US_VCPU_GUEST;
	size_t n = busy ? us_fake_truth(b, c, pc) : 0;
	struct us_sample s = { .t_ns = c->t_ns,
			       .vcpu = c->vcpu,
			       .end = busy ? US_END_ROOT : US_END_NONE,
			       .state = (uint8_t)c->state,
			       .weight = c->weight };
	return us_writer_sample(w, &s, pc, NULL, n, NULL) == 0;
}

static bool record(struct run *r, struct us_backend *b, struct us_writer *w)
{
	struct us_schedule s = { .hz = r->t->hz, .seed = us_random_next(&r->random) };
	struct us_record_stats stats = { .elapsed_ns = r->end_ns };
	struct us_capture c;
	if (b->ops->start(b, &s, NULL))
		return false;
	while (b->ops->next(b, r->end_ns, &c) == 1) {
		bool ok = c.t_ns >= r->end_ns || write_sample(b, w, &c);
		b->ops->release(b, &c);
		if (!ok)
			return false;
	}
	return us_writer_end(w, &stats, US_RECORD_DONE, "", NULL) == 0;
}

static uint32_t at_tick(void *ctx, uint64_t ran_ns)
{
	return at(((struct ticking *)ctx)->run, 0, ran_ns);
}

static bool write_tick(void *ctx, uint64_t t_ns, uint32_t what, uint32_t weight)
{
	bool waits = what == TICKS_WAIT;
	us_gva pc = FIRST_FUNC + (us_gva)what * US_UNKNOWN_CODE_BYTES;
	struct us_sample s = { .t_ns = t_ns,
			       .end = waits ? US_END_NONE : US_END_ROOT,
			       .state = waits ? US_VCPU_READY : US_VCPU_GUEST,
			       .weight = weight };
	struct us_writer *w = ((struct ticking *)ctx)->writer;
	return us_writer_sample(w, &s, &pc, NULL, !waits, NULL) == 0;
}

/* By bpf, which there is none of: its samples are written alone. */
static bool record_ticks(struct run *r, struct us_writer *w)
{
	struct ticking both = { r, w };
	struct ticks t = { .hz = r->t->hz,
			   .cpu = r->t->cpu,
			   .seed = us_random_next(&r->random),
			   .ran_ns = r->end_ns,
			   .ctx = &both,
			   .at = at_tick,
			   .sample = write_tick };
	struct us_record_stats stats = { .elapsed_ns = r->end_ns };
	return r->t->n_vcpu == 1 && !us_writer_fact(w, "backend", "bpf", NULL) &&
	       ticks_play(&t) && !us_writer_end(w, &stats, US_RECORD_DONE, "", NULL);
}

/* What waits is in no function. */
static const struct us_profile_opts on_cpu = { .filter = { { US_BY_STATE, "guest" } },
					       .n_filter = 1 };

static struct us_profile *profile_of_ticks(struct run *r)
{
	struct us_writer *w = NULL;
	struct us_profile *p = NULL;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	if (fd >= 0 && !us_writer_open(fd, &w, NULL) && record_ticks(r, w)) {
		us_writer_close(w);
		w = NULL;
		if (lseek(fd, 0, SEEK_SET) || us_profile_read(fd, &on_cpu, &p, NULL))
			p = NULL;
	}
	us_writer_close(w);
	close(fd);
	return p;
}

static struct us_profile *profile_of(struct run *r)
{
	if (r->t->cpu > 0)
		return profile_of_ticks(r);
	struct us_fake_play play = { at, r, r->t->late_ns };
	struct us_fake_opts opts = { .n_vcpu = r->t->n_vcpu,
				     .depth = DEPTH,
				     .n_stack = N_FUNC,
				     .held_ns = r->t->held_ns,
				     .play = &play };
	struct us_target target = { .fake = &opts };
	struct us_backend *b = NULL;
	struct us_writer *w = NULL;
	struct us_profile *p = NULL;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	if (fd >= 0 && !us_backend_open(&target, "fake", &b, NULL, 0, NULL) &&
	    !us_writer_open(fd, &w, NULL) && record(r, b, w)) {
		us_writer_close(w);
		w = NULL;
		if (lseek(fd, 0, SEEK_SET) || us_profile_read(fd, NULL, &p, NULL))
			p = NULL;
	}
	us_writer_close(w);
	us_backend_close(b);
	close(fd);
	return p;
}

/* Of one function (or idle) over the recordings. */
struct sums {
	unsigned n, span_inside, long_inside;
	double span_width, long_width;
	double error_squares,
		from_long_squares; /* to the span's truth, the long run's */
};

static void judge(struct sums *s, double got, double truth, double long_truth,
		  const double span[2], const double long_run[2])
{
	s->n++;
	s->span_inside += span[0] <= truth && truth <= span[1];
	s->long_inside += long_run[0] <= long_truth && long_truth <= long_run[1];
	s->span_width += span[1] - span[0];
	s->long_width += long_run[1] - long_run[0];
	s->error_squares += (got - truth) * (got - truth);
	s->from_long_squares += (got - long_truth) * (got - long_truth);
}

static void judge_idle(struct run *r, const struct us_profile *p, struct sums *s)
{
	const struct us_profile_summary *sum = us_profile_summary(p);
	double all = (double)(sum->running + sum->idle);
	double truth = r->truth[IDLE] / ((double)r->end_ns * r->t->n_vcpu);
	judge(s, all > 0 ? (double)sum->idle / all : 0, truth, r->t->guest.idle,
	      (double[]){ sum->idle_low, sum->idle_high },
	      (double[]){ sum->idle_long_low, sum->idle_long_high });
}

static void judge_functions(struct run *r, const struct us_profile *p, struct sums *s)
{
	static const struct us_profile_func none = { .total_high = 1,
						     .total_long_high = 1 };
	double busy = r->truth[0] + r->truth[1] + r->truth[2];
	double running = (double)us_profile_summary(p)->running;
	size_t n;
	const struct us_profile_func *f = us_profile_funcs(p, &n);
	for (uint32_t i = 0; i < N_FUNC && busy > 0 && running > 0; i++) {
		const struct us_profile_func *found = &none;
		for (size_t k = 0; k < n; k++)
			if (f[k].start == FIRST_FUNC + i * US_UNKNOWN_CODE_BYTES)
				found = &f[k];
		struct us_profile_func seen = *found;
		/* One that was never seen has no row, nor an interval. */
		if (found == &none)
			seen.total_high = seen.total_long_high = fmin(
				1, 3.84 / (running + 3.84));
		judge(&s[i], (double)seen.total / running, r->truth[i] / busy,
		      r->parts[i], (double[]){ seen.total_low, seen.total_high },
		      (double[]){ seen.total_long_low, seen.total_long_high });
	}
}

static double by_honest(double width, double error_squares, unsigned n)
{
	double honest = HONEST * sqrt(error_squares / n);
	return honest > 0 ? width / n / honest : 0;
}

static void conclude(const struct sums *s, struct verdict *v)
{
	*v = (struct verdict){ 0 };
	for (uint32_t i = 0; i < N_FUNC; i++) {
		double n = (double)s[i].n * N_FUNC;
		v->span_inside += s[i].span_inside / n;
		v->long_inside += s[i].long_inside / n;
		v->half += s[i].span_width / 2 / n;
		v->span_width +=
			by_honest(s[i].span_width, s[i].error_squares, s[i].n) / N_FUNC;
		v->long_width += by_honest(s[i].long_width, s[i].from_long_squares,
					   s[i].n) /
				 N_FUNC;
	}
	const struct sums *idle = &s[IDLE];
	if (!idle->n)
		return;
	v->idle_inside = (double)idle->span_inside / idle->n;
	v->idle_width = by_honest(idle->span_width, idle->error_squares, idle->n);
}

static bool one_run(struct run *r, struct sums *s)
{
	memset(r->truth, 0, sizeof(r->truth));
	for (unsigned i = 0; i < r->t->n_vcpu; i++)
		write_play(r, &r->vcpu[i]);
	struct us_profile *p = profile_of(r);
	if (!p)
		return false;
	judge_functions(r, p, s);
	if (r->t->guest.idle > 0)
		judge_idle(r, p, &s[IDLE]);
	us_profile_free(p);
	return true;
}

bool calibrate(const struct trial *t, struct verdict *ret)
{
	struct sums s[N_FUNC + 1] = { 0 };
	struct run r = { .t = t,
			 .parts = t->parts ? t->parts : usual,
			 .random = t->seed,
			 .end_ns = (uint64_t)(t->seconds * 1e9) };
	bool ok = t->n_vcpu <= MAX_VCPU;
	for (unsigned i = 0; i < t->n_run && ok; i++)
		ok = one_run(&r, s);
	for (unsigned i = 0; i < MAX_VCPU; i++)
		free(r.vcpu[i].v);
	conclude(s, ret);
	return ok;
}

struct us_profile *calibration_profile(const struct trial *t)
{
	struct run r = { .t = t,
			 .parts = t->parts ? t->parts : usual,
			 .random = t->seed,
			 .end_ns = (uint64_t)(t->seconds * 1e9) };
	if (t->n_vcpu > MAX_VCPU)
		return NULL;
	for (unsigned i = 0; i < t->n_vcpu; i++)
		write_play(&r, &r.vcpu[i]);
	struct us_profile *p = profile_of(&r);
	for (unsigned i = 0; i < MAX_VCPU; i++)
		free(r.vcpu[i].v);
	return p;
}
