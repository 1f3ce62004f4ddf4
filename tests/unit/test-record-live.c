/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test-record-live.c: from the registers of an invented guest to the file. */
#include "script-backend.h"
#include "store-file.h"

#include "backend/fake/fake.h"
#include "record/record.h"

#define LOOKS 5000
#define DEPTH 12

static struct heard h;
static struct us_backend *inner;
static us_gva truth[LOOKS][US_FAKE_MAX_DEPTH];
static unsigned n_look_called;
static struct us_unwinder *unwinder;

static int inner_next(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	(void)deadline_ns;
	if (s->samples > LOOKS)
		return -ESRCH;
	int r = inner->ops->next(inner, UINT64_MAX, c);
	if (r > 0 && c->form == US_CAPTURE_LIVE)
		assert_int_equal(us_fake_truth(inner, c, truth[s->samples - 1]), DEPTH);
	return r;
}

static void start(struct script *s)
{
	const struct us_fake_opts fake = { .n_stack = 60,
					   .depth = DEPTH,
					   .halted_permille = 100 };
	struct us_target t = { 0 };
	t.fake = &fake;
	const struct us_schedule fast = { .seed = 3 };
	assert_int_equal(us_backend_open(&t, "fake", &inner, NULL, 0, NULL), 0);
	assert_int_equal(inner->ops->start(inner, &fast, NULL), 0);
	assert_int_equal(us_unwinder_new(US_ARCH_X86_64, NULL, NULL, &unwinder), 0);
	s->base.mem = inner->mem;
	s->base.n_vcpu = inner->n_vcpu;
}

static void record(struct script *s, const struct us_record_opts *o)
{
	struct us_record_stats stats;
	enum us_record_end end;
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	assert_int_equal(us_record(&s->base, unwinder, w, o, &stats, &end, NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(hear(fd, &h), 0);
	assert_int_equal(h.n_sample, LOOKS);
	close(fd);
	us_unwinder_free(unwinder);
	us_backend_close(inner);
}

/* It can look at the guest's memory in each capture that has registers. */
static void look(void *ctx, const struct us_live_sample *l)
{
	const struct us_capture *c = l->capture;
	uint8_t byte;
	assert_ptr_equal(ctx, &n_look_called);
	assert_int_equal(c->form, US_CAPTURE_LIVE);
	assert_true(us_paging_read(l->paging, &c->regs.space, c->regs.pc, &byte, 1));
	assert_int_equal(byte, 0x90);
	assert_int_equal(l->stack->pc[0], c->regs.pc);
	n_look_called++;
}

static void stacks_in_the_file_are_those_of_the_guest(void **state)
{
	(void)state;
	struct script s = SCRIPT(inner_next);
	const struct us_record_opts o = { .sample = look, .ctx = &n_look_called };
	us_gva pc[US_MAX_FRAMES];
	unsigned n_halted = 0;
	start(&s);
	record(&s, &o);
	for (unsigned i = 0; i < LOOKS; i++) {
		bool halted = h.sample[i].state == US_VCPU_HALTED;
		size_t n = unfold(&h, h.sample[i].stack, pc);
		n_halted += halted;
		assert_int_equal(n, halted ? 0 : DEPTH);
		assert_memory_equal(pc, truth[i], n * sizeof(*pc));
		assert_int_equal(h.sample[i].end, halted ? US_END_NONE : US_END_ROOT);
	}
	assert_true(n_halted > 0 && n_halted < LOOKS);
	assert_int_equal(n_look_called, LOOKS - n_halted);
}

/* The same as a copied window of the stack, whose length differs from look to look. */
static int window_next(struct script *s, uint64_t deadline_ns, struct us_capture *c)
{
	static uint8_t bytes[2048];
	static struct us_paging paging;
	int r = inner_next(s, deadline_ns, c);
	if (r <= 0 || c->form != US_CAPTURE_LIVE)
		return r;
	us_paging_init(&paging, inner->mem);
	c->form = US_CAPTURE_WINDOW;
	c->window.n_window = 1;
	c->window.window[0].base = c->regs.sp;
	c->window.window[0].bytes = bytes;
	c->window.window[0].len = (uint32_t)(s->samples % 40) * 8;
	assert_true(us_paging_read(&paging, &c->regs.space, c->regs.sp, bytes,
				   c->window.window[0].len));
	return r;
}

/* The code is read from the guest; how far that leads depends on the window's length.
 * What is said must be true, and must not come from beyond the window. */
static void a_window_is_memory(void **state)
{
	(void)state;
	struct script s = SCRIPT(window_next);
	const struct us_record_opts o = { 0 };
	us_gva pc[US_MAX_FRAMES];
	start(&s);
	record(&s, &o);
	for (unsigned i = 0; i < LOOKS; i++) {
		size_t n = unfold(&h, h.sample[i].stack, pc);
		if (h.sample[i].state == US_VCPU_HALTED)
			continue;
		assert_true(n >= 1 && n <= DEPTH);
		assert_memory_equal(pc, truth[i], n * sizeof(*pc));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_in_the_file_are_those_of_the_guest),
		cmocka_unit_test(a_window_is_memory),
	};
	return cmocka_run_group_tests_name("record-live", tests, NULL, NULL);
}
