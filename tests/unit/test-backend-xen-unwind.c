/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks by the xen backend, on a hypervisor that is made up: read in the pause or from
 * a copy, by small and large pages. */
#include "xen-guest.h"

#include "unwind/unwind.h"

static void unwind(struct us_backend *b, struct us_stack *ret)
{
	struct us_paging paging;
	struct us_unwinder *u;
	struct us_capture c;
	us_paging_init(&paging, b->mem);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), 0);
	take(b, &c);
	us_unwind(u, &paging, &c.regs, ret);
	b->ops->release(b, &c);
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	us_unwinder_free(u);
}

/* Unwound as the recorder does it. */
static void take_stack(struct us_backend *b, struct us_unwinder *u,
		       struct us_capture *c, struct us_stack *ret)
{
	struct us_paging paging;
	us_paging_init(&paging, b->mem);
	take(b, c);
	assert_true(us_capture_begin(c, &paging));
	us_unwind(u, &paging, &c->regs, ret);
	us_capture_judge(c, ret);
}

static bool stack_is_whole(const struct us_stack *s)
{
	return s->n == 3 && s->pc[1] == RET_INNER && s->pc[2] == RET_OUTER;
}

/* Where a stack ends at the end of a page, the next one is no part of it. */
static void the_page_behind_a_stack_is_left_alone(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 20000);
	struct us_unwinder *u;
	struct us_capture c;
	struct us_stack s;
	put_entry(PT, 0x102, machine(DATA + 1) | 7);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), 0);
	for (unsigned i = 0; i < 300; i++) {
		take_stack(b, u, &c, &s);
		assert_true(stack_is_whole(&s));
		uint32_t len = c.window.window[0].len;
		assert_true(i > 130 ? len == 0x100 : len >= 0x100);
		b->ops->release(b, &c);
	}
	assert_false(c.window.held);
	close_it(b);
	us_unwinder_free(u);
}

/* When the copies have sufficed so often, the domain runs while they are unwound. */
static void a_trusted_copy_lets_the_domain_go_on(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 20000);
	struct us_unwinder *u;
	struct us_capture c;
	struct us_stack s;
	unsigned n = 0;
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), 0);
	for (bool ran = false; !ran; n++) {
		take_stack(b, u, &c, &s);
		assert_true(stack_is_whole(&s));
		assert_true(n < 1000);
		ran = !atomic_load(&fake_xen->paused);
		assert_int_equal(ran, !c.window.held);
		b->ops->release(b, &c);
		assert_true(c.held_ns);
	}
	assert_true(n > 200);
	/* It overwrites its stack at once: the copy is what counts. */
	take(b, &c);
	uint64_t zero[20] = { 0 };
	uint8_t *top = &fake_xen->memory[DATA][0xf00];
	uint8_t before[sizeof(zero)];
	memcpy(before, top, sizeof(before));
	memcpy(top, zero, sizeof(zero));
	struct us_paging paging;
	us_paging_init(&paging, b->mem);
	assert_true(us_capture_begin(&c, &paging));
	us_unwind(u, &paging, &c.regs, &s);
	assert_true(stack_is_whole(&s));
	b->ops->release(b, &c);
	memcpy(top, before, sizeof(before));
	assert_int_equal(atomic_load(&fake_xen->n_pause), n + 1);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
	us_unwinder_free(u);
	close_it(b);
}

/* Another stack, which no copy has: one is cut, and then the domain stays paused. */
static void a_stack_elsewhere_is_read_in_the_pause(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 20000);
	struct us_unwinder *u;
	struct us_capture c;
	struct us_stack s;
	unsigned n_cut = 0, n_held = 0;
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &u), 0);
	for (unsigned i = 0; i < 300; i++) {
		take_stack(b, u, &c, &s);
		b->ops->release(b, &c);
	}
	assert_false(c.window.held);
	/* The leaf has a stack of its own, in the page of the code. */
	uint64_t frame[2] = { STACK + 0xf20, RET_INNER };
	memcpy(&fake_xen->memory[TEXT][0xf00], frame, sizeof(frame));
	struct us_regs *r = &fake_xen->regs[0];
	r->sp = r->fp = r->gpr[US_X86_RSP] = r->gpr[US_X86_RBP] = CODE + 0xf00;
	for (unsigned i = 0; i < 300; i++) {
		take_stack(b, u, &c, &s);
		n_cut += !stack_is_whole(&s);
		n_held += c.window.held;
		b->ops->release(b, &c);
	}
	print_message("# %u cut, %u in the pause\n", n_cut, n_held);
	assert_in_range(n_cut, 0, 1);
	assert_true(n_held >= 299);
	us_unwinder_free(u);
	close_it(b);
}

static void machine_frames_above_4_gib_lead_to_the_stack(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_stack s;
	unwind(b, &s);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.pc[0], AT_LEAF);
	assert_int_equal(s.pc[1], RET_INNER);
	assert_int_equal(s.pc[2], RET_OUTER);
	unsigned maps = fake_xen->n_map;
	unwind(b, &s);
	assert_int_equal(fake_xen->n_map, maps);
	close_it(b);
}

static void large_pages_are_walked(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_stack s;
	/* One entry of 2 MiB whose start is not the domain's, but the code in it is. */
	uint64_t start = machine(TEXT) & ~0x1fffffull;
	put_entry(PD, 2, start | 0x85);
	fake_xen->regs[0].pc = LARGE + (machine(TEXT) - start) + 0x304;
	unwind(b, &s);
	assert_true(s.n >= 1);
	uint8_t code[2];
	struct us_paging paging;
	us_paging_init(&paging, b->mem);
	assert_true(
		us_paging_read(&paging, &fake_xen->regs[0].space, s.pc[0], code, 2));
	assert_memory_equal(code, "\xeb\xfe", 2);
	close_it(b);
}

/* What uniprof loses or never ends: each gives a sample that says how it ended. */
static void bad_frame_pointers_end_the_stack(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_stack s;
	put_word(0xf20, STACK + 0xf00); /* the chain loops */
	put_word(0xf40, STACK + 0xf00);
	unwind(b, &s);
	assert_true(s.n >= 2 && s.n <= US_MAX_FRAMES);
	fake_xen->regs[0].fp = fake_xen->regs[0].gpr[US_X86_RBP] = 0;
	unwind(b, &s);
	assert_true(s.n >= 1);
	assert_int_equal(s.pc[0], AT_LEAF);
	fake_xen->regs[0].space.root = 0x1000; /* no page of the domain */
	unwind(b, &s);
	assert_int_equal(s.n, 1);
	assert_true(s.end == US_END_FAULT || s.end == US_END_NO_RULE);
	close_it(b);
}

static void registers_that_cannot_be_read_are_no_loss(void **state)
{
	(void)state;
	struct us_backend *b = open_started(2, 2000);
	struct us_capture c;
	fake_xen->regs_code[0] = -ENODATA;
	fake_xen->regs_code[1] = -EINVAL;
	for (unsigned i = 0; i < 2; i++) {
		take(b, &c);
		assert_int_equal(c.form, US_CAPTURE_NONE);
		assert_int_equal(c.state, c.vcpu ? US_VCPU_GUEST : US_VCPU_OFF);
		b->ops->release(b, &c);
	}
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	close_it(b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(the_page_behind_a_stack_is_left_alone),
		TEST(a_trusted_copy_lets_the_domain_go_on),
		TEST(a_stack_elsewhere_is_read_in_the_pause),
		TEST(machine_frames_above_4_gib_lead_to_the_stack),
		TEST(large_pages_are_walked),
		TEST(bad_frame_pointers_end_the_stack),
		TEST(registers_that_cannot_be_read_are_no_loss),
	};
	/* A Xen, or its policy, that refuses many calls in one. */
	if (argc > 1 && !strcmp(argv[1], "refuses"))
		fake_sample_code = -EPERM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
