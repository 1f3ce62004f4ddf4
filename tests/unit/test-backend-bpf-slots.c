/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory slots that continue each other are one. */
#include "unit.h"

#include "backend/bpf/slots.h"

#define MANY 256

static void expect_slot(const struct us_bpf_found_slot *s, uint64_t start,
			uint64_t size, uint64_t hva)
{
	assert_int_equal(s->start, start);
	assert_int_equal(s->size, size);
	assert_int_equal(s->hva, hva);
}

static void neighbors_are_joined(void **state)
{
	struct us_bpf_found_slot slot[MANY];
	(void)state;
	for (unsigned i = 0; i < MANY; i++) { /* in any order */
		uint64_t at = 0x40000ULL * (i * 7 % MANY);
		slot[i] = (struct us_bpf_found_slot){ 1, at, 0x40000,
						      0x7f0000000000 + at };
	}
	assert_int_equal(us_bpf_join_slots(slot, MANY), 1);
	expect_slot(slot, 0, 0x40000ULL * MANY, 0x7f0000000000);
}

static void others_are_not(void **state)
{
	struct us_bpf_found_slot slot[] = {
		{ 1, 0x0000, 0x1000, 0x71000 },
		{ 1, 0x1000, 0x1000, 0x70000 }, /* the other way around */
		{ 1, 0x2000, 0, 0x71000 },	/* deleted */
		{ 1, 0x3000, 0x3000, 0x72000 }, /* a hole in the guest */
		{ 1, 0x6000, 0x2000, 0x76000 }, /* a hole in the VMM */
	};
	(void)state;
	assert_int_equal(us_bpf_join_slots(slot, 5), 4);
	expect_slot(&slot[0], 0x3000, 0x3000, 0x72000);
	expect_slot(&slot[1], 0x6000, 0x2000, 0x76000);
	assert_int_equal(us_bpf_join_slots(slot, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbors_are_joined),
		cmocka_unit_test(others_are_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
