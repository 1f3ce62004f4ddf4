/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack that has its outer part from the one before is what it is without that. */
#include "unit.h"

#include "unwind/site.h"
#include "unwind/unwind.h"

#define RAM_SIZE  0x20000
#define CODE	  0x1000
#define APART	  0x100
#define FUNCTIONS 6
#define TOP	  0x1f000
#define MOST	  60
#define FRAME	  0x30 /* bytes, with the return address */

static uint8_t ram[RAM_SIZE];
static uint8_t copied[2][0x4000];
static struct us_region region = { .size = RAM_SIZE, .host = ram };
static struct us_mem mem;
static us_gva starts[FUNCTIONS];
static const struct us_code_map map = { .start = starts, .n = FUNCTIONS };
static uint64_t rng = 88172645463325252ull;

static unsigned random_below(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 33) % n;
}

/* Each calls the next one, and itself. */
#define RETURN(f, own) (CODE + (f)*APART + ((own) ? 19 : 14))
static void put_code(void)
{
	static const uint8_t head[] = { 0x55, 0x48, 0x89, 0xe5, 0x53,
					0x48, 0x83, 0xec, 0x18, 0xe8 };
	static const uint8_t tail[] = { 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3 };
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uint8_t *at = ram + CODE + i * APART;
		int32_t next = (int32_t)((i + 1) % FUNCTIONS - i) * APART - 14;
		int32_t own = -19;
		memcpy(at, head, sizeof(head));
		memcpy(at + 10, &next, 4);
		at[14] = 0xe8;
		memcpy(at + 15, &own, 4);
		memcpy(at + 19, tail, sizeof(tail));
		starts[i] = CODE + i * APART;
	}
}

/* The frames from the outermost on: is each called by its own function? */
static bool own[MOST];
static unsigned depth;

static void put(us_gva at, uint64_t word)
{
	memcpy(ram + at, &word, 8);
}

static struct us_regs put_stack(us_gva top)
{
	unsigned f = 0;
	us_gva fp = top;
	put(fp, 0);
	put(fp + 8, 0);
	for (unsigned i = 0; i < depth; i++) {
		us_gva callee = fp - FRAME;
		put(callee, fp);
		put(callee + 8, RETURN(f, own[i]));
		f = own[i] ? f : (f + 1) % FUNCTIONS;
		fp = callee;
	}
	struct us_regs r = { .pc = CODE + f * APART + 9,
			     .sp = fp - 0x20,
			     .fp = fp,
			     .bits = 64,
			     .valid = UINT16_MAX,
			     .space.mode = US_PAGING_OFF };
	/* At the first instruction rbp is the caller's. */
	if (depth && !random_below(3)) {
		r.pc = CODE + f * APART;
		r.sp = fp + 8;
		r.fp = fp + FRAME;
	}
	r.gpr[US_X86_RSP] = r.sp;
	r.gpr[US_X86_RBP] = r.fp;
	r.gpr[US_X86_RBX] = random_below(2);
	return r;
}

static void change_depth(void)
{
	unsigned less = random_below(random_below(4) ? 4 : MOST);
	depth = depth > less ? depth - less : 0;
	for (unsigned more = random_below(random_below(4) ? 4 : MOST);
	     more && depth < MOST; more--)
		own[depth++] = random_below(3) == 0;
}

struct side {
	struct us_unwinder *u;
	struct us_paging paging;
	struct us_stack_copy copy;
	struct us_stack out;
};

/* The second side has two windows: then nothing is remembered. */
static void unwind(struct side *s, const struct us_regs *r, uint32_t len, unsigned n)
{
	memcpy(copied[n - 1], ram + r->sp, len);
	s->copy = (struct us_stack_copy){ .n_window = n };
	s->copy.window[0] = (struct us_stack_window){ .base = r->sp,
						      .len = len,
						      .bytes = copied[n - 1] };
	us_paging_new_sample(&s->paging);
	s->paging.stack = &s->copy;
	us_unwind(s->u, &s->paging, r, &s->out);
}

static void compare(const struct side *a, const struct side *b)
{
	assert_int_equal(a->out.n, b->out.n);
	assert_int_equal(a->out.end, b->out.end);
	assert_memory_equal(a->out.pc, b->out.pc, a->out.n * sizeof(a->out.pc[0]));
	assert_memory_equal(a->out.how, b->out.how, a->out.n);
	assert_memory_equal(a->out.flags, b->out.flags, a->out.n);
	assert_int_equal(a->copy.missed, b->copy.missed);
	assert_int_equal(a->copy.missed_at, b->copy.missed_at);
	assert_true(a->copy.deepest >= b->copy.deepest);
}

static void open_side(struct side *s)
{
	us_paging_init(&s->paging, &mem);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, &map, NULL, &s->u), 0);
}

/* lies: one in so many words of the stack. */
static void run(unsigned n, unsigned lies, bool whole)
{
	static struct side a, b;
	unsigned n_frames = 0;
	put_code();
	mem = (struct us_mem){ .region = &region, .n_region = 1 };
	us_mem_init(&mem);
	open_side(&a);
	open_side(&b);
	for (unsigned i = 0; i < n; i++) {
		if (random_below(3))
			change_depth();
		struct us_regs r = put_stack(TOP - 16 * random_below(2));
		unsigned words = (unsigned)(TOP + 16 - r.sp) / 8;
		for (unsigned k = 0; lies && k < 3; k++)
			if (!random_below(lies))
				put(r.sp + 8 * random_below(words),
				    random_below(2) ? RETURN(random_below(FUNCTIONS), 0)
						    : TOP - 8 * random_below(400));
		/* What is not part of any frame's linkage. */
		for (unsigned k = random_below(4); depth && k--;)
			put(r.fp - 0x20 + FRAME * random_below(depth) +
				    8 * random_below(3),
			    random_below(1000));
		uint32_t len = (uint32_t)(TOP + 16 - r.sp);
		if (!whole && !random_below(3))
			len = random_below(len) & ~7u;
		unwind(&a, &r, len, 1);
		unwind(&b, &r, len, 2);
		compare(&a, &b);
		n_frames += a.out.n;
	}
	print_message("# %u stacks, %u frames\n", n, n_frames);
	us_unwinder_free(a.u);
	us_unwinder_free(b.u);
}

static void stacks_that_grow_and_shrink(void **state)
{
	(void)state;
	run(20000, 0, true);
}

static void copies_that_are_cut(void **state)
{
	(void)state;
	run(20000, 0, false);
}

static void stacks_that_lie(void **state)
{
	(void)state;
	run(20000, 2, true);
	run(20000, 2, false);
}

/* A step that is known goes on for some samples only. */
static void code_that_changes_is_seen(void **state)
{
	static struct side a, b;
	struct us_regs r;
	(void)state;
	put_code();
	mem = (struct us_mem){ .region = &region, .n_region = 1 };
	us_mem_init(&mem);
	open_side(&a);
	open_side(&b);
	depth = 5;
	memset(own, 0, sizeof(own));
	do
		r = put_stack(TOP);
	while (r.pc != CODE + 5 * APART + 9);
	uint32_t len = (uint32_t)(TOP + 16 - r.sp);
	for (unsigned i = 0; i < 5 * US_SITE_TRUST; i++) {
		r.gpr[US_X86_RBX] = i; /* it runs */
		unwind(&a, &r, len, 1);
		unwind(&b, &r, len, 2);
		compare(&a, &b);
		assert_int_equal(a.out.n, 6);
	}
	/* The CALL to the innermost function is gone. */
	memset(ram + RETURN(4, false) - 5, 0x90, 5);
	for (unsigned i = 0; i < 2 * US_SITE_TRUST; i++) {
		unwind(&a, &r, len, 1);
		unwind(&b, &r, len, 2);
	}
	compare(&a, &b);
	assert_true(a.out.n < 6 || a.out.pc[1] != RETURN(4, false));
	us_unwinder_free(a.u);
	us_unwinder_free(b.u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_grow_and_shrink),
		cmocka_unit_test(copies_that_are_cut),
		cmocka_unit_test(stacks_that_lie),
		cmocka_unit_test(code_that_changes_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
