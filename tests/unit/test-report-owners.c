/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of the busiest threads, over all vCPUs, in the order of time. */
#include "unit.h"

#include "base/clock.h"
#include "report/owner_lanes.h"
#include "store/store.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_THREAD  9U
#define N_SAMPLES 900U

/* Thread k has k + 1 of 45 samples, on two vCPUs in turn; and 0 is nobody's. */
static uint64_t thread_at(unsigned n)
{
	unsigned k = 0, at = n * 7 % 45;
	for (; at > k; k++)
		at -= k + 1;
	return k;
}

static void write_sample(struct us_writer *w, unsigned n)
{
	struct us_sample s = { .t_ns = n * US_NS_PER_MS,
			       .vcpu = n % 2,
			       .weight = 1 + (n % 10 == 0),
			       .end = US_END_ROOT,
			       .state = US_VCPU_GUEST };
	const us_gva pc[2] = { 0xffffffff81000000 + n % 3 * 4096, thread_at(n) };
	static const uint8_t flags[2] = { 0, US_PC_TASK };
	assert_int_equal(us_writer_sample(w, &s, pc, flags, pc[1] ? 2 : 1, NULL), 0);
}

static struct us_profile *profile(bool with_tasks)
{
	const struct us_profile_opts o = { .processes = true, .timeline = true };
	struct us_record_stats stats = { .due = N_SAMPLES, .running = N_SAMPLES };
	struct us_profile *p = NULL;
	struct us_err e = { 0 };
	struct us_writer *w;
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_int_equal(us_writer_open(fd, &w, NULL), 0);
	for (unsigned n = 0; n < N_SAMPLES; n++)
		write_sample(w, n);
	for (unsigned k = 1; with_tasks && k < N_THREAD; k++) {
		char name[16];
		snprintf(name, sizeof(name), "t%u", k);
		const struct us_task t = { .id = k,
					   .pid = 100 + k,
					   .tgid = 100,
					   .name = name,
					   .process = "sh",
					   .cgroup = "" };
		assert_int_equal(us_writer_task(w, &t, NULL), 0);
	}
	assert_int_equal(us_writer_end(w, &stats, US_RECORD_DONE, "", NULL), 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

static void the_busiest_first(void **state)
{
	struct us_profile *p = profile(true);
	struct us_owner_lanes l;
	(void)state;
	assert_int_equal(us_owner_lanes(p, 4, &l), 0);
	assert_int_equal(l.n, 4);
	for (size_t k = 0; k < l.n; k++) {
		char want[64];
		uint64_t weight = 0;
		unsigned number = N_THREAD - 1 - (unsigned)k;
		snprintf(want, sizeof(want), "t%u (%u) of sh (100)", number,
			 100 + number);
		assert_string_equal(l.v[k].name, want);
		assert_string_equal(l.v[k].process, "sh (100)");
		assert_int_equal(l.v[k].tgid, 100);
		for (size_t i = 0; i < l.v[k].n; i++) {
			const struct us_owner_sample *s = &l.v[k].v[i];
			weight += s->weight;
			assert_int_equal(thread_at((unsigned)(s->t_ns / US_NS_PER_MS)),
					 number);
			assert_true(!i || s->t_ns >= s[-1].t_ns);
			assert_true(s->node);
		}
		assert_int_equal(weight, l.v[k].weight);
	}
	us_owner_lanes_fini(&l);
	us_profile_free(p);
}

static void all_of_them(void **state)
{
	struct us_profile *p = profile(true);
	struct us_owner_lanes l;
	uint64_t sum = 0;
	(void)state;
	assert_int_equal(us_owner_lanes(p, 100, &l), 0);
	assert_int_equal(l.n, N_THREAD); /* with nobody */
	for (size_t k = 0; k < l.n; k++)
		sum += l.v[k].weight;
	assert_int_equal(sum, us_profile_summary(p)->running);
	us_owner_lanes_fini(&l);
	assert_int_equal(us_owner_lanes(p, 0, &l), 0);
	assert_int_equal(l.n, 0);
	us_owner_lanes_fini(&l);
	us_profile_free(p);
}

static void not_told(void **state)
{
	struct us_profile *p = profile(false);
	struct us_owner_lanes l;
	(void)state;
	assert_int_equal(us_owner_lanes(p, 4, &l), 0);
	assert_int_equal(l.n, 0);
	us_owner_lanes_fini(&l);
	us_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_first),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(not_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
