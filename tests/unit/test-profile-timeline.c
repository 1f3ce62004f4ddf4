/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples one by one, as they were recorded: any time, any weight, any state. */
#include "unit.h"

#include "base/clock.h"
#include "profile/timeline.h"
#include "report/shown.h"
#include "store/store.h"

#include <sys/mman.h>
#include <unistd.h>

#define N 2000

static const uint64_t gap_us[] = { 0,	       1,	   999,	      1000000,
				   8388607,    8388608,	   8388609,   4294967294,
				   4294967295, 4294967296, 1ULL << 40 };
static const uint32_t weights[] = {
	1, 2, 1, 254, 255, 1, 256, 1000000, UINT32_MAX / 2
};
#define SOME(of, i) (of)[(i) % (sizeof(of) / sizeof(*(of)))]

static struct us_sample written[N];

/* Now and then earlier than the one before. */
static void write_samples(struct us_writer *w)
{
	uint64_t t_us = 0;
	for (unsigned i = 0; i < N; i++) {
		us_gva pc = 0x1000 + i % 37;
		t_us += SOME(gap_us, i / 7 + i % 7);
		written[i] = (struct us_sample){
			.t_ns = (t_us - (i % 50 == 49 ? t_us / 3 : 0)) * US_NS_PER_US,
			.vcpu = i % 3 == 2,
			.state = (uint8_t)(i / 3 % US_N_VCPU_STATE),
			.end = US_END_ROOT,
			.weight = SOME(weights, i),
		};
		assert_int_equal(us_writer_sample(w, &written[i], &pc, NULL, 1, NULL),
				 0);
	}
}

static struct us_profile *profile_of_them(void)
{
	struct us_profile_opts o = { .timeline = true };
	struct us_profile *p = NULL;
	struct us_writer *w;
	struct us_err e = { 0 };
	int fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(us_writer_open(fd, &w, &e), 0);
	write_samples(w);
	assert_int_equal(us_writer_end(w, &(struct us_record_stats){ 0 },
				       US_RECORD_DONE, "", &e),
			 0);
	us_writer_close(w);
	lseek(fd, 0, SEEK_SET);
	if (us_profile_read(fd, &o, &p, &e))
		fail_msg("%s", e.msg);
	close(fd);
	return p;
}

static void all_come_back(void **state)
{
	(void)state;
	struct us_profile *p = profile_of_them();
	for (unsigned vcpu = 0; vcpu < 2; vcpu++) {
		struct us_timeline_cursor c = us_timeline_of(p, vcpu);
		struct us_timeline_sample s;
		uint64_t last_ns = 0, n = 0;
		for (unsigned i = 0; i < N; i++) {
			const struct us_sample *want = &written[i];
			if (want->vcpu != vcpu)
				continue;
			assert_true(us_timeline_next(&c, &s));
			n++;
			if (want->t_ns > last_ns)
				last_ns = want->t_ns;
			assert_int_equal(s.t_ns, last_ns);
			assert_int_equal(s.weight, want->weight);
			assert_int_equal(s.state, want->state);
			assert_int_equal(s.node != 0,
					 want->state != US_VCPU_HALTED &&
						 want->state != US_VCPU_OFF);
		}
		assert_false(us_timeline_next(&c, &s));
		assert_int_equal(us_timeline_count(p, vcpu), n);
	}
	us_profile_free(p);
}

/* The same in fewer bytes, from the first one with a weight on, or without any. */
static void what_is_shown_is_the_same(void **state)
{
	(void)state;
	struct us_shown s = { 0 };
	uint64_t delta[N], weight[N];
	for (unsigned first = 0; first <= N; first += N / 4) {
		uint64_t t_us = 0;
		assert_int_equal(us_shown_begin(&s, N), 0);
		for (unsigned i = 0; i < N; i++) {
			uint32_t w = i < first ? 1 : SOME(weights, i);
			t_us += SOME(gap_us, i / 3);
			assert_int_equal(us_shown_add(&s, t_us, i + 1, w), 0);
		}
		assert_int_equal(s.n, N);
		assert_int_equal(s.weight == NULL, first == N);
		for (size_t at = 0; at < N; at += 17) {
			size_t n = N - at < 17 ? N - at : 17;
			us_shown_deltas(&s, at, n, delta + at);
			us_shown_weights(&s, at, n, weight + at);
		}
		for (unsigned i = 0; i < N; i++) {
			assert_int_equal(s.v[i].node, i + 1);
			assert_int_equal(delta[i], SOME(gap_us, i / 3));
			assert_int_equal(weight[i], i < first ? 1 : SOME(weights, i));
		}
	}
	us_shown_fini(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_back),
		cmocka_unit_test(what_is_shown_is_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
