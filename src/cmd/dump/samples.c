/* SPDX-License-Identifier: GPL-2.0-or-later */
/* samples.c: see samples.h. */
#include "cmd/dump/samples.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HZ	       200
#define LIMIT_NS       (3 * US_NS_PER_SEC)
#define READY_NS       (US_NS_PER_SEC) /* for a vCPU that has no host CPU */
#define SEARCH_SAMPLES 24 /* at most, in addition, to find where the images are */

struct search {
	struct us_dump_samples *samples;
	struct us_images *images;
	struct us_kernel *kernel;
	struct us_paging paging;
	struct us_capture capture;
	uint64_t begun_ns;
	unsigned left; /* of SEARCH_SAMPLES */
};

/* Take a capture without a stack.  A vCPU stays in the VMM for microseconds: the next
 * sample may find the guest.  One that has no host CPU gets one soon, even on a busy
 * host; there is nothing to search for until then. */
static bool take_state(const struct search *d, struct us_dump_seen *s)
{
	uint8_t state = d->capture.state;
	if (!s->has_stack)
		s->state = state;
	s->taken = true;
	if (state == US_VCPU_READY) {
		s->done = us_now_ns() - d->begun_ns >= READY_NS;
		return true;
	}
	return s->done = state != US_VCPU_EXIT || d->left == 0;
}

/* Samples of programs that run all the time do not show where the kernel is.  They do
 * not count: the kernel runs a few times a second, at least. */
static bool kernel_may_come(const struct search *d)
{
	return us_kernel_unseen(d->kernel) && !us_images_found_one(d->images);
}

/* Unwind one capture while it is held, and once more if that shows where an image is.
 * False: that is not known yet, so another sample is worthwhile. */
static bool take_sample(struct search *d)
{
	struct us_capture *c = &d->capture;
	struct us_paging *p = &d->paging;
	struct us_dump_seen *s = &d->samples->v[c->vcpu];
	struct us_unwinder *u = d->images->unwinder;
	if (!us_capture_begin(c, p))
		return take_state(d, s);
	s->state = c->state;
	s->regs = c->regs;
	us_unwind(u, p, &c->regs, &s->stack);
	uint64_t t_ns = us_now_ns() - d->begun_ns;
	const struct us_live_sample sample = {
		.capture = c, .stack = &s->stack, .paging = p, .t_ns = t_ns
	};
	us_images_sample(d->images, &sample);
	us_kernel_sample(d->kernel, &sample);
	s->has_stack = true;
	us_unwind(u, p, &c->regs, &s->stack);
	us_capture_judge(c, &s->stack);
	s->taken = true;
	s->done = (us_images_know(d->images, c) && !us_kernel_pending(d->kernel) &&
		   !kernel_may_come(d) && !c->cut) ||
		  d->left == 0;
	return s->done;
}

static unsigned n_missing(const struct us_dump_samples *s, uint64_t mask)
{
	unsigned n = 0;
	for (unsigned i = 0; i < s->n; i++)
		n += !s->v[i].done && (!mask || mask >> i & 1);
	return n;
}

static void search(struct search *d, struct us_backend *b)
{
	us_backend_let_go(b);
	d->left -= !kernel_may_come(d);
	us_images_search(d->images);
	us_kernel_wait(d->kernel);
}

static int take_all(struct search *d, struct us_backend *b, uint64_t mask,
		    struct us_err *e)
{
	const struct us_schedule schedule = {
		.hz = HZ, .seed = 1, .vcpu_mask = mask, .wake_halted = true
	};
	const struct us_dump_samples *s = d->samples;
	struct us_capture *c = &d->capture;
	uint64_t limit = d->begun_ns + LIMIT_NS;
	int r = b->ops->start(b, &schedule, e);
	while (r >= 0 && n_missing(s, mask) && us_now_ns() < limit) {
		r = b->ops->next(b, limit, c);
		if (r <= 0)
			continue;
		bool done = c->vcpu >= s->n || s->v[c->vcpu].done || take_sample(d);
		b->ops->release(b, c);
		if (!done)
			search(d, b);
	}
	us_backend_let_go(b);
	return r;
}

int us_dump_samples_take(struct us_dump_samples *s, struct us_images *i,
			 struct us_kernel *k, struct us_backend *b, uint64_t mask,
			 struct us_err *e)
{
	static struct search d; /* too large for comfort on a stack */
	d = (struct search){ .samples = s,
			     .images = i,
			     .kernel = k,
			     .begun_ns = us_now_ns(),
			     .left = SEARCH_SAMPLES };
	us_paging_init(&d.paging, b->mem);
	int r = take_all(&d, b, mask, e);
	if (r < 0 && !e->msg[0]) {
		us_fail(e, r, "the guest went away");
		if (b->ops->explain)
			b->ops->explain(b, r, e);
	}
	return r < 0 ? r : 0;
}

int us_dump_samples_init(struct us_dump_samples *s, unsigned n_vcpu)
{
	s->n = n_vcpu;
	s->v = calloc(n_vcpu ? n_vcpu : 1, sizeof(*s->v));
	return s->v ? 0 : -ENOMEM;
}

void us_dump_samples_fini(struct us_dump_samples *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}
