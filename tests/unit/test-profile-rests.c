/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bpf accounts for at intervals, where a range of time begins or ends. */
#include "unit.h"

#include "base/clock.h"
#include "profile/rests.h"

#define MS US_NS_PER_MS

/* A vCPU that sleeps half of the time, as seen every 100 ms, by 1000 Hz. */
static uint32_t sum_of(unsigned from_ms, unsigned to_ms, uint64_t *ret_first,
		       uint64_t *ret_last)
{
	struct us_rests r = { 0 };
	uint32_t sum = 0;
	*ret_first = UINT64_MAX;
	*ret_last = 0;
	for (unsigned i = 1; i <= 20; i++)
		for (unsigned k = 0; k < 2; k++) { /* one state after the other */
			struct us_sample s = { .t_ns = i * 100 * MS,
					       .vcpu = 3,
					       .state = k ? US_VCPU_READY
							  : US_VCPU_HALTED,
					       .weight = k ? 10 : 40 };
			assert_true(us_rests_has(&s));
			if (!us_rests_clip(&r, &s, from_ms * MS, to_ms * MS))
				continue;
			sum += s.weight;
			*ret_first = s.t_ns < *ret_first ? s.t_ns : *ret_first;
			*ret_last = s.t_ns > *ret_last ? s.t_ns : *ret_last;
		}
	return sum;
}

static void a_range_has_its_part(void **state)
{
	(void)state;
	static const struct {
		unsigned from, to, samples;
	} ranges[] = {
		{ 0, 0, 1000 },	 { 0, 2000, 1000 },  { 500, 1500, 500 },
		{ 450, 0, 775 }, { 550, 1450, 450 }, { 510, 590, 40 },
		{ 520, 530, 5 }, { 1990, 2100, 5 },  { 2000, 2100, 0 },
		{ 0, 10, 5 },
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		uint64_t first, last;
		unsigned from = ranges[i].from, to = ranges[i].to;
		assert_int_equal(sum_of(from, to, &first, &last), ranges[i].samples);
		if (!ranges[i].samples)
			continue;
		assert_true(first >= from * MS);
		assert_true(!to || last < to * MS);
	}
}

static void each_recording_begins_anew(void **state)
{
	(void)state;
	struct us_rests r = { 0 };
	struct us_sample s = { .t_ns = 900 * MS, .state = US_VCPU_OFF, .weight = 900 };
	assert_true(us_rests_clip(&r, &s, 0, 0));
	s = (struct us_sample){ .t_ns = 100 * MS, .state = US_VCPU_OFF, .weight = 100 };
	assert_true(us_rests_clip(&r, &s, 50 * MS, 0));
	assert_int_equal(s.weight, 50);
	assert_int_equal(s.t_ns, 100 * MS);
	/* A vCPU's number that no recording should have. */
	s = (struct us_sample){ .t_ns = 200 * MS, .vcpu = UINT16_MAX, .weight = 7 };
	assert_true(us_rests_clip(&r, &s, 0, 0));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_has_its_part),
		cmocka_unit_test(each_recording_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
