/* SPDX-License-Identifier: GPL-2.0-or-later */
/* self_check.c: see self_check.h. */
#include "cmd/record/self_check.h"

#include "backend/backend.h"
#include "base/clock.h"
#include "cmd/options.h"
#include "vmm/demo_guest.h"
#include "vmm/host.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HZ	       1000
#define ENOUGH_SAMPLES 2500
#define FEWEST_SAMPLES 300
#define LONGEST_NS     (8 * US_NS_PER_SEC)
#define WHOLE_SHARE    0.95 /* at least, of the stacks in functions with a frame */
#define SETTLE_NS      (100 * US_NS_PER_MS)
#define TIME_SLACK     0.05 /* the scheduler's own sums come a little late, ... */
#define WAIT_SLACK     0.2  /* ... those of waiting for a CPU when the wait is over */
#define SHARE_SIGMAS   4    /* one in 16,000 by chance ... */
#define SHARE_SLACK    0.01 /* ... and what calls take of the spinning */

struct tally {
	unsigned samples;	  /* in the guest, with a stack */
	unsigned outside;	  /* of them: not in its code */
	unsigned wrong;		  /* with a wrong frame */
	unsigned framed;	  /* in functions with a frame */
	unsigned whole;		  /* of framed */
	unsigned frameless;	  /* in the one without */
	unsigned frameless_whole; /* of them */
	unsigned in_chain[US_DEMO_CHAINS];
	uint64_t due[US_N_VCPU_STATE]; /* samples, by state */
	struct us_backend_counts counts;
	struct us_stack bad; /* the first bad one; n is 0: none */
};

struct check {
	const char *backend;
	bool two_spaces;
	bool may_end_early; /* in a guest with two spaces: see docs/backends.md, bpf on
			       Intel */
	struct us_backend *b;
	struct us_unwinder *unwinder;
	struct us_code_map map;
	struct tally t;
	bool differs;
};

/* --- samples --- */

static bool is_true(const struct us_demo_function *f, const struct us_stack *s)
{
	if (s->n > f->n_caller + 1)
		return false;
	for (unsigned i = 1; i < s->n; i++)
		if (s->pc[i] != f->caller[i - 1])
			return false;
	return true;
}

static void judge(struct tally *t, const struct us_stack *s)
{
	const struct us_demo_function *f = us_demo_find(s->pc[0]);
	bool good = f && is_true(f, s);
	t->samples++;
	t->outside += !f;
	t->wrong += f && !good;
	if (!good && !t->bad.n)
		t->bad = *s;
	if (!f)
		return;
	bool whole = good && s->n == f->n_caller + 1 && s->end == US_END_ROOT;
	t->framed += f->has_frame;
	t->whole += f->has_frame && whole;
	t->frameless += !f->has_frame;
	t->frameless_whole += !f->has_frame && whole;
	if (f->chain >= 0)
		t->in_chain[f->chain]++;
}

static void take(struct check *k, struct us_paging *p, struct us_capture *c)
{
	struct us_stack stack;
	k->t.due[c->state] += c->weight;
	if (us_capture_begin(c, p)) {
		us_unwind(k->unwinder, p, &c->regs, &stack);
		us_capture_judge(c, &stack);
		if (c->state == US_VCPU_GUEST)
			judge(&k->t, &stack);
	}
	k->b->ops->release(k->b, c);
}

static int sample(struct check *k, struct us_err *e)
{
	const struct us_schedule s = { .hz = HZ, .seed = 1 };
	static struct us_capture c;
	struct us_paging p;
	us_paging_init(&p, k->b->mem);
	int r = k->b->ops->start(k->b, &s, e);
	uint64_t end = us_now_ns() + LONGEST_NS;
	bool enough = false;
	while (r >= 0) {
		r = k->b->ops->next(k->b, end, &c);
		if (r == 1)
			take(k, &p, &c);
		else if (r < 0 && k->b->ops->explain)
			k->b->ops->explain(k->b, r, e);
		else if (us_now_ns() >= end)
			break;
		if (!enough && k->t.samples >= ENOUGH_SAMPLES) {
			enough = true;
			end = us_now_ns() + SETTLE_NS;
		}
	}
	if (r >= 0)
		k->b->ops->counts(k->b, &k->t.counts);
	return r < 0 ? r : 0;
}

static int attach_and_sample(struct check *k, const struct us_demo_guest *d,
			     struct us_err *e)
{
	struct us_guest g;
	k->map.n = us_demo_starts(&k->map.start);
	int r = us_guest_inspect(d->pid, &g, e);
	if (!r)
		r = us_backend_open(&(struct us_target){ .guest = &g }, k->backend,
				    &k->b, NULL, 0, e);
	if (!r)
		r = us_unwinder_new(k->b->arch, &k->map, NULL, &k->unwinder);
	if (!r)
		r = sample(k, e);
	us_unwinder_free(k->unwinder);
	us_backend_close(k->b);
	return r;
}

/* --- verdicts --- */

static void __attribute__((__format__(__printf__, 4, 5)))
tell(struct check *k, bool good, const char *what, const char *fmt, ...)
{
	va_list ap;
	printf("    %-8s %-7s ", what, good ? "pass" : "differs");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	k->differs |= !good;
}

static void print_pc(us_gva pc)
{
	const struct us_demo_function *f = us_demo_find(pc);
	if (f)
		printf(" %s+0x%" PRIx64, f->name, pc - f->start);
	else
		printf(" 0x%" PRIx64, pc);
}

static void show_bad(const struct us_stack *s)
{
	const struct us_demo_function *f = us_demo_find(s->pc[0]);
	printf("    %-8s %-7s the first such:", "", "");
	for (unsigned i = 0; i < s->n; i++)
		print_pc(s->pc[i]);
	printf(" (%s)", us_unwind_end_name((enum us_unwind_end)s->end));
	for (unsigned i = 0; f && i < f->n_caller; i++) {
		printf(i ? "" : "; true callers:");
		print_pc(f->caller[i]);
	}
	putchar('\n');
}

static double part(double of, double all)
{
	return all > 0 ? of / all : 0;
}

static void tell_code(struct check *k)
{
	const struct tally *t = &k->t;
	tell(k, t->samples >= FEWEST_SAMPLES && !t->outside, "places",
	     "%u of %u program counters are in the guest's code%s",
	     t->samples - t->outside, t->samples,
	     t->samples < FEWEST_SAMPLES ? ": too few samples" : "");
}

static void tell_stacks(struct check *k)
{
	const struct tally *t = &k->t;
	bool whole = part(t->whole, t->framed) >= WHOLE_SHARE;
	bool excused = k->two_spaces && k->may_end_early;
	tell(k, !t->wrong && (whole || excused), "stacks",
	     "%u wrong; whole: %.1f %% (without a frame: %.1f %%)%s", t->wrong,
	     100 * part(t->whole, t->framed),
	     100 * part(t->frameless_whole, t->frameless),
	     excused && !whole ? ", the others are not known here" : "");
	if (t->bad.n)
		show_bad(&t->bad);
}

static void tell_shares(struct check *k)
{
	const struct tally *t = &k->t;
	unsigned n = 0;
	for (unsigned i = 0; i < US_DEMO_CHAINS; i++)
		n += t->in_chain[i];
	for (unsigned i = 0; i < US_DEMO_CHAINS; i++) {
		double truth = us_demo_chains[i].share, got = part(t->in_chain[i], n);
		double slack = SHARE_SLACK +
			       SHARE_SIGMAS * sqrt(truth * (1 - truth) / (n ? n : 1));
		tell(k, fabs(got - truth) <= slack, i ? "" : "shares",
		     "%s: %.1f %%, in truth %.0f %% (+- %.1f)", us_demo_chains[i].name,
		     100 * got, 100 * truth, 100 * slack);
	}
}

static void tell_time(struct check *k)
{
	const struct us_backend_counts *c = &k->t.counts;
	double due = (double)c->vcpu_ns / 1e9 * HZ;
	double sum = (double)(c->late + c->backed_off + c->failed + c->lost);
	for (unsigned i = 0; i < US_N_VCPU_STATE; i++)
		sum += (double)k->t.due[i];
	double waited = part((double)k->t.due[US_VCPU_READY], due);
	double slack = TIME_SLACK + WAIT_SLACK * waited;
	tell(k, fabs(part(sum, due) - 1) <= slack, "time",
	     "%.1f %% accounted for: guest %.1f, exits %.1f, waiting for a CPU %.1f, "
	     "no sample %.1f",
	     100 * part(sum, due), 100 * part((double)k->t.due[US_VCPU_GUEST], due),
	     100 * part((double)k->t.due[US_VCPU_EXIT], due), 100 * waited,
	     100 * part((double)(c->late + c->failed + c->lost), due));
}

static int check_one(struct check *k, struct us_err *e)
{
	struct us_demo_guest d;
	int r = us_demo_start(&d, k->two_spaces, e);
	if (r < 0)
		return r;
	r = attach_and_sample(k, &d, e);
	unsigned long rounds = us_demo_rounds(&d);
	for (int i = 0; !r && i < 2000 && us_demo_rounds(&d) == rounds; i++)
		usleep(1000);
	bool runs_on = us_demo_rounds(&d) != rounds;
	us_demo_stop(&d);
	if (r < 0)
		return r;
	puts(k->two_spaces ? "  two address spaces, stacks at the same addresses"
			   : "  one address space");
	tell_code(k);
	tell_stacks(k);
	tell_shares(k);
	tell_time(k);
	tell(k, runs_on, "after", "%s",
	     runs_on ? "the guest runs on" : "the guest stands still");
	return 0;
}

int us_self_check(const char *backend)
{
	struct us_host h;
	struct us_err e;
	bool differs = false;
	us_host_read(&h);
	printf("%s on this host, with a guest of its own\n", backend);
	for (int i = 0; i < 2; i++) {
		struct check k = { .backend = backend, .two_spaces = i == 1 };
		k.may_end_early = !strcmp(backend, "bpf") &&
				  !strcmp(h.kvm, "kvm_intel");
		fflush(stdout);
		int r = check_one(&k, &e);
		if (r < 0) {
			us_complain(&e);
			return us_exit_code(r);
		}
		differs |= k.differs;
	}
	printf("%s: %s\n", backend, differs ? "differs" : "pass");
	return differs ? US_EXIT_FAILED : US_EXIT_OK;
}
