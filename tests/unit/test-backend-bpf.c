/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bpf backend on a VMM that is no QEMU; skipped where it may not sample. */
#include "backend/backend.h"
#include "backend/bpf/bpf.h"
#include "backend/bpf/sample_queue.h"
#include "backend/bpf/vcpu_clock.h"
#include "base/clock.h"

#include "bpf-run.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* The next sample that has registers; it is not released. */
static void next_look(struct run *r, struct us_capture *c)
{
	uint64_t limit = us_now_ns() + 20 * SECOND;
	while (us_now_ns() < limit) {
		int got = r->b->ops->next(r->b, limit, c);
		assert_true(got >= 0);
		if (got && c->form == US_CAPTURE_WINDOW)
			return;
		if (got)
			r->b->ops->release(r->b, c);
	}
	fail_msg("no sample in 20 s");
}

/* One that has some of the stack: a page that was never touched is not there. */
static void next_stack(struct run *r, struct us_capture *c)
{
	next_look(r, c);
	while (!c->window.n_window) {
		r->b->ops->release(r->b, c);
		next_look(r, c);
	}
}

static void one_layout(struct mini_layout l)
{
	static struct us_capture c;
	struct run r;
	unsigned pushed = 0;
	char slots[32];
	begin_as(&r, l, pushes, sizeof(pushes), 2000);
	snprintf(slots, sizeof(slots), " %u memory slots", l.n_slot);
	assert_non_null(strstr(r.b->how, slots));
	for (unsigned i = 0; i < 300; i++) {
		uint8_t bytes[4], code;
		next_stack(&r, &c);
		assert_int_equal(c.regs.bits, 16);
		assert_in_range(c.regs.pc, MINI_CODE, MINI_CODE + sizeof(pushes));
		assert_int_equal(c.window.window[0].base, c.regs.sp);
		assert_true(us_mem_read(r.b->mem, c.regs.pc, &code, 1));
		assert_int_equal(code, pushes[c.regs.pc - MINI_CODE]);
		if (c.regs.sp == MINI_STACK - sizeof(stack_top)) {
			assert_true(us_stack_copy_read(&c.window, c.regs.sp, bytes, 4));
			assert_memory_equal(bytes, stack_top, sizeof(bytes));
			pushed++;
		}
		r.b->ops->release(r.b, &c);
	}
	assert_true(pushed > 290);
	assert_true(r.vmm.shared->exits > 0);
	assert_int_equal(r.vmm.shared->interrupted, 0);
	assert_int_equal(r.vmm.shared->signals, 0);
	end(&r);
}

static void any_layout_of_memory_is_read(void **state)
{
	(void)state;
	must_be_possible();
	one_layout((struct mini_layout){ .n_slot = 1 });
	/* QEMU 8.1 and later have such a file of each vCPU: it is no vCPU. */
	one_layout((struct mini_layout){ .n_slot = 2, .statistics = true });
	one_layout((struct mini_layout){ .n_slot = 4, .filter = true });
	one_layout((struct mini_layout){ .n_slot = 2, .memfd = true });
}

static void put64(uint8_t *at, uint64_t v)
{
	memcpy(at, &v, sizeof(v));
}

/* By a plan, and what is not there is not told. */
static void what_a_pointer_leads_to_is_copied(void **state)
{
	static struct us_capture c;
	static uint8_t code[0x1020];
	static const struct us_pointed_plan plan = {
		.number = 5,
		.n = 9,
		.part = { { .offset = 0 },
			  { .offset = 8 },
			  { .offset = 2, .of = 2 },
			  { .offset = 0x10 }, /* leads nowhere */
			  { .of = 4 },
			  { .offset = 0x18 }, /* to where nothing is */
			  { .of = 6 },
			  { .offset = 0xdf9 }, /* over the end of a page */
			  { .of = US_POINTED_NOT } },
	};
	struct run r;
	(void)state;
	must_be_possible();
	memcpy(code, pushes, sizeof(pushes));
	put64(code + 0x101, MINI_CODE + 0x200);
	put64(code + 0x200, 0x1122334455667788);
	put64(code + 0x208, MINI_CODE + 0x300);
	put64(code + 0x218, 1ULL << 40);
	memcpy(code + 0x302, "23456789abcdefgh", 16);
	memcpy(code + 0xff9, "over the border.", 16);
	begin_as(&r, (struct mini_layout){ 0 }, code, sizeof(code), 2000);
	next_stack(&r, &c);
	assert_null(c.pointed);
	r.b->ops->point(r.b, 0, MINI_CODE + 0x101, &plan);
	for (unsigned n = 0; n < 20000 && !c.pointed; n++) {
		r.b->ops->release(r.b, &c);
		next_look(&r, &c);
	}
	assert_non_null(c.pointed);
	assert_int_equal(c.pointed->plan, 5);
	assert_int_equal(c.pointed->at, MINI_CODE + 0x200);
	assert_int_equal(c.pointed->has, 1 | 2 | 4 | 8 | 32 | 128);
	assert_memory_equal(c.pointed->part[0], code + 0x200, 16);
	assert_memory_equal(c.pointed->part[2], "23456789abcdefgh", 16);
	assert_memory_equal(c.pointed->part[7], "over the border.", 16);
	r.b->ops->point(r.b, 0, 1ULL << 40, &plan);
	for (unsigned n = 0; n < 20000 && c.pointed; n++) {
		r.b->ops->release(r.b, &c);
		next_look(&r, &c);
	}
	assert_null(c.pointed);
	end(&r);
}

/* What the guest left for, and where that was dealt with. */
static void exits_are_told(void **state)
{
	static struct us_capture c;
	struct run r;
	unsigned vmm = 0;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ 0 }, outs, sizeof(outs), 4000);
	for (unsigned i = 0; i < 4000 && vmm < 20; i++) {
		next_look(&r, &c);
		assert_int_equal(c.exit != 0, c.state == US_VCPU_EXIT);
		vmm += c.exit == us_vm_exit_code(US_EXIT_PORT_IO, US_PLACE_VMM);
		r.b->ops->release(r.b, &c);
	}
	assert_int_equal(vmm, 20);
	assert_int_equal(us_exit_of_svm(0x60), US_EXIT_INTERRUPT);
	assert_int_equal(us_exit_of_svm(0x7b), US_EXIT_PORT_IO);
	assert_int_equal(us_exit_of_svm(0x7c), US_EXIT_MSR);
	assert_int_equal(us_exit_of_svm(0x78), US_EXIT_HALT);
	assert_int_equal(us_exit_of_svm(0x400), US_EXIT_MEMORY);
	assert_int_equal(us_exit_of_svm(0x402), US_EXIT_OTHER);
	assert_int_equal(us_exit_of_svm(0xffffffff), US_EXIT_OTHER);
	assert_int_equal(us_exit_of_kvm(0xffffffff), US_EXIT_OTHER);
	end(&r);
}

/* A tick in the VMM, or in what it called of the host's kernel. */
static void must_be_host(const struct us_host_copy *h, bool in_vmm)
{
	assert_int_equal(h->n_kernel == 0, in_vmm);
	for (unsigned i = 0; i < h->n_kernel; i++)
		assert_true(h->kernel[i] >> 63);
	assert_false(h->regs.pc >> 47);
	assert_int_equal(h->regs.bits, 64);
	assert_int_equal(h->regs.space.mode, US_PAGING_OFF);
	assert_int_equal(h->stack.n_window, 1);
	assert_int_equal(h->stack.window[0].base, h->regs.sp);
	assert_true(h->stack.window[0].len > 0);
}

/* What a copy of a stack says is what the process has there: it is this program. */
static void must_be_stack_of(const struct mini_vmm *vmm, const struct us_host_copy *h)
{
	char path[64];
	uint64_t there = 0, copied = 0;
	us_hva top = h->stack.window[0].base + h->stack.window[0].len - 8;
	snprintf(path, sizeof(path), "/proc/%d/mem", vmm->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &there, 8, (off_t)top), 8);
	close(fd);
	memcpy(&copied, h->stack.window[0].bytes + h->stack.window[0].len - 8, 8);
	assert_int_equal(copied, there); /* of main(), which is not back yet */
}

static void the_host_is_told_if_asked(void **state)
{
	static struct us_capture c;
	(void)state;
	must_be_possible();
	for (int asked = 0; asked < 2; asked++) {
		struct run r;
		unsigned vmm = 0;
		begin_at(&r, (struct mini_layout){ 0 }, outs, sizeof(outs),
			 (struct us_schedule){ .hz = 4000, .host = asked });
		for (unsigned i = 0; i < 8000 && vmm < 20; i++) {
			next_look(&r, &c);
			bool exit = c.state == US_VCPU_EXIT;
			assert_int_equal(c.host != NULL, asked && exit);
			bool in_vmm = exit && (c.exit & 0xff) == US_PLACE_VMM;
			if (c.host)
				must_be_host(c.host, in_vmm);
			if (c.host && in_vmm)
				must_be_stack_of(&r.vmm, c.host);
			vmm += in_vmm;
			r.b->ops->release(r.b, &c);
		}
		assert_int_equal(vmm, 20);
		end(&r);
	}
}

static void memory_that_moves_is_found_again(void **state)
{
	static struct us_capture c;
	struct run r;
	uint8_t byte = 0;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ .n_slot = 4 }, pushes, sizeof(pushes), 2000);
	next_stack(&r, &c);
	r.b->ops->release(r.b, &c);
	r.vmm.shared->move = 1;
	for (unsigned i = 0; i < 20000 && byte != MINI_MOVED; i++) {
		next_stack(&r, &c);
		us_stack_copy_read(&c.window, c.regs.sp, &byte, 1);
		assert_true(byte == stack_top[0] || byte == MINI_MOVED);
		r.b->ops->release(r.b, &c);
	}
	assert_int_equal(byte, MINI_MOVED);
	end(&r);
}

static void the_end_of_the_vmm_is_noticed(void **state)
{
	static struct us_capture c;
	struct run r;
	struct us_err e;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ 0 }, pushes, sizeof(pushes), 1000);
	next_stack(&r, &c);
	r.b->ops->release(r.b, &c);
	kill(r.vmm.pid, SIGKILL);
	uint64_t limit = us_now_ns() + 20 * SECOND;
	int got = 0;
	while (got >= 0 && us_now_ns() < limit) {
		got = r.b->ops->next(r.b, limit, &c);
		if (got == 1)
			r.b->ops->release(r.b, &c);
	}
	assert_int_equal(got, -ESRCH);
	r.b->ops->explain(r.b, got, &e);
	assert_non_null(strstr(e.msg, "ended"));
	end(&r);
}

/* --- several vCPUs and guests --- */

/* The next sample at this vCPU, whose stack is then what its code has pushed there. */
static void must_see(struct run *r, unsigned vcpu)
{
	static struct us_capture c;
	us_gva top = MINI_STACK - vcpu * 0x100;
	uint64_t limit = us_now_ns() + 30 * SECOND;
	bool seen = false;
	while (!seen && us_now_ns() < limit) {
		next_look(r, &c);
		seen = c.vcpu == vcpu;
		if (seen) {
			assert_in_range(c.regs.pc, MINI_CODE,
					MINI_CODE + sizeof(pushes));
			assert_in_range(c.regs.sp, top - sizeof(stack_top), top);
		}
		r->b->ops->release(r->b, &c);
	}
	assert_true(seen);
}

static void second_becomes(struct run *r, int state)
{
	static struct us_capture c;
	uint64_t limit = us_now_ns() + 20 * SECOND;
	while (r->vmm.shared->second != state && us_now_ns() < limit) {
		next_look(r, &c); /* all the while it is observed */
		r->b->ops->release(r->b, &c);
	}
	assert_int_equal(r->vmm.shared->second, state);
}

static void vcpus_come_and_go(void **state)
{
	struct run r;
	struct us_backend_counts k;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ 0 }, pushes, sizeof(pushes), 500);
	uint64_t began = us_now_ns();
	must_see(&r, 0);
	assert_int_equal(r.b->n_vcpu, 1);
	for (unsigned i = 0; i < 2; i++) {
		r.vmm.shared->second = MINI_PLUG;
		second_becomes(&r, MINI_RUNS);
		must_see(&r, 1);
		assert_int_equal(r.b->n_vcpu, 2);
		r.vmm.shared->second = MINI_UNPLUG;
		second_becomes(&r, MINI_NONE);
		must_see(&r, 0);
	}
	uint64_t so_long = us_now_ns() - began;
	r.b->ops->counts(r.b, &k);
	assert_true(k.vcpu_ns > so_long);
	assert_int_equal(r.vmm.shared->interrupted, 0);
	end(&r);
}

/* Its thread was there before the threads were counted. */
static void a_vcpu_comes_before_it_is_attached_to(void **state)
{
	struct run r;
	struct us_err e;
	(void)state;
	must_be_possible();
	mini_start_as(&r.vmm, (struct mini_layout){ 0 }, pushes, sizeof(pushes));
	if (us_guest_inspect(r.vmm.pid, &r.guest, &e))
		fail_msg("%s", e.msg);
	r.vmm.shared->second = MINI_PLUG;
	uint64_t limit = us_now_ns() + 30 * SECOND;
	while (r.vmm.shared->second != MINI_RUNS && us_now_ns() < limit)
		usleep(1000);
	assert_int_equal(r.vmm.shared->second, MINI_RUNS);
	const struct us_target t = { .guest = &r.guest };
	if (us_backend_open(&t, "bpf", &r.b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	const struct us_schedule s = { .hz = 500, .seed = 1 };
	assert_int_equal(r.b->ops->start(r.b, &s, &e), 0);
	must_see(&r, 1);
	assert_int_equal(r.b->n_vcpu, 2);
	end(&r);
}

/* A vCPU of another machine has other memory: what is known of the first is wrong of
 * it. */
static void a_vcpu_of_another_machine_is_left_out(void **state)
{
	static struct us_capture c;
	struct run r;
	struct us_err e;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ .stranger = true }, pushes, sizeof(pushes),
		 500);
	must_see(&r, 0);
	r.vmm.shared->second = MINI_PLUG;
	second_becomes(&r, MINI_RUNS);
	for (uint64_t end = us_now_ns() + 5 * SECOND; us_now_ns() < end;)
		if (r.b->ops->next(r.b, end, &c) == 1) {
			assert_int_equal(c.vcpu, 0);
			r.b->ops->release(r.b, &c);
		}
	assert_int_equal(r.b->n_vcpu, 1);
	us_backend_close(r.b);
	r.b = NULL;
	assert_int_equal(us_guest_inspect(r.vmm.pid, &r.guest, &e), 0);
	assert_int_equal(r.guest.n_vcpu, 2);
	const struct us_target t = { .guest = &r.guest };
	assert_true(us_backend_open(&t, "bpf", &r.b, NULL, 0, &e) < 0);
	assert_non_null(strstr(e.msg, "more than one machine"));
	end(&r);
}

/* A VMM may have more vCPUs than it has had work for: any of its threads runs one. */
static void a_vcpu_may_run_later(void **state)
{
	static struct us_capture c;
	struct run r;
	bool off = false;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ .second = true }, pushes, sizeof(pushes),
		 500);
	assert_int_equal(r.b->n_vcpu, 2);
	must_see(&r, 0);
	for (uint64_t end = us_now_ns() + 20 * SECOND; !off && us_now_ns() < end;) {
		if (r.b->ops->next(r.b, end, &c) != 1)
			continue;
		off = c.vcpu == 1;
		assert_true(!off || c.state == US_VCPU_OFF);
		r.b->ops->release(r.b, &c);
	}
	assert_true(off);
	r.vmm.shared->second = MINI_PLUG;
	second_becomes(&r, MINI_RUNS);
	must_see(&r, 1);
	must_see(&r, 0);
	assert_int_equal(r.b->n_vcpu, 2);
	end(&r);
}

static void a_vcpu_may_go_to_another_thread(void **state)
{
	static struct us_capture c;
	struct run r;
	struct us_backend_counts k;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ 0 }, pushes, sizeof(pushes), 500);
	must_see(&r, 0);
	r.vmm.shared->hand_over = 1;
	uint64_t limit = us_now_ns() + 20 * SECOND;
	while (r.vmm.shared->hand_over != 2 && us_now_ns() < limit)
		if (r.b->ops->next(r.b, us_now_ns() + SECOND / 10, &c) == 1)
			r.b->ops->release(r.b, &c);
	assert_int_equal(r.vmm.shared->hand_over, 2);
	uint64_t then = us_now_ns();
	do {
		next_look(&r, &c);
		r.b->ops->release(r.b, &c);
	} while (c.t_ns < then);
	must_see(&r, 0);
	r.b->ops->counts(r.b, &k);
	assert_true(k.vcpu_ns > 0);
	assert_int_equal(r.b->n_vcpu, 1);
	end(&r);
}

static void change_thread(struct run *r)
{
	static struct us_capture c;
	r->vmm.shared->change = 1;
	uint64_t limit = us_now_ns() + 20 * SECOND;
	while (r->vmm.shared->change == 1 && us_now_ns() < limit)
		if (r->b->ops->next(r->b, us_now_ns() + SECOND / 10, &c) == 1)
			r->b->ops->release(r->b, &c);
	assert_int_equal(r->vmm.shared->change, 2);
}

/* The thread of the only vCPU ends, and another one goes on with the vCPU. */
static void a_thread_may_follow_another(void **state)
{
	static struct us_capture c;
	struct run r;
	(void)state;
	must_be_possible();
	begin_as(&r, (struct mini_layout){ .threads = true }, pushes, sizeof(pushes),
		 500);
	r.vmm.shared->gap_ms = 100;
	for (unsigned i = 0; i < 3; i++) {
		change_thread(&r);
		uint64_t then = us_now_ns() + SECOND / 10;
		do { /* not paused, nor off */
			int got = r.b->ops->next(r.b, us_now_ns() + SECOND, &c);
			assert_true(got >= 0);
			assert_true(got != 1 || c.state != US_VCPU_OFF);
			if (got == 1)
				r.b->ops->release(r.b, &c);
		} while (us_now_ns() < then);
		must_see(&r, 0);
	}
	/* One that has ended since the threads were looked at. */
	us_backend_close(r.b);
	pid_t ended = fork();
	if (!ended)
		_exit(0);
	waitpid(ended, NULL, 0);
	r.guest.vcpu[0].tid = ended;
	const struct us_target t = { .guest = &r.guest };
	const struct us_schedule s = { .hz = 500, .seed = 1 };
	struct us_err e;
	if (us_backend_open(&t, "bpf", &r.b, NULL, 0, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(r.b->ops->start(r.b, &s, &e), 0);
	must_see(&r, 0);
	end(&r);
}

/* push 0x4321; push 0x8765; again: mov cx, 0x1000; loop $; out 0x10, al; jmp again */
static const uint8_t others[] = { 0x68, 0x21, 0x43, 0x68, 0x65, 0x87, 0xb9, 0x00,
				  0x10, 0xe2, 0xfe, 0xe6, 0x10, 0xeb, 0xf7 };
static const uint8_t others_top[] = { 0x65, 0x87, 0x21, 0x43 };

/* For a while the samples at one are asked for alone, and those at the other wait. */
static unsigned look_for_a_while(struct run *r, const uint8_t top[4])
{
	static struct us_capture c;
	unsigned n = 0;
	uint64_t limit = us_now_ns() + SECOND / 5;
	while (us_now_ns() < limit) {
		uint8_t bytes[4];
		if (r->b->ops->next(r->b, limit, &c) != 1)
			continue;
		if (c.form == US_CAPTURE_WINDOW && c.window.n_window &&
		    us_stack_copy_read(&c.window, MINI_STACK - 4, bytes, 4)) {
			assert_memory_equal(bytes, top, 4);
			n++;
		}
		r->b->ops->release(r->b, &c);
	}
	return n;
}

static void each_guest_gets_its_own_looks(void **state)
{
	static struct run a, b;
	unsigned of_a = 0, of_b = 0;
	(void)state;
	must_be_possible();
	begin_as(&a, (struct mini_layout){ 0 }, pushes, sizeof(pushes), 1000);
	begin_as(&b, (struct mini_layout){ 0 }, others, sizeof(others), 1000);
	assert_ptr_equal(us_bpf_programs_of(a.b), us_bpf_programs_of(b.b));
	for (unsigned i = 0; i < 10 || of_a < 300 || of_b < 300; i++) {
		assert_true(i < 200);
		of_a += look_for_a_while(&a, stack_top);
		of_b += look_for_a_while(&b, others_top);
	}
	/* One that ends does not concern the other. */
	end(&a);
	unsigned before = of_b;
	for (unsigned i = 0; i < 100 && of_b < before + 100; i++)
		of_b += look_for_a_while(&b, others_top);
	assert_true(of_b >= before + 100);
	end(&b);
}

/* How many programs and maps the host's kernel holds. */
static unsigned n_held(void)
{
	static const int commands[] = { BPF_PROG_GET_NEXT_ID, BPF_MAP_GET_NEXT_ID,
					BPF_LINK_GET_NEXT_ID };
	unsigned n = 0;
	for (unsigned i = 0; i < 3; i++) {
		union bpf_attr a = { 0 };
		while (syscall(SYS_bpf, commands[i], &a, sizeof(a)) == 0) {
			a.start_id = a.next_id;
			n++;
		}
	}
	return n;
}

static void nothing_is_left_by_a_killed_profiler(void **state)
{
	struct mini_vmm vmm;
	(void)state;
	must_be_possible();
	mini_start(&vmm, pushes, sizeof(pushes));
	unsigned before = n_held();
	srand(1);
	for (int i = 0; i < 20; i++) {
		pid_t profiler = fork();
		if (!profiler) {
			static struct us_capture c;
			struct us_guest g;
			struct us_backend *b = NULL;
			struct us_schedule s = { .hz = 4000 };
			struct us_err e = { 0 };
			if (us_guest_inspect(vmm.pid, &g, &e) ||
			    us_backend_open(&(struct us_target){ .guest = &g }, "bpf",
					    &b, NULL, 0, &e) ||
			    b->ops->start(b, &s, &e)) {
				dprintf(STDERR_FILENO, "# %s\n", e.msg);
				_exit(1);
			}
			while (b->ops->next(b, UINT64_MAX, &c) == 1)
				b->ops->release(b, &c);
			dprintf(STDERR_FILENO, "# no samples any more\n");
			_exit(1);
		}
		usleep(1000 + (unsigned)rand() % 200000);
		assert_int_equal(waitpid(profiler, NULL, WNOHANG), 0);
		kill(profiler, SIGKILL);
		assert_int_equal(waitpid(profiler, NULL, 0), profiler);
		int exits = vmm.shared->exits;
		for (int k = 0; k < 2000 && vmm.shared->exits == exits; k++)
			usleep(1000);
		assert_true(vmm.shared->exits != exits);
	}
	/* The kernel frees them a moment after the process is gone; and another
	 * uniscope on this host may hold some for a while. */
	for (int k = 0; k < 40000 && n_held() > before; k++)
		usleep(1000);
	assert_true(n_held() <= before);
	assert_int_equal(vmm.shared->interrupted, 0);
	mini_stop(&vmm);
}

/* --- without a host --- */

static void a_copy_is_read_in_its_pieces(void **state)
{
	static const uint8_t one[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, two[8] = { 42 };
	static const struct us_frame_copy frames[] = { { 0x3000, { 7, 8 } },
						       { 0x2000, { 9, 10 } },
						       { 0x4ffd, { 11, 12 } } };
	struct us_stack_copy c = { .window = { { 0x1000, 16, one },
					       { 0x9000, 8, two } },
				   .n_window = 2,
				   .frame = frames,
				   .n_frame = 3 };
	uint64_t word = 0;
	(void)state;
	assert_true(us_stack_copy_read(&c, 0x1001, &word, 4));
	assert_int_equal(word, 0x05040302);
	assert_int_equal(c.deepest, 5);
	assert_true(us_stack_copy_read(&c, 0x9000, &word, 8));
	assert_int_equal(word, 42);
	assert_true(us_stack_copy_read(&c, 0x2008, &word, 8));
	assert_int_equal(word, 10);
	assert_true(us_stack_copy_read(&c, 0x3000, &word, 8));
	assert_int_equal(word, 7);
	assert_true(us_stack_copy_read(&c, 0x5005, &word, 8)); /* at any address */
	assert_int_equal(word, 12);
	assert_false(c.missed);
	assert_false(us_stack_copy_read(&c, 0x100c, &word, 8)); /* over its end */
	assert_int_equal(c.missed_at, 0x100c);
	assert_false(us_stack_copy_read(&c, 0x3004, &word, 16));
	assert_false(us_stack_copy_read(&c, UINT64_MAX, &word, 8));
	assert_true(c.missed);
}

static void a_queue_keeps_looks_whole(void **state)
{
	static union {
		struct us_bpf_sample sample;
		uint8_t bytes[US_BPF_MAX_SAMPLE];
	} in, out;
	struct us_bpf_queue q;
	unsigned pushed = 0, popped = 0;
	(void)state;
	assert_true(us_bpf_queue_open(&q));
	for (unsigned i = 0; i < 3000; i++) { /* several times around */
		in.sample.row = pushed;
		in.sample.size = pushed * 8 % 4096;
		memset(&in.sample + 1, (int)(pushed & 0xff), in.sample.size);
		if (us_bpf_queue_push(&q, &in.sample)) {
			pushed++;
			continue;
		}
		assert_true(us_bpf_queue_used(&q) > US_BPF_QUEUE_BYTES / 2);
		while (popped < pushed) {
			assert_true(us_bpf_queue_pop(&q, &out.sample));
			const uint8_t *tail = (uint8_t *)(&out.sample + 1);
			assert_int_equal(out.sample.row, popped);
			assert_int_equal(out.sample.size, popped * 8 % 4096);
			for (uint32_t k = 0; k < out.sample.size; k++)
				assert_int_equal(tail[k], popped & 0xff);
			popped++;
		}
		assert_false(us_bpf_queue_pop(&q, &out.sample));
	}
	assert_true(popped > 1000);
	us_bpf_queue_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_read_in_its_pieces),
		cmocka_unit_test(a_queue_keeps_looks_whole),
		cmocka_unit_test(any_layout_of_memory_is_read),
		cmocka_unit_test(what_a_pointer_leads_to_is_copied),
		cmocka_unit_test(exits_are_told),
		cmocka_unit_test(the_host_is_told_if_asked),
		cmocka_unit_test(memory_that_moves_is_found_again),
		cmocka_unit_test(vcpus_come_and_go),
		cmocka_unit_test(a_vcpu_of_another_machine_is_left_out),
		cmocka_unit_test(a_vcpu_may_run_later),
		cmocka_unit_test(a_vcpu_may_go_to_another_thread),
		cmocka_unit_test(a_thread_may_follow_another),
		cmocka_unit_test(a_vcpu_comes_before_it_is_attached_to),
		cmocka_unit_test(each_guest_gets_its_own_looks),
		cmocka_unit_test(the_end_of_the_vmm_is_noticed),
		cmocka_unit_test(nothing_is_left_by_a_killed_profiler),
	};
	return cmocka_run_group_tests_name("backend-bpf", tests, NULL, NULL);
}
