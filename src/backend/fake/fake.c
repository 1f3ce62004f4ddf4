/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake.c: see fake.h. */
#include "backend/fake/fake.h"
#include "backend/pacer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PML4	     0x1000ULL
#define PDPT	     0x2000ULL
#define PAGE_DIR     0x3000ULL
#define PAGE_TABLES  0x4000ULL
#define PAGE	     4096ULL
#define PRESENT_RW   3
#define FRAME	     32 /* 16 bytes of locals, saved frame pointer, return address */
#define FRAME_FP     16
#define AFTER_CALL   9 /* offset of the return address in a function */
#define BODY	     4 /* offset of the leaf's code after its prologue */
#define MAX_CHAINS   1024
#define RUN_AHEAD_NS US_NS_PER_MS
#define FAST_HZ	     100e3

extern const struct us_backend_ops us_backend_fake;

struct fake {
	struct us_backend base;
	struct us_fake_opts opts;
	struct us_mem mem;
	struct us_region region;
	uint8_t *ram;
	us_gpa stacks;
	unsigned n_chain;

	uint16_t active[US_MAX_VCPUS]; /* vCPUs that the schedule wants */
	unsigned n_active;
	double step_ns; /* between samples, over all vCPUs; 0: no schedule */
	uint64_t slack_ns, start_ns, now_ns, next_ns;
	uint64_t random, n_sample;
	struct us_backend_counts counts;
	struct us_pacer pacer; /* of a play */
	unsigned slot;
};

static void put64(struct fake *f, us_gpa pa, uint64_t v)
{
	memcpy(f->ram + pa, &v, sizeof(v));
}

/* The function that is level frames above the leaf in this chain. */
static us_gpa function_at(const struct fake *f, unsigned chain, unsigned level)
{
	if (!level)
		return US_FAKE_TEXT;
	uint64_t i = (uint64_t)chain * (f->opts.depth - 1) + level - 1;
	return US_FAKE_TEXT + US_FAKE_LEAF_SIZE + i * US_FAKE_FUNCTION;
}

static us_gpa frame_at(const struct fake *f, unsigned chain, unsigned level)
{
	return f->stacks + ((uint64_t)chain * f->opts.depth + level) * FRAME;
}

static void build_page_tables(struct fake *f)
{
	put64(f, PML4 + 256 * 8, PDPT | PRESENT_RW);
	put64(f, PDPT, PAGE_DIR | PRESENT_RW);
	for (uint64_t page = 0; page < f->region.size / PAGE; page++) {
		us_gpa table = PAGE_TABLES + page / 512 * PAGE;
		put64(f, PAGE_DIR + page / 512 * 8, table | PRESENT_RW);
		put64(f, table + page % 512 * 8, page * PAGE | PRESENT_RW);
	}
}

/* push %rbp; mov %rsp,%rbp; nop ...; pop %rbp; ret */
static void build_leaf(struct fake *f)
{
	static const uint8_t start[] = { 0x55, 0x48, 0x89, 0xe5 };
	static const uint8_t end[] = { 0x5d, 0xc3 };
	uint8_t *at = f->ram + US_FAKE_TEXT;
	memset(at, 0x90, US_FAKE_LEAF_SIZE);
	memcpy(at, start, sizeof(start));
	memcpy(at + US_FAKE_LEAF_SIZE - sizeof(end), end, sizeof(end));
}

/* push %rbp; mov %rsp,%rbp; call callee; pop %rbp; ret; int3 ... */
static void build_function(struct fake *f, us_gpa at, us_gpa callee)
{
	uint8_t code[US_FAKE_FUNCTION] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0,
					   0,	 0,    0,    0x5d, 0xc3, 0xcc,
					   0xcc, 0xcc, 0xcc, 0xcc };
	int32_t distance = (int32_t)((int64_t)callee - (int64_t)(at + AFTER_CALL));
	memcpy(code + 5, &distance, sizeof(distance));
	memcpy(f->ram + at, code, sizeof(code));
}

static void build_chain(struct fake *f, unsigned chain)
{
	for (unsigned level = 0; level + 1 < f->opts.depth; level++) {
		us_gpa caller = function_at(f, chain, level + 1);
		us_gpa frame = frame_at(f, chain, level) + FRAME_FP;
		build_function(f, caller, function_at(f, chain, level));
		put64(f, frame, US_FAKE_BASE + frame + FRAME);
		put64(f, frame + 8, US_FAKE_BASE + caller + AFTER_CALL);
	}
}

static int build(struct fake *f)
{
	const struct us_fake_opts *o = &f->opts;
	f->n_chain = o->n_stack < MAX_CHAINS ? o->n_stack : MAX_CHAINS;
	us_gpa text_end = function_at(f, f->n_chain, 1);
	f->stacks = (text_end + PAGE - 1) & -PAGE;
	us_gpa end = (frame_at(f, f->n_chain, 0) + PAGE - 1) & -PAGE;
	f->ram = calloc(1, end);
	if (!f->ram)
		return -ENOMEM;
	f->region = (struct us_region){ .size = end, .host = f->ram };
	build_page_tables(f);
	build_leaf(f);
	for (unsigned i = 0; i < f->n_chain; i++)
		build_chain(f, i);
	f->mem.region = &f->region;
	f->mem.n_region = 1;
	us_mem_init(&f->mem);
	return 0;
}

unsigned us_fake_truth(const struct us_backend *b, const struct us_capture *c,
		       us_gva *pc)
{
	const struct fake *f = (const struct fake *)b;
	us_gpa frame = c->regs.fp - US_FAKE_BASE - f->stacks;
	unsigned chain = (unsigned)(frame / FRAME / f->opts.depth);
	pc[0] = c->regs.pc;
	for (unsigned level = 1; level < f->opts.depth; level++)
		pc[level] = US_FAKE_BASE + function_at(f, chain, level) + AFTER_CALL;
	return f->opts.depth;
}

static int fake_probe(const struct us_target *t, struct us_err *why)
{
	if (t->fake)
		return 1;
	us_fail(why, -ENODEV, "it is for tests only");
	return 0;
}

static void fake_close(struct us_backend *b)
{
	struct fake *f = (struct fake *)b;
	if (!f)
		return;
	free(f->ram);
	free(f);
}

static int fake_open(const struct us_target *t, struct us_backend **ret,
		     struct us_err *e)
{
	if (!t->fake)
		return us_fail(e, -ENODEV, "there is no invented guest");
	_cleanup_free_ struct fake *f = calloc(1, sizeof(*f));
	if (!f)
		return us_fail(e, -ENOMEM, "invent a guest: out of memory");
	struct us_fake_opts *o = &f->opts;
	*o = *t->fake;
	o->n_vcpu = o->n_vcpu ? o->n_vcpu : 1;
	o->depth = o->depth ? o->depth : 20;
	o->n_stack = o->n_stack ? o->n_stack : 1;
	if (o->n_vcpu > US_MAX_VCPUS || o->depth > US_FAKE_MAX_DEPTH ||
	    o->n_stack > US_FAKE_MAX_STACKS)
		return us_fail(e, -EINVAL, "invent a guest: more than fake.h allows");
	if (build(f))
		return us_fail(e, -ENOMEM, "invent a guest: out of memory");
	f->base.ops = &us_backend_fake;
	f->base.n_vcpu = o->n_vcpu;
	f->base.caps = US_CAP_FREEZE | US_CAP_MAP;
	f->base.mem = &f->mem;
	snprintf(f->base.how, sizeof(f->base.how), "invented, %u stacks of %u frames",
		 o->n_stack, o->depth);
	*ret = &us_take(f)->base;
	return 0;
}

static void plan_next(struct fake *f)
{
	double u = (double)(us_random_next(&f->random) >> 11) * 0x1p-53;
	f->next_ns = f->start_ns + (uint64_t)(((double)f->n_sample + u) * f->step_ns);
}

static int fake_start(struct us_backend *b, const struct us_schedule *s,
		      struct us_err *e)
{
	struct fake *f = (struct fake *)b;
	f->n_active = 0;
	for (unsigned i = 0; i < b->n_vcpu; i++)
		if (!s->vcpu_mask || s->vcpu_mask >> i & 1)
			f->active[f->n_active++] = (uint16_t)i;
	if (!f->n_active)
		return us_fail(e, -EINVAL, "no vCPU of the invented guest is chosen");
	f->step_ns = s->hz > 0 ? 1e9 / s->hz / f->n_active : 0;
	f->slack_ns = s->hz > FAST_HZ ? RUN_AHEAD_NS : 0;
	f->random = s->seed;
	f->n_sample = 0;
	f->counts = (struct us_backend_counts){ 0 };
	f->start_ns = f->now_ns = us_now_ns();
	plan_next(f);
	if (f->opts.play) {
		f->start_ns = f->now_ns = 0;
		f->random = ~s->seed; /* lateness must not repeat the pacer's jitter */
		us_pacer_init(&f->pacer, s, b->n_vcpu, 1, 0);
	}
	return 0;
}

/* 1 when the next sample is due, else as next(). */
static int wait_for_sample(struct fake *f, uint64_t deadline_ns)
{
	if (!f->step_ns) {
		f->next_ns = f->now_ns = us_now_ns();
		return f->now_ns < deadline_ns;
	}
	uint64_t until = f->next_ns < deadline_ns ? f->next_ns : deadline_ns;
	if (until > f->now_ns + f->slack_ns) {
		f->now_ns = us_now_ns();
		if (until > f->now_ns + f->slack_ns && us_pacer_sleep(until))
			return 0;
	}
	return f->next_ns < deadline_ns;
}

static void sample(struct fake *f, struct us_capture *c, uint32_t stack)
{
	c->t_ns = f->next_ns;
	c->held_ns = 0;
	c->weight = 1;
	if (stack == US_FAKE_HALTED) {
		c->state = US_VCPU_HALTED;
		c->form = US_CAPTURE_NONE;
		return;
	}
	stack %= f->opts.n_stack;
	us_gva fp = US_FAKE_BASE + frame_at(f, stack % f->n_chain, 0) + FRAME_FP;
	us_gva leaf = US_FAKE_BASE + US_FAKE_TEXT;
	c->state = US_VCPU_GUEST;
	c->form = US_CAPTURE_LIVE;
	c->regs = (struct us_regs){
		.pc = leaf + BODY + stack / f->n_chain,
		.sp = fp - FRAME_FP,
		.fp = fp,
		.space = { .root = PML4, .mode = US_PAGING_X86_4 },
		.valid = 1 << US_X86_RBP | 1 << US_X86_RSP,
		.bits = 64,
	};
	c->regs.gpr[US_X86_RBP] = c->regs.fp;
	c->regs.gpr[US_X86_RSP] = c->regs.sp;
}

static uint32_t random_stack(struct fake *f)
{
	uint64_t dice = us_random_next(&f->random);
	return dice % 1000 < f->opts.halted_permille ? US_FAKE_HALTED
						     : (uint32_t)(dice >> 32);
}

static int play_next(struct fake *f, uint64_t deadline_ns, struct us_capture *c)
{
	const struct us_fake_play *play = f->opts.play;
	uint64_t due_ns;
	f->slot = us_pacer_next(&f->pacer, &due_ns);
	if (due_ns >= deadline_ns)
		return 0;
	double u = ((double)(us_random_next(&f->random) >> 11) + 0.5) * 0x1p-53;
	f->next_ns = f->now_ns > due_ns ? f->now_ns : due_ns;
	f->next_ns += (uint64_t)(-log(u) * (double)play->late_ns);
	c->vcpu = (uint16_t)f->slot;
	sample(f, c, play->at(play->ctx, f->slot, f->next_ns));
	f->n_sample++;
	return 1;
}

static void play_release(struct fake *f, struct us_capture *c)
{
	c->held_ns = c->form == US_CAPTURE_NONE ? 0 : f->opts.held_ns;
	f->now_ns = f->next_ns + c->held_ns;
	us_pacer_done(&f->pacer, f->slot, f->now_ns, c->held_ns);
}

static int fake_next(struct us_backend *b, uint64_t deadline_ns, struct us_capture *c)
{
	struct fake *f = (struct fake *)b;
	if (f->opts.end_after && f->n_sample >= f->opts.end_after)
		return -ESRCH;
	if (f->opts.play)
		return play_next(f, deadline_ns, c);
	int r = wait_for_sample(f, deadline_ns);
	if (r <= 0)
		return r;
	c->vcpu = f->active[f->n_sample % f->n_active];
	sample(f, c, random_stack(f));
	f->n_sample++;
	f->counts.due++;
	plan_next(f);
	return 1;
}

static void fake_release(struct us_backend *b, struct us_capture *c)
{
	struct fake *f = (struct fake *)b;
	if (f->opts.play) {
		play_release(f, c);
		return;
	}
	c->held_ns = c->form == US_CAPTURE_NONE ? 0 : f->opts.held_ns;
	f->counts.stolen_ns += c->held_ns;
}

static void fake_counts(const struct us_backend *b, struct us_backend_counts *ret)
{
	const struct fake *f = (const struct fake *)b;
	if (f->opts.play) {
		us_pacer_counts(&f->pacer, f->now_ns, ret);
		return;
	}
	*ret = f->counts;
	ret->vcpu_ns = (f->next_ns - f->start_ns) * f->n_active;
}

static void fake_explain(const struct us_backend *b, int code, struct us_err *e)
{
	const struct fake *f = (const struct fake *)b;
	us_fail(e, code, "the invented guest ended after %llu samples",
		(unsigned long long)f->n_sample);
}

const struct us_backend_ops us_backend_fake = {
	.name = "fake",
	.summary = "an invented guest, for tests",
	.probe = fake_probe,
	.open = fake_open,
	.start = fake_start,
	.close = fake_close,
	.next = fake_next,
	.release = fake_release,
	.counts = fake_counts,
	.explain = fake_explain,
};
