/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin keeps of the guest's code: programs without names take no room, and
 * code that finds none is counted. */
#include "unit.h"

#include "trace/plugin/block.h"

#define KERNEL 0xffffffff81000000ULL
#define FIRST  0x400000ULL

static const struct us_function_range ranges[] = {
	{ .start = KERNEL, .end = KERNEL + 0x100, .entry = KERNEL }
};

static void begin(void)
{
	const struct us_functions f = { .v = ranges, .n = 1 };
	assert_int_equal(us_points_init(&us_plugin.points, &f), 0);
}

static struct us_point *point(uint64_t pc, uint64_t target, size_t rest)
{
	const struct us_block b = { .pc = pc, .n = rest };
	return us_block_point(&b, target);
}

static void programs_take_no_room(void **state)
{
	(void)state;
	begin();
	struct us_point *call = point(FIRST, FIRST + 0x1000, 1);
	struct us_point *by_pointer = point(FIRST, 0, 1);
	assert_ptr_not_equal(call, by_pointer);
	for (uint64_t pc = FIRST; pc < FIRST + 0x100000; pc += 5) {
		assert_ptr_equal(point(pc, pc + 0x4000, 1), call);
		assert_ptr_equal(point(pc, 0, 1), by_pointer);
	}
	assert_int_equal(us_plugin.points.n_point, 3);
	/* How much of the block remains does make a difference. */
	struct us_point *longer = point(FIRST, 0, 2);
	assert_ptr_not_equal(longer, by_pointer);
	assert_int_equal(longer->rest, 2);
}

static void other_points_are_apart(void **state)
{
	(void)state;
	begin();
	struct us_block b = { .pc = FIRST, .n = 1 };
	struct us_point *plain = us_block_point(&b, 0);
	b.flow.alternate = true;
	assert_ptr_not_equal(us_block_point(&b, 0), plain);
	assert_true(us_block_point(&b, 0)->site.alternate);
	/* Into and in what has a name. */
	assert_ptr_not_equal(point(FIRST, KERNEL, 1), point(FIRST + 5, KERNEL, 1));
	assert_ptr_not_equal(point(KERNEL, 0, 1), point(KERNEL + 5, 0, 1));
	assert_ptr_equal(point(KERNEL, 0, 1), point(KERNEL, 0, 1));
}

static void want_of_room_is_counted(void **state)
{
	(void)state;
	begin();
	struct us_point *known = point(KERNEL, 0, 1);
	us_plugin.points.n_point = US_POINTS_MAX;
	assert_ptr_equal(point(KERNEL, 0, 1), known);
	assert_int_equal(us_plugin.points.n_full, 0);
	assert_null(point(KERNEL + 5, 0, 1));
	assert_int_equal(us_plugin.points.n_full, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_take_no_room),
		cmocka_unit_test(other_points_are_apart),
		cmocka_unit_test(want_of_room_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
