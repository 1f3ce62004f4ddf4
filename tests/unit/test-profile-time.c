/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time went: the parts, and what they are of. */
#include "unit.h"

#include "base/clock.h"
#include "report/report.h"
#include "profile/time_split.h"

#include <sys/mman.h>
#include <unistd.h>

#define MS  US_NS_PER_MS
#define PC  0x1000
#define FEW 5 /* of two vCPUs */

struct recording {
	int fd;
	struct us_writer *w;
};

static void begin(struct recording *r)
{
	struct us_err e;
	r->fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(r->fd >= 0);
	assert_int_equal(us_writer_open(r->fd, &r->w, &e), 0);
	assert_int_equal(us_writer_fact(r->w, "hz", "1000", &e), 0);
}

/* exit 0: none is told. */
static void add(struct recording *r, uint16_t vcpu, enum us_vcpu_state state,
		uint32_t exit, uint32_t weight)
{
	const us_gva pc[] = { PC, exit };
	const uint8_t flags[] = { 0, US_PC_EXIT };
	struct us_err e;
	struct us_sample s = { .t_ns = MS,
			       .vcpu = vcpu,
			       .state = (uint8_t)state,
			       .end = US_END_ROOT,
			       .weight = weight };
	assert_int_equal(us_writer_sample(r->w, &s, pc, flags, exit ? 2 : 1, &e), 0);
}

static void add_all(struct recording *r)
{
	add(r, 0, US_VCPU_GUEST, 0, 40);
	add(r, 0, US_VCPU_EXIT, us_vm_exit_code(US_EXIT_PORT_IO, US_PLACE_VMM), 10);
	add(r, 0, US_VCPU_EXIT, us_vm_exit_code(US_EXIT_PORT_IO, US_PLACE_KERNEL), 4);
	add(r, 0, US_VCPU_EXIT, us_vm_exit_code(US_EXIT_MSR, US_PLACE_HYPERVISOR), 6);
	add(r, 0, US_VCPU_EXIT, 0, 3);
	add(r, 0, US_VCPU_READY, 0, 7);
	add(r, 0, US_VCPU_HALTED, 0, 25);
	add(r, 1, US_VCPU_OFF, 0, FEW);
}

static struct us_profile *profile_of(struct recording *r,
				     const struct us_profile_opts *o)
{
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	assert_int_equal(lseek(r->fd, 0, SEEK_SET), 0);
	if (us_profile_read(r->fd, o, &p, &e))
		fail_msg("%s", e.msg);
	return p;
}

/* 105 ms of two vCPUs, of which 2 ms are seen by nobody and 3 were too late. */
static void end(struct recording *r)
{
	struct us_err e;
	struct us_record_stats s = { .elapsed_ns = 105 * MS / 2,
				     .late = 3,
				     .vcpu_ns = 105 * MS };
	assert_int_equal(us_writer_end(r->w, &s, US_RECORD_DONE, "", &e), 0);
	us_writer_close(r->w);
}

static void must_be(double ns, unsigned ms)
{
	assert_int_equal((long)(ns / (double)MS * 1000 + 0.5), 1000L * ms);
}

static void parts_are_the_whole(void **state)
{
	struct recording r;
	struct us_time_split t;
	char line[512];
	(void)state;
	begin(&r);
	add_all(&r);
	end(&r);
	struct us_profile *p = profile_of(&r, NULL);
	us_time_split(p, &t);
	must_be(t.part_ns[US_TIME_GUEST], 40);
	must_be(t.part_ns[US_TIME_VMM], 10);
	must_be(t.part_ns[US_TIME_KERNEL], 4);
	must_be(t.part_ns[US_TIME_KVM], 6);
	must_be(t.part_ns[US_TIME_EXIT], 3);
	must_be(t.part_ns[US_TIME_READY], 7);
	must_be(t.part_ns[US_TIME_IDLE], 25);
	must_be(t.part_ns[US_TIME_OFF], FEW);
	must_be(t.part_ns[US_TIME_UNSEEN], 3);
	must_be(t.exit_ns[US_EXIT_PORT_IO], 14);
	must_be(t.exit_ns[US_EXIT_MSR], 6);
	must_be(t.sum_ns, 103);
	must_be(t.wall_ns, 105);
	assert_string_equal(
		us_report_time_line(p, line, sizeof(line)),
		"time: guest 38.1 %, in KVM 5.7 %, in the VMM 9.5 %, in the "
		"host kernel 3.8 %, in KVM or the VMM 2.9 %, waiting for a "
		"host CPU 6.7 %, idle 23.8 %, off 4.8 %, not looked at "
		"2.9 %, not accounted for 1.9 %");
	us_profile_free(p);
	close(r.fd);
}

/* How much time a part of the recording is, nobody has counted. */
static void of_a_part_there_is_no_whole(void **state)
{
	const struct us_profile_opts only = { .vcpu_mask = 2 };
	struct recording r;
	struct us_time_split t;
	(void)state;
	begin(&r);
	add_all(&r);
	end(&r);
	struct us_profile *p = profile_of(&r, &only);
	us_time_split(p, &t);
	must_be(t.sum_ns, FEW);
	must_be(t.wall_ns, 0);
	assert_false(t.told);
	us_profile_free(p);
	close(r.fd);
}

/* A focus chooses stacks, and the time is that of all. */
static void a_focus_changes_nothing(void **state)
{
	const struct us_profile_opts only = { .focus = "nothing" };
	struct recording r;
	struct us_time_split t;
	(void)state;
	begin(&r);
	add_all(&r);
	end(&r);
	struct us_profile *p = profile_of(&r, &only);
	assert_int_equal(us_profile_summary(p)->running, 0);
	us_time_split(p, &t);
	must_be(t.sum_ns, 103);
	us_profile_free(p);
	close(r.fd);
}

static const char *const functions[] = {
	"do_idle",
	"default_idle_call",
	"cpu_do_idle",
	"poll_idle",
	"local_clock_noinstr",
	"native_sched_clock",
	"handle_irq",
	"work",
};
#define FUNCTIONS  (sizeof(functions) / sizeof(*functions))
#define DEEP	   4
#define AT(number) (PC + (number)*0x100 + 0x10)

static bool name_it(void *ctx, us_gva pc, struct us_named *ret)
{
	(void)ctx;
	uint64_t i = (pc - PC) / 0x100;
	if (i >= FUNCTIONS)
		return false;
	*ret = (struct us_named){ PC + i * 0x100, 0x100, functions[i], "linux" };
	return true;
}

/* A sample whose stack has these functions, innermost first.  interrupted: the first
 * one was entered by an interrupt of the second. */
static void in_functions(struct recording *r, const char *stack, bool interrupted,
			 uint32_t weight)
{
	us_gva pc[DEEP];
	uint8_t flags[DEEP] = { US_PC_EXACT, interrupted ? US_PC_EXACT : 0 };
	struct us_sample s = {
		.t_ns = MS, .state = US_VCPU_GUEST, .end = US_END_ROOT, .weight = weight
	};
	size_t n = 0;
	for (; stack[n]; n++)
		pc[n] = AT((unsigned)(stack[n] - '0'));
	assert_true(n <= DEEP);
	assert_int_equal(us_writer_sample(r->w, &s, pc, flags, n, NULL), 0);
}

static void add_idle(struct recording *r)
{
	us_writer_name_by(r->w, &(struct us_namer){ name_it, NULL });
	assert_int_equal(us_writer_fact(r->w, "linux", "Linux 6.1", NULL), 0);
	in_functions(r, "210", false, 1000); /* cpu_do_idle */
	in_functions(r, "30", false, 200);
	in_functions(r, "530", false, 40); /* native_sched_clock of poll_idle */
	in_functions(r, "5430", false, 8);
	in_functions(r, "630", true, 1);
	in_functions(r, "530", true, 2); /* in an interrupt */
	in_functions(r, "37", false, 4); /* not in the idle task */
	in_functions(r, "57", false, 16);
}

/* What waits in the idle task is idle, what interrupts it is not. */
static void idle_by_the_stack(void **state)
{
	struct recording r;
	(void)state;
	begin(&r);
	add_idle(&r);
	end(&r);
	struct us_profile *p = profile_of(&r, NULL);
	assert_int_equal(us_profile_summary(p)->idle_told, 1248);
	assert_int_equal(us_profile_summary(p)->running, 23);
	us_profile_free(p);
	close(r.fd);
}

/* The header's idle samples, without those found by their stacks, are the last line's,
 * also if that has to count them itself. */
static void idle_of_the_last_line(void **state)
{
	char line[512];
	struct recording r;
	(void)state;
	begin(&r);
	add_idle(&r);
	add(&r, 0, US_VCPU_HALTED, 0, 129);
	assert_int_equal(us_writer_flush(r.w, NULL), 0);
	us_writer_close(r.w); /* cut: without statistics */
	struct us_profile *p = profile_of(&r, NULL);
	assert_false(us_profile_summary(p)->has_stats);
	assert_int_equal(us_profile_summary(p)->idle, 1377);
	assert_int_equal(us_profile_summary(p)->idle_told, 1248);
	us_report_summary_line(p, line, sizeof(line));
	assert_string_equal(line,
			    "1400 samples, 129 halted (9.2 %), 0 lost, 0 truncated");
	us_profile_free(p);
	close(r.fd);
}

static bool warns_of_waits(const char *backend, uint32_t ready,
			   const struct us_profile_opts *o)
{
	struct recording r;
	struct us_err e;
	bool warned = false;
	begin(&r);
	assert_int_equal(us_writer_fact(r.w, "backend", backend, &e), 0);
	add(&r, 0, US_VCPU_GUEST, 0, 1000 - ready);
	add(&r, 0, US_VCPU_READY, 0, ready);
	end(&r);
	struct us_profile *p = profile_of(&r, o);
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), "state=guest"))
			warned = true;
	us_profile_free(p);
	close(r.fd);
	return warned;
}

/* With kvm they have stacks, many times the same. */
static void waits_in_functions_are_told(void **state)
{
	const struct us_profile_opts on_a_cpu = {
		.filter = { { US_BY_STATE, "guest" } }, .n_filter = 1
	};
	(void)state;
	assert_true(warns_of_waits("kvm", 101, NULL));
	assert_true(warns_of_waits("kvm", 1000, NULL));
	assert_false(warns_of_waits("kvm", 100, NULL));
	assert_false(warns_of_waits("bpf", 900, NULL));
	assert_false(warns_of_waits("kvm", 900, &on_a_cpu));
}

static bool warns_of_memory(const char *backend, enum us_unwind_end how)
{
	const us_gva pc[] = { PC };
	struct us_sample s = {
		.t_ns = MS, .state = US_VCPU_GUEST, .end = (uint8_t)how, .weight = 100
	};
	struct recording r;
	struct us_err e;
	bool warned = false;
	begin(&r);
	assert_int_equal(us_writer_fact(r.w, "backend", backend, &e), 0);
	assert_int_equal(us_writer_sample(r.w, &s, pc, NULL, 1, &e), 0);
	end(&r);
	struct us_profile *p = profile_of(&r, NULL);
	for (size_t i = 0; i < us_profile_n_warning(p); i++)
		if (strstr(us_profile_warning(p, i), "where memory is"))
			warned = true;
	us_profile_free(p);
	close(r.fd);
	return warned;
}

static void what_reads_more_memory_is_told(void **state)
{
	(void)state;
	assert_true(warns_of_memory("kvm", US_END_FAULT));
	assert_false(warns_of_memory("kvm", US_END_CYCLE));
	assert_false(warns_of_memory("bpf", US_END_FAULT));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_the_whole),
		cmocka_unit_test(of_a_part_there_is_no_whole),
		cmocka_unit_test(a_focus_changes_nothing),
		cmocka_unit_test(idle_by_the_stack),
		cmocka_unit_test(idle_of_the_last_line),
		cmocka_unit_test(waits_in_functions_are_told),
		cmocka_unit_test(what_reads_more_memory_is_told),
	};
	return cmocka_run_group_tests_name("report-time", tests, NULL, NULL);
}
