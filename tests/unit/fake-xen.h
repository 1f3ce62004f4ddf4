/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake-xen.h: a hypervisor with one domain, for what can be tested without Xen.
 *
 * It lies in memory that is shared with children, so a watchdog's process reaches it.
 */
#ifndef US_TEST_FAKE_XEN_H
#define US_TEST_FAKE_XEN_H

#include "unit.h"

#include "base/clock.h"
#include "vmm/xen/calls.h"
#include "vmm/xen/domains.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define FAKE_DOMAIN 7
#define FAKE_FRAMES 64
/* Machine addresses of the domain's memory, all above 4 GiB. */
#define FAKE_FIRST     0x180000ull
#define FAKE_VCPUS     4
#define FAKE_LOOK_REGS 2 /* of so many vCPUs at once */

struct fake_xen {
	struct us_xen_domain domain;
	struct us_xen_vcpu vcpu[FAKE_VCPUS];
	struct us_regs regs[FAKE_VCPUS];
	int regs_code[FAKE_VCPUS]; /* what regs() returns */
	int domain_code, pause_code, width, look_code;
	unsigned n_sample;		 /* calls that did something */
	uint64_t slow_ns;		 /* what domain() takes */
	uint64_t domain_ns, unpaused_ns; /* the last calls' begin */
	atomic_int paused;		 /* the count of pauses */
	atomic_int n_pause;		 /* calls */
	atomic_int n_strange;		 /* unpauses of what is not paused */
	unsigned n_map, n_unmap;
	unsigned n_asked;	 /* vcpu() calls */
	unsigned n_running_regs; /* registers that were read without a pause */
	uint8_t memory[FAKE_FRAMES][US_XEN_PAGE] __attribute__((aligned(4096)));
};

static struct fake_xen *fake_xen;
static int fake_sample_code; /* look_code of those that are set up from now on */

/* The machine address of one of its frames. */
static inline uint64_t machine(unsigned frame)
{
	return (FAKE_FIRST + frame) << 12;
}

static int fake_open(void **ret, struct us_err *e)
{
	(void)e;
	*ret = fake_xen;
	return 0;
}

static void fake_close(void *h)
{
	(void)h;
}

static int fake_pause(void *h, uint32_t domain)
{
	struct fake_xen *x = h;
	assert_int_equal(domain, FAKE_DOMAIN);
	if (x->pause_code)
		return x->pause_code;
	atomic_fetch_add(&x->n_pause, 1);
	atomic_fetch_add(&x->paused, 1);
	return 0;
}

static int fake_unpause(void *h, uint32_t domain)
{
	struct fake_xen *x = h;
	int count = atomic_load(&x->paused);
	x->unpaused_ns = us_now_ns();
	assert_int_equal(domain, FAKE_DOMAIN);
	while (count > 0)
		if (atomic_compare_exchange_weak(&x->paused, &count, count - 1))
			return 0;
	atomic_fetch_add(&x->n_strange, 1);
	return -EINVAL;
}

static int fake_domain(void *h, uint32_t domain, struct us_xen_domain *ret)
{
	struct fake_xen *x = h;
	if (domain != FAKE_DOMAIN)
		return -ESRCH;
	x->domain_ns = us_now_ns();
	while (us_now_ns() < x->domain_ns + x->slow_ns)
		;
	*ret = x->domain;
	ret->paused = atomic_load(&x->paused) > 0;
	return x->domain_code;
}

static int fake_width(void *h, uint32_t domain)
{
	(void)domain;
	return ((struct fake_xen *)h)->width;
}

static int fake_vcpu(void *h, uint32_t domain, unsigned vcpu, struct us_xen_vcpu *ret)
{
	struct fake_xen *x = h;
	(void)domain;
	if (vcpu >= x->domain.n_vcpu)
		return -ESRCH;
	x->n_asked++;
	*ret = x->vcpu[vcpu];
	if (x->domain.dying || x->domain.shut_down || x->domain_code)
		ret->running = false; /* a domain that has ended runs nothing */
	else if (x->vcpu[vcpu].running)
		x->vcpu[vcpu].ran_ns += 1000;
	return 0;
}

static int fake_regs(void *h, const struct us_xen_domain *d, unsigned vcpu,
		     struct us_regs *ret)
{
	struct fake_xen *x = h;
	(void)d;
	x->n_running_regs += !atomic_load(&x->paused);
	*ret = x->regs[vcpu];
	return x->regs_code[vcpu];
}

/* All at once.  look_code: that of the call. */
static int fake_sample(void *h, const struct us_xen_domain *d, struct us_xen_sample *l)
{
	struct fake_xen *x = h;
	unsigned n = 0;
	if (x->look_code)
		return x->look_code;
	x->n_sample++;
	if (l->state)
		l->domain_code = fake_domain(h, d->id, &l->domain);
	l->vcpus_known = l->regs_read = 0;
	for (unsigned i = 0; i < FAKE_VCPUS; i++)
		if (l->vcpus >> i & 1 && fake_vcpu(h, d->id, i, &l->vcpu[i]) == 0)
			l->vcpus_known |= 1ULL << i;
	if (!l->pause)
		return 0;
	l->pause_code = fake_pause(h, d->id);
	for (unsigned i = 0; i < FAKE_VCPUS && l->pause_code == 0; i++) {
		if (!(l->regs >> i & 1) || n++ == FAKE_LOOK_REGS)
			continue;
		l->regs_code[i] = fake_regs(h, d, i, &l->reg[i]);
		l->regs_read |= 1ULL << i;
	}
	return 0;
}

/* The frames of a run must follow each other, as its memory does. */
static const void *fake_map(void *h, uint32_t domain, const uint64_t *frame, unsigned n)
{
	struct fake_xen *x = h;
	(void)domain;
	for (unsigned i = 0; i < n; i++)
		if (frame[i] != frame[0] + i || frame[i] < FAKE_FIRST ||
		    frame[i] >= FAKE_FIRST + FAKE_FRAMES)
			return NULL;
	x->n_map += n;
	return x->memory[*frame - FAKE_FIRST];
}

static void fake_unmap(void *h, const void *pages, unsigned n)
{
	(void)pages;
	((struct fake_xen *)h)->n_unmap += n;
}

static const char *fake_how(void *h)
{
	(void)h;
	return "a fake";
}

static const struct us_xen_calls fake_calls = {
	.open = fake_open,
	.close = fake_close,
	.pause = fake_pause,
	.unpause = fake_unpause,
	.domain = fake_domain,
	.width = fake_width,
	.vcpu = fake_vcpu,
	.regs = fake_regs,
	.sample = fake_sample,
	.map = fake_map,
	.unmap = fake_unmap,
	.how = fake_how,
};

/* A domain of n running vCPUs, its memory all zeroes. */
static void fake_setup(unsigned n)
{
	if (!fake_xen)
		fake_xen = mmap(NULL, sizeof(*fake_xen), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fake_xen, MAP_FAILED);
	memset(fake_xen, 0, sizeof(*fake_xen));
	fake_xen->domain = (struct us_xen_domain){
		.id = FAKE_DOMAIN,
		.kind = US_XEN_PV,
		.n_vcpu = n,
		.memory = FAKE_FRAMES * US_XEN_PAGE,
	};
	fake_xen->width = 64;
	fake_xen->look_code = fake_sample_code;
	for (unsigned i = 0; i < n; i++)
		fake_xen->vcpu[i] = (struct us_xen_vcpu){ .online = true,
							  .running = true };
}

#endif
