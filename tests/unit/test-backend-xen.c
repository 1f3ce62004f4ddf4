/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The xen backend on a hypervisor that is made up: samples, pauses, deaths. */
#include "fake-xen.h"
#include "terminal.h"

#include "backend/backend.h"
#include "backend/xen/rest.h"
#include "base/clock.h"
#include "unwind/unwind.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const struct us_backend_ops us_backend_xen;

#define CODE	  0xffffffff80100000ull
#define STACK	  0xffffffff80101000ull
#define LARGE	  0xffffffff80400000ull /* the same code by a 2 MiB page */
#define RET_OUTER (CODE + 0x109)
#define RET_INNER (CODE + 0x209)
#define AT_LEAF	  (CODE + 0x304)

enum frame { PML4, PDPT, PD, PT, TEXT, DATA };

static void put_entry(unsigned table, unsigned index, uint64_t entry)
{
	memcpy(&fake_xen->memory[table][index * 8], &entry, 8);
}

static void put_word(unsigned at, uint64_t word)
{
	memcpy(&fake_xen->memory[DATA][at], &word, 8);
}

/* push rbp; mov rbp, rsp; call to */
static void put_caller(unsigned at, unsigned to)
{
	const uint8_t head[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8 };
	uint8_t *code = &fake_xen->memory[TEXT][at];
	int32_t by = (int32_t)(to - (at + 9));
	memcpy(code, head, sizeof(head));
	memcpy(code + 5, &by, 4);
	memcpy(code + 9, "\x5d\xc3", 2);
}

/* outer calls inner calls leaf, which loops; each vCPU is there. */
static void put_guest(void)
{
	static const uint8_t leaf[] = { 0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfe };
	put_entry(PML4, 511, machine(PDPT) | 7);
	put_entry(PDPT, 510, machine(PD) | 7);
	put_entry(PD, 0, machine(PT) | 7);
	put_entry(PT, 0x100, machine(TEXT) | 5);
	put_entry(PT, 0x101, machine(DATA) | 7);
	put_caller(0x100, 0x200);
	put_caller(0x200, 0x300);
	memcpy(&fake_xen->memory[TEXT][0x300], leaf, sizeof(leaf));
	put_word(0xf00, STACK + 0xf20); /* leaf's frame: inner's rbp, */
	put_word(0xf08, RET_INNER);
	put_word(0xf20, STACK + 0xf40);
	put_word(0xf28, RET_OUTER);
	put_word(0xf40, 0);
	put_word(0xf48, 0);
	for (unsigned i = 0; i < FAKE_VCPUS; i++) {
		struct us_regs *r = &fake_xen->regs[i];
		*r = (struct us_regs){ .pc = AT_LEAF,
				       .sp = STACK + 0xf00,
				       .fp = STACK + 0xf00,
				       .space = { .root = machine(PML4),
						  .mode = US_PAGING_X86_4 },
				       .valid = UINT16_MAX,
				       .bits = 64 };
		r->gpr[US_X86_RSP] = r->sp;
		r->gpr[US_X86_RBP] = r->fp;
	}
}

static struct us_backend *left_open;
static bool is_child; /* of a test */

static struct us_backend *open_started(unsigned n_vcpu, double hz)
{
	static const struct us_xen_guest guest = { .domain = { .id = FAKE_DOMAIN } };
	const struct us_target t = { .xen = &guest, .xen_calls = &fake_calls };
	const struct us_schedule s = { .hz = hz, .seed = 1 };
	struct us_backend *b = NULL;
	struct us_err e = { 0 };
	fake_setup(n_vcpu);
	put_guest();
	if (us_backend_open(&t, "xen", &b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	left_open = b;
	assert_int_equal(b->ops->start(b, &s, &e), 0);
	return b;
}

static void close_it(struct us_backend *b)
{
	left_open = NULL;
	us_backend_close(b);
}

/* A test that failed leaves no watchdog for whom others wait. */
static int leave_nothing(void **state)
{
	(void)state;
	if (is_child)
		_exit(1);
	close_it(left_open);
	return 0;
}
#define TEST(f) cmocka_unit_test_teardown(f, leave_nothing)

static uint64_t soon(void)
{
	return us_now_ns() + 10 * US_NS_PER_SEC;
}

static void take(struct us_backend *b, struct us_capture *c)
{
	assert_int_equal(b->ops->next(b, soon(), c), 1);
}

static void one_pause_serves_all_vcpus(void **state)
{
	(void)state;
	struct us_backend *b = open_started(3, 1000);
	struct us_capture c;
	fake_xen->vcpu[1] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	for (unsigned n = 1; n <= 20; n++) {
		unsigned seen = 0;
		for (unsigned i = 0; i < 3; i++) {
			take(b, &c);
			seen |= 1u << c.vcpu;
			bool idle = c.vcpu == 1;
			assert_int_equal(c.state,
					 idle ? US_VCPU_HALTED : US_VCPU_GUEST);
			assert_int_equal(c.form,
					 idle ? US_CAPTURE_NONE : US_CAPTURE_WINDOW);
			assert_int_equal(atomic_load(&fake_xen->paused), !idle);
			b->ops->release(b, &c);
			assert_true(!idle || !c.held_ns);
		}
		assert_int_equal(seen, 7);
		assert_int_equal(atomic_load(&fake_xen->n_pause), n);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
	}
	struct us_backend_counts counts;
	b->ops->counts(b, &counts);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(counts.due, 60 + counts.late + counts.backed_off);
	assert_int_equal(fake_xen->n_running_regs, 0);
	close_it(b);
	assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
}

static void an_idle_domain_is_not_paused(void **state)
{
	(void)state;
	struct us_backend *b = open_started(2, 2000);
	struct us_capture c;
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	fake_xen->vcpu[1] = (struct us_xen_vcpu){ 0 };
	for (unsigned i = 0; i < 20; i++) {
		take(b, &c);
		assert_int_equal(c.state, c.vcpu ? US_VCPU_OFF : US_VCPU_HALTED);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 0);
	close_it(b);
}

/* Where a hypercall takes longer than the samples are apart: a part of the time at
 * least, but for what is saved up. */
static void dom0_gets_its_part_of_the_time(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 100000);
	struct us_capture c;
	uint64_t worked = 0, rested = 0;
	fake_xen->slow_ns = 2 * US_NS_PER_MS;
	take(b, &c);
	b->ops->release(b, &c);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t end = fake_xen->unpaused_ns;
		take(b, &c);
		rested += fake_xen->domain_ns - end;
		b->ops->release(b, &c);
		worked += fake_xen->unpaused_ns - fake_xen->domain_ns;
	}
	assert_true(rested + US_XEN_REST_MOST_NS >= worked / 8);
	close_it(b);
}

/* The domain ran while the terminal had stopped us. */
static void a_terminals_stop_takes_nothing(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 1000);
	struct us_backend_counts counts;
	struct us_capture c;
	take(b, &c);
	pid_t terminal = terminal_stop();
	b->ops->release(b, &c);
	terminal_continued(terminal);
	b->ops->counts(b, &counts);
	assert_true(counts.stolen_ns < TERMINAL_STOP_NS / 2);
	assert_true(c.held_ns < TERMINAL_STOP_NS / 2);
	close_it(b);
}

/* One that shares our CPU runs between any two samples. */
static void a_domain_on_our_cpu_has_a_rest_after_each(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 1000000);
	struct us_capture c;
	fake_xen->vcpu[0].running = false;
	for (unsigned i = 0; i < 50; i++) {
		fake_xen->vcpu[0].ran_ns += 1000;
		fake_xen->slow_ns = i % 2 ? 0 : US_NS_PER_MS;
		uint64_t begin = fake_xen->domain_ns, end = fake_xen->unpaused_ns;
		take(b, &c);
		if (i)
			assert_true(fake_xen->domain_ns - end >= (end - begin) / 8);
		b->ops->release(b, &c);
	}
	close_it(b);
}

/* Two calls a sample; when it turns idle it is paused once for nothing. */
static void a_sample_is_one_call(void **state)
{
	(void)state;
	if (fake_sample_code)
		skip();
	struct us_backend *b = open_started(1, 5000);
	struct us_capture c;
	for (unsigned i = 0; i < 10; i++) {
		take(b, &c);
		assert_int_equal(c.form, US_CAPTURE_WINDOW);
		assert_int_equal(c.regs.pc, AT_LEAF);
		b->ops->release(b, &c);
		assert_int_equal(fake_xen->n_sample,
				 i + 2); /* the first one took two */
	}
	fake_xen->vcpu[0] = (struct us_xen_vcpu){ .online = true, .blocked = true };
	for (unsigned i = 0; i < 10; i++) {
		take(b, &c);
		assert_int_equal(c.state, US_VCPU_HALTED);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 11);
	assert_int_equal(fake_xen->n_sample, 21);
	close_it(b);
}

/* More vCPUs than one call brings the registers of. */
static void registers_of_all_are_read(void **state)
{
	(void)state;
	struct us_backend *b = open_started(FAKE_VCPUS, 5000);
	struct us_capture c;
	for (unsigned i = 0; i < FAKE_VCPUS; i++)
		fake_xen->regs[i].pc = AT_LEAF + i;
	for (unsigned i = 0; i < 5 * FAKE_VCPUS; i++) {
		take(b, &c);
		assert_int_equal(c.vcpu, i % FAKE_VCPUS);
		assert_int_equal(c.regs.pc, AT_LEAF + c.vcpu);
		b->ops->release(b, &c);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 5);
	assert_int_equal(fake_xen->n_running_regs, 0);
	close_it(b);
}

/* Runnable, and no time since the last look: its CPU was another's. */
static void waiting_for_a_cpu_is_told(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	fake_xen->vcpu[0].running = false;
	fake_xen->vcpu[0].ran_ns = 5;
	take(b, &c);
	assert_int_equal(c.state, US_VCPU_GUEST); /* it has run before we came */
	b->ops->release(b, &c);
	take(b, &c);
	assert_int_equal(c.state, US_VCPU_READY);
	b->ops->release(b, &c);
	close_it(b);
}

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

static void the_end_of_a_domain_is_told(void **state)
{
	(void)state;
	static const char *const why[] = { "it is being destroyed",
					   "it has shut down or crashed", "it is gone",
					   "it is gone" };
	for (int how = 0; how < 4; how++) {
		struct us_backend *b = open_started(1, 2000);
		struct us_capture c;
		struct us_err e = { 0 };
		take(b, &c);
		b->ops->release(b, &c);
		fake_xen->domain.dying = how == 0;
		fake_xen->domain.shut_down = how == 1;
		fake_xen->domain_code = how == 2 ? -ESRCH : 0;
		fake_xen->pause_code = how == 3 ? -ESRCH : 0;
		/* Its vCPU has run since: one more sample may be taken. */
		int r = b->ops->next(b, soon(), &c);
		if (r == 1) {
			b->ops->release(b, &c);
			r = b->ops->next(b, soon(), &c);
		}
		assert_int_equal(r, -ESRCH);
		b->ops->explain(b, -ESRCH, &e);
		assert_non_null(strstr(e.msg, "the end of domain 7"));
		assert_non_null(strstr(e.msg, why[how]));
		assert_int_equal(b->ops->next(b, soon(), &c), -ESRCH);
		close_it(b);
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
		assert_int_equal(fake_xen->n_map, fake_xen->n_unmap);
	}
}

/* Two vCPUs for a while.  The first samples may still be as before. */
static void pass_as(struct us_backend *b, enum us_vcpu_state state)
{
	struct us_capture c;
	for (unsigned i = 0; i < 20; i++) {
		take(b, &c);
		assert_true(i < 4 || c.state == state);
		b->ops->release(b, &c);
	}
}

/* A checkpoint: the domain suspends itself, is saved, and goes on. */
static void a_suspended_domain_goes_on(void **state)
{
	(void)state;
	struct us_backend *b = open_started(2, 2000);
	pass_as(b, US_VCPU_GUEST);
	fake_xen->domain.shut_down = true;
	fake_xen->domain.reason = US_XEN_SUSPENDED;
	pass_as(b, US_VCPU_OFF);
	int n_pause = atomic_load(&fake_xen->n_pause);
	pass_as(b, US_VCPU_OFF);
	assert_int_equal(atomic_load(&fake_xen->n_pause), n_pause);
	fake_xen->domain.shut_down = false;
	pass_as(b, US_VCPU_GUEST);
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
	close_it(b);
}

static void a_paused_domain_stays_paused(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	atomic_store(&fake_xen->paused, 1);
	for (unsigned i = 0; i < 5; i++) {
		take(b, &c);
		assert_int_equal(c.state, US_VCPU_OFF);
		b->ops->release(b, &c);
		assert_int_equal(c.held_ns, 0);
		assert_int_equal(atomic_load(&fake_xen->paused), 1);
	}
	assert_int_equal(atomic_load(&fake_xen->n_pause), 0);
	close_it(b);
}

/* Its owner pauses it while we do: one unpause each. */
static void pauses_nest(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	take(b, &c);
	atomic_fetch_add(&fake_xen->paused, 1);
	b->ops->release(b, &c);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
	close_it(b);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
}

/* Whatever is left of a stop, a new start, or letting go, resumes the domain. */
static void a_new_start_lets_go(void **state)
{
	static const struct us_schedule s = { .hz = 1000, .seed = 1 };
	(void)state;
	for (unsigned n = 1; n <= FAKE_VCPUS; n++)
		for (unsigned taken = 1; taken <= n; taken++) {
			struct us_backend *b = open_started(n, 1000);
			struct us_capture c;
			for (unsigned i = 0; i < taken; i++) {
				take(b, &c);
				b->ops->release(b, &c);
			}
			if (taken % 2)
				us_backend_let_go(b);
			else
				assert_int_equal(b->ops->start(b, &s, NULL), 0);
			assert_int_equal(atomic_load(&fake_xen->paused), 0);
			assert_int_equal(b->ops->start(b, &s, NULL), 0);
			take(b, &c);
			assert_int_equal(c.state, US_VCPU_GUEST);
			b->ops->release(b, &c);
			close_it(b);
			assert_int_equal(atomic_load(&fake_xen->paused), 0);
			assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
		}
}

static void what_is_not_understood_is_refused(void **state)
{
	(void)state;
	static const struct us_xen_guest guest = { .domain = { .id = FAKE_DOMAIN } };
	static const struct us_xen_guest other = { .domain = { .id = 1 } };
	struct us_target t = { .xen = &guest, .xen_calls = &fake_calls };
	struct us_backend *b = NULL;
	struct us_err e;
	fake_setup(1);
	fake_xen->width = 32;
	assert_int_equal(us_backend_open(&t, NULL, &b, NULL, 0, &e), -ENOTSUP);
	assert_non_null(strstr(e.msg, "32-bit"));
	fake_xen->domain.n_vcpu = 0;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENOTSUP);
	fake_xen->domain.n_vcpu = US_MAX_VCPUS + 1;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENOTSUP);
	t.xen = &other;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ESRCH);
	t.xen = NULL;
	assert_int_equal(us_backend_open(&t, "xen", &b, NULL, 0, &e), -ENODEV);
}

/* A close in mid pause, as after an error or a signal, lets it go as well. */
static void close_lets_go(void **state)
{
	(void)state;
	struct us_backend *b = open_started(1, 2000);
	struct us_capture c;
	take(b, &c);
	assert_int_equal(atomic_load(&fake_xen->paused), 1);
	close_it(b);
	assert_int_equal(atomic_load(&fake_xen->paused), 0);
	assert_int_equal(atomic_load(&fake_xen->n_strange), 0);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_nsec = (long)ns };
	nanosleep(&t, NULL);
}

/* Samples as fast as it can until it is killed. */
static _Noreturn void sample_for_ever(bool hold)
{
	is_child = true;
	struct us_backend *b = open_started(2, 100000);
	struct us_capture c;
	for (;;) {
		take(b, &c);
		while (hold)
			pause();
		b->ops->release(b, &c);
	}
}

static void a_kill_lets_the_domain_go(void **state)
{
	(void)state;
	/* Its watchdog then becomes our child: one that still runs would take the next
	 * one's pause for its own. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int i = 0; i < 100; i++) {
		bool hold = i % 2;
		fake_setup(2);
		pid_t child = fork();
		assert_true(child >= 0);
		if (!child)
			sample_for_ever(hold);
		while (!atomic_load(&fake_xen->n_pause) ||
		       (hold && !atomic_load(&fake_xen->paused))) {
			assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
			sleep_ns(US_NS_PER_MS / 5);
		}
		sleep_ns((uint64_t)(i * 7919 % 1000) * 1000);
		kill(child, SIGKILL);
		while (waitpid(-1, NULL, 0) > 0)
			;
		assert_int_equal(atomic_load(&fake_xen->paused), 0);
	}
}

/* Which domain is meant. */
static void domains_are_found_by_number_and_name(void **state)
{
	(void)state;
	struct us_xen_guest v[] = {
		{ .domain = { .id = 3 }, .name = "web" },
		{ .domain = { .id = 5 }, .name = "db" },
		{ .domain = { .id = 8 }, .name = "db" },
		{ .domain = { .id = 9 } },
	};
	struct us_xen_list l = { .v = v, .n = 4 };
	struct us_xen_guest g;
	struct us_err e;
	assert_int_equal(us_xen_select(&l, "web", &g, &e), 0);
	assert_int_equal(g.domain.id, 3);
	assert_int_equal(us_xen_select(&l, "8", &g, &e), 0);
	assert_int_equal(g.domain.id, 8);
	assert_int_equal(us_xen_select(&l, "db", &g, &e), -EEXIST);
	assert_int_equal(us_xen_select(&l, "", &g, &e), -EEXIST);
	assert_int_equal(us_xen_select(&l, "x\033[31m", &g, &e), -ENOENT);
	assert_null(strchr(e.msg, '\033'));
	assert_non_null(strstr(e.msg, "3 (web)"));
	l.n = 1;
	assert_int_equal(us_xen_select(&l, "", &g, &e), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(one_pause_serves_all_vcpus),
		TEST(an_idle_domain_is_not_paused),
		TEST(dom0_gets_its_part_of_the_time),
		TEST(a_terminals_stop_takes_nothing),
		TEST(a_domain_on_our_cpu_has_a_rest_after_each),
		TEST(a_sample_is_one_call),
		TEST(registers_of_all_are_read),
		TEST(waiting_for_a_cpu_is_told),
		TEST(the_page_behind_a_stack_is_left_alone),
		TEST(a_trusted_copy_lets_the_domain_go_on),
		TEST(a_stack_elsewhere_is_read_in_the_pause),
		TEST(machine_frames_above_4_gib_lead_to_the_stack),
		TEST(large_pages_are_walked),
		TEST(bad_frame_pointers_end_the_stack),
		TEST(registers_that_cannot_be_read_are_no_loss),
		TEST(the_end_of_a_domain_is_told),
		TEST(a_suspended_domain_goes_on),
		TEST(a_paused_domain_stays_paused),
		TEST(pauses_nest),
		TEST(close_lets_go),
		TEST(a_new_start_lets_go),
		TEST(what_is_not_understood_is_refused),
		TEST(a_kill_lets_the_domain_go),
		TEST(domains_are_found_by_number_and_name),
	};
	/* A Xen, or its policy, that refuses many calls in one. */
	if (argc > 1 && !strcmp(argv[1], "refuses"))
		fake_sample_code = -EPERM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
